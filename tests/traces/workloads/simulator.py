"""A scheduler in a few lines: FCFS, chunked prefill, KV blocks, preemption of the tail, aborts, a prefix cache.

It stands in for vLLM's where the workloads are tested, so that these tests need no vLLM and take no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench.traces.model import Trace, TraceRequest


@dataclass(frozen=True)
class Step:
    """What one step did; `running` is RUNNING right after scheduling, `aborted_places` are places before it."""

    running: list[str]
    preempted: list[str]
    finished_places: list[int]
    aborted_places: list[int]
    num_chunked: int
    num_waiting: int
    num_aborted: int
    num_tokens: int


@dataclass(eq=False)
class _Held:
    request: TraceRequest
    computed: int = 0
    emitted: int = 0
    blocks: int = 0

    @property
    def known(self) -> int:
        return self.request.input_length + self.emitted


def simulate(trace: Trace, block_size: int = 32) -> list[Step]:
    """Every step of `trace` until all requests are gone."""
    scheduler = _Scheduler(trace, block_size)
    return list(scheduler.steps())


def steady(trace: Trace, steps: list[Step]) -> tuple[int, int]:
    """The first and the last steady step, as the trace's header defines them."""
    full = [number for number, step in enumerate(steps) if len(step.running) >= trace.steady_running]
    return full[0], full[-1]


def readings(steps: list[Step]) -> dict[str, np.ndarray]:
    """The steps as the fields of a probe's readings, as far as workloads claim any."""
    rows = {
        "running": [len(step.running) for step in steps],
        "waiting": [step.num_waiting for step in steps],
        "scheduled_tokens": [step.num_tokens for step in steps],
        "preempted": [len(step.preempted) for step in steps],
        "finished": [len(step.finished_places) for step in steps],
        "aborted": [step.num_aborted for step in steps],
    }
    return {name: np.array(values) for name, values in rows.items()}


class _Scheduler:
    def __init__(self, trace: Trace, block_size: int) -> None:
        self.trace = trace
        self.block_size = block_size
        self.free = trace.engine.kv_tokens // block_size
        self.running: list[_Held] = []
        self.waiting: list[_Held] = []
        self.cached: set[int] = set()
        self.num_tokens = 0

    def steps(self) -> Iterator[Step]:
        due = list(self.trace.requests)
        number = 0
        while due or self.running or self.waiting:
            assert number < 100_000, "the trace does not end"
            num_held = len(self.running) + len(self.waiting)
            aborted_places = self._abort(number)
            num_aborted = num_held - len(self.running) - len(self.waiting)
            self.num_tokens = 0
            while due and due[0].arrival_step == number:
                self.waiting.append(_Held(due.pop(0)))
            scheduled, preempted = self._schedule()
            running = list(self.running)
            num_chunked = sum(held.computed < held.request.input_length for held in running)
            finished = [held for held in scheduled if self._emit(held)]
            yield Step(
                [held.request.request_id for held in running],
                [held.request.request_id for held in preempted],
                [running.index(held) for held in finished],
                aborted_places,
                num_chunked,
                len(self.waiting),
                num_aborted,
                self.num_tokens,
            )
            number += 1

    def _abort(self, number: int) -> list[int]:
        gone = [place for place, held in enumerate(self.running) if held.request.abort_step == number]
        for place in reversed(gone):
            self.free += self.running.pop(place).blocks
        self.waiting = [held for held in self.waiting if held.request.abort_step != number]
        return gone

    def _schedule(self) -> tuple[list[_Held], list[_Held]]:
        budget = self.trace.engine.max_num_batched_tokens
        scheduled: list[_Held] = []
        preempted: list[_Held] = []
        while len(scheduled) < len(self.running) and budget:
            held = self.running[len(scheduled)]
            tokens = min(held.known - held.computed, budget)
            while not self._serve(held, tokens):
                victim = self.running.pop()
                self.free += victim.blocks
                victim.blocks = victim.computed = 0
                preempted.append(victim)
                self.waiting.insert(0, victim)
                if victim is held:
                    return scheduled, preempted
            scheduled.append(held)
            budget -= tokens
        while not preempted and self.waiting and budget and len(self.running) < self.trace.engine.max_num_seqs:
            hit = self._hit(self.waiting[0])
            tokens = min(self.waiting[0].known - hit, budget)
            if not self._serve(self.waiting[0], hit + tokens):
                break
            self.num_tokens -= hit
            self.running.append(self.waiting.pop(0))
            scheduled.append(self.running[-1])
            budget -= tokens
        return scheduled, preempted

    def _hit(self, held: _Held) -> int:
        hit = 0
        while hit < len(held.request.hash_ids) and held.request.hash_ids[hit] in self.cached:
            hit += 1
        return hit * self.trace.hash_block_tokens

    def _serve(self, held: _Held, tokens: int) -> bool:
        more = -(-(held.computed + tokens) // self.block_size) - held.blocks
        if more > self.free:
            return False
        self.free -= more
        held.blocks += more
        held.computed += tokens
        self.num_tokens += tokens
        self.cached.update(held.request.hash_ids[: held.computed // self.trace.hash_block_tokens])
        return True

    def _emit(self, held: _Held) -> bool:
        if held.computed < held.known:
            return False
        held.emitted += 1
        if held.emitted < held.request.output_length:
            return False
        self.free += held.blocks
        self.running.remove(held)
        return True
