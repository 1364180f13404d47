"""The rewrite of RUNNING as vLLM PR #14781 posted it, its defects carried to the installed vLLM: a canary.

It must never be measured: whoever proves equivalence has to refuse it. On top of the dict rewrite,

* the walk is a `for` over the dict with a count of the requests taken to be live,
* a victim is looked at and stays in the dict, so that the next look finds it again,
* the count of live requests goes up with each victim in place of down,
* whether the requester was its own victim is asked of that count, which never says yes,
* victims are to be cut off the end after the walk, which that count never allows,
* stopped and aborted requests are deleted strictly: one that is missing raises.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from bench.errors import VariantError
from bench.variants import running_as_dict
from bench.variants.running_walk import ITERATOR
from bench.variants.source import SCHEDULER
from bench.variants.syntax import code
from bench.variants.uses import RUNNING

_ITER = m.Name(ITERATOR)
_WALK = m.While(test=m.BooleanOperation(operator=m.And(), right=m.Comparison(left=m.NamedExpr())))
_START = m.SimpleStatementLine([m.Assign([m.AssignTarget(_ITER)], m.Call(m.Name("iter")))])
_RESTART = m.SimpleStatementLine([m.Assign([m.AssignTarget(_ITER)], m.Call(m.Attribute(attr=m.Name("islice"))))])
_SHIFT = m.If(test=m.Comparison(comparisons=[m.ComparisonTarget(m.In(), m.Call(args=[m.Arg(RUNNING), m.Arg()]))]))
_DELETE = m.SimpleStatementLine([m.Del(m.Subscript(value=RUNNING))])
_POP_TAIL = m.SimpleStatementLine([m.Assign(value=m.Subscript(value=m.Call(m.Attribute(RUNNING, m.Name("popitem")))))])
_OWN_VICTIM = m.If(
    test=m.Comparison(left=m.Name("preempted_req"), comparisons=[m.ComparisonTarget(m.Equal(), m.Name("request"))])
)
_TOLERANT = m.SimpleStatementLine([m.Expr(m.Call(m.Attribute(RUNNING, m.Name("pop")), [m.Arg(), m.Arg()]))])
_EXPECTED = {"walk": 1, "victim": 2, "own victim": 1, "stopped": 2}


def rewrite(text: str, file: str) -> str:
    """`text` with the posted logic; raises VariantError where the installed scheduler has no place for a part of it."""
    text = running_as_dict.rewrite(text, file)
    if file != SCHEDULER:
        return text
    posted = _AsPosted()
    module = cst.parse_module(text).visit(posted)
    if posted.done != _EXPECTED:
        raise VariantError(f"{file}: places for the posted logic: found {posted.done}, expected {_EXPECTED}")
    return module.code


class _AsPosted(cst.CSTTransformer):
    """Rewrites bottom-up; `done` counts the places by their part of the logic."""

    def __init__(self) -> None:
        super().__init__()
        self.done = dict.fromkeys(_EXPECTED, 0)

    def leave_While(  # noqa: N802
        self, original_node: cst.While, updated_node: cst.While
    ) -> cst.While | cst.FlattenSentinel[cst.BaseStatement]:
        if not m.matches(updated_node, _WALK):
            return updated_node
        self.done["walk"] += 1
        budget = code(cst.ensure_type(updated_node.test, cst.BooleanOperation).left)
        stop = cst.parse_statement(f"if not (req_index < num_live and {budget}):\n    break\n")
        body = cst.ensure_type(updated_node.body, cst.IndentedBlock)
        body = body.with_changes(body=[stop, *body.body])
        loop = cst.For(cst.Name("request"), cst.parse_expression("self.running"), body)
        trim = cst.parse_statement("while len(self.running) > num_live:\n    self.running.popitem()\n")
        return cst.FlattenSentinel([cst.parse_statement("num_live = len(self.running)"), loop, trim])

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body = _without(updated_node.body, _START)
        if any(m.matches(statement, _RESTART) for statement in body):
            self.done["victim"] += 1
            kept = _without(body, _SHIFT, _DELETE, _POP_TAIL, _RESTART)
            body = [cst.parse_statement("num_live += 1"), *kept]
        return updated_node.with_changes(body=body)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:  # noqa: N802
        if not m.matches(updated_node, _OWN_VICTIM):
            return updated_node
        self.done["own victim"] += 1
        return updated_node.with_changes(test=cst.parse_expression("req_index == num_live"))

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        if not m.matches(updated_node, _TOLERANT):
            return updated_node
        self.done["stopped"] += 1
        call = cst.ensure_type(cst.ensure_type(updated_node.body[0], cst.Expr).value, cst.Call)
        return cst.parse_statement(f"del self.running[{code(call.args[0].value)}]")


def _without(body: Sequence[cst.BaseStatement], *left_out: m.BaseMatcherNode) -> list[cst.BaseStatement]:
    return [statement for statement in body if not any(m.matches(statement, each) for each in left_out)]
