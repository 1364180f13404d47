from __future__ import annotations

import json
from pathlib import Path

from bench.analysis.comparisons import compare
from bench.analysis.load import load_run
from tests.analysis.run_folder import Planned, write_run


def with_hosts(folder: Path, *cpus: str) -> Path:
    """Say in the manifest of `folder` that its zygotes ran on these machines."""
    path = folder / "manifest.json"
    table = json.loads(path.read_text())
    table["zygotes"] = [{"hash_seed": place, "host": {"cpu": cpu, "usable_cores": 2}} for place, cpu in enumerate(cpus)]
    path.write_text(json.dumps(table))
    return folder


def test_pairs_of_machines_of_one_kind_are_pooled(tmp_path: Path) -> None:
    folder = with_hosts(write_run(tmp_path / "run", [Planned()]), *["same"] * 4)
    row = compare(load_run(folder)).query("gating").iloc[0]
    assert row["verdict"] == "EQUIVALENT"


def test_pairs_of_machines_of_different_kinds_are_never_pooled_silently(tmp_path: Path) -> None:
    folder = with_hosts(write_run(tmp_path / "run", [Planned()]), "fast", "slow", "slow", "slow")
    row = compare(load_run(folder)).query("gating").iloc[0]
    assert row["verdict"] == "INCONCLUSIVE"
    assert "hosts of different kinds, which are not pooled" in row["reason"]
    assert "5 on cpu fast" in row["reason"]
    assert "15 on cpu slow" in row["reason"]
