"""Every use of `self.running` in a scheduler module, classified; an unknown use is an error, never skipped.

A rewrite of the queue is only right if it has seen all of them. What to do about each kind is the
business of the rewrites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider

from bench.errors import VariantError

RUNNING = m.Attribute(value=m.Name("self"), attr=m.Name("running"))


class UseKind(Enum):
    """What a place does with the queue."""

    INIT = "created empty"
    LENGTH = "length"
    TRUTH = "truth"
    ITERATION = "iteration"
    POSITION = "read at a position"
    HEAD = "head peek"
    TAIL = "tail peek"
    POP = "pop from the tail"
    APPEND = "append"
    INDEX = "index of a member"
    DELETE_AT = "deleted at an index"
    REMOVE = "remove a member"
    REMOVE_ALL = "remove several members"
    SURVIVORS = "rebuilt from the survivors"
    PASSED = "passed on to be iterated"


@dataclass(frozen=True)
class Use:
    """One use: its kind, and where it stands (line from 1)."""

    kind: UseKind
    line: int
    text: str


@dataclass(frozen=True)
class Uses:
    """The uses in one module, by node identity (for the rewrite) and in source order (for people)."""

    by_node: Mapping[cst.CSTNode, UseKind]
    listed: tuple[Use, ...]


def find_uses(wrapper: MetadataWrapper, file: str) -> Uses:
    """Classify every `self.running` of a module; raises VariantError with file, line and text at an unknown one."""
    finder = _Finder(file, wrapper.module)
    wrapper.visit(finder)
    return Uses(finder.by_node, tuple(finder.listed))


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (ParentNodeProvider, PositionProvider)

    def __init__(self, file: str, module: cst.Module) -> None:
        super().__init__()
        self.file = file
        self.module = module
        self.by_node: dict[cst.CSTNode, UseKind] = {}
        self.listed: list[Use] = []
        self.iterable_parameters = _iterable_parameters(module)
        self.survivors: list[frozenset[str]] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.survivors.append(survivor_lists(node))

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self.survivors.pop()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if not m.matches(node, RUNNING):
            return
        line = self.get_metadata(PositionProvider, node).start.line
        statement = self._statement(node)
        kind = self._kind(node)
        text = " ".join(self.module.code_for_node(statement).split())
        if kind is None:
            raise VariantError(
                f"{self.file} line {line}: unknown use of self.running: {text[:120]}; "
                "the rewrite must learn it before this vLLM can be measured"
            )
        self.by_node[node] = kind
        self.listed.append(Use(kind, line, text[:120]))

    def _kind(self, node: cst.Attribute) -> UseKind | None:
        parent = self.get_metadata(ParentNodeProvider, node)
        grandparent = self.get_metadata(ParentNodeProvider, parent, None)
        if isinstance(parent, cst.Arg):
            return self._kind_of_argument(parent)
        if isinstance(parent, cst.Subscript):
            return _kind_of_subscript(parent, grandparent)
        if isinstance(parent, cst.Attribute) and isinstance(grandparent, cst.Call):
            name_and_arguments = (parent.attr.value, len(grandparent.args))
            return _METHODS.get(name_and_arguments) if grandparent.func is parent else None
        if isinstance(parent, (cst.For, cst.CompFor)) and parent.iter is node:
            return UseKind.ITERATION
        if isinstance(parent, (cst.While, cst.If)) and parent.test is node:
            return UseKind.TRUTH
        if isinstance(parent, cst.AnnAssign) and m.matches(parent, _EMPTY_LIST):
            return UseKind.INIT
        if isinstance(parent, cst.AssignTarget) and isinstance(grandparent, cst.Assign):
            return self._kind_of_assignment(grandparent)
        return None

    def _kind_of_assignment(self, assignment: cst.Assign) -> UseKind | None:
        if m.matches(assignment, _FILTERED):
            return UseKind.REMOVE_ALL
        value = assignment.value
        if isinstance(value, cst.Name) and self.survivors and value.value in self.survivors[-1]:
            return UseKind.SURVIVORS
        return None

    def _kind_of_argument(self, argument: cst.Arg) -> UseKind | None:
        call = self.get_metadata(ParentNodeProvider, argument)
        if not isinstance(call, cst.Call):
            return None
        if isinstance(call.func, cst.Name):
            return _FUNCTIONS.get(call.func.value)
        if m.matches(call.func, m.Attribute(value=m.Name("self"))):
            name = cst.ensure_type(call.func, cst.Attribute).attr.value
            position = [argument is other for other in call.args].index(True)
            return UseKind.PASSED if (name, position) in self.iterable_parameters else None
        return None

    def _statement(self, node: cst.CSTNode) -> cst.CSTNode:
        while not isinstance(node, (cst.SimpleStatementLine, cst.While, cst.For, cst.If, cst.With, cst.FunctionDef)):
            node = self.get_metadata(ParentNodeProvider, node)
        if isinstance(node, cst.SimpleStatementLine):
            return node
        test = node.test if isinstance(node, (cst.While, cst.If)) else None
        return test or (node.iter if isinstance(node, cst.For) else node)


_METHODS = {
    ("append", 1): UseKind.APPEND,
    ("index", 1): UseKind.INDEX,
    ("remove", 1): UseKind.REMOVE,
    ("pop", 0): UseKind.POP,
}
_FUNCTIONS = {
    "len": UseKind.LENGTH,
    "bool": UseKind.TRUTH,
    "max": UseKind.ITERATION,
    "remove_all": UseKind.REMOVE_ALL,
}
_EMPTY_LIST = m.AnnAssign(annotation=m.Annotation(m.Subscript(value=m.Name("list"))), value=m.List(elements=[]))
_FILTERED = m.Assign(targets=[m.AtLeastN(n=1)], value=m.Call(func=m.Name("remove_all"), args=[m.Arg(RUNNING), m.Arg()]))


def _kind_of_subscript(subscript: cst.Subscript, parent: cst.CSTNode | None) -> UseKind | None:
    if len(subscript.slice) != 1 or not isinstance(subscript.slice[0].slice, cst.Index):
        return None
    index = subscript.slice[0].slice.value
    if isinstance(parent, cst.Del) and isinstance(index, cst.Name):
        return UseKind.DELETE_AT
    if isinstance(parent, (cst.AssignTarget, cst.AugAssign)):
        return None
    if m.matches(index, m.UnaryOperation(operator=m.Minus(), expression=m.Integer("1"))):
        return UseKind.TAIL
    if m.matches(index, m.Integer("0")):
        return None if isinstance(parent, cst.Del) else UseKind.HEAD
    return UseKind.POSITION if isinstance(index, cst.Name) else None


def survivor_lists(function: cst.FunctionDef) -> frozenset[str]:
    """Names that `function` assigns to the queue and appends to in a loop over it."""
    assigned = m.extractall(
        function, m.Assign(targets=[m.AssignTarget(RUNNING)], value=m.SaveMatchedNode(m.Name(), "name"))
    )
    loops = m.findall(function, m.For(iter=RUNNING))
    append = m.Call(func=m.Attribute(value=m.SaveMatchedNode(m.Name(), "name"), attr=m.Name("append")))
    appended = [found for loop in loops for found in m.extractall(loop, append)]
    names = [{cst.ensure_type(found["name"], cst.Name).value for found in side} for side in (assigned, appended)]
    return frozenset(names[0] & names[1])


def _iterable_parameters(module: cst.Module) -> frozenset[tuple[str, int]]:
    """(method, position after self) of each parameter that its method promises only to iterate over."""
    found = set()
    for function in m.findall(module, m.FunctionDef()):
        parameters = cst.ensure_type(function, cst.FunctionDef).params.params[1:]
        for position, parameter in enumerate(parameters):
            if m.matches(parameter, m.Param(annotation=m.Annotation(m.Subscript(value=m.Name("Iterable"))))):
                found.add((cst.ensure_type(function, cst.FunctionDef).name.value, position))
    return frozenset(found)
