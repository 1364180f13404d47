"""A case's script, run on a baseline and a candidate at once.

Each call goes to both schedulers. They must decide alike, break no invariant, and decide what the script says.
A script reads like the shared cases: `case.step("A:4 B:1", R="A B", PRE="C", free=2)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.parity.decisions import Decisions, first_difference
from bench.parity.proof import step_time_limit

from .arm import Arm, Asked
from .settings import Settings

STEP_TIME_LIMIT_S = 20.0
Shown = str | int


class DifferenceError(AssertionError):
    """The candidate did not decide as the baseline did, or broke an invariant."""


class Case:
    """Two schedulers at the same step; ids in expectations are separated by spaces."""

    def __init__(self, baseline: type, candidate: type, settings: Settings) -> None:
        self._arms = [Arm(scheduler, settings) for scheduler in (baseline, candidate)]
        self._arrivals = 0
        self.num_steps = 0
        self.totals: dict[str, int] = {}
        """Tokens that each request was given so far, without the requests that had no output."""
        self.reasons: dict[str, str] = {}
        """Why each request ended, of those that did in an output."""

    # ---- what a script does ------------------------------------------------------------------------------------

    def add(
        self, *, prio: int = 0, arr: float | None = None, image: tuple[int, int] | None = None, lora: int | None = None,
        grammar: bool = False, resumable: bool = False, prompt_of: str | None = None, external: int = 0,
        lost_block: int | None = None, **requests: tuple[int, int],
    ) -> None:  # fmt: skip
        """Add requests as `name=(prompt tokens, max_tokens)`, in that order; the options hold for each of them."""
        for name, (num_prompt_tokens, max_tokens) in requests.items():
            self._arrivals += 1
            arrival = float(self._arrivals) if arr is None else arr
            asked = Asked(
                name, num_prompt_tokens, max_tokens, arrival, prio, prompt_of, image, lora, grammar, resumable,
                external, lost_block,
            )  # fmt: skip
            self._on_both(lambda arm, asked=asked: arm.add(asked))

    def abort(self, names: str) -> None:
        """Abort in one call, as ids separated by spaces."""
        self._on_both(lambda arm: arm.abort(names.split()))

    def compile_grammars(self, names: str) -> None:
        self._on_both(lambda arm: arm.compile_grammars(names.split()))

    def refuse_tokens_of(self, names: str) -> None:
        """From now on the grammars of these requests take no token."""
        for arm in self._arms:
            arm.grammars.refused = set(names.split())

    def drafts(self, **num_drafts: int) -> None:
        self._on_both(lambda arm: arm.set_drafts(num_drafts))

    def pause(self, state: str) -> None:
        self._on_both(lambda arm: arm.pause(state))

    def reset_prefix_cache(self) -> None:
        """Reset, with every running request preempted."""
        self._on_both(lambda arm: arm.reset_prefix_cache())

    def schedule(
        self, tokens: str, *, throttle: bool = False, accept: Mapping[str, int] | None = None, **expected: Shown
    ) -> None:
        """One `schedule()`, with nobody preempted unless PRE says so.

        `accept` says how many drafts the model will take.
        """
        self.num_steps += 1
        decided = self._on_both(lambda arm: arm.schedule(throttle=throttle, accept=accept or {}))
        self._check(decided, {"tokens": tokens, "PRE": "", **expected})

    def update(self, out: str | None = None) -> None:
        """Answer the oldest step in flight; `out` lists ids, with `:tokens` if not one and `/reason` of an end."""
        decided = self._on_both(lambda arm: arm.update())
        for outputs in decided["outputs"].values():
            for name, token_ids, reason, _ in outputs:
                self.totals[name] = self.totals.get(name, 0) + len(token_ids)
                if reason is not None:
                    self.reasons[name] = reason.lower()
        if out is not None:
            self._check(decided, {"out": out})

    def step(self, tokens: str, *, out: str | None = None, **expected: Any) -> None:
        """One `schedule()` and its answer."""
        self.schedule(tokens, **expected)
        self.update(out)

    def step_ahead(self, tokens: str, *, out: str | None = None, **expected: Any) -> None:
        """One `schedule()`, and the answer to the step before, if there was one."""
        self.schedule(tokens, **expected)
        if len(self._arms[0].in_flight) > 1:
            self.update(out)

    def queues(self, **expected: Shown) -> None:
        """Expect R, W or free between steps."""
        self._check(self._on_both(lambda arm: arm.queues()), expected)

    def finish(self, *, by: int) -> None:
        """Step until nothing is left to do; the last step with a token must be number `by`."""
        last = self.num_steps
        while self._arms[0].scheduler.has_unfinished_requests():
            assert self.num_steps <= by, f"not done by step {by}"
            self.num_steps += 1
            decided = self._on_both(lambda arm: arm.schedule(throttle=False, accept={}))
            last = self.num_steps if decided["num_scheduled_tokens"] else last
            self.update()
        assert last == by, f"done by step {last}, expected {by}"

    # ---- how it is checked -------------------------------------------------------------------------------------

    def _on_both(self, do: Callable[[Arm], Decisions]) -> Decisions:
        ours, theirs = (_decided(do, arm) for arm in self._arms)
        found = first_difference(
            {name: value for name, value in ours.items() if name != "raised"},
            {name: value for name, value in theirs.items() if name != "raised"},
        )
        if found is not None:
            field, baseline, candidate = found
            raise DifferenceError(f"step {self.num_steps}: {field}: baseline {baseline}, candidate {candidate}")
        if "raised" in ours:
            raise ours["raised"]
        if ours.get("broken_invariant"):
            raise DifferenceError(f"step {self.num_steps}: {ours['broken_invariant']}")
        return ours

    def _check(self, decided: Decisions, expected: Mapping[str, Shown]) -> None:
        found = {name: _SHOWN[name](decided) for name in expected}
        assert found == dict(expected), f"step {self.num_steps}: not the right outcome"


def _decided(do: Callable[[Arm], Decisions], arm: Arm) -> Decisions:
    try:
        with step_time_limit(STEP_TIME_LIMIT_S):
            return do(arm)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}", "raised": error}


def _ids(field: str) -> Callable[[Decisions], Shown]:
    return lambda decided: " ".join(decided[field])


def _counts(field: str) -> Callable[[Decisions], Shown]:
    return lambda decided: " ".join(f"{name}:{len(values)}" for name, values in decided[field])


def _output(output: tuple[str, list[int], str | None, Any]) -> str:
    name, tokens, reason, _ = output
    return f"{name}{'' if len(tokens) == 1 else f':{len(tokens)}'}{'' if reason is None else f'/{reason.lower()}'}"


_SHOWN: dict[str, Callable[[Decisions], Shown]] = {
    "tokens": lambda decided: " ".join(f"{name}:{count}" for name, count in decided["num_scheduled_tokens"]),
    "R": _ids("running"),
    "W": lambda decided: " ".join(decided["kv_holding_waiting"] + decided["waiting"]),
    "PRE": _ids("preempted_requests"),
    "FIN": _ids("finished_requests"),
    "new": _ids("new_requests"),
    "resumed": _ids("resumed_requests"),
    "full_ids": _ids("all_token_ids"),
    "rows": _ids("grammar_rows"),
    "drafts": _counts("spec_decode_tokens"),
    "images": lambda decided: " ".join(name for name, _ in decided["encoder_inputs"]),
    "free": lambda decided: decided["free_blocks"],
    "out": lambda decided: " ".join(_output(each) for batch in decided["outputs"].values() for each in batch),
}
"""How each expectation is read from the decisions."""
