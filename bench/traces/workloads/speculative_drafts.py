"""`speculative-drafts`: each request is scheduled with drafts, of which the model accepts a number that differs.

What is drafted and accepted is drawn from a stable hash (`bench.traces.drafts`), so it is known here: outputs are as
long as makes one request finish in each step of a synchronous scheduler, and about so of one that runs ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench.traces.columns import request_id
from bench.traces.drafts import Counts, draft_key, num_accepted, num_proposed
from bench.traces.workloads.timeline import Draft, Timeline, ample_needs_of, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload


def build(order: Order) -> Plan:
    """The oldest finishes in each step and one arrives for the next."""
    drafts = order.whole("drafts")
    decodes = (1 + drafts) * (order.num_running + 2)
    timeline = Timeline(order, decodes + token_budget(order.num_running, order.num_running))  # all are let in at once
    for step in range(timeline.settled, timeline.end + 1):
        timeline.finish(timeline.running[0], step)
        if step < timeline.end:
            timeline.arrive(step + 1)
    timeline.close()
    outputs = _outputs(order.seed, timeline.drafts, drafts)
    plan = timeline.plan(spare_seqs=2)
    requests = [
        replace(request, output_length=output) for request, output in zip(plan.requests, outputs.tolist(), strict=True)
    ]
    totals = (request.input_length + request.output_length for request in requests)
    needs = ample_needs_of(totals, order.num_running + 2, plan.engine.max_num_batched_tokens, ahead=2 * (1 + drafts))
    return replace(plan, requests=requests, engine=replace(needs, num_speculative_tokens=drafts))


def _outputs(seed: int, planned: Sequence[Draft], drafts: int) -> Counts:
    """(num_requests,): tokens that each request has after its last step; both its steps never fall along `planned`."""
    prompts = np.array([draft.prompt for draft in planned], dtype=np.int64)
    first, last = (np.array([getattr(each, name) for each in planned]) for name in ("first_step", "last_step"))
    keys = np.array([draft_key(seed, request_id(number)) for number in range(len(planned))], dtype=np.uint64)
    outputs = np.ones(len(planned), dtype=np.int64)
    for step in range(int(first.min()) + 1, int(last.max()) + 1):
        decoding = slice(int(np.searchsorted(last, step)), int(np.searchsorted(first, step)))
        positions = prompts[decoding] + outputs[decoding]
        proposed = num_proposed(keys[decoding], positions, drafts)
        outputs[decoding] += 1 + num_accepted(keys[decoding], positions, proposed)
    return outputs


SPECULATIVE_DRAFTS = Workload(
    name="speculative-drafts",
    path="schedules drafts with each decode, and takes back those that the model rejects",
    build=build,
    counters=(
        Counter("drafted", 1, 0.9),
        Counter("accepted", 1, 0.7),
        Counter("finished", 1, 0.6),
        NO_ABORTS,
        NO_PREEMPTION,
    ),
    own_options=(Option("drafts", 3, "draft tokens a request and step", 1, 16, "tokens"),),
    min_running=4,
)
