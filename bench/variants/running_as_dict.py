"""The rewrite of RUNNING from a `list` to a `dict[Request, None]`, used as an insertion-ordered set.

| use | before | after |
|---|---|---|
| walk by position | `request = self.running[i]` | `request = next(running_iter)` |
| tail peek | `self.running[-1]` | `next(reversed(self.running))` |
| pop | `self.running.pop()` | `self.running.popitem()[0]` |
| index, delete, shift | `v = self.running.index(r)`, … | `if r in islice(self.running, i): i -= 1`, `del …[r]` |
| remove | `self.running.remove(r)` | `del self.running[r]` |
| append | `self.running.append(r)` | `self.running[r] = None` |
| remove several | `self.running = remove_all(self.running, rs)` | `self.running.pop(r, None)` for each |

The walk keeps its cursor. A dict may not change while it is iterated over, so every removal inside the walk
drops the iterator, and the loop head makes a new one behind the requests that were already visited: no
snapshot of the queue, and no look-up by hash where the position walk had none. Length, truth and plain
iteration read the same for both containers and stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper

from bench.errors import VariantError
from bench.variants.imports import with_import, without_import
from bench.variants.uses import UseKind, Uses, find_uses

UNCHANGED = {UseKind.LENGTH, UseKind.TRUTH, UseKind.ITERATION, UseKind.PASSED}


def rewrite(text: str, file: str) -> str:
    """`text` with every use of `self.running` rewritten; raises VariantError at one that does not fit."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    uses = find_uses(wrapper, file)
    if not uses.listed:
        return text
    rewriter = _RunningAsDict(uses, file)
    rewritten = wrapper.visit(rewriter)
    left = {node for node, kind in uses.by_node.items() if kind not in UNCHANGED} - rewriter.done
    if left:
        kinds = ", ".join(sorted({uses.by_node[node].value for node in left}))
        raise VariantError(
            f"{file}: uses of self.running that are known but stand where the rewrite cannot follow: {kinds}"
        )
    return rewritten.code


