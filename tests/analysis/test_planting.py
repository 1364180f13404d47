from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.analysis.estimates import estimate
from bench.analysis.planting import plant
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


@pytest.mark.parametrize("percent", [0, -1, 101, float("nan")])
def test_what_cannot_be_planted_is_refused(percent: float) -> None:
    with pytest.raises(ConfigError, match="cannot be planted"):
        plant(slices(1, 10), percent)


@pytest.mark.parametrize("percent", [0.5, 1, 2, 5, 100])
def test_equal_slices_give_exactly_what_was_planted(percent: float) -> None:
    found = estimate(plant(slices(8, 240), percent), "cpu_ns", 0.015)
    assert found.num_pairs == 8
    assert found.effect == pytest.approx(percent / 100, rel=1e-9)
    assert found.candidate_us / found.baseline_us == pytest.approx(1 + percent / 100, rel=1e-9)


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_noise_stays_and_the_effect_is_found_on_average(noise: float) -> None:
    effects = [estimate(plant(slices(6, 210, seed, noise), 1), "cpu_ns", 0.015).effect for seed in range(80)]
    assert np.mean(effects) == pytest.approx(0.01, abs=4 * np.std(effects) / np.sqrt(80))
    assert np.std(effects) > 0


def test_a_few_dear_slices_make_the_effect_no_larger() -> None:
    effects = []
    for seed in range(80):
        made = slices(6, 210, seed, noise=0.02)
        dear = np.random.default_rng(seed).random((2, 6 * 210)) < 0.1
        for arm, is_dear in zip((made.baseline, made.candidate), dear, strict=True):
            arm.loc[is_dear, ["cpu_ns", "wall_ns"]] *= 1.5
        without = estimate(made, "cpu_ns", 0.015).effect
        effects.append(estimate(plant(made, 5), "cpu_ns", 0.015).effect - without)
    assert np.mean(effects) == pytest.approx(0.05, rel=0.01)  # slices drawn at random: 0.0510


def test_a_hundred_and_one_slices_are_run_for_a_hundred() -> None:
    planted = plant(slices(1, 101, noise=0.05), 1)
    made = slices(1, 101, noise=0.05)
    assert len(planted.baseline) == 100
    assert planted.candidate["cpu_ns"].sum() == pytest.approx(made.candidate["cpu_ns"].sum())
    assert planted.candidate["wall_ns"].sum() == pytest.approx(made.candidate["wall_ns"].sum())
    charged = set(planted.baseline["cpu_ns"])
    assert charged < set(made.baseline["cpu_ns"])


def test_disturbed_slices_take_no_part() -> None:
    made = slices(2, 42)
    made.undisturbed[:21] = False
    planted = plant(made, 5)
    assert planted.baseline["pair"].value_counts().to_dict() == {0: 20, 1: 40}
    assert planted.undisturbed.all()


def test_nothing_is_planted_into_nothing() -> None:
    made = slices(1, 3)
    made.undisturbed[:] = False
    planted = plant(made, 1)
    assert len(planted.baseline) == 0
    assert estimate(planted, "cpu_ns", 0.015).num_pairs == 0
