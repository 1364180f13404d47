from __future__ import annotations

import math

import pytest

from bench import units


@pytest.mark.parametrize(
    ("us", "text"), [(0.1234, "0.12 µs"), (12.34, "12.3 µs"), (345.6, "346 µs"), (3045.0, "3.04 ms"), (math.nan, "–")]
)
def test_microseconds_have_three_digits(us: float, text: str) -> None:
    assert units.format_us(us) == text


def test_a_difference_always_has_its_sign() -> None:
    assert units.format_signed_us(1.2) == "+1.20 µs"
    assert units.format_signed_us(-1.2) == "-1.20 µs"


def test_a_fraction_becomes_a_signed_percentage() -> None:
    assert units.format_percent(-0.0031) == "-0.31 %"
    assert units.format_interval(-0.0052, 0.001) == "[-0.52, +0.10] %"
    assert units.format_interval(-math.inf, 0.001) == "–"


def test_a_tiny_negative_effect_is_no_negative_zero() -> None:
    assert units.format_percent(-0.00001) == "+0.00 %"
    assert units.format_interval(-0.00001, 0.00001) == "[+0.00, +0.00] %"


@pytest.mark.parametrize(("s", "text"), [(8.2, "8 s"), (125, "2 min 05 s"), (4200, "1 h 10 min")])
def test_a_wait_reads_as_a_person_says_it(s: float, text: str) -> None:
    assert units.format_seconds(s) == text
