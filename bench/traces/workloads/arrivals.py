"""`arrivals`: requests come by a process and wait where all slots are taken; who runs when is not planned.

The load is so chosen that about `num_running` run. It starts warm: the first requests are of all ages.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bench.traces.columns import request_id
from bench.traces.model import TraceRequest
from bench.traces.workloads.timeline import ample_needs, short_prompts, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload

Wholes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

OUTPUT_TOKENS = (32, 96)  # inclusive: a request stays for half a hundred steps or so, and no two for the same
MEAN_OUTPUT = sum(OUTPUT_TOKENS) / 2
STEADY_SHARE = 0.25  # of num_running: on/off bursts and a ramp let RUNNING fall far
PROCESSES = ("poisson", "gamma", "ramp", "on-off", "closed-loop", "all-at-once")


def build(order: Order) -> Plan:
    """`load` · `num_running` requests are there at step 0, then more come by the process for `steps` steps."""
    steps, process = order.whole("steps"), order.text("process")
    num_initial = max(1, round(order.number("load") * order.num_running))
    if process == "all-at-once":
        num_waves = max(1, round(steps / MEAN_OUTPUT) - 1)  # each keeps all slots busy for about a mean output
        order.require_possible((1 + num_waves) * order.num_running)
        later = np.zeros(num_waves * order.num_running, dtype=np.int64)
        num_initial = order.num_running
    elif process == "closed-loop":
        num_initial = order.num_running
        later = np.zeros(0, dtype=np.int64)
    else:
        later = _open_arrivals(order, num_initial / MEAN_OUTPUT)
    arrivals = np.concatenate([np.zeros(num_initial, dtype=np.int64), later])
    outputs = _outputs(order, len(arrivals))
    if process != "all-at-once":  # else all are new, and those that wait outlive the others
        outputs[:num_initial] = np.maximum(1, outputs[:num_initial] * order.rng.random(num_initial)).astype(np.int64)
    if process == "closed-loop":
        arrivals, outputs = _closed_loop(order, outputs)
    outputs = np.minimum(outputs, np.maximum(1, steps - arrivals))
    return _plan(order, arrivals, outputs)


def _open_arrivals(order: Order, rate: float) -> Wholes:
    """Steps of arrivals at a mean of `rate` a step, from step 1 to the last of `steps`."""
    steps = order.whole("steps")
    order.require_possible(int(2 * rate * steps))
    count = int(2 * rate * steps + 10 * np.sqrt(2 * rate * steps) + 20)  # more than ever fall into the steps
    match order.text("process"):
        case "gamma":
            shape = order.number("burstiness")
            times = np.cumsum(order.rng.gamma(shape, 1 / shape, int(count / min(1.0, shape)) + 1)) / rate
        case "ramp":  # the rate grows from 0 to twice the mean: work of t²
            times = np.sqrt(np.cumsum(order.rng.exponential(1.0, count)) * steps / rate)
        case "on-off":  # only every other stretch of `burst` steps, at twice the rate
            burst = order.whole("burst")
            busy = np.cumsum(order.rng.exponential(1.0, count)) / (2 * rate)
            times = busy + burst * (busy // burst)
        case _:
            times = np.cumsum(order.rng.exponential(1.0, count)) / rate
    return 1 + times[times < steps - 1].astype(np.int64)


def _closed_loop(order: Order, first_outputs: Wholes) -> tuple[Wholes, Wholes]:
    """Each of `num_running` clients sends its next request when the one before has ended and it has thought."""
    steps, think = order.whole("steps"), order.whole("think")
    arrivals, outputs = [np.zeros(len(first_outputs), dtype=np.int64)], [first_outputs]
    while True:
        due = arrivals[-1] + outputs[-1] + think
        due = due[due < steps]
        if not len(due):
            break
        order.require_possible(sum(map(len, arrivals)) + len(due))
        arrivals.append(due)
        outputs.append(_outputs(order, len(due)))
    at = np.concatenate(arrivals)
    in_order = np.argsort(at, kind="stable")
    return at[in_order], np.concatenate(outputs)[in_order]


def _outputs(order: Order, count: int) -> Wholes:
    low, high = OUTPUT_TOKENS
    return order.rng.integers(low, high, size=count, endpoint=True)


def _plan(order: Order, arrivals: Wholes, outputs: Wholes) -> Plan:
    step_ms = order.number("step_ms")
    order.require_possible(len(arrivals))
    prompts = short_prompts(order.rng, len(arrivals))
    requests = [
        TraceRequest(request_id(number), step * step_ms, prompt, output, arrival_step=step, abort_after=gone)
        for number, (step, prompt, output, gone) in enumerate(
            zip(arrivals.tolist(), prompts, outputs.tolist(), _hang_ups(order, outputs), strict=True)
        )
    ]
    budget = token_budget(order.num_running, order.num_running)  # bursts are let in at once where there are slots
    needs = ample_needs(requests, order.num_running, budget)
    return Plan(requests, needs, max(1, int(STEADY_SHARE * order.num_running)), {})


def _hang_ups(order: Order, outputs: Wholes) -> list[int | None]:
    """Output tokens after which each client goes away: some of its output for a share of `hang_up`, None for others.

    Drawn last, so that the same requests come at the same times whatever the share.
    """
    leaves = (order.rng.random(len(outputs)) < order.number("hang_up")) & (outputs > 1)
    after = 1 + (order.rng.random(len(outputs)) * (outputs - 1)).astype(np.int64)
    return [tokens if leaving else None for leaving, tokens in zip(leaves.tolist(), after.tolist(), strict=True)]


ARRIVALS = Workload(
    name="arrivals",
    path="lets requests in as they come by a process, into free slots or past a queue",
    build=build,
    counters=(
        *(Counter("prefilled", 1, low, when=("process", name)) for name, low in (("poisson", 0.1), ("ramp", 0.08))),
        Counter("prefilled", 1, 0.03, when=("process", "gamma")),
        Counter("prefilled", 1, 0.05, 0.75, when=("process", "on-off")),
        Counter("waiting", 1, 0.2, when=("process", "all-at-once")),
        Counter("prefilled", 1, 0.1, when=("process", "closed-loop")),
        Counter("waiting", 1, 0, 0.05, when=("process", "closed-loop")),
        Counter("finished", 1, 0.1),
        replace(NO_ABORTS, when=("hang_up", 0.0)),
        NO_PREEMPTION,
    ),
    own_options=(
        Option("process", "poisson", "how requests come", choices=PROCESSES),
        Option("load", 0.9, "of num_running that run on average, where requests come by themselves", 0.1, 1.5),
        Option("burstiness", 0.25, "shape of the gamma process: 1 is Poisson, below 1 is burstier", 0.05, 20),
        Option(
            "burst", 16, "length of a burst, and of the silence after it, of the on-off process", 1, 100_000, "steps"
        ),
        Option("hang_up", 0.0, "share of clients that go away after some of their output", 0, 1),
        Option("think", 2, "from the end of a request to the client's next, in a closed loop", 0, 100_000, "steps"),
    ),
    min_running=4,
)
