"""The walk over RUNNING by position: how it is recognised, and how it goes over a dict.

The walk keeps its cursor. A dict may not change while it is iterated over, so every removal inside the walk
drops the iterator, and the loop head makes a new one behind the requests that were already visited: no
snapshot of the queue, and no look-up by hash where the position walk had none. This is right as long as each
turn of the loop moves the cursor by one or removes something; the step-by-step proof holds that.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from bench.errors import VariantError
from bench.variants.syntax import block, body_of, code, line, only_call

ADVANCE = "next(running_iter)"
DROP = "running_iter = None"
_LESS = m.Comparison(left=m.Name(), comparisons=[m.ComparisonTarget(operator=m.LessThan())])
_POSITION = m.Subscript(value=m.Attribute(attr=m.Name("running")), slice=[m.SubscriptElement(m.Index(m.Name()))])


def walk_cursor(loop: cst.While) -> str | None:
    """The name of the cursor if `loop` walks over RUNNING by position, else None."""
    tests = m.findall(loop.test, _LESS)
    cursors = {cst.ensure_type(cst.ensure_type(test, cst.Comparison).left, cst.Name).value for test in tests}
    for read in m.findall(body_of(loop).body[0], _POSITION):
        element = cst.ensure_type(cst.ensure_type(read, cst.Subscript).slice[0].slice, cst.Index)
        name = cst.ensure_type(element.value, cst.Name).value
        if name in cursors:
            return name
    return None


def with_iterator(loop: cst.While, cursor: str) -> cst.FlattenSentinel[cst.BaseStatement]:
    """`loop` over an iterator that its head makes anew where a removal has dropped it."""
    restart = block(
        "if running_iter is None:\n"
        "    # Go on behind the requests already visited: a preemption changes\n"
        "    # the dict, which ends every iteration over it.\n"
        f"    running_iter = itertools.islice(self.running, {cursor}, None)\n"
    )
    body = body_of(loop)
    walk = loop.with_changes(body=body.with_changes(body=[restart, *body.body]), leading_lines=[])
    start = line("running_iter: Iterator[Request] | None = None").with_changes(leading_lines=loop.leading_lines)
    return cst.FlattenSentinel([start, walk])


def removed_by_index(statements: Sequence[cst.BaseStatement], cursor: str | None, file: str) -> str:
    """The victim of `v = self.running.index(victim)`, `del …[v]`, and a cursor shift; raises VariantError at others."""
    first = cst.ensure_type(statements[0], cst.SimpleStatementLine)
    index = code(cst.ensure_type(first.body[0], cst.Assign).targets[0].target)
    expected = f"del self.running[{index}]\nif {index} < {cursor}:\n    {cursor} -= 1\n"
    found = "".join(code(statement.with_changes(leading_lines=[])) for statement in statements[1:3])
    if cursor is None or found != expected:
        raise VariantError(f"{file}: after self.running.index(…) expected {expected!r}, found {found[:120]!r}")
    return code(only_call(first).args[0].value)


def removal_by_key(victim: str, cursor: str) -> list[cst.BaseStatement]:
    """The same removal from a dict: whether the cursor shifts is asked of the requests already visited."""
    return [
        block(f"if {victim} in itertools.islice(self.running, {cursor}):\n    {cursor} -= 1\n"),
        line(f"del self.running[{victim}]"),
        line(DROP),
    ]
