"""The rewrite of RUNNING from a `list` to a `dict[Request, None]`, used as an insertion-ordered set.

| use | before | after |
|---|---|---|
| walk by position | `request = self.running[i]` | `(request := next(unvisited, None)) is not None` |
| head peek | `self.running[0]` | `next(iter(self.running))` |
| tail peek | `self.running[-1]` | `next(reversed(self.running))` |
| pop | `self.running.pop()` | `self.running.popitem()[0]` |
| index, delete, shift | `v = self.running.index(r)`, … | `if r in islice(self.running, i): i -= 1`, `del …[r]` |
| remove | `self.running.remove(r)` | `del self.running[r]` |
| append | `self.running.append(r)` | `self.running[r] = None` |
| remove several | `self.running = remove_all(self.running, rs)` | `self.running.pop(r, None)` for each |
| rebuilt from the survivors | `kept.append(r)` …, `self.running = kept` | `del self.running[r]` for each that stopped |

`running_walk` tells how the walk goes, `survivors` how a rebuilt list becomes removals. Length, truth and plain
iteration read the same for both containers and stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper

from bench.errors import VariantError
from bench.variants.imports import with_module, without_import
from bench.variants.running_walk import (
    ITERATOR,
    removal_by_key,
    removed_by_index,
    restarted,
    walk_cursor,
    with_iterator,
)
from bench.variants.survivors import remove_stopped
from bench.variants.syntax import block, body_of, code, descendants, line, names_in, only_call, unused_name
from bench.variants.uses import RUNNING, UseKind, Uses, find_uses

UNCHANGED = {UseKind.LENGTH, UseKind.TRUTH, UseKind.ITERATION, UseKind.PASSED}
_ORDER = cst.EmptyLine(comment=cst.Comment("# A set in order of admission: the values are not used."))
_LOOP_NAMES = ("req", "stopped_req", "removed_req")


def rewrite(text: str, file: str) -> str:
    """`text` with every use of `self.running` rewritten; raises VariantError at one that does not fit."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    uses = find_uses(wrapper, file)
    if not uses.listed:
        return text
    if UseKind.SURVIVORS in uses.by_node.values():
        wrapper = MetadataWrapper(remove_stopped(wrapper.module, file))
        uses = find_uses(wrapper, file)
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
        self.cursors.append(walk_cursor(node))

    def leave_While(
        self, original_node: cst.While, updated_node: cst.While
    ) -> cst.While | cst.FlattenSentinel[cst.BaseStatement]:
        cursor = self.cursors.pop()
        if cursor is None:
            return updated_node
        if ITERATOR in self.function_names[-1]:
            raise VariantError(f"{self.file}: the method of the walk has a name {ITERATOR} of its own")
        walk = with_iterator(updated_node, cursor, self.file)
        read = {UseKind.POSITION, UseKind.LENGTH}
        head = (original_node.test, body_of(original_node).body[0])
        self.done.update(n for part in head for n in descendants(part) if self.uses.get(n) in read)
        return walk

    def leave_Subscript(self, original_node: cst.Subscript, updated_node: cst.Subscript) -> cst.BaseExpression:
        kind = self.uses.get(original_node.value)
        if kind is UseKind.HEAD:
            return self._did(original_node.value, "next(iter(self.running))")
        if kind is UseKind.TAIL:
            return self._did(original_node.value, "next(reversed(self.running))")
        return updated_node

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        for place, statement in enumerate(original_node.body):
            if _indexed(statement, self.uses) is None:
                continue
            if len(original_node.body) != len(updated_node.body):
                raise VariantError(f"{self.file}: self.running.index stands beside another rewritten statement")
            statements = original_node.body[place : place + 3]
            victim = removed_by_index(statements, self._cursor, self.file)
            assert self._cursor is not None
            self.done.update(n for s in statements[:2] for n in descendants(s) if n in self.uses)
            removal = removal_by_key(victim, self._cursor)
            return updated_node.with_changes(
                body=[*updated_node.body[:place], *removal, *updated_node.body[place + 3 :]]
            )
        return updated_node

    @property
    def _cursor(self) -> str | None:
        """The cursor of the walk that we are in, however deep."""
        return next((cursor for cursor in reversed(self.cursors) if cursor is not None), None)

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
        for node in m.findall(original_node, RUNNING):
            kind = self.uses.get(node)
            if kind is UseKind.INIT:
                return updated_node.with_changes(leading_lines=[*updated_node.leading_lines, _ORDER])
            if kind is UseKind.POP:
                return self._pop(node, updated_node)
            if kind is UseKind.REMOVE:
                return self._remove(node, updated_node)
            if kind is UseKind.APPEND:
                return self._append(node, updated_node)
            if kind is UseKind.REMOVE_ALL:
                return self._remove_all(original_node, updated_node)
        return updated_node

    def _pop(self, node: cst.CSTNode, pop: cst.SimpleStatementLine) -> cst.FlattenSentinel[cst.BaseStatement]:
        self.done.add(node)
        call = m.Call(func=m.Attribute(value=m.Attribute(attr=m.Name("running")), attr=m.Name("pop")))
        popped = cst.ensure_type(
            m.replace(pop, call, cst.parse_expression("self.running.popitem()[0]")), cst.SimpleStatementLine
        )
        return cst.FlattenSentinel([popped, *self._restart()])

    def _remove(self, node: cst.CSTNode, remove: cst.SimpleStatementLine) -> cst.FlattenSentinel[cst.BaseStatement]:
        self.done.add(node)
        removed = code(only_call(remove).args[0].value)
        deletion = line(f"del self.running[{removed}]").with_changes(leading_lines=remove.leading_lines)
        return cst.FlattenSentinel([deletion, *self._restart()])

    def _append(self, node: cst.CSTNode, append: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        self.done.add(node)
        appended = code(only_call(append).args[0].value)
        return line(f"self.running[{appended}] = None").with_changes(leading_lines=append.leading_lines)

    def _remove_all(self, original: cst.SimpleStatementLine, removal: cst.SimpleStatementLine) -> cst.BaseStatement:
        self.done.update(node for node in self.uses if node in set(descendants(original)))
        self.removes_several = True
        several = code(only_call(removal).args[1].value)
        name = unused_name(_LOOP_NAMES, self.function_names[-1])
        loop = block(f"for {name} in {several}:\n    self.running.pop({name}, None)\n")
        return loop.with_changes(leading_lines=removal.leading_lines)

    def _restart(self) -> list[cst.BaseStatement]:
        return [] if self._cursor is None else [restarted(self._cursor)]

    # ---- names and imports ------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.function_names.append(names_in(node))

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self.function_names.pop()
        return updated_node

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        module = updated_node
        if self.removes_several and not m.findall(module, m.Call(func=m.Name("remove_all"))):
            module = without_import(module, "remove_all")
        if ITERATOR in names_in(module):
            module = with_module(module, "itertools")
        return module

    def _did(self, node: cst.CSTNode, expression: str) -> cst.BaseExpression:
        self.done.add(node)
        return cst.parse_expression(expression)


def _indexed(statement: cst.BaseStatement, uses: Mapping[cst.CSTNode, UseKind]) -> cst.CSTNode | None:
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    return next((node for node in descendants(statement) if uses.get(node) is UseKind.INDEX), None)
