"""The rewrite of RUNNING to a `list` whose every pass is done once more for nothing.

Compared with `list` it measures what the passes over RUNNING cost at all, which no replacement of the queue can save
more than: the cross-check of the counted bound in `bench.engine.queue_cost`.

| use | before | after |
|---|---|---|
| walk by position | `while i < len(self.running) and …: …` | the same loop before it, which only reads and goes on |
| iteration, index | `name = max(self.running, …)`, `i = self.running.index(r)` | the line twice |
| remove several | `self.running = remove_all(self.running, rs)` | before it `remove_all(self.running.copy(), rs)` |

The extra walk goes over the whole queue even where the real one ends early, and the extra removal copies the queue
first, so it measures a little more than the passes. What is decided stays the same: nothing extra writes.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper

from bench.errors import VariantError
from bench.variants.running_walk import walk_cursor
from bench.variants.source import SCHEDULER
from bench.variants.syntax import code, descendants, line, only_call
from bench.variants.uses import RUNNING, UseKind, Uses, find_uses

EXTRA_CURSOR = "bare_index"
PASSES = {UseKind.ITERATION, UseKind.INDEX}
_REMOVAL = m.Assign(
    targets=[m.AssignTarget(RUNNING)], value=m.Call(func=m.Name("remove_all"), args=[m.Arg(RUNNING), m.Arg()])
)


def rewrite(text: str, file: str) -> str:
    """`text` with every pass over the queue done twice; raises VariantError where the scheduler has not one walk."""
    wrapper = MetadataWrapper(cst.parse_module(text))
    twice = _Twice(find_uses(wrapper, file))
    rewritten = wrapper.visit(twice)
    if file == SCHEDULER and twice.num_walks != 1:
        raise VariantError(
            f"{file}: found {twice.num_walks} walks over self.running by position, expected 1; "
            "the rewrite must learn this vLLM"
        )
    return rewritten.code


class _Twice(cst.CSTTransformer):
    def __init__(self, uses: Uses) -> None:
        super().__init__()
        self.uses = uses.by_node
        self.num_walks = 0

    def leave_While(  # noqa: N802
        self, original_node: cst.While, updated_node: cst.While
    ) -> cst.While | cst.FlattenSentinel[cst.BaseStatement]:
        cursor = walk_cursor(original_node)
        if cursor is None:
            return updated_node
        self.num_walks += 1
        start = line(f"{EXTRA_CURSOR} = 0").with_changes(leading_lines=updated_node.leading_lines)
        walk = updated_node.with_changes(leading_lines=[])
        return cst.FlattenSentinel([start, _bare_walk(walk, cursor), walk])

    def leave_SimpleStatementLine(  # noqa: N802
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        if not m.matches(original_node, m.SimpleStatementLine([m.Assign()])):
            return updated_node
        if m.matches(original_node.body[0], _REMOVAL):
            extra = line(f"remove_all(self.running.copy(), {code(only_call(original_node).args[1].value)})")
        elif any(self.uses.get(node) in PASSES for node in descendants(original_node)):
            extra = original_node
        else:
            return updated_node
        first = extra.with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel([first, updated_node.with_changes(leading_lines=[])])


def _bare_walk(walk: cst.While, cursor: str) -> cst.While:
    """The head of `walk` with a cursor of its own, and a body that reads one request and goes on."""
    test = m.replace(walk.test, m.Name(cursor), cst.Name(EXTRA_CURSOR))
    body = [line(f"self.running[{EXTRA_CURSOR}]"), line(f"{EXTRA_CURSOR} += 1")]
    return walk.with_changes(test=test, body=cst.IndentedBlock(body))
