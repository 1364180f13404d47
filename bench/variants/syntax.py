"""Small pieces of Python syntax, from text to LibCST nodes and back; what they mean is the rewrites' business."""

from __future__ import annotations

import libcst as cst


def code(node: cst.CSTNode) -> str:
    """The text of `node`."""
    return cst.Module([]).code_for_node(node)


def line(text: str) -> cst.SimpleStatementLine:
    """The node of a statement on one line."""
    return cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine)


def block(text: str) -> cst.If | cst.For:
    """The node of an `if` or a `for`."""
    statement = cst.parse_statement(text)
    assert isinstance(statement, (cst.If, cst.For))
    return statement


def body_of(statement: cst.While | cst.For | cst.If) -> cst.IndentedBlock:
    """The indented body of a compound statement; vLLM's source has no body on the line of its head."""
    return cst.ensure_type(statement.body, cst.IndentedBlock)


def only_call(statement: cst.SimpleStatementLine) -> cst.Call:
    """The call that a line consists of or assigns; a call of `_` without arguments where it is something else."""
    first = statement.body[0]
    value = first.value if isinstance(first, (cst.Expr, cst.Assign)) else None
    return cst.ensure_type(value, cst.Call) if value is not None else cst.Call(cst.Name("_"))


def descendants(node: cst.CSTNode) -> list[cst.CSTNode]:
    """`node` and everything below it, from the top."""
    found = [node]
    for child in node.children:
        found += descendants(child)
    return found


def unused_name(candidates: tuple[str, ...], used: set[str]) -> str:
    """The first of `candidates` that is not in `used`."""
    return next(name for name in candidates if name not in used)


def names_in(node: cst.CSTNode) -> set[str]:
    """Every name that stands in `node`: variables, attributes, parameters."""
    return {found.value for found in descendants(node) if isinstance(found, cst.Name)}
