from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.measure.messages import ProbeCostResult
from bench.measure.plan import plan_cells
from bench.measure.probe_cost import MAX_PAIRS, MIN_PAIRS, probe_cost_tasks, probe_file, write_probe_cost
from bench.options import Experiment

Make = Callable[..., Experiment]


@pytest.fixture
def experiment(small_experiment: Make) -> Experiment:
    cells = [
        {"workloads": ["steady-decode"], "num_running": [32]},
        {"tier": "engine", "workloads": ["steady-decode", "abort-storm"], "num_running": [16, 1024]},
        {
            "tier": "engine",
            "workloads": ["finish-wave"],
            "num_running": [16],
            "sweep": {"async_scheduling": [True], "stand_in_model_ms": [40]},
        },
    ]
    return small_experiment(cells=cells)


def test_each_size_of_the_engine_tier_is_measured_once_and_with_hardly_any_model(experiment: Experiment) -> None:
    tasks = probe_cost_tasks(plan_cells(experiment), experiment, spawn=False)
    assert [task.setting.comparison for task in tasks] == ["probe-n16", "probe-n1024"]
    assert [task.num_pairs for task in tasks] == [MAX_PAIRS, max(MIN_PAIRS, 146)]
    for task in tasks:
        assert task.setting.baseline == task.setting.candidate == "list"
        assert task.setting.shape.stand_in_model_ms == 0.01
        assert not task.setting.shape.async_scheduling
        assert int(task.setting.trace.options["steps"]) > task.first + 2 * task.num_pairs


def test_the_rows_of_a_size_are_its_pairs_of_steps(tmp_path: Path) -> None:
    write_probe_cost(tmp_path, ProbeCostResult("probe-n16", np.array([[12, 10], [13, 11]])))
    rows = pd.read_parquet(probe_file(tmp_path, "probe-n16"))
    assert rows.to_dict("list") == {
        "num_running": [16, 16],
        "pair": [0, 1],
        "with_ns": [12, 13],
        "without_ns": [10, 11],
    }
