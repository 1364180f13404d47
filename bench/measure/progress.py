"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Never, Self

from tqdm import tqdm

from bench.units import format_seconds

LINE_EVERY_S = 20.0


class Progress:
    """Counts `total` units of one `stage`; use it as a context and call `advance` after each unit."""

    def __init__(self, stage: str, total: int, unit: str) -> None:
        self._stage, self._total, self._unit = stage, total, unit
        self._done = 0
        self._began = self._last_line = time.monotonic()
        self._bar: tqdm[Never] | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = tqdm(total=self._total, desc=self._stage, unit=f" {self._unit}", file=sys.stderr, leave=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        took = format_seconds(time.monotonic() - self._began)
        say(f"{self._stage}: {self._done} of {self._total} {self._unit} in {took}")

    def advance(self) -> None:
        """One more unit is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
            return
        now = time.monotonic()
        if now - self._last_line >= LINE_EVERY_S and self._done < self._total:
            self._last_line = now
            left = (now - self._began) / self._done * (self._total - self._done)
            say(f"{self._stage}: {self._done} of {self._total} {self._unit}, about {format_seconds(left)} left")


def say(line: str) -> None:
    """One line to standard error."""
    print(line, file=sys.stderr, flush=True)
