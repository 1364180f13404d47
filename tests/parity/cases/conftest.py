from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.variants import load

from .driver import Case
from .settings import Settings

Start = Callable[..., Case]


def starting(candidate: tuple[type, type]) -> Start:
    """What starts a case on the list baseline and on a candidate, given as its sync and its async class."""

    def start(**settings: Any) -> Case:
        engine = Settings(**settings)
        baseline = load("list")
        classes = zip((baseline.scheduler, baseline.async_scheduler), candidate, strict=True)
        return Case(*[*classes][engine.async_scheduling], engine)

    return start


@pytest.fixture(params=["list", "dict", "list_rebuild", "list_twice"])
def start(request: pytest.FixtureRequest) -> Start:
    variant = load(request.param)
    return starting((variant.scheduler, variant.async_scheduler))
