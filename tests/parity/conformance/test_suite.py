"""A whole run on a small made-up vLLM tree: two pytest processes, the variant in the place of vLLM's scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import cli
from bench.errors import InputError, MeasureError, VariantError
from bench.parity.conformance.outcomes import Comparison
from bench.parity.conformance.suite import from_anywhere, run_conformance, scheduler_tests, side_environment

TESTS = """
import random, sys, uuid

import vllm.v1.core.sched.scheduler as module
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine import core

VARIANT = Scheduler.__module__.split(".")[-2]
SEEN = "{seen}"


def test_every_name_is_the_variants():
    assert Scheduler.__module__ == f"bench.variants.built.{VARIANT}.scheduler"
    assert AsyncScheduler.__mro__[1] is Scheduler
    assert module.Scheduler is Scheduler
    assert sys.modules[Scheduler.__module__] is module
    assert getattr(core, "Scheduler", Scheduler) is Scheduler


def test_running_is_a_list_here():
    scheduler = object.__new__(Scheduler)
    vars(scheduler)["running"] = [] if VARIANT == "list" else {}
    scheduler.running.append("a")
    assert scheduler.running == ["a"]
    assert scheduler.running[0] == "a"
    assert type(vars(scheduler)["running"]).__name__ == VARIANT


def test_dice_fall_alike():
    from pathlib import Path
    drawn = f"{random.random()} {uuid.uuid4()}"
    seen = Path("dice")
    try:
        seen.open("x").write(drawn)
    except FileExistsError:
        assert seen.read_text() in ("", drawn)


def test_a_package_is_missing():
    import no_such_package_at_all


def test_fails_on_both():
    assert 1 == 2


def test_only_the_list_passes():
    assert VARIANT == "list"
"""
AGREEING = TESTS.partition("def test_only_the_list_passes")[0]


def write_tree(folder: Path, tests: str) -> Path:
    path = folder / "tests" / "v1" / "core" / "test_scheduler.py"
    path.parent.mkdir(parents=True)
    for package in ("tests", "tests/v1", "tests/v1/core"):
        (folder / package / "__init__.py").write_text("")
    path.write_text(tests)
    return folder


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return run_conformance("list", "dict", write_tree(tmp_path_factory.mktemp("vllm"), TESTS))


def test_what_passes_on_both_is_counted(comparison: Comparison) -> None:
    assert comparison.num_passed == 3


def test_what_fails_on_both_and_what_could_not_run_are_told_apart(comparison: Comparison) -> None:
    assert [*comparison.failed.values()] == [1]
    assert comparison.not_run == {"failed: needs the package no_such_package_at_all": 1}


def test_what_differs_is_named_with_both_ends(comparison: Comparison) -> None:
    (difference,) = comparison.differing
    assert difference.test.endswith("::test_only_the_list_passes")
    assert (difference.baseline.outcome, difference.candidate.outcome) == ("passed", "failed")


def test_the_command_ends_with_0_where_nothing_differs(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, AGREEING)
    arguments = ["conformance", "--candidate", "dict", "--vllm-source", str(tree)]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 0, done.output
    assert done.stdout.startswith("dict conforms with list in vLLM's own scheduler tests: 4 ran on both alike")


def test_a_side_that_does_not_get_to_its_tests_is_an_error_and_not_a_difference(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, "import os\nos._exit(7)\n")
    with pytest.raises(MeasureError, match=r"pytest on .* ended with 7"):
        run_conformance("list", "dict", tree)


def test_wrong_input_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(VariantError, match="unknown variant"):
        run_conformance("list", "dct", tmp_path)
    with pytest.raises(InputError, match="neither a vLLM source tree"):
        run_conformance("list", "dict", tmp_path)


def test_a_patch_and_a_class_named_from_here_are_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert from_anywhere("patch:mine.diff") == f"patch:{tmp_path / 'mine.diff'}"
    assert [from_anywhere(spec) for spec in ("dict", "class:m:C", "patch:")] == ["dict", "class:m:C", "patch:"]
    assert str(tmp_path) in side_environment("class:m:C")["PYTHONPATH"].split(":")
    assert str(tmp_path) not in side_environment("dict")["PYTHONPATH"].split(":")


def test_tests_that_schedule_are_found_and_those_that_start_an_engine_are_not(tmp_path: Path) -> None:
    folder = write_tree(tmp_path, "")
    core = folder / "tests" / "v1" / "core"
    (core / "test_pool.py").write_text("pool = BlockPool()\n")
    (core / "test_random.py").write_text("scheduler = create_scheduler_with_priority()\n")
    (core / "test_e2e.py").write_text("llm = LLM('m'); scheduler = create_scheduler()\n")
    (core / "utils.py").write_text("def create_scheduler(): return Scheduler()\n")
    assert scheduler_tests(folder) == ["tests/v1/core/test_random.py", "tests/v1/core/test_scheduler.py"]


def test_a_side_reaches_no_hub_and_keeps_its_caches_apart() -> None:
    environment = side_environment("dict")
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert "conformance" in environment["HF_HUB_CACHE"]
    assert "conformance" in environment["VLLM_CACHE_ROOT"]
