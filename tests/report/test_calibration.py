from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.analysis.calibration import summarise
from bench.report.calibration import claim, write_calibration

PLAN: dict[str, Any] = {
    "config": {
        "verdict": {"margin_pct": 1.5},
        "cells": [{"workloads": ["steady-decode"], "num_running": [256]}],
    },
    "cpu": "Example <CPU>",
    "usable_cores": 2,
}


def gates(num_gates: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = []
    for gate in range(num_gates):
        error = rng.normal(0, 0.15)
        for planted in (0.0, 0.5, 1.0):
            effect = planted + error
            rows.append({
                "gate": gate, "planted_pct": planted, "look": 1, "num_pairs": 20, "effect_pct": effect,
                "low_pct": effect - 0.35, "high_pct": effect + 0.35, "judged_low_pct": effect - 0.45,
                "judged_high_pct": effect + 0.45, "pair_sd_pct": 0.7, "excluded_pct": 1.0,
                "verdict": "EQUIVALENT", "reason": "", "seconds": 41.0, "timed_s": 28.0,
            })  # fmt: skip
    return pd.DataFrame(rows)


def pairs() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame({
        "gate": np.repeat(np.arange(12), 20), "pair": np.tile(np.arange(20), 12),
        "zygote": np.tile(np.arange(20) // 10, 12), "score_pct": rng.normal(0, 0.7, 240),
    })  # fmt: skip


def test_the_claim_is_one_sentence_with_figures() -> None:
    words = claim(summarise(gates()), PLAN)
    assert words == (
        "In 12 gates of identical schedulers 0 were called SLOWER or FASTER (at most 22.1 % with 95 % confidence), "
        "and a planted +1 % was found in 12 of 12, in a median of 41 s a gate."
    )


def test_all_files_are_written_and_twice_the_same(tmp_path: Path) -> None:
    first = {path.name: path.read_bytes() for path in write_calibration(tmp_path, PLAN, gates(), pairs())}
    assert set(first) == {"calibration.json", "calibration.md", "calibration.svg", "calibration.png", "gates.csv"}
    assert first == {path.name: path.read_bytes() for path in write_calibration(tmp_path, PLAN, gates(), pairs())}
    content = json.loads(first["calibration.json"])
    assert [level["planted_pct"] for level in content["levels"]] == [0.0, 0.5, 1.0]
    assert content["variance_components"]["within_zygote_sd_pct"] == pytest.approx(0.7, rel=0.2)
    page = first["calibration.md"].decode()
    assert "| +1 %" in page
    assert "68 % of it in timed steps" in page


def test_one_gate_alone_can_be_summed_up(tmp_path: Path) -> None:
    one, its_pairs = gates(1), pairs().query("gate == 0")
    page = next(path for path in write_calibration(tmp_path, PLAN, one, its_pairs) if path.suffix == ".md")
    assert "nan" not in page.read_text()
