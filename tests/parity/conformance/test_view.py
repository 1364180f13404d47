from __future__ import annotations

from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from bench.parity.conformance.view import RunningView, keeps_dict, show_as_list
from bench.variants import load

HERE = Path(__file__).resolve().parent


def run_elsewhere(code: str, scheduler: Any) -> Any:
    """Evaluate `code` as if it stood in a scheduler module, not below the tests."""
    compiled: CodeType = compile(code, "/elsewhere/scheduler.py", "eval")
    return eval(compiled, {"s": scheduler, "setattr": setattr})


class OnList:
    def __init__(self) -> None:
        self.running: list[str] = []


class OnDict:
    def __init__(self) -> None:
        self.running: dict[str, None] = {}


def scheduler_with(container: Any) -> Any:
    """A scheduler whose own code has made its queue."""
    base = OnDict if isinstance(container, dict) else OnList
    scheduler_class = type("Scheduler", (base,), {})
    show_as_list(scheduler_class, HERE)
    scheduler: Any = object.__new__(scheduler_class)
    vars(scheduler)["running"] = container
    return scheduler


def test_a_view_reads_as_a_list_does() -> None:
    view = RunningView(dict.fromkeys("abc"))
    assert view == ["a", "b", "c"]
    assert view != ["a", "c", "b"]
    assert (view[0], view[-1], view[1:]) == ("a", "c", ["b", "c"])
    assert ([*view], len(view), "b" in view, view.index("c")) == (["a", "b", "c"], 3, True, 2)
    assert repr(view) == "['a', 'b', 'c']"
    assert not RunningView({})
    with pytest.raises(IndexError):
        view[3]


def test_a_view_writes_through_in_order() -> None:
    members = dict.fromkeys("abc")
    view = RunningView(members)
    view.append("d")
    view.remove("b")
    view.insert(0, "e")
    view[1] = "f"
    del view[2]
    assert view.pop() == "d"
    assert [*members] == ["e", "f"]


def test_tests_are_shown_a_list_and_the_schedulers_code_its_own_container() -> None:
    members = dict.fromkeys("ab")
    scheduler = scheduler_with(members)
    assert scheduler.running[1] == "b"
    assert run_elsewhere("s.running", scheduler) is members
    with pytest.raises(AttributeError, match="append"):
        run_elsewhere("s.running.append('c')", scheduler)


def test_a_list_that_a_test_puts_in_place_fills_the_variants_container() -> None:
    scheduler = scheduler_with({})
    scheduler.running = ["b", "a"]
    assert vars(scheduler)["running"] == {"b": None, "a": None}
    assert [*vars(scheduler)["running"]] == ["b", "a"]


def test_a_scheduler_on_which_no_constructor_has_run_is_filled_as_its_variant_would() -> None:
    for base, container in ((OnDict, {"a": None}), (OnList, ["a"])):
        scheduler_class = type("Scheduler", (base,), {})
        show_as_list(scheduler_class, HERE)
        scheduler: Any = object.__new__(scheduler_class)
        scheduler.running = ["a"]
        assert vars(scheduler)["running"] == container


def test_the_constructor_tells_what_a_variant_keeps() -> None:
    assert keeps_dict(load("dict").async_scheduler)
    assert not keeps_dict(load("list").async_scheduler)


def test_a_list_that_the_schedulers_code_puts_in_place_stays_one() -> None:
    scheduler = scheduler_with({})
    run_elsewhere("setattr(s, 'running', ['a'])", scheduler)
    assert vars(scheduler)["running"] == ["a"]


def test_a_list_is_shown_as_it_is() -> None:
    members = ["a"]
    assert scheduler_with(members).running is members


def test_a_scheduler_without_a_queue_lacks_the_attribute() -> None:
    scheduler = scheduler_with({})
    del vars(scheduler)["running"]
    assert not hasattr(scheduler, "running")
