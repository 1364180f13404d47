"""The walk over RUNNING by position: how it is recognised, and how it goes over a dict.

The walk keeps its cursor. A dict may not change while it is iterated over, so after a removal inside the walk
a new iterator begins behind the current request: no snapshot of the queue, and to go on to the next request is
one call, `next`, in place of a length, a comparison and an index, without a look-up by hash. This is right as
long as each turn of the loop moves the cursor by one or ends the walk; the step-by-step proof holds that.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from bench.errors import VariantError
from bench.variants.syntax import block, body_of, code, line, only_call

ITERATOR = "unvisited"
_WHY = (
    cst.EmptyLine(comment=cst.Comment("# No iterator outlives a preemption, which changes the dict: a new one begins")),
    cst.EmptyLine(comment=cst.Comment("# behind the current request.")),
)
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


def with_iterator(loop: cst.While, cursor: str, file: str) -> cst.FlattenSentinel[cst.BaseStatement]:
    """`loop` over an iterator, until that ends; raises VariantError where it does not begin by reading a request."""
    first, *rest = body_of(loop).body
    name, read, _ = code(first.with_changes(leading_lines=[])).partition(f" = self.running[{cursor}]\n")
    if not (read and name.isidentifier()):
        raise VariantError(f"{file}: a walk over RUNNING begins with {code(first)[:120]!r}, expected one assignment")
    tests = [code(part) for part in _conjuncts(loop.test)]
    bound = f"{cursor} < len(self.running)"
    if tests.count(bound) != 1:
        raise VariantError(
            f"{file}: a walk over RUNNING goes on while {code(loop.test)[:120]!r}, expected {bound} and …"
        )
    tests.remove(bound)
    tests.append(f"({name} := next({ITERATOR}, None)) is not None")
    walk = loop.with_changes(
        test=cst.parse_expression(" and ".join(tests)),
        body=body_of(loop).with_changes(body=rest),
        leading_lines=[],
    )
    start = line(f"{ITERATOR} = iter(self.running)").with_changes(leading_lines=[*loop.leading_lines, *_WHY])
    return cst.FlattenSentinel([start, walk])


def restarted(cursor: str) -> cst.SimpleStatementLine:
    """What goes on behind the current request when the dict has changed."""
    return line(f"{ITERATOR} = itertools.islice(self.running, {cursor} + 1, None)")


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
        restarted(cursor),
    ]


def _conjuncts(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*_conjuncts(test.left), *_conjuncts(test.right)]
    return [test]
