"""The rewrite of RUNNING to a `list` that every `update_from_output` rebuilds in full, as vLLM 0.8 did.

vLLM 0.8 copied the survivors into a new list in each step; later versions touch the list only where something
stopped. With this variant the cost of the old way can be measured on a new vLLM.

| use | before | after |
|---|---|---|
| remove several | `if rs: self.running = remove_all(self.running, rs)` | `self.running = [r for r in …]` |

Only `update_from_output` is rewritten. What is decided stays the same: the survivors keep their order.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper

from bench.errors import VariantError
from bench.variants.source import SCHEDULER
from bench.variants.uses import RUNNING, find_uses

_REMOVAL = m.If(
    test=m.Name(),
    body=m.IndentedBlock(
        body=[
            m.SimpleStatementLine(
                body=[
                    m.Assign(
                        targets=[m.AssignTarget(RUNNING)],
                        value=m.Call(func=m.Name("remove_all"), args=[m.Arg(RUNNING), m.Arg(m.Name())]),
                    )
                ]
            )
        ]
    ),
    orelse=None,
)


def rewrite(text: str, file: str) -> str:
    """`text` with the list rebuilt in every update; raises VariantError where there is no removal to rewrite."""
    module = cst.parse_module(text)
    find_uses(MetadataWrapper(module, unsafe_skip_copy=True), file)
    rebuild = _Rebuild()
    rewritten = module.visit(rebuild)
    if file == SCHEDULER and rebuild.num_rewritten != 1:
        raise VariantError(
            f"{file}: found {rebuild.num_rewritten} removals of stopped requests in update_from_output, expected 1; "
            "the rewrite must learn this vLLM"
        )
    return rewritten.code


class _Rebuild(m.MatcherDecoratableTransformer):
    def __init__(self) -> None:
        super().__init__()
        self.num_rewritten = 0

    @m.call_if_inside(m.FunctionDef(name=m.Name("update_from_output")))
    @m.leave(_REMOVAL)
    def rebuild(self, original: cst.If, updated: cst.If) -> cst.BaseStatement:
        self.num_rewritten += 1
        stopped = cst.ensure_type(updated.test, cst.Name).value
        line = cst.parse_statement(f"self.running = [req for req in self.running if req not in {stopped}]")
        return cst.ensure_type(line, cst.SimpleStatementLine).with_changes(leading_lines=updated.leading_lines)
