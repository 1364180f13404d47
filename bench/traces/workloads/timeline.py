"""Plans step by step who is in RUNNING, so that each request's length follows from the step it shall leave in.

It holds where the KV cache is ample and arrivals never wait for a slot; starved loads are planned in `preemption`.
A request whose first token comes in step s and that has m output tokens leaves RUNNING at the end of step s + m - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.options import Scalar
from bench.traces.columns import request_id
from bench.traces.model import EngineNeeds, TraceRequest
from bench.traces.workloads.workload import Order, Plan

SHORT_PROMPT = (16, 32)  # tokens, inclusive: one KV block of 32, so that decoding is nearly all there is
MIN_TOKEN_BUDGET = 8192  # vLLM's usual max_num_batched_tokens
LENGTH_GRAIN = 256  # tokens; sizes are rounded up to it, as the largest KV block has so many


@dataclass(slots=True, eq=False)
class Draft:
    """A request being planned; steps are counted from 0."""

    arrival_step: int
    prompt: int
    first_step: int
    last_step: int = -1
    abort_step: int | None = None
    lora: str | None = None
    grammar: str | None = None
    session: str | None = None

    @property
    def output_length(self) -> int:
        """Tokens from its first to its last step."""
        return self.last_step - self.first_step + 1


def short_prompts(rng: np.random.Generator, count: int) -> list[int]:
    """`count` prompt lengths, uniform over SHORT_PROMPT."""
    low, high = SHORT_PROMPT
    lengths: list[int] = rng.integers(low, high, size=count, endpoint=True).tolist()
    return lengths


def token_budget(num_running: int, num_arriving: int = 0) -> int:
    """max_num_batched_tokens that lets `num_arriving` short prompts in at once beside `num_running` decodes."""
    return max(MIN_TOKEN_BUDGET, 2 * num_running, num_running + SHORT_PROMPT[1] * num_arriving)


def admit_together(prompts: Sequence[int], budget: int) -> tuple[list[int], int]:
    """(step of each request's first token, first step with all in RUNNING) where all arrive before step 0.

    As vLLM's FCFS does it: what runs is served first, then prompts in order, the last one cut at `budget`. Nobody
    may leave before all are in.
    """
    first_steps: list[int] = []
    step, free, all_in = 0, budget, 0
    for prompt in prompts:
        if free == 0:  # the step is full; each of those that have their first token takes one token of the next
            step, free = step + 1, budget - len(first_steps)
        all_in, left = step, prompt
        while left > free:
            left -= free
            step, free = step + 1, budget - len(first_steps)
        free -= left
        first_steps.append(step)
    return first_steps, all_in


class Timeline:
    """RUNNING as it will be, in queue order: `running`.

    `start` and `end` are the first and the last steady step; from `settled` on all initial requests decode.
    """

    def __init__(self, order: Order, budget: int, prompts: Sequence[int] | None = None) -> None:
        self._order = order
        self._budget = budget
        prompts = short_prompts(order.rng, order.num_running) if prompts is None else prompts
        first_steps, self.start = admit_together(prompts, budget)
        self.drafts = [Draft(0, prompt, first) for prompt, first in zip(prompts, first_steps, strict=True)]
        self.running = list(self.drafts)
        self.settled = max(first_steps)
        self.end = self.start + order.whole("steps") - 1

    def arrive(self, step: int, prompt: int | None = None) -> Draft:
        """A new request with a short prompt is delivered before `step` and gets its first token in it."""
        self._order.require_possible(len(self.drafts) + 1)
        draft = Draft(step, short_prompts(self._order.rng, 1)[0] if prompt is None else prompt, step)
        self.drafts.append(draft)
        self.running.append(draft)
        return draft

    def finish(self, draft: Draft, step: int) -> None:
        """`draft` gets its last token in `step` and leaves RUNNING."""
        draft.last_step = step
        self.running.remove(draft)

    def abort(self, draft: Draft, step: int) -> None:
        """`draft` is aborted before `schedule()` of `step`; without that it would run to the end of the trace."""
        draft.abort_step = step
        draft.last_step = self.end + 1
        self.running.remove(draft)

    def close(self, num_leaving: int = 1) -> None:
        """All still running leave in the step after `end`; if nobody leaves in `end`, the `num_leaving` oldest do.

        So RUNNING falls below its target after `end`, and the one step in which all leave is outside the steady phase.
        """
        if all(draft.last_step != self.end for draft in self.drafts):
            for draft in self.running[:num_leaving]:
                self.finish(draft, self.end)
        for draft in list(self.running):
            self.finish(draft, self.end + 1)

    def sort(self) -> None:
        """Put the drafts into the order of their arrival, where some were planned before others that come earlier."""
        self.drafts.sort(key=lambda draft: draft.arrival_step)

    def plan(self, spare_seqs: int, settled: Mapping[str, Scalar] | None = None) -> Plan:
        """The plan with as many slots as `num_running` and `spare_seqs`, and room in the KV cache for all in them."""
        step_ms = self._order.number("step_ms")
        requests = [
            TraceRequest(
                request_id=request_id(number),
                timestamp=draft.arrival_step * step_ms,
                input_length=draft.prompt,
                output_length=draft.output_length,
                arrival_step=draft.arrival_step,
                abort_step=draft.abort_step,
                lora=draft.lora,
                grammar=draft.grammar,
                session=draft.session,
            )
            for number, draft in enumerate(self.drafts)
        ]
        num_seqs = self._order.num_running + spare_seqs
        return Plan(requests, ample_needs(requests, num_seqs, self._budget), self._order.num_running, settled or {})


def ample_needs(requests: Iterable[TraceRequest], max_num_seqs: int, budget: int) -> EngineNeeds:
    """Needs that never starve: the `max_num_seqs` largest requests fit the KV cache together."""
    return ample_needs_of((each.input_length + each.output_length for each in requests), max_num_seqs, budget)


def ample_needs_of(totals: Iterable[int], max_num_seqs: int, budget: int, ahead: int = 1) -> EngineNeeds:
    """The same, for `totals` of prompt and output tokens; `ahead` slots are taken for tokens to come.

    Where nothing is drafted that is one, by an asynchronous scheduler.
    """
    sizes = sorted((_rounded(total + ahead) for total in totals), reverse=True)
    return EngineNeeds(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max(budget, max_num_seqs),
        kv_tokens=sum(sizes[:max_num_seqs]) + LENGTH_GRAIN,
        max_model_len=sizes[0],
    )


def _rounded(tokens: int) -> int:
    return -(-tokens // LENGTH_GRAIN) * LENGTH_GRAIN
