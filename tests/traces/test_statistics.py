from __future__ import annotations

import numpy as np
import pytest

from bench.traces.statistics import burstiness, ideal_hit_share, ideal_hits, percentiles

from .examples import request


def test_percentiles_are_values_that_occur() -> None:
    assert percentiles(range(1, 101)) == (50, 90, 99, 100)
    assert percentiles([7]) == (7, 7, 7, 7)
    assert percentiles([1, 1000]) == (1, 1000, 1000, 1000)


def test_even_arrivals_have_no_burstiness() -> None:
    figures = burstiness([100.0 * number for number in range(1201)])
    assert figures.gap_cv == pytest.approx(0, abs=1e-9)
    assert figures.dispersion == ((1, pytest.approx(0)), (10, pytest.approx(0)), (60, pytest.approx(0)))


def test_burstiness_worked_by_hand() -> None:
    # Gaps of 0, 0 and 3000 ms: mean 1000, deviation sqrt(2)·1000. Windows of 1 s hold 3, 0 and 0: mean 1, variance 2.
    figures = burstiness([0, 0, 0, 3000], windows_s=(1,))
    assert figures.gap_cv == pytest.approx(2**0.5)
    assert figures.dispersion == ((1, pytest.approx(2)),)


def test_poisson_arrivals_are_near_one() -> None:
    times = np.cumsum(np.random.default_rng(1).exponential(100, size=20_000))
    figures = burstiness(times.tolist())
    assert figures.gap_cv == pytest.approx(1, abs=0.05)
    assert figures.dispersion[0][1] == pytest.approx(1, abs=0.1)


def test_too_little_to_tell_is_none() -> None:
    assert burstiness([0.0]).gap_cv is None
    assert burstiness([0.0, 0.0, 0.0]).gap_cv is None
    assert burstiness([0.0, 1500.0]).dispersion == ((1, None), (10, None), (60, None))


def test_hits_end_at_the_first_new_block_and_never_pass_the_prompt() -> None:
    first = request("a", input_length=40, hash_ids=(1, 2, 3))
    second = request("b", input_length=60, hash_ids=(1, 9, 3))
    third = request("c", input_length=20, hash_ids=(1, 9))
    assert ideal_hit_share([first, second], 16) == pytest.approx(16 / 100)
    assert ideal_hit_share([first, second, third], 16) == pytest.approx((16 + 20) / 120)
    assert ideal_hits([first, second, third], 16) == [0, 16, 20]


def test_unshared_prompts_have_no_hits() -> None:
    assert ideal_hit_share([request("a"), request("b")], 16) == 0
