from __future__ import annotations

import ast

import pytest

from bench.errors import VariantError
from bench.variants import running_as_dict, running_as_list
from bench.variants.source import installed_source

HEAD = "import itertools\nfrom collections.abc import Iterable\n\n\nclass Scheduler:\n    def method(self):\n"


def rewritten(*lines: str) -> list[str]:
    text = HEAD + "".join(f"        {line}\n" for line in lines)
    return [line[8:] for line in running_as_dict.rewrite(text, "scheduler.py").splitlines()[6:]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.running.append(request)", "self.running[request] = None"),
        ("name = self.running[0].request_id", "name = next(iter(self.running)).request_id"),
        ("victim = self.running[-1]", "victim = next(reversed(self.running))"),
        ("request = self.running.pop()", "request = self.running.popitem()[0]"),
        ("self.running.remove(victim)", "del self.running[victim]"),
    ],
)
def test_one_use_is_rewritten(before: str, after: str) -> None:
    assert rewritten(before) == [after]


def test_the_queue_is_an_insertion_ordered_set_and_says_so() -> None:
    assert rewritten("# Running.", "self.running: list[Request] = []") == [
        "# Running.",
        "# A set in order of admission: the values are not used.",
        "self.running: dict[Request, None] = {}",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "n = len(self.running)",
        "b = bool(self.running)",
        "x = any(r.ok for r in self.running)",
        "v = max(self.running, key=f)",
        "self.waiting.append(request)",
        "x = self.waiting[-1]",
        "y = self.waiting.pop()",
    ],
)
def test_what_reads_the_same_for_both_stays(line: str) -> None:
    assert rewritten(line) == [line]


def test_several_are_removed_one_by_one_and_a_missing_one_is_tolerated() -> None:
    assert rewritten("self.running = remove_all(self.running, stopped)") == [
        "for req in stopped:",
        "    self.running.pop(req, None)",
    ]


def test_the_loop_variable_takes_no_name_that_the_method_uses() -> None:
    lines = rewritten("req = 1", "self.running = remove_all(self.running, stopped)", "return req")
    assert lines[1] == "for stopped_req in stopped:"


def test_the_walk_keeps_its_cursor_and_goes_on_behind_the_current_request_after_a_removal() -> None:
    assert rewritten(
        "i = 0",
        "while i < len(self.running) and budget > 0:",
        "    request = self.running[i]",
        "    victim = self.running.pop()",
        "    i += 1",
    ) == [
        "i = 0",
        "# No iterator outlives a preemption, which changes the dict: a new one begins",
        "# behind the current request.",
        "unvisited = iter(self.running)",
        "while budget > 0 and (request := next(unvisited, None)) is not None:",
        "    victim = self.running.popitem()[0]",
        "    unvisited = itertools.islice(self.running, i + 1, None)",
        "    i += 1",
    ]


def test_index_delete_and_shift_become_one_look_among_the_visited() -> None:
    lines = rewritten(
        "while i < len(self.running):",
        "    request = self.running[i]",
        "    place = self.running.index(victim)",
        "    del self.running[place]",
        "    if place < i:",
        "        i -= 1",
    )
    assert lines[2:] == [
        "unvisited = iter(self.running)",
        "while (request := next(unvisited, None)) is not None:",
        "    if victim in itertools.islice(self.running, i):",
        "        i -= 1",
        "    del self.running[victim]",
        "    unvisited = itertools.islice(self.running, i + 1, None)",
    ]


def test_a_pop_outside_the_walk_touches_no_iterator() -> None:
    assert rewritten("while self.running:", "    request = self.running.pop()") == [
        "while self.running:",
        "    request = self.running.popitem()[0]",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ("request = self.running[i]",),  # a position outside a walk
        ("while j < len(self.running):", "    request = self.running[i]"),  # another cursor
        ("place = self.running.index(victim)", "del self.running[place]"),  # no walk whose cursor would shift
        (
            "while i < len(self.running):",
            "    r = self.running[i]",
            "    p = self.running.index(r)",
            "    del self.running[q]",
        ),
        ("del self.running[place]",),
        ("while i < len(self.running):", "    name = self.running[i].request_id"),  # no plain reading
        ("while i < len(self.running) or more:", "    r = self.running[i]"),  # goes on behind the end
        ("unvisited = 1", "while i < len(self.running):", "    r = self.running[i]"),  # a name that is taken
    ],
)
def test_a_known_use_in_an_unknown_place_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(VariantError, match=r"scheduler\.py"):
        rewritten(*lines)


def test_a_list_rebuilt_from_its_survivors_becomes_deletions() -> None:
    assert rewritten(
        "kept: list[Request] = []",
        "for r in self.running:",
        "    if not done:",
        "        kept.append(r)",
        "self.running = kept",
    ) == [
        "stopped_reqs: list[Request] = []",
        "for r in self.running:",
        "    if done:",
        "        stopped_reqs.append(r)",
        "for req in stopped_reqs:",
        "    del self.running[req]",
    ]


def test_the_walk_imports_what_it_needs_and_what_is_there_stays_once() -> None:
    walk = "class S:\n    def f(self):\n        while i < len(self.running):\n            r = self.running[i]\n"
    head = "from collections.abc import Iterable\n\n\n"
    after = running_as_dict.rewrite(f"import time\n{head}{walk}", "s.py")
    assert after.startswith("import itertools\nimport time\nfrom collections.abc import Iterable\n")
    after = running_as_dict.rewrite(f"import itertools\nimport time\n{head}{walk}", "s.py")
    assert after.startswith("import itertools\nimport time\nfrom collections.abc import Iterable\n")
    with pytest.raises(VariantError, match="no plain import"):
        running_as_dict.rewrite(head + walk, "s.py")


def test_a_module_without_the_queue_is_returned_as_it_is() -> None:
    text = "x = 1  #   odd   spacing\n"
    assert running_as_dict.rewrite(text, "utils.py") == text


def test_the_installed_scheduler_compiles_and_keeps_no_list_operation() -> None:
    for file, text in installed_source().texts.items():
        after = running_as_dict.rewrite(text, file)
        ast.parse(after)
        for left in ("self.running.append", "self.running.index", "self.running[-1]", "remove_all(self.running"):
            assert left not in after


def test_the_rewrite_touches_nothing_but_the_queue() -> None:
    text = installed_source().texts["scheduler.py"]
    after = running_as_dict.rewrite(text, "scheduler.py")
    before_lines, after_lines = set(text.splitlines()), set(after.splitlines())
    new = {line.strip() for line in after_lines - before_lines if "running" not in line}
    assert {line for line in new if not line.startswith("#")} == {
        "while token_budget > 0 and (request := next(unvisited, None)) is not None:",
        "from vllm.v1.core.sched.utils import check_stop",
    }


def test_rewriting_twice_is_refused_since_the_uses_are_no_longer_lists() -> None:
    after = running_as_dict.rewrite(installed_source().texts["scheduler.py"], "scheduler.py")
    with pytest.raises(VariantError, match="unknown use"):
        running_as_dict.rewrite(after, "scheduler.py")


def test_the_identity_changes_no_byte_of_the_installed_scheduler() -> None:
    for file, text in installed_source().texts.items():
        assert running_as_list.rewrite(text, file) == text


def test_the_identity_refuses_an_unknown_use_too() -> None:
    with pytest.raises(VariantError, match=r"s\.py line 3: unknown use"):
        running_as_list.rewrite("class S:\n def f(self):\n  self.running.sort()\n", "s.py")
