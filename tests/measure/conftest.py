"""One small real run, shared by the tests that look at what a run leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.measure.opening import open_campaign
from bench.options import Experiment

Make = Callable[..., Experiment]


@pytest.fixture(scope="session")
def small_experiment() -> Make:
    """An experiment of a few seconds; keyword arguments replace its top-level keys."""

    def make(**changes: object) -> Experiment:
        table: dict[str, object] = {
            "name": "small",
            "cells": [{"workloads": ["single-abort"], "num_running": [16], "options": {"steps": 48}}],
            "measure": {"pairs": 2, "zygotes": 1, "slice_ms": 0.5, "warmup_steps": 4},
        }
        return Experiment.model_validate({**table, **changes})

    return make


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory, small_experiment: Make) -> Path:
    """The folder of a finished run; do not change it."""
    run_dir = tmp_path_factory.mktemp("runs") / "small"
    open_campaign(small_experiment(), run_dir, resume=False).measure()
    return run_dir
