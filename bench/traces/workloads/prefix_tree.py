"""`prefix-tree`: prompts share their beginnings like the paths of a tree, one arrives and one finishes in each step.

Each level of the tree is a block of the prompt; below the last one every prompt is its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bench.traces.workloads.timeline import Timeline, ample_needs, short_prompts, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload

BLOCK_TOKENS = 64  # one hash id: whole KV blocks of 16, 32 and 64
UNIQUE_TOKENS = 32  # most that a prompt has of its own


def build(order: Order) -> Plan:
    """Each step the oldest leaves and one is appended whose shared blocks were nearly always seen before.

    Steps are planned for the tokens that a prefix cache leaves to compute.
    """
    levels, branches = order.whole("levels"), order.whole("branches")
    steps = order.whole("steps")
    order.require_possible(order.num_running + steps)
    paths = [_path(order.rng, levels, branches) for _ in range(order.num_running + steps)]
    unique = short_prompts(order.rng, len(paths))
    computed = [own + BLOCK_TOKENS * (levels - known) for own, known in zip(unique, _known_blocks(paths), strict=True)]
    budget = token_budget(order.num_running, num_arriving=1 + levels)
    timeline = Timeline(order, budget, computed[: order.num_running])
    later = iter(computed[order.num_running :])
    for step in range(timeline.settled, timeline.end + 1):
        timeline.finish(timeline.running[0], step)
        if step < timeline.end:
            timeline.arrive(step + 1, next(later))
    timeline.close()
    plan = timeline.plan(spare_seqs=1)
    requests = [
        replace(request, input_length=levels * BLOCK_TOKENS + own, hash_ids=path)
        for request, path, own in zip(plan.requests, paths, unique, strict=False)
    ]
    needs = ample_needs(requests, order.num_running + 1, budget)
    return Plan(requests, needs, plan.steady_running, {}, hash_block_tokens=BLOCK_TOKENS)


def _path(rng: np.random.Generator, levels: int, branches: int) -> tuple[int, ...]:
    """Ids of the nodes from the root down; the root is 0, node i has the children i·branches + 1 and on."""
    path = [0]
    for choice in rng.integers(branches, size=levels - 1).tolist():
        path.append(path[-1] * branches + 1 + choice)
    return tuple(path)


def _known_blocks(paths: list[tuple[int, ...]]) -> list[int]:
    """How many blocks of each path lie on an earlier one."""
    seen: set[int] = set()
    known = []
    for path in paths:
        known.append(sum(node in seen for node in path))
        seen.update(path)
    return known


PREFIX_TREE = Workload(
    name="prefix-tree",
    path="finds most of each prompt in the prefix cache, whose blocks many running requests share",
    build=build,
    counters=(
        Counter("prefilled", 1, 0.9),
        Counter("prefilled", UNIQUE_TOKENS + 1, 0, 0.5),
        Counter("finished", 1, 0.9),
        NO_ABORTS,
        NO_PREEMPTION,
    ),
    own_options=(
        Option("levels", 4, f"depth of the tree: blocks of {BLOCK_TOKENS} tokens that a prompt may share", 1, 64),
        Option("branches", 3, "children of each node", 1, 16),
    ),
    min_running=2,
)
