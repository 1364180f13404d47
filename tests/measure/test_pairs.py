"""What becomes of a comparison whose candidate fails: a row with its reason, never a lost run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bench.chain import exit_code
from bench.manifest import ComparisonRecord, Manifest
from bench.measure.opening import open_campaign
from tests.measure.conftest import Make


@pytest.fixture(scope="module")
def failing_run(tmp_path_factory: pytest.TempPathFactory, small_experiment: Make) -> Manifest:
    names = ["Hangs", "Raises", "Reverses", "ChangesItsMind", "Dies"]
    experiment = small_experiment(
        candidates=[f"class:tests.measure.broken:{name}" for name in names] + ["dict"],
        measure={"pairs": 2, "zygotes": 1, "slice_ms": 0.5, "step_time_limit_s": 5.0, "canary": False},
    )
    return open_campaign(experiment, tmp_path_factory.mktemp("failing") / "run", resume=False).measure()


def of(manifest: Manifest, name: str) -> ComparisonRecord:
    return next(c for c in manifest.comparisons if name in c.candidate)


def test_a_step_that_never_ends_is_void_at_that_step(failing_run: Manifest) -> None:
    found = of(failing_run, "Hangs")
    assert found.status == "void"
    assert "step 9: error" in found.message
    assert "ran for more than 5 s" in found.message


def test_a_step_that_raises_is_void_at_that_step(failing_run: Manifest) -> None:
    found = of(failing_run, "Raises")
    assert found.status == "void"
    assert "step 9: error: baseline None, candidate 'ValueError: no more'" in found.message


def test_another_order_is_void_and_shows_both(failing_run: Manifest) -> None:
    found = of(failing_run, "Reverses")
    assert found.status == "void"
    assert "step 9: num_scheduled_tokens: baseline [" in found.message


def test_arms_that_differ_only_while_timed_are_void_too(failing_run: Manifest) -> None:
    found = of(failing_run, "ChangesItsMind")
    assert found.parity is not None
    assert found.parity.alike
    assert found.status == "void"
    assert "the arms did not do the same while timed" in found.message


def test_a_lost_process_fails_its_comparison_and_the_others_go_on(failing_run: Manifest) -> None:
    assert of(failing_run, "Dies").status == "failed"
    assert "lost" in of(failing_run, "Dies").message
    good = next(c for c in failing_run.comparisons if c.candidate == "dict")
    assert (good.status, good.num_pairs) == ("measured", 2)


def test_void_decides_the_exit_code(failing_run: Manifest) -> None:
    assert exit_code(failing_run, pd.DataFrame({"verdict": []}), gate=False) == 3


def test_a_spawned_arm_gives_the_same_kind_of_pair(tmp_path: Path, small_experiment: Make) -> None:
    experiment = small_experiment(
        measure={"pairs": 2, "zygotes": 1, "slice_ms": 0.5, "arm_start": "spawn", "canary": False}
    )
    manifest = open_campaign(experiment, tmp_path / "run", resume=False).measure()
    assert [c.num_pairs for c in manifest.comparisons] == [2]
    assert len([*(tmp_path / "run" / "pairs").iterdir()]) == 2
