"""Cells and values of foreign files as numbers: text, `472.0` and spaces are stood, all else is refused.

Problems are raised as LineError without their place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bench.traces.checks import MAX_HASH_ID, MAX_TOKENS, range_problem, shown, text_problem
from bench.traces.importers.options import ImportOptions
from bench.traces.lines import LineError

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}(\.0*)?")
_NUMBER = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?")
MAX_TIME = 1e18  # in any unit: nanoseconds of a wall clock are the largest numbers that mean a time


def value_of(record: Mapping[str, Any], name: str) -> Any:
    """The value under `name`; raises LineError where there is none."""
    if name not in record:
        raise LineError(f"{name} is missing; it is required")
    return record[name]


def whole(record: Mapping[str, Any], name: str, low: int = 1, high: int = MAX_TOKENS) -> int:
    """The whole number under `name`; raises LineError where it is no such or not in `low` to `high`."""
    number = _whole(value_of(record, name), name)
    if problem := range_problem(name, number, low, high):
        raise LineError(problem)
    return number


def output_tokens(record: Mapping[str, Any], name: str, options: ImportOptions) -> tuple[int, tuple[str, ...]]:
    """(output length, reasons why it was changed) with `min_output` observed; raises LineError."""
    tokens = whole(record, name, low=0)
    if tokens < options.min_output:
        return options.min_output, ("output_raised",)
    if tokens == 0:
        raise LineError(f"{name} is 0, expected ≥ 1; drop the line or pass --min-output 1")
    return tokens, ()


def number(record: Mapping[str, Any], name: str, low: float = 0, high: float = MAX_TIME) -> float:
    """The number under `name`, an integer where it is one; raises LineError where it is no such or out of bounds."""
    found = _number(value_of(record, name), name)
    if not low <= found <= high:  # true for NaN and infinity too
        raise LineError(f"{name} is {shown(found)}, expected {low:.15g} to {high:.15g}")
    return found


def words(record: Mapping[str, Any], name: str) -> str:
    """The text or number under `name` as a name that can be printed; raises LineError."""
    value = value_of(record, name)
    text = value.strip() if isinstance(value, str) else str(value) if isinstance(value, int) else None
    if text is None:
        raise LineError(f"{name} is {_shown(value)}, expected a text")
    if problem := text_problem(name, text):
        raise LineError(problem)
    return text


def ids(value: object, name: str) -> tuple[int, ...]:
    """An array of hash ids; raises LineError where it holds anything else."""
    if not isinstance(value, list):
        raise LineError(f"{name} is {_shown(value)}, expected an array of whole numbers")
    for each in value:
        if isinstance(each, bool) or not isinstance(each, int) or not 0 <= each <= MAX_HASH_ID:
            raise LineError(f"an entry of {name} is {_shown(each)}, expected a whole number ≥ 0 of 63 bits")
    return tuple(value)


def block_ids(
    record: Mapping[str, Any], name: str, input_length: int, block_tokens: int, options: ImportOptions
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """(hash ids, reasons to count) under `name`: one a block of the prompt, whether or not its last part counts.

    Raises LineError for more than that, and for fewer unless the rest of the prompt shall be unique.
    """
    found = ids(value_of(record, name), name)
    least, most = input_length // block_tokens, -(-input_length // block_tokens)
    if least <= len(found) <= most:
        return found, ()
    if len(found) < least and options.short_ids == "fill":
        return found, ("short_ids_filled",)
    wanted = f"{least}" if least == most else f"{least} or {most}"
    hint = f"blocks of {block_tokens}; pass --block-tokens" + (" or --short-ids fill" if len(found) < least else "")
    raise LineError(f"{name} has {len(found)} blocks, expected {wanted} for {input_length} tokens in {hint}")


def _whole(value: object, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    raise LineError(f"{name} is {_shown(value)}, expected a whole number")


def _number(value: object, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(text := value.strip()):
        return int(text) if text.isdecimal() else float(text)
    raise LineError(f"{name} is {_shown(value)}, expected a number")


def _shown(value: object) -> str:
    if value is None or value == "":
        return "empty"
    return shown(value) if not isinstance(value, list | dict) else "an array or object"
