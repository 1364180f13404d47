"""A JSON array that comes line by line, in memory for little more than one of its values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bench.traces.lines import LineError, strict_decoder
from bench.traces.textfile import MAX_LINE_BYTES


class JsonArray:
    """The values of an array; `closed` once its end has come."""

    def __init__(self) -> None:
        self.closed = False
        self._decoder = strict_decoder()
        self._pending: list[str] = []
        self._size = self._retry_at = 0
        self._skip = "["

    def values_after(self, line: str, at_end: bool) -> Iterator[Any]:
        """The values that are found to be complete once `line` has come; raises LineError.

        A value over many lines is tried again when its text has doubled, so that all tries together stay cheap.
        """
        self._pending.append(line)
        self._size += len(line) + 1
        if self._size > MAX_LINE_BYTES + len(line) + 1:
            raise LineError("holds an element longer than 10 MB, or is no JSON")
        if self._size < self._retry_at and not at_end:
            return
        text, place = "\n".join(self._pending), 0
        while True:
            place = self._next_value(text, place)
            if place == len(text) or self.closed:
                break
            value, end = _decoded(self._decoder, text, place)
            if end is None:
                break
            yield value
            place, self._skip = end, ","
        self._pending = [text[place:]]
        self._size = len(text) - place
        self._retry_at = 2 * self._size
        if self.closed and text[place:].strip():
            raise LineError("goes on after the end of its array")

    def _next_value(self, text: str, place: int) -> int:
        """Where the next value begins, past what stands between values."""
        while place < len(text):
            if text[place] == self._skip:
                self._skip = ""
            elif text[place] == "]" and not self.closed and self._skip != "[":
                self.closed = True
            elif not text[place].isspace():
                break
            place += 1
        return place


def _decoded(decoder: json.JSONDecoder, text: str, place: int) -> tuple[Any, int | None]:
    """(value, where it ends) at `place` of `text`; None where more text is needed. Raises LineError."""
    try:
        return decoder.raw_decode(text, place)
    except json.JSONDecodeError as error:
        if len(text[error.pos :].strip()) <= 1:  # it broke off at the end: newlines stand only between tokens
            return None, None
        raise LineError(f"is not JSON ({error.msg})") from None
    except RecursionError:
        raise LineError("is nested too deeply, expected flat objects") from None
    except LineError:
        raise
    except ValueError:
        raise LineError("holds a number of thousands of digits") from None
