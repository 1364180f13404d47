"""One small real run of the engine tier with a simulated model: what it leaves, and what an engine that raises does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from bench.chain import exit_code
from bench.engine.resolved import VARIANT
from bench.measure.folder import read_manifest
from bench.measure.opening import open_campaign
from bench.options import Experiment
from bench.units import NS_PER_MS

PARTS = ("schedule", "update", "finish", "grammar", "model", "idle", "input", "output", "other")


@pytest.fixture(scope="module")
def engine_run(tmp_path_factory: pytest.TempPathFactory, small_experiment: Callable[..., Experiment]) -> Path:
    """`dict`, and a candidate that raises while it is timed, in an engine whose model is simulated."""
    run_dir = tmp_path_factory.mktemp("runs") / "engine"
    experiment = small_experiment(
        candidates=["dict", "class:tests.measure.broken:RaisesWhenTimed"],
        cells=[
            {
                "tier": "engine",
                "workloads": ["steady-decode"],
                "num_running": [16],
                "options": {"steps": 24},
                "sweep": {"stand_in_model_ms": [1]},
            }
        ],
    )
    open_campaign(experiment, run_dir).measure()
    return run_dir


@pytest.fixture(scope="module")
def async_run(tmp_path_factory: pytest.TempPathFactory, small_experiment: Callable[..., Experiment]) -> Path:
    """Steps that wait for a simulated model which runs beside the scheduler, for much longer than that takes."""
    run_dir = tmp_path_factory.mktemp("runs") / "async"
    cell = {"tier": "engine", "workloads": ["steady-decode"], "num_running": [16], "options": {"steps": 24}}
    sweep = {"async_scheduling": [True], "stand_in_model_ms": [20]}
    open_campaign(small_experiment(candidates=["dict"], cells=[cell | {"sweep": sweep}]), run_dir).measure()
    return run_dir


def test_a_timed_step_waits_for_its_model_though_that_went_on_between_two_slices(async_run: Path) -> None:
    slices = pairs_of(async_run)
    # As long as the model, but for how late the thread that waits is woken; without a lead-in it is half of it.
    assert (slices["step_ns"] / slices["num_steps"]).median() > 0.75 * 20 * NS_PER_MS


def test_the_first_step_of_each_slice_is_run_and_not_timed(async_run: Path) -> None:
    for path in (async_run / "steps").glob("*.parquet"):
        steps = pd.read_parquet(path)
        num_slices = steps["slice"].max() + 1
        assert (steps["phase"] == "lead-in").sum() == num_slices * 2  # arms
        assert (steps.loc[steps["phase"] == "lead-in", "slice"] == -1).all()
        slices = pd.read_parquet(async_run / "pairs" / path.name)
        steady = steps[steps["phase"] == "steady"].groupby(["arm", "slice"])
        assert (steady["step"].min() == slices.set_index(["arm", "slice"])["first_step"]).all()
        assert (steady.size() == slices.set_index(["arm", "slice"])["num_steps"]).all()


def pairs_of(run_dir: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(file) for file in sorted((run_dir / "pairs").glob("*.parquet"))])


def test_every_cell_says_that_its_model_is_simulated(engine_run: Path) -> None:
    manifest = read_manifest(engine_run)
    assert all("simulated_model_1ms" in c.cell and "simulated model 1ms" in c.workload for c in manifest.comparisons)
    assert all(engine["stand_in_model_ms"] == 1 for engine in manifest.engine.values())


def test_the_parts_of_every_slice_add_up_to_its_steps(engine_run: Path) -> None:
    slices = pairs_of(engine_run)
    assert (slices[[f"{part}_ns" for part in PARTS]].sum(axis=1) == slices["step_ns"]).all()
    assert (slices["model_ns"] >= 1_000_000 * slices["num_steps"]).all()


def test_the_resolved_options_of_both_arms_are_saved(engine_run: Path) -> None:
    (file,) = (engine_run / "engines").glob("*--dict.json")
    arms = json.loads(file.read_text())
    assert {*arms} == {"baseline", "candidate"}
    differ = {name for name, value in arms["baseline"].items() if arms["candidate"][name] != value}
    assert differ == {VARIANT}
    assert arms["baseline"]["scheduler_config.async_scheduling"] == "False"
    assert arms["baseline"]["executor"] == "StandInExecutor"


def test_the_probe_was_timed_against_nothing(engine_run: Path) -> None:
    (file,) = (engine_run / "probe").glob("*.parquet")
    steps = pd.read_parquet(file)
    assert {*steps["num_running"]} == {16}
    assert (steps[["with_ns", "without_ns"]] > 0).all(axis=None)


def test_an_engine_that_raises_fails_its_comparison_in_one_line_and_the_rest_is_kept(engine_run: Path) -> None:
    manifest = read_manifest(engine_run)
    status = {c.candidate: c.status for c in manifest.comparisons}
    assert (status["dict"], status["list"]) == ("measured", "measured")
    (failed,) = [c for c in manifest.comparisons if "RaisesWhenTimed" in c.candidate]
    assert failed.status == "failed"
    assert failed.message == "an arm raised RuntimeError: out of something"
    assert manifest.status == "partial"
    assert exit_code(manifest, pd.DataFrame({"verdict": []}), gate=False) == 1
