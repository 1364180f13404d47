"""When the grammars of a trace are compiled: a compiler with a cache, whose time is counted in steps.

A clock would let both variants of a comparison see other batches. What a grammar says is never looked at.
"""

from __future__ import annotations

COMPILE_STEPS = 2  # from the arrival of the first request with a grammar to the step that it may be scheduled in


class GrammarCache:
    """Remembers which grammars were asked for; ask in the order of steps."""

    def __init__(self) -> None:
        self._ready: dict[str, int] = {}

    def ready_step(self, grammar: str, step: int) -> int:
        """The first step in whose `schedule()` a request that arrives before `step` has its grammar."""
        return max(step, self._ready.setdefault(grammar, step + COMPILE_STEPS))
