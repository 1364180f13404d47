from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from bench.analysis.estimates import estimate, zygote_spread
from bench.analysis.slices import Slices

MARGIN = 0.015


def slices(baseline: np.ndarray, candidate: np.ndarray, undisturbed: np.ndarray | None = None) -> Slices:
    """Times in ns of shape (num_pairs, num_slices), 10 steps a slice."""
    pair = np.repeat(np.arange(baseline.shape[0]), baseline.shape[1])
    arms = [
        pd.DataFrame({"pair": pair, "zygote": pair // 2, "num_steps": 10, "cpu_ns": times.ravel()})
        for times in (baseline, candidate)
    ]
    kept = np.ones(pair.size, dtype=np.bool_) if undisturbed is None else undisturbed.ravel()
    return Slices(arms[0], arms[1], kept)


def test_constant_ratio_is_found_without_error() -> None:
    baseline = np.full((6, 8), 1e6)
    found = estimate(slices(baseline, 1.03 * baseline), "cpu_ns", MARGIN)
    assert (found.num_pairs, found.num_slices, found.score) == (6, 48, "median")
    assert found.effect == pytest.approx(0.03)
    assert found.interval == pytest.approx((0.03, 0.03))
    assert found.sd == pytest.approx(0.0, abs=1e-12)
    assert found.baseline_us == pytest.approx(100.0)
    assert found.candidate_us == pytest.approx(103.0)
    assert found.difference_us == pytest.approx(3.0)


def test_cost_in_few_slices_is_judged_on_sums() -> None:
    baseline = np.full((6, 10), 1e6)
    candidate = baseline.copy()
    candidate[:, 0] *= 1.5  # one slice in ten pays it all
    found = estimate(slices(baseline, candidate), "cpu_ns", MARGIN)
    assert found.score == "sums"
    assert found.effect == pytest.approx(0.05)
    assert found.other_score == pytest.approx(0.0)


def test_sums_within_half_the_margin_leave_the_median_in_charge() -> None:
    baseline = np.full((6, 10), 1e6)
    candidate = baseline.copy()
    candidate[:, 0] *= 1.07
    found = estimate(slices(baseline, candidate), "cpu_ns", MARGIN)
    assert (found.score, found.effect) == ("median", pytest.approx(0.0))
    assert found.other_score == pytest.approx(0.007)


def test_sums_beyond_half_the_margin_judge() -> None:
    baseline = np.full((6, 10), 1e6)
    candidate = baseline.copy()
    candidate[:, 0] *= 1.08
    found = estimate(slices(baseline, candidate), "cpu_ns", MARGIN)
    assert (found.score, found.effect) == ("sums", pytest.approx(0.008))


def test_slices_without_time_are_judged_on_sums() -> None:
    baseline = np.tile([0.0, 1e6], (6, 4))
    found = estimate(slices(baseline, 1.001 * baseline), "cpu_ns", MARGIN)
    assert (found.score, found.effect) == ("sums", pytest.approx(0.001))


def test_excluded_slices_change_the_estimate_and_not_the_one_beside_it() -> None:
    baseline = np.full((6, 5), 1e6)
    candidate = baseline.copy()
    candidate[:, :3] *= 1.2
    undisturbed = np.ones((6, 5), dtype=np.bool_)
    undisturbed[:, :3] = False
    found = estimate(slices(baseline, candidate, undisturbed), "cpu_ns", MARGIN)
    assert found.effect == pytest.approx(0.0)
    assert found.all_slices == pytest.approx(0.2)


def test_pair_that_loses_all_its_slices_is_dropped() -> None:
    undisturbed = np.ones((7, 5), dtype=np.bool_)
    undisturbed[2] = False
    found = estimate(slices(np.full((7, 5), 1e6), np.full((7, 5), 1e6), undisturbed), "cpu_ns", MARGIN)
    assert found.num_pairs == 6


def test_nothing_left_tells_nothing() -> None:
    undisturbed = np.zeros((3, 5), dtype=np.bool_)
    found = estimate(slices(np.full((3, 5), 1e6), np.full((3, 5), 1e6), undisturbed), "cpu_ns", MARGIN)
    assert found.num_pairs == 0
    assert math.isnan(found.effect)
    assert math.isnan(found.baseline_us)
    assert found.all_slices == 0.0


def test_one_pair_has_an_unbounded_interval() -> None:
    found = estimate(slices(np.full((1, 5), 1e6), np.full((1, 5), 1.1e6)), "cpu_ns", MARGIN)
    assert found.effect == pytest.approx(0.1)
    assert found.interval == (-math.inf, math.inf)


def test_zygotes_are_told_apart() -> None:
    shift = np.repeat([0.0, 0.02, 0.04], 2)[:, None]
    spread = zygote_spread(slices(np.full((6, 5), 1e6), 1e6 * np.exp(np.zeros((6, 5)) + shift)), "cpu_ns")
    assert spread.within_sd == pytest.approx(0.0, abs=1e-9)
    assert spread.between_sd == pytest.approx(0.02)
