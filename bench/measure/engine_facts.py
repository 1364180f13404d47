"""Saves what vLLM made of each arm's options: `engines/<comparison>.json`, once a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bench.measure.folder import write_whole
from bench.measure.messages import PairResult


def engine_file(run_dir: Path, comparison: str) -> Path:
    """Where the resolved options of both arms lie."""
    return run_dir / "engines" / f"{comparison}.json"


def write_engine_facts(run_dir: Path, result: PairResult) -> None:
    """Write the options of both arms of the comparison's first pair; those of later pairs were checked to be alike."""
    if result.engines:
        write_engines(run_dir, result.comparison, result.engines)


def write_engines(run_dir: Path, comparison: str, engines: Mapping[str, Mapping[str, str]]) -> None:
    """Write the options of both arms, by arm, unless the comparison has them already."""
    path = engine_file(run_dir, comparison)
    if path.is_file():
        return
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(engines, indent=1, sort_keys=True)
    write_whole(path, lambda beside: beside.write_text(text + "\n", encoding="utf-8"))
