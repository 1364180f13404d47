"""What a cell is called where engine options are swept: the end of its id, and the words beside its workload.

A cell whose model is simulated says so in both, whichever way it was asked for, so that every table carries it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bench.manifest import SIMULATED_MODEL
from bench.options import EngineOptions, Scalar

SIMULATED = "stand_in_model_ms"


def suffix_of(swept: Mapping[str, Scalar], options: EngineOptions) -> str:
    """The end of a cell's id: `-policy_fcfs-block_size_32`, `-async-simulated_model_5ms`."""
    parts = [_short(name, value).replace(" ", "_") for name, value in _named(swept, options).items()]
    return re.sub(r"[^A-Za-z0-9._-]", "-", "".join(f"-{part}" for part in parts))


def words_of(swept: Mapping[str, Scalar], options: EngineOptions) -> str:
    """What stands behind a workload's name, so that cells of one curve are alike: `, async, simulated model 5ms`."""
    return "".join(f", {_short(name, value)}" for name, value in _named(swept, options).items())


def _named(swept: Mapping[str, Scalar], options: EngineOptions) -> dict[str, Scalar]:
    named = dict(swept)
    if options.stand_in_model_ms is not None:
        named[SIMULATED] = options.stand_in_model_ms
    return named


def _short(name: str, value: Scalar) -> str:
    if name == SIMULATED:
        return f"{SIMULATED_MODEL} {value:g}ms"
    if name == "async_scheduling":
        return "async" if value else "sync"
    return f"{name} {value}"
