"""Candidates that fail in the ways a real one may, made at run time from the generated `dict` scheduler."""

from __future__ import annotations

import os
import time
from typing import Any

from bench.variants import load

Dict: type = load("dict").scheduler


class Hangs(Dict):
    """Its tenth step never ends."""

    steps = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self.steps += 1
        while self.steps >= 10:
            time.sleep(0.01)
        return super().schedule(*args, **kwargs)


class Raises(Dict):
    """Its tenth step raises."""

    steps = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self.steps += 1
        if self.steps == 10:
            raise ValueError("no more")
        return super().schedule(*args, **kwargs)


class Reverses(Dict):
    """Its tenth step turns the queue round."""

    steps = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self.steps += 1
        if self.steps == 10:
            self.running = dict(reversed(self.running.items()))
        return super().schedule(*args, **kwargs)


class Dies(Dict):
    """Its process is gone in the tenth step."""

    steps = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self.steps += 1
        if self.steps == 10:
            os._exit(1)
        return super().schedule(*args, **kwargs)


class ChangesItsMind(Dict):
    """Decides as the baseline where it is proven, and otherwise where it is timed, in a process of its own."""

    proven_in = os.getpid()
    steps = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self.steps += 1
        if self.steps == 20 and os.getpid() != self.proven_in:
            self.running.popitem()
        return super().schedule(*args, **kwargs)


class RaisesWhenTimed(Dict):
    """Decides as the baseline where it is proven; its twentieth step in another process raises, in several lines."""

    proven_in = os.getpid()
    steps = 0

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        self.steps += 1
        if self.steps == 20 and os.getpid() != self.proven_in:
            raise RuntimeError("out of\nsomething")
        return super().schedule(*args, **kwargs)
