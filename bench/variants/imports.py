"""Adds and removes single imported names, so that a rewritten module imports what it uses and nothing else."""

from __future__ import annotations

import libcst as cst


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


def with_import(module: cst.Module, source: str, name: str) -> cst.Module:
    """`module` with `name` added to its `from {source} import` line, names in order; unchanged where there is none."""

    class Add(cst.CSTTransformer):
        def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
            if updated_node.module is None or cst.Module([]).code_for_node(updated_node.module) != source:
                return updated_node
            if isinstance(updated_node.names, cst.ImportStar):
                return updated_node
            names = {
                alias.evaluated_name: alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)
                for alias in updated_node.names
            }
            names.setdefault(name, cst.ImportAlias(cst.Name(name)))
            return updated_node.with_changes(names=[names[key] for key in sorted(names)])

    return module.visit(Add())
