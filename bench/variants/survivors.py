"""A list that is rebuilt from its survivors, as vLLM 0.8 did in every update, made a removal of the stopped.

| before | after |
|---|---|
| `kept: list[Request] = []` | `stopped_reqs: list[Request] = []` |
| `kept.append(r)`, `continue` in the loop over `self.running` | `continue` |
| `if not stopped: kept.append(r)` at the end of that loop | `if stopped: stopped_reqs.append(r)` |
| `self.running = kept` | `for req in stopped_reqs: self.running.remove(req)` |

What comes out is still written for a list, so a rewrite to another container only has to know removals. The
loop must say of every request, once, whether it stays; anything else is refused.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from bench.errors import VariantError
from bench.variants.syntax import block, body_of, code, descendants, names_in, unused_name
from bench.variants.uses import RUNNING, survivor_lists

_OTHER_NAMES = ("stopped_reqs", "removed_reqs")
_LOOP_NAMES = ("req", "stopped_req")


def remove_stopped(module: cst.Module, file: str) -> cst.Module:
    """`module` with each rebuilt list turned into removals; raises VariantError where the loop does not fit."""
    return module.visit(_RemoveStopped(file))


class _RemoveStopped(cst.CSTTransformer):
    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file

    def leave_FunctionDef(  # noqa: N802
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        for kept in survivor_lists(updated_node):
            removal = _Removal(kept, updated_node)
            function = cst.ensure_type(updated_node.visit(removal), cst.FunctionDef)
            if (removal.num_lists, removal.num_loops) != (1, 1) or kept in names_in(function):
                raise VariantError(
                    f"{self.file}: {updated_node.name.value} rebuilds self.running as {kept}, but not by one loop "
                    "that says of each request whether it stays; the rewrite must learn this vLLM"
                )
            updated_node = function
        return updated_node


class _Removal(cst.CSTTransformer):
    """Rewrites one function; what it does not recognise keeps the name `kept`, which the caller looks for."""

    def __init__(self, kept: str, function: cst.FunctionDef) -> None:
        super().__init__()
        names = names_in(function)
        self.kept = kept
        self.stopped = unused_name(_OTHER_NAMES, names)
        self.each = unused_name(_LOOP_NAMES, names)
        self.num_lists = 0
        self.num_loops = 0

    def leave_AnnAssign(self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign) -> cst.AnnAssign:  # noqa: N802
        if not m.matches(updated_node, m.AnnAssign(target=m.Name(self.kept), value=m.List(elements=[]))):
            return updated_node
        self.num_lists += 1
        return updated_node.with_changes(target=cst.Name(self.stopped))

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:  # noqa: N802
        if not m.matches(updated_node, m.For(target=m.Name(), iter=RUNNING, orelse=None)):
            return updated_node
        *others, last = body_of(updated_node).body
        request = code(updated_node.target)
        keep = m.SimpleStatementLine([m.Expr(_append(self.kept, request))])
        if_kept = m.If(test=m.UnaryOperation(m.Not()), body=m.IndentedBlock([keep]), orelse=None)
        if not m.matches(last, if_kept):
            return updated_node
        body = body_of(updated_node).with_changes(
            body=[*others, self._if_stopped(cst.ensure_type(last, cst.If), request)]
        )
        leaver = _KeptAtOnce(keep)
        loop = cst.ensure_type(updated_node.with_changes(body=body.visit(leaver)), cst.For)
        self.num_loops += leaver.num_dropped == _num_ways_out(loop)
        return loop

    def _if_stopped(self, if_kept: cst.If, request: str) -> cst.If:
        condition = code(cst.ensure_type(if_kept.test, cst.UnaryOperation).expression)
        made = block(f"if {condition}:\n    {self.stopped}.append({request})\n")
        return cst.ensure_type(made.with_changes(leading_lines=if_kept.leading_lines), cst.If)

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement:
        assignment = m.Assign(targets=[m.AssignTarget(RUNNING)], value=m.Name(self.kept))
        if not m.matches(updated_node, m.SimpleStatementLine([assignment])):
            return updated_node
        loop = block(f"for {self.each} in {self.stopped}:\n    self.running.remove({self.each})\n")
        return loop.with_changes(leading_lines=updated_node.leading_lines)


class _KeptAtOnce(cst.CSTTransformer):
    """Drops each `kept.append(request)` that a `continue` follows."""

    def __init__(self, keep: m.SimpleStatementLine) -> None:
        super().__init__()
        self.keep = keep
        self.num_dropped = 0

    def leave_IndentedBlock(  # noqa: N802
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        if not m.matches(updated_node, m.IndentedBlock([m.ZeroOrMore(), self.keep, _CONTINUE])):
            return updated_node
        self.num_dropped += 1
        *others, kept, leave = updated_node.body
        assert isinstance(kept, cst.SimpleStatementLine)
        leave = leave.with_changes(leading_lines=kept.leading_lines)
        return updated_node.with_changes(body=[*others, leave])


_CONTINUE = m.SimpleStatementLine([m.Continue()])


def _append(queue: str, request: str) -> m.Call:
    return m.Call(m.Attribute(m.Name(queue), m.Name("append")), [m.Arg(m.Name(request))])


def _num_ways_out(loop: cst.For) -> int:
    """How many statements end a turn of `loop` before its last one, or the loop, by whatever way."""
    inner = {
        node
        for other in descendants(loop.body)
        if isinstance(other, (cst.For, cst.While))
        for node in descendants(other)
        if not isinstance(node, cst.Return)
    }
    return sum(
        isinstance(node, (cst.Continue, cst.Break, cst.Return)) for node in descendants(loop) if node not in inner
    )
