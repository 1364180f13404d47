from __future__ import annotations

import libcst as cst
import pytest

from bench.errors import VariantError
from bench.variants.survivors import remove_stopped

START = ("kept: list[Request] = []",)
END = ("self.running = kept",)
LOOP = ("for r in self.running:", "    if not done:", "        kept.append(r)")


def removed(*lines: str, head: str = "class S:\n    def update(self):\n") -> list[str]:
    text = head + "".join(f"        {line}\n" for line in lines)
    after = remove_stopped(cst.parse_module(text), "scheduler.py").code
    return [line[8:] for line in after.removeprefix(head).splitlines()]


def test_the_stopped_are_collected_and_removed_behind_the_loop() -> None:
    assert removed(*START, *LOOP, "", *END, "return 1") == [
        "stopped_reqs: list[Request] = []",
        "for r in self.running:",
        "    if done:",
        "        stopped_reqs.append(r)",
        "",
        "for req in stopped_reqs:",
        "    self.running.remove(req)",
        "return 1",
    ]


def test_a_request_that_is_kept_early_only_goes_on() -> None:
    early = ("    if idle:", "        # It waits.", "        kept.append(r)", "        continue")
    after = removed(*START, LOOP[0], *early, *LOOP[1:], *END)
    assert after[1:6] == [LOOP[0], "    if idle:", "        # It waits.", "        continue", "    if done:"]


def test_no_name_of_the_method_is_taken() -> None:
    after = removed("stopped_reqs = req = 1", *START, *LOOP, *END)
    assert after[1] == "removed_reqs: list[Request] = []"
    assert after[-2] == "for stopped_req in removed_reqs:"


def test_what_rebuilds_nothing_is_left_alone() -> None:
    lines = ["for r in self.running:", "    if not done:", "        kept.append(r)", "return kept"]
    assert removed(*lines) == lines


@pytest.mark.parametrize(
    "lines",
    [
        (*START, LOOP[0], "    if idle:", "        continue", *LOOP[1:], *END),  # dropped without being named
        (*START, LOOP[0], "    if full:", "        break", *LOOP[1:], *END),  # all that follow are dropped
        (*START, LOOP[0], "    if full:", "        return 1", *LOOP[1:], *END),  # the queue would change half way
        (*START, LOOP[0], *LOOP[1:], "    more()", *END),  # kept before the turn has ended
        (*START, LOOP[0], "    kept.append(r)", *END),  # all are kept
        (*START, LOOP[0], "    if not done:", "        kept.append(other)", *END),  # another request is kept
        (*START, *LOOP, "    else:", "        kept.append(r)", *END),  # kept either way
        (*START, *LOOP, "kept.append(late)", *END),  # one is added behind the loop
        (*START, *LOOP, *LOOP, *END),  # each is kept twice
        (*LOOP, *END),  # never begins empty
    ],
)
def test_a_loop_that_does_not_say_of_each_request_whether_it_stays_is_refused(lines: tuple[str, ...]) -> None:
    with pytest.raises(
        VariantError, match=r"scheduler\.py: update rebuilds self\.running as kept, but not by one loop"
    ):
        removed(*lines)


def test_what_ends_an_inner_loop_ends_no_turn() -> None:
    inner = ("    for token in tokens:", "        if last:", "            break", "        continue")
    after = removed(*START, LOOP[0], *inner, *LOOP[1:], *END)
    assert after[2:6] == list(inner)
    with pytest.raises(VariantError, match="not by one loop"):
        removed(*START, LOOP[0], *inner, "        return 1", *LOOP[1:], *END)
