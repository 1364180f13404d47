"""Numbers as people read them: durations, percentages with a sign, counts.

Inside the program a duration is an integer in nanoseconds (`_ns`) and an effect a fraction of the
baseline (`0.01` is 1 %; negative means that the candidate is faster). Only this module turns them into text.
"""

from __future__ import annotations

import math

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

SIGN_RULE = "negative = candidate faster"


def format_us(us: float) -> str:
    """Microseconds with three significant digits, in µs or ms: `12.3 µs`, `3.05 ms`."""
    if not math.isfinite(us):
        return "–"
    return f"{_three(us / 1000)} ms" if abs(us) >= 1000 else f"{_three(us)} µs"


def format_signed_us(us: float) -> str:
    """A difference in microseconds, always with its sign: `+1.20 µs`."""
    text = format_us(us)
    return text if text.startswith("-") or text == "–" else f"+{text}"


def format_percent(fraction: float) -> str:
    """A fraction as a percentage with its sign and two decimals: `-0.31 %`."""
    return f"{_percent(fraction)} %" if math.isfinite(fraction) else "–"


def format_interval(low: float, high: float) -> str:
    """An interval of fractions: `[-0.52, +0.10] %`."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"[{_percent(low)}, {_percent(high)}] %"


def format_seconds(seconds: float) -> str:
    """A wait as a person says it: `8 s`, `2 min 05 s`, `1 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _percent(fraction: float) -> str:
    return f"{round(100 * fraction, 2) + 0.0:+.2f}"  # adding 0.0 turns a rounded -0.0 into 0.0


def _three(value: float) -> str:
    magnitude = abs(value)
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"
