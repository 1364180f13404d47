from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.analysis.calibration import (
    components,
    gate_rows,
    pair_rows,
    power_curve,
    share_interval,
    summarise,
    upper_bound,
)
from bench.analysis.load import load_run
from tests.analysis.run_folder import Planned, write_run


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planned = [Planned(candidate="list", pairs=20, effect=0.0, sd=0.01)]
    return write_run(tmp_path_factory.mktemp("gate") / "run", planned, with_steps=False)


def test_a_gate_has_a_row_for_itself_and_one_a_planted_effect(same: Path) -> None:
    rows = gate_rows(load_run(same), 7, (10.0, 20.0), seconds=30.0)
    assert [*rows["planted_pct"]] == [0.0, 10.0, 20.0]
    assert set(rows["gate"]) == {7}
    truth = rows["effect_pct"].to_numpy() - rows["planted_pct"].to_numpy()
    assert np.abs(truth).max() < 4 * rows["pair_sd_pct"].max() / np.sqrt(20) + 0.5
    assert rows.loc[rows["planted_pct"] == 20.0, "verdict"].item() == "SLOWER"
    assert (rows["timed_s"] > 0).all()


def test_the_scores_of_its_pairs_are_kept_with_their_zygotes(same: Path) -> None:
    rows = pair_rows(load_run(same), 7)
    assert len(rows) == 20
    assert rows["zygote"].nunique() == 4


def gates(effects: list[float], half: float, planted: float = 0.0, verdict: str = "EQUIVALENT") -> pd.DataFrame:
    effect = np.array(effects)
    return pd.DataFrame({
        "gate": range(effect.size), "planted_pct": planted, "effect_pct": effect, "low_pct": effect - half,
        "high_pct": effect + half, "judged_low_pct": effect - half, "judged_high_pct": effect + half,
        "verdict": verdict, "seconds": 40.0, "timed_s": 30.0,
    })  # fmt: skip


def test_summary_counts_by_hand() -> None:
    same = gates([0.0, 0.1, -0.1, 0.6], half=0.5)
    slower = gates([1.0, 1.2, 0.3, -0.9], half=0.5, planted=1.0, verdict="SLOWER")
    found = summarise(pd.concat([same, slower])).set_index("planted_pct")
    assert found.loc[0.0, ["num_gates", "called", "found", "wrong_sign", "covered"]].tolist() == [4, 0, 1, 0, 3]
    assert found.loc[1.0, ["num_gates", "called", "found", "wrong_sign", "covered"]].tolist() == [4, 4, 2, 1, 2]
    assert found.loc[0.0, "timed_share_pct"] == pytest.approx(75)
    assert found.loc[1.0, "effect_pct"] == pytest.approx(0.4)


def test_shares_have_exact_intervals() -> None:
    assert upper_bound(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100))  # the rule of three, exactly
    assert upper_bound(3, 3) == 1.0
    low, high = share_interval(0, 20)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert share_interval(20, 20)[1] == 1.0


def test_components_tell_zygotes_from_pairs() -> None:
    rng = np.random.default_rng(2)
    rows = [
        {"gate": gate, "zygote": zygote, "score_pct": shift + rng.normal(0, 1.0)}
        for gate in range(60)
        for zygote, shift in enumerate(rng.normal(0, 0.5, size=4))
        for _ in range(10)
    ]
    found = components(pd.DataFrame(rows))
    assert found["within_zygote_sd_pct"] == pytest.approx(1.0, rel=0.1)
    assert found["between_zygotes_sd_pct"] == pytest.approx(0.5, rel=0.25)
    assert (found["num_pairs"], found["num_zygotes"]) == (2400, 240)


def test_power_grows_with_the_effect() -> None:
    low, middle, high = power_curve(1.0, 20, [0.1, 0.66, 3.0])
    assert low < 0.1
    assert middle == pytest.approx(0.80, abs=0.02)  # the effect that 20 pairs find in 80 of 100 runs
    assert high > 0.999
