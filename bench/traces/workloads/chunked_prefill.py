"""`chunked-prefill`: long prompts are prefilled in chunks beside many decoding requests, one after the other."""

from __future__ import annotations

from bench.traces.workloads.timeline import Draft, Timeline
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload

LONG_OUTPUT = 4  # output tokens of a request with a long prompt: it decodes for a moment and leaves
SPARE_SEQS = 8  # slots beside the decoding requests; far fewer long prompts are there at once


def build(order: Order) -> Plan:
    """`num_running` requests decode all the time; a long prompt arrives as often as the token budget allows.

    The budget leaves room for a chunk beside the decodes: as many tokens as there are decodes (512 with them in
    small cases), but at most half a prompt, so that each takes several steps.
    """
    prompt_tokens = order.whole("prompt_tokens")
    budget = min(max(2 * order.num_running, 512), order.num_running + prompt_tokens // 2)
    timeline = Timeline(order, budget)
    chunk = budget - order.num_running - LONG_OUTPUT  # tokens a step for prompts when earlier long ones still decode
    interval = -(-prompt_tokens // chunk)
    arrivals = range(timeline.settled + 1, timeline.end - interval - LONG_OUTPUT, interval)
    if not arrivals:
        least = timeline.settled - timeline.start + interval + LONG_OUTPUT + 3
        raise order.impossible(f"no long prompt fits into {order.whole('steps')} steps, expected ≥ {least}")
    timeline.close()
    # The steps of a long draft only carry its output length: where it starts to decode depends on its chunks.
    timeline.drafts += [Draft(step, prompt_tokens, step, step + LONG_OUTPUT - 1) for step in arrivals]
    return timeline.plan(spare_seqs=SPARE_SEQS)


CHUNKED_PREFILL = Workload(
    name="chunked-prefill",
    path="serves a part of a long prompt in each step after the decodes, until the token budget is used up",
    build=build,
    counters=(Counter("prefilled", 1, 0.5), NO_ABORTS, NO_PREEMPTION),
    own_options=(Option("prompt_tokens", 2048, "length of the long prompts", 64, 1_000_000, "tokens"),),
    min_running=2,
)
