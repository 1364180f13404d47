"""`NAME=VALUE` as given on a command line to a workload's options.

Whether a workload has the option and allows the value is judged where the trace is generated.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable

from bench.errors import TraceError
from bench.options import Scalar


def parse_assignments(assignments: Iterable[str]) -> dict[str, Scalar]:
    """The options in `NAME=VALUE` texts, each value read as TOML or else as a bare word; raises TraceError."""
    options: dict[str, Scalar] = {}
    for assignment in assignments:
        name, separator, text = (part.strip() for part in assignment.partition("="))
        if not separator or not name or not text:
            raise TraceError(f"--set {assignment}: expected NAME=VALUE, for instance steps=64")
        if name in options:
            raise TraceError(f"--set {assignment}: {name} is set twice; keep one")
        options[name] = _scalar(text, assignment)
    return options


def _scalar(text: str, assignment: str) -> Scalar:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text  # a bare word is meant as a string: position=tail
    if not isinstance(value, bool | int | float | str):
        raise TraceError(f"--set {assignment}: expected a number, a word, true or false")
    return value
