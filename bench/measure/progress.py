"""What a run says while it runs, on standard error: a bar on a terminal, lines elsewhere, or JSON for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Never

from tqdm import tqdm

from bench.units import format_seconds

LINE_EVERY_S = 20.0


class Reporter:
    """Tells people, or with `as_json` machines (one JSON object a line), how far a run is."""

    def __init__(self, *, as_json: bool = False) -> None:
        self._as_json = as_json

    def say(self, line: str, **facts: object) -> None:
        """One message; `facts` are for machines, which get them beside the text."""
        if self._as_json:
            line = json.dumps({"event": "message", "text": line, **facts})
        print(line, file=sys.stderr, flush=True)

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Callable[[], None]]:
        """A stage of `total` units; the body calls what it is given after each unit."""
        stage = _Stage(name, total, unit)
        bar: tqdm[Never] | None = None
        if not self._as_json and sys.stderr.isatty():
            bar = tqdm(total=total, desc=name, unit=f" {unit}", file=sys.stderr, leave=False)

        def advance() -> None:
            stage.done += 1
            if self._as_json:
                print(json.dumps(stage.facts()), file=sys.stderr, flush=True)
            elif bar is not None:
                bar.update()
            elif stage.line_is_due():
                self.say(f"{name}: {stage.done} of {total} {unit}, about {format_seconds(stage.left_s())} left")

        try:
            yield advance
        finally:
            if bar is not None:
                bar.close()
            if not self._as_json:
                self.say(f"{name}: {stage.done} of {total} {unit} in {format_seconds(stage.elapsed_s())}")


class _Stage:
    def __init__(self, name: str, total: int, unit: str) -> None:
        self.name, self.total, self.unit = name, total, unit
        self.done = 0
        self._began = self._last_line = time.monotonic()

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def left_s(self) -> float:
        return self.elapsed_s() / max(1, self.done) * (self.total - self.done)

    def line_is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last_line < LINE_EVERY_S or self.done >= self.total:
            return False
        self._last_line = now
        return True

    def facts(self) -> dict[str, object]:
        return {
            "event": "progress",
            "stage": self.name,
            "done": self.done,
            "total": self.total,
            "unit": self.unit,
            "elapsed_s": round(self.elapsed_s(), 3),
            "left_s": round(self.left_s(), 3),
        }
