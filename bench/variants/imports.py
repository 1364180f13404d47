"""Adds and removes single imported names, so that a rewritten module imports what it uses and nothing else."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from bench.errors import VariantError


def without_import(module: cst.Module, name: str) -> cst.Module:
    """`module` without `name` in its `from … import` lines; a line that imports nothing else is left alone."""

    class Remove(cst.CSTTransformer):
        def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
            if isinstance(updated_node.names, cst.ImportStar):
                return updated_node
            kept = [alias for alias in updated_node.names if alias.evaluated_name != name]
            if len(kept) == len(updated_node.names) or not kept:
                return updated_node
            kept[-1] = kept[-1].with_changes(comma=updated_node.names[-1].comma)
            return updated_node.with_changes(names=kept)

    return module.visit(Remove())


def with_module(module: cst.Module, name: str) -> cst.Module:
    """`module` with `import {name}` among its plain imports, names in order; unchanged where it is imported already."""
    imported = [alias for line in m.findall(module, m.Import()) for alias in cst.ensure_type(line, cst.Import).names]
    if any(alias.evaluated_name == name for alias in imported):
        return module
    plain = m.SimpleStatementLine([m.Import([m.ImportAlias(m.Name(m.MatchIfTrue(lambda found: found > name)))])])
    for place, statement in enumerate(module.body):
        if isinstance(statement, cst.SimpleStatementLine) and m.matches(statement, plain):
            added = cst.ensure_type(cst.parse_statement(f"import {name}"), cst.SimpleStatementLine)
            added = added.with_changes(leading_lines=statement.leading_lines)
            after = [statement.with_changes(leading_lines=[]), *module.body[place + 1 :]]
            return module.with_changes(body=[*module.body[:place], added, *after])
    raise VariantError(f"no plain import that `import {name}` could stand before; the rewrite must learn this module")