class _RunningAsDict(cst.CSTTransformer):
    """Rewrites bottom-up; `done` collects the uses taken care of."""

    def __init__(self, uses: Uses, file: str) -> None:
        super().__init__()
        self.uses = uses.by_node
        self.file = file
        self.done: set[cst.CSTNode] = set()
        self.cursors: list[str | None] = []
        self.function_names: list[set[str]] = []
        self.removes_several = False

    # ---- the walk -------------------------------------------------------------------------------------------

    def visit_While(self, node: cst.While) -> None:
        self.cursors.append(_walk_cursor(node))

    def leave_While(
        self, original_node: cst.While, updated_node: cst.While
    ) -> cst.While | cst.FlattenSentinel[cst.BaseStatement]:
        cursor = self.cursors.pop()
        if cursor is None:
            return updated_node
        restart = _statement(
            "if running_iter is None:\n"
            "    # Go on behind the requests already visited: a preemption changes\n"
            "    # the dict, which ends every iteration over it.\n"
            f"    running_iter = itertools.islice(self.running, {cursor}, None)\n"
        )
        body = cst.ensure_type(updated_node.body, cst.IndentedBlock)
        walk = updated_node.with_changes(body=body.with_changes(body=[restart, *body.body]), leading_lines=[])
        start = _line("running_iter: Iterator[Request] | None = None").with_changes(
            leading_lines=updated_node.leading_lines
        )
        return cst.FlattenSentinel([start, walk])

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        kind = self.uses.get(original_node.value)
        if kind is UseKind.TAIL:
            return self._did(original_node.value, "next(reversed(self.running))")
        if kind is UseKind.POSITION and self.cursors and self.cursors[-1] is not None:
            return self._did(original_node.value, "next(running_iter)")
        return updated_node

    # ---- single statements ----------------------------------------------------------------------------------

    def leave_AnnAssign(self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign) -> cst.AnnAssign:
        if self.uses.get(original_node.target) is not UseKind.INIT:
            return updated_node
        self.done.add(original_node.target)
        return updated_node.with_changes(
            annotation=cst.Annotation(cst.parse_expression("dict[Request, None]")), value=cst.Dict([])
        )

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        for node in m.findall(original_node, m.Attribute(value=m.Name("self"), attr=m.Name("running"))):
            kind = self.uses.get(node)
            if kind is UseKind.POP:
                return self._pop(node, updated_node)
            if kind is UseKind.REMOVE:
                return self._remove(node, updated_node)
            if kind is UseKind.APPEND:
                return self._append(node, updated_node)
            if kind is UseKind.REMOVE_ALL:
                return self._remove_all(original_node, updated_node)
        return updated_node

    def _pop(self, node: cst.CSTNode, line: cst.SimpleStatementLine) -> cst.FlattenSentinel[cst.BaseStatement]:
        self.done.add(node)
        pop = m.Call(func=m.Attribute(value=m.Attribute(attr=m.Name("running")), attr=m.Name("pop")))
        popped = cst.ensure_type(
            m.replace(line, pop, cst.parse_expression("self.running.popitem()[0]")), cst.SimpleStatementLine
        )
        return cst.FlattenSentinel([popped, *self._drop_iterator()])

    def _remove(self, node: cst.CSTNode, line: cst.SimpleStatementLine) -> cst.FlattenSentinel[cst.BaseStatement]:
        self.done.add(node)
        removed = _code(_only_call(line).args[0].value)
        deletion = _line(f"del self.running[{removed}]").with_changes(leading_lines=line.leading_lines)
        return cst.FlattenSentinel([deletion, *self._drop_iterator()])

    def _append(self, node: cst.CSTNode, line: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        self.done.add(node)
        appended = _code(_only_call(line).args[0].value)
        return _line(f"self.running[{appended}] = None").with_changes(leading_lines=line.leading_lines)

    def _remove_all(self, original: cst.SimpleStatementLine, line: cst.SimpleStatementLine) -> cst.BaseStatement:
        self.done.update(node for node in self.uses if node in set(_descendants(original)))
        self.removes_several = True
        several = _code(_only_call(line).args[1].value)
        name = next(name for name in ("req", "stopped_req", "removed_req") if name not in self.function_names[-1])
        loop = _statement(f"for {name} in {several}:\n    self.running.pop({name}, None)\n")
        return loop.with_changes(leading_lines=line.leading_lines)

    def _drop_iterator(self) -> list[cst.BaseStatement]:
        in_walk = any(cursor is not None for cursor in self.cursors)
        return [_line("running_iter = None")] if in_walk else []

    # ---- index, delete, shift: three statements that belong together ------------------------------------------

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        for place, statement in enumerate(original_node.body):
            node = _indexed(statement, self.uses)
            if node is None:
                continue
            if len(original_node.body) != len(updated_node.body):
                raise VariantError(f"{self.file}: self.running.index stands beside another rewritten statement")
            victim, cursor = self._cursor_shift(original_node.body[place : place + 3])
            self.done.update(
                n for s in original_node.body[place : place + 2] for n in _descendants(s) if n in self.uses
            )
            replacement = [
                _statement(f"if {victim} in itertools.islice(self.running, {cursor}):\n    {cursor} -= 1\n"),
                _line(f"del self.running[{victim}]"),
                _line("running_iter = None"),
            ]
            body = [*updated_node.body[:place], *replacement, *updated_node.body[place + 3 :]]
            return updated_node.with_changes(body=body)
        return updated_node

    def _cursor_shift(self, statements: Sequence[cst.BaseStatement]) -> tuple[str, str]:
        cursor = next((cursor for cursor in reversed(self.cursors) if cursor is not None), None)
        call = _only_call(cst.ensure_type(statements[0], cst.SimpleStatementLine))
        index = _code(
            cst.ensure_type(cst.ensure_type(statements[0], cst.SimpleStatementLine).body[0], cst.Assign)
            .targets[0]
            .target
        )
        expected = f"del self.running[{index}]\nif {index} < {cursor}:\n    {cursor} -= 1\n"
        found = "".join(cst.Module([]).code_for_node(s.with_changes(leading_lines=[])) for s in statements[1:3])
        if cursor is None or found != expected:
            raise VariantError(f"{self.file}: after self.running.index(…) expected {expected!r}, found {found[:120]!r}")
        return _code(call.args[0].value), cursor

    # ---- names and imports ------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.function_names.append({cst.ensure_type(name, cst.Name).value for name in m.findall(node, m.Name())})

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.function_names.pop()
        return updated_node

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        module = updated_node
        if self.removes_several and not m.findall(module, m.Call(func=m.Name("remove_all"))):
            module = without_import(module, "remove_all")
        if m.findall(module, m.Name("running_iter")):
            module = with_import(module, "collections.abc", "Iterator")
            if not m.findall(module, m.Import(names=[m.AtLeastN(m.ImportAlias(name=m.Name("itertools")), n=1)])):
                raise VariantError(f"{self.file}: does not import itertools; the rewrite of this version must add it")
        return module

    def _did(self, node: cst.CSTNode, expression: str) -> cst.BaseExpression:
        self.done.add(node)
        return cst.parse_expression(expression)


def _walk_cursor(loop: cst.While) -> str | None:
    """The name of the cursor if `loop` walks over RUNNING by position, else None."""
    position = m.Subscript(value=m.Attribute(attr=m.Name("running")), slice=[m.SubscriptElement(m.Index(m.Name()))])
    tests = m.findall(loop.test, m.Comparison(left=m.Name(), comparisons=[m.ComparisonTarget(operator=m.LessThan())]))
    cursors = {cst.ensure_type(cst.ensure_type(test, cst.Comparison).left, cst.Name).value for test in tests}
    first = cst.ensure_type(loop.body, cst.IndentedBlock).body[0]
    for read in m.findall(first, position):
        element = cst.ensure_type(cst.ensure_type(read, cst.Subscript).slice[0].slice, cst.Index)
        name = cst.ensure_type(element.value, cst.Name).value
        if name in cursors:
            return name
    return None


def _indexed(statement: cst.BaseStatement, uses: Mapping[cst.CSTNode, UseKind]) -> cst.CSTNode | None:
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    return next((node for node in _descendants(statement) if uses.get(node) is UseKind.INDEX), None)


def _descendants(node: cst.CSTNode) -> list[cst.CSTNode]:
    found = [node]
    for child in node.children:
        found += _descendants(child)
    return found


def _only_call(line: cst.SimpleStatementLine) -> cst.Call:
    statement = line.body[0]
    value = statement.value if isinstance(statement, (cst.Expr, cst.Assign)) else None
    return cst.ensure_type(value, cst.Call) if value is not None else cst.Call(cst.Name("_"))


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _line(code: str) -> cst.SimpleStatementLine:
    return cst.ensure_type(cst.parse_statement(code), cst.SimpleStatementLine)


def _statement(code: str) -> cst.If | cst.For:
    statement = cst.parse_statement(code)
    assert isinstance(statement, (cst.If, cst.For))
    return statement
