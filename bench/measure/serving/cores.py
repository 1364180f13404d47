"""Which cores the servers and the client of the `serve` tier are pinned to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class ServingCores:
    """Both servers share `server`, one at work at a time; the client has `client`, another core where there is one."""

    server: tuple[int, ...]
    client: int

    @contextlib.contextmanager
    def client_pinned(self) -> Iterator[None]:
        """This process runs on the client's core while the body does."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self.client})
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


def choose_serving_cores() -> ServingCores:
    """The first usable core for the client, all others for the servers, whose HTTP and engine run side by side."""
    first, *others = sorted(os.sched_getaffinity(0))
    return ServingCores(tuple(others) or (first,), first)
