from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from bench.analysis.load import Run, load_run
from bench.report.facts import canary, facts, smallest_detectable
from tests.analysis.run_folder import Planned, change_manifest, write_run
from tests.report.rows import row, table, void_row


def test_facts_name_machine_noise_and_traces(typical_run: Run, typical: pd.DataFrame) -> None:
    found = facts(typical_run, typical)
    assert found.machine == "Example CPU, 2 cores, kernel 6.1.0, vllm 0.32.0, python 3.11.2"
    assert ("abort-storm", "c" * 12) in found.traces
    assert [line.split(" ")[0] for line in found.noise] == ["Minimum", "Disturbed", "A/A"]


def test_share_of_disturbed_slices_is_set_against_what_is_allowed(tmp_path: Path) -> None:
    from bench.analysis.comparisons import compare

    disturbed = (0.0, 0.1, 1.0)
    planned = [Planned(pairs=6, num_running=place + 1, disturbed=share) for place, share in enumerate(disturbed)]
    folder = write_run(tmp_path / "run", planned)
    run = load_run(folder)
    assert facts(run, compare(run)).noise[1] == (
        "Disturbed slices left out: 0.0 % to 100.0 % of a comparison; 1 of 3 comparisons above the 20 % allowed."
    )


def test_missing_canary_and_missing_pairs_are_said() -> None:
    assert canary(table(row())).startswith("No A/A canary")
    assert smallest_detectable(table(void_row("a", "why"))).startswith("No comparison has pairs enough")


def test_range_of_detectable_effects_leaves_out_what_has_none() -> None:
    rows = table(row(mde_pct=0.5), row(mde_pct=2.0), row(mde_pct=math.nan))
    assert "0.50 % to 2.00 %" in smallest_detectable(rows)


def test_canary_is_quoted_with_tier_verdict_and_interval() -> None:
    assert canary(table(row(canary=True))) == (
        "A/A canary, the baseline compared with itself: replay EQUIVALENT -0.31 % [-0.62, +0.10] %."
    )


def test_machine_of_another_shape_is_still_one_line(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=1),))
    change_manifest(folder, lambda m: m.update(host={"cpu": ["a\nb"], "cores": {"x": 1}, "gpu": "G"}, versions={}))
    from bench.analysis.comparisons import compare

    run = load_run(folder)
    assert "\n" not in facts(run, compare(run)).machine
