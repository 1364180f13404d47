from __future__ import annotations

import pytest

from bench.errors import TraceError
from bench.traces.options import parse_assignments


def test_values_keep_their_types() -> None:
    options = parse_assignments(["steps=64", "kv_share=0.5", "position=tail", 'name="a b"', "on=true"])
    assert options == {"steps": 64, "kv_share": 0.5, "position": "tail", "name": "a b", "on": True}
    assert type(options["steps"]) is int


def test_spaces_around_name_and_value_are_stood() -> None:
    assert parse_assignments([" steps = 64 "]) == {"steps": 64}


@pytest.mark.parametrize("assignment", ["steps", "=3", "steps=", ""])
def test_text_that_assigns_nothing_is_refused(assignment: str) -> None:
    with pytest.raises(TraceError, match="expected NAME=VALUE"):
        parse_assignments([assignment])


def test_name_set_twice_is_refused() -> None:
    with pytest.raises(TraceError, match="steps is set twice"):
        parse_assignments(["steps=1", "steps=2"])


@pytest.mark.parametrize("value", ["[1]", "{a = 1}", "1979-05-27"])
def test_value_of_another_kind_is_refused(value: str) -> None:
    with pytest.raises(TraceError, match="expected a number, a word, true or false"):
        parse_assignments([f"steps={value}"])


def test_deeply_nested_value_ends_in_no_other_error() -> None:
    assert parse_assignments(["steps=" + "[" * 5000]) == {"steps": "[" * 5000}
