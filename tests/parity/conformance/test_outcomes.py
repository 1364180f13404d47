from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.parity.conformance.outcomes import Outcome, compare, read_outcomes, reason_of, table_of


def outcomes(*entries: tuple[str, str, str]) -> dict[str, Outcome]:
    return {test: Outcome(test, outcome, reason) for test, outcome, reason in entries}


BOTH = [
    ("a", "passed", ""),
    ("b", "failed", "assert 1 == 2"),
    ("c", "failed", "needs the package x"),
    ("d", "skipped", "no GPU"),
    ("e", "error", "needs the fixture f of vLLM's conftest"),
]


def test_tests_are_counted_by_what_became_of_them_on_both_sides() -> None:
    comparison = compare(outcomes(*BOTH), outcomes(*BOTH))
    assert comparison.num_passed == 1
    assert comparison.failed == {"assert 1 == 2": 1}
    assert comparison.not_run == {
        "failed: needs the package x": 1,
        "skipped: no GPU": 1,
        "error: needs the fixture f of vLLM's conftest": 1,
    }
    assert (comparison.num_ran, comparison.differing, comparison.conforms) == (2, [], True)


@pytest.mark.parametrize(
    "other",
    [
        [("a", "failed", "assert 0")],
        [("a", "error", "x")],
        [("a", "skipped", "x")],
        [],
        [*BOTH[:1], ("b", "passed", "")],
        [*BOTH[:1], ("b", "failed", "KeyError: 3")],
    ],
)
def test_anything_else_on_the_candidate_differs(other: list[tuple[str, str, str]]) -> None:
    mine = BOTH[: max(1, len(other))]
    for baseline, candidate in ((mine, other), (other, mine)):
        comparison = compare(outcomes(*baseline), outcomes(*candidate))
        assert len(comparison.differing) == 1
        assert not comparison.conforms


def test_a_run_in_which_nothing_passed_shows_nothing() -> None:
    assert not compare(outcomes(*BOTH[1:]), outcomes(*BOTH[1:])).conforms
    assert not compare({}, {}).conforms


@pytest.mark.parametrize(
    ("error", "logged", "reason"),
    [
        ("Traceback:\n  x\nAssertionError: assert 1 == 2\n +  where 1 = f()", "", "AssertionError: assert 1 == 2"),
        ("KeyError: 1\n\nDuring handling, another:\n\nvllm.x.BadError: no", "", "vllm.x.BadError: no"),
        ("ModuleNotFoundError: No module named 'torchaudio.x'", "", "needs the package torchaudio"),
        ("ModuleNotFoundError: No module named 'torchaudio'", "", "needs the package torchaudio"),
        ("ValueError: cannot be inspected", "ImportError: No module named 'nixl'", "needs the package nixl"),
        ("E       fixture 'dist_init' not found", "", "needs the fixture dist_init of vLLM's conftest"),
        (
            "OSError: Cannot reach https://huggingface.co/o/m-1.5/resolve/main/x: offline",
            "",
            "needs files of o/m-1.5 from a model hub",
        ),
        ("LocalEntryNotFoundError: x", "", "needs a model hub"),
        ("AssertionError: Torch not compiled with CUDA enabled", "", "needs CUDA"),
        ("KeyError: <R object at 0x7f00aa>", "", "KeyError: <R object at 0x…>"),
        ("  x\nFailed: Timeout (>300.0s) from pytest-timeout.", "", "Failed: Timeout (>300.0s) from pytest-timeout."),
        ("something else", "", "something else"),
        ("", "", "unknown"),
    ],
)
def test_a_reason_is_one_line_that_names_what_is_needed(error: str, logged: str, reason: str) -> None:
    assert reason_of(error, logged) == reason


def test_a_bad_teardown_counts_though_the_test_passed(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    lines = [("a", "passed", ""), ("a", "error", "x"), ("b", "failed", "y"), ("b", "error", "z")]
    path.write_text("".join(json.dumps(vars(Outcome(*line))) + "\n" for line in lines))
    found = read_outcomes(path)
    assert (found["a"].outcome, found["b"].outcome) == ("error", "failed")


def test_the_table_says_the_verdict_first_and_both_sides_of_a_difference() -> None:
    mine, other = outcomes(*BOTH), outcomes(*BOTH[1:], ("a", "failed", "assert 0"))
    lines = table_of(compare(mine, mine), "list", "dict").splitlines()
    assert lines[0] == "dict conforms with list in vLLM's own scheduler tests: 2 ran on both alike"
    assert lines[2].split() == ["passed", "on", "both", "1"]
    lines = table_of(compare(mine, other), "list", "dict").splitlines()
    assert lines[0].startswith("dict is NOT SHOWN to conform with list")
    assert lines[-3:] == ["a", "  list: passed", "  dict: failed assert 0"]
