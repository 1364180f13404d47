from __future__ import annotations

from typing import Any

import pytest

from bench.errors import TraceError
from bench.traces.workloads.workload import Option

WHOLE = Option("steps", 128, "length", 1, 1000, "steps")
NUMBER = Option("share", 0.5, "share", 0.1, 0.9)
WORD = Option("position", "head", "place", choices=("head", "tail"))


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [(WHOLE, 1, 1), (WHOLE, 1000, 1000), (NUMBER, 0.1, 0.1), (WORD, "tail", "tail")],
)
def test_value_within_bounds_is_kept(option: Option, value: Any, expected: Any) -> None:
    assert option.checked(value, "w") == expected


def test_whole_number_is_taken_as_a_number() -> None:
    value = Option("step_ms", 10.0, "time", 1, 100).checked(5, "w")
    assert value == 5
    assert isinstance(value, float)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        (WHOLE, 0, "workload w: option steps is 0, expected 1 to 1000 steps"),
        (WHOLE, 1001, "workload w: option steps is 1001, expected 1 to 1000 steps"),
        (WHOLE, 5.0, "workload w: option steps is 5.0, expected a whole number"),
        (WHOLE, True, "workload w: option steps is True, expected a whole number"),
        (WHOLE, "5", "workload w: option steps is '5', expected a whole number"),
        (NUMBER, 0.95, "workload w: option share is 0.95, expected 0.1 to 0.9"),
        (NUMBER, float("nan"), "workload w: option share is nan, expected 0.1 to 0.9"),
        (NUMBER, "x", "workload w: option share is 'x', expected a number"),
        (WORD, "heat", "workload w: option position is 'heat'; did you mean \"head\"?"),
        (WORD, 3, "workload w: option position is 3, expected a string; one of head, tail"),
    ],
)
def test_impossible_value_is_refused(option: Option, value: Any, expected: str) -> None:
    with pytest.raises(TraceError) as caught:
        option.checked(value, "w")
    assert str(caught.value) == expected
