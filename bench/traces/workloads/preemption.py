"""`preemption` and `priority-preemption`: decoding outgrows the KV cache, so that requests are preempted all the time.

Who runs when follows from the KV cache and is not planned here; only how much is asked of it, and when.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.traces.columns import request_id
from bench.traces.model import EngineNeeds, TraceRequest
from bench.traces.workloads.timeline import SHORT_PROMPT, admit_together, short_prompts, token_budget
from bench.traces.workloads.workload import NO_ABORTS, Counter, Option, Order, Plan, Workload

Lengths = npt.NDArray[np.int64]

OUTPUT_TOKENS = (96, 160)  # inclusive: three to five KV blocks of 32 beside the prompt's, so that much is outgrown
BURST = 8  # steps; requests finish, and free blocks, only every so many, and growth must evict in between
KV_BLOCK = 32  # tokens; needs are counted in the larger of the usual blocks
FITTING_SHARE = 0.6  # of the needs at the end: so much do requests of all ages need, being half grown
BACKLOG = 8  # one waiting request for so many running ones, so that freed blocks are taken at once
BACKLOG_WAIT = 16  # steps that a request waits in that backlog


@dataclass(frozen=True, slots=True)
class _Demand:
    """What is asked of the KV cache, each `(num_requests,) int64` in order of arrival."""

    arrivals: Lengths
    prompts: Lengths
    outputs: Lengths


def build(order: Order) -> Plan:
    """The initial requests are of all ages, as if they had run before; more wait all the time than finish.

    About as many as fit the KV cache run: `num_running` at the default `kv_share`, in proportion at others.
    """
    fitting = order.num_running * order.number("kv_share") / FITTING_SHARE
    demand = _fresh_demand(order, fitting)
    kv_tokens = _starved_kv_tokens(order, demand)
    demand = _cut_to_end(order, _aged(order, demand))
    needs = EngineNeeds(
        max_num_seqs=order.num_running + max(8, order.num_running // 2),  # the KV cache binds, not the slots
        max_num_batched_tokens=_budget(order),
        kv_tokens=kv_tokens,
        max_model_len=SHORT_PROMPT[1] + OUTPUT_TOKENS[1] + KV_BLOCK,
    )
    steady_running = max(1, int(0.75 * min(order.num_running, fitting)))
    return Plan(_requests(order, demand), needs, steady_running, {})


def _fresh_demand(order: Order, fitting: float) -> _Demand:
    """The initial requests and a backlog before step 0, then as many a step as can finish; none has an age yet."""
    backlog = max(4, int(fitting / BACKLOG) + max(0, int(fitting) - order.num_running))
    a_step = fitting / (sum(OUTPUT_TOKENS) / 2)
    order.require_possible(order.num_running + backlog + int(order.whole("steps") * a_step))
    later = np.ceil(np.arange(1, int(order.whole("steps") * a_step)) / a_step).astype(np.int64)
    arrivals = np.concatenate([np.zeros(order.num_running + backlog, dtype=np.int64), later])
    low, high = (tokens // BURST for tokens in OUTPUT_TOKENS)
    prompts = np.array(short_prompts(order.rng, len(arrivals)), dtype=np.int64)
    outputs = BURST * order.rng.integers(low, high, size=len(arrivals), endpoint=True)
    return _Demand(arrivals, prompts, outputs)


def _starved_kv_tokens(order: Order, demand: _Demand) -> int:
    """The asked share of what `num_running` requests need at their ends, in whole KV blocks."""
    totals = (demand.prompts + demand.outputs)[: order.num_running]
    blocks = int(order.number("kv_share") * int(np.sum(-(-totals // KV_BLOCK))))
    least = -(-(SHORT_PROMPT[1] + OUTPUT_TOKENS[1]) // KV_BLOCK) + 1
    if blocks < least:
        raise order.impossible(f"option kv_share leaves {blocks} KV blocks, expected ≥ {least}: one request must fit")
    return blocks * KV_BLOCK


def _aged(order: Order, demand: _Demand) -> _Demand:
    """The initial requests with their ages, evenly spread and the oldest first: tokens of output become prompt."""
    initial = slice(order.num_running)
    prompts, outputs = demand.prompts.copy(), demand.outputs.copy()
    age = (np.arange(order.num_running)[::-1] + 0.5) / order.num_running
    ages = BURST * (age * outputs[initial] / BURST).astype(np.int64)
    prompts[initial] += ages
    first_steps, _ = admit_together(prompts[initial].tolist(), _budget(order))
    outputs[initial] -= ages + np.array(first_steps)  # all finish in the same bursts, however late they were let in
    return _Demand(demand.arrivals, prompts, np.maximum(outputs, 1))


def _cut_to_end(order: Order, demand: _Demand) -> _Demand:
    """No request outlives the last steady step by much; up to then the cut changes nothing in the KV cache."""
    waits = np.where(np.arange(len(demand.arrivals)) < order.num_running, 0, BACKLOG_WAIT)
    left = order.whole("steps") - demand.arrivals - waits
    return _Demand(demand.arrivals, demand.prompts, np.minimum(demand.outputs, np.maximum(left, 1)))


def _budget(order: Order) -> int:
    return token_budget(order.num_running, order.num_running)


def _requests(order: Order, demand: _Demand) -> list[TraceRequest]:
    step_ms = order.number("step_ms")
    priorities = _priorities(order, len(demand.arrivals))
    columns = (demand.arrivals, demand.prompts, demand.outputs, priorities)
    return [
        TraceRequest(
            request_id=request_id(number),
            timestamp=step * step_ms,
            input_length=prompt,
            output_length=output,
            arrival_step=step,
            priority=priority,
        )
        for number, (step, prompt, output, priority) in enumerate(
            zip(*(each.tolist() for each in columns), strict=True)
        )
    ]


def _priorities(order: Order, count: int) -> Lengths:
    """Lower is more urgent; `inverted`: the oldest is the least urgent, so that victims stand at the head."""
    levels = order.whole("priority_levels")
    match order.options.get("order", "random"):
        case "inverted":
            return np.arange(count, dtype=np.int64)[::-1].copy()
        case "ties":
            return np.zeros(count, dtype=np.int64)
    return order.rng.integers(levels, size=count)


_KV_SHARE = Option("kv_share", FITTING_SHARE, "KV cache, of what num_running requests need at their ends", 0.4, 0.75)

PREEMPTION = Workload(
    name="preemption",
    path="evicts the tail of RUNNING for want of KV blocks in many steps, and resumes it",
    build=build,
    counters=(
        Counter("preempted", 1, 0.1),
        Counter("preempted", 1, 0.3, from_running=48),
        Counter("finished", 1, 0.05),
        NO_ABORTS,
    ),
    own_options=(
        _KV_SHARE,
        Option("priority_levels", 1, "levels that priorities are drawn from, for the priority policy", 1, 1000),
    ),
    min_running=8,
)

PRIORITY_PREEMPTION = Workload(
    name="priority-preemption",
    path="evicts the least urgent from anywhere in RUNNING for want of KV blocks (engine.policy = priority)",
    build=build,
    counters=(
        Counter("preempted", 1, 0.05),
        Counter("preempted", 1, 0.2, from_running=48),
        Counter("finished", 1, 0.01),
        NO_ABORTS,
    ),
    own_options=(
        _KV_SHARE,
        Option("priority_levels", 4, "levels that priorities are drawn from, in a random order", 1, 1000),
        Option(
            "order",
            "random",
            "priorities drawn at random; inverted: the oldest is the least urgent; ties: all alike, the age decides",
            choices=("random", "inverted", "ties"),
        ),
    ),
    min_running=8,
)
