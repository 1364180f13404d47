from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.analysis.estimates import estimate
from bench.analysis.planting import plant, slices_a_unit
from bench.analysis.slices import Slices
from bench.errors import ConfigError


def slices(num_pairs: int, num_slices: int, seed: int = 1, noise: float = 0.0) -> Slices:
    rng = np.random.default_rng(seed)
    count = num_pairs * num_slices

    def arm() -> pd.DataFrame:
        spent = (1e6 * np.exp(rng.normal(0, noise, count))).round()
        return pd.DataFrame({
            "pair": np.repeat(np.arange(num_pairs), num_slices), "zygote": 0, "num_steps": 1,
            "cpu_ns": spent, "wall_ns": spent,
        })  # fmt: skip

    return Slices(arm(), arm(), np.ones(count, dtype=np.bool_))


@pytest.mark.parametrize(("percent", "unit"), [(0.5, 200), (1, 100), (2, 50), (5, 20), (100, 1)])
def test_an_effect_is_one_slice_in_so_many(percent: float, unit: int) -> None:
    assert slices_a_unit(percent) == unit


@pytest.mark.parametrize("percent", [0, -1, 3, 0.7, 200])
def test_what_no_whole_number_of_slices_gives_is_refused(percent: float) -> None:
    with pytest.raises(ConfigError, match="whole number"):
        slices_a_unit(percent)


@pytest.mark.parametrize("percent", [0.5, 1, 2, 5])
def test_equal_slices_give_exactly_what_was_planted(percent: float) -> None:
    found = estimate(plant(slices(8, 240), percent, seed=3), "cpu_ns", 0.015)
    assert found.num_pairs == 8
    assert found.effect == pytest.approx(percent / 100, rel=1e-9)
    assert found.candidate_us / found.baseline_us == pytest.approx(1 + percent / 100, rel=1e-9)


def test_noise_stays_and_the_effect_is_found_on_average() -> None:
    effects = [estimate(plant(slices(6, 210, seed, 0.05), 1, seed), "cpu_ns", 0.015).effect for seed in range(60)]
    assert np.mean(effects) == pytest.approx(0.01, abs=4 * np.std(effects) / np.sqrt(60))
    assert np.std(effects) > 0


def test_only_undisturbed_slices_of_one_pair_make_a_unit() -> None:
    made = slices(2, 45)
    made.undisturbed[:5] = False
    planted = plant(made, 5, seed=1)
    assert [*planted.baseline["pair"]] == [0, 1, 1]
    assert [*planted.baseline["num_steps"]] == [20, 20, 20]
    assert planted.baseline["cpu_ns"].tolist() == [20e6] * 3
    assert planted.candidate["cpu_ns"].tolist() == [21e6] * 3


def test_pairs_too_short_for_a_unit_leave_nothing() -> None:
    planted = plant(slices(3, 100), 0.5, seed=1)
    assert len(planted.baseline) == 0
    assert estimate(planted, "cpu_ns", 0.015).num_pairs == 0
