from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.traces.importers.fields import block_ids, ids, number, output_tokens, whole, words
from bench.traces.importers.options import ImportOptions
from bench.traces.lines import LineError


@pytest.mark.parametrize(("value", "expected"), [(472, 472), ("472", 472), (" 472.0 ", 472), (472.0, 472), ("+5", 5)])
def test_whole_numbers_come_in_many_forms(value: Any, expected: int) -> None:
    assert whole({"n": value}, "n") == expected


@pytest.mark.parametrize(
    "value",
    ["4_72", "4,720", "0x10", "1e3", "472.5", 472.5, "٤", "", None, True, [1], {}, "=1+1", "nan", "--5", "9" * 40],
)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(LineError, match="expected a whole number"):
        whole({"n": value}, "n")


def test_bounds_are_held_and_named() -> None:
    with pytest.raises(LineError, match="n is 0, expected ≥ 1"):
        whole({"n": 0}, "n")
    with pytest.raises(LineError, match="n is 10000001, expected ≤ 10000000"):
        whole({"n": "10000001"}, "n")
    with pytest.raises(LineError, match="n is missing; it is required"):
        whole({}, "n")


@pytest.mark.parametrize(("value", "expected"), [("82", 82), ("1.5e2", 150.0), (".5", 0.5), (4.25, 4.25)])
def test_numbers_come_in_many_forms(value: Any, expected: float) -> None:
    assert number({"t": value}, "t") == expected


@pytest.mark.parametrize(
    "value", ["nan", "inf", "1e999", float("inf"), float("nan"), -1, "-0.5", "1 2", None, False, [], 10**19]
)
def test_what_is_no_possible_number_is_refused(value: Any) -> None:
    with pytest.raises(LineError, match="t is"):
        number({"t": value}, "t")


def test_output_of_nothing_is_damage_unless_it_is_raised() -> None:
    with pytest.raises(LineError, match="o is 0, expected ≥ 1; drop the line or pass --min-output 1"):
        output_tokens({"o": 0}, "o", ImportOptions())
    assert output_tokens({"o": 0}, "o", ImportOptions(min_output=3)) == (3, ("output_raised",))
    assert output_tokens({"o": 3}, "o", ImportOptions(min_output=3)) == (3, ())


@pytest.mark.parametrize("count", [2, 3])
def test_last_part_of_a_prompt_may_have_an_id_or_not(count: int) -> None:
    found = block_ids({"h": list(range(count))}, "h", 40, 16, ImportOptions())
    assert found == (tuple(range(count)), ())


def test_too_many_and_too_few_ids_are_refused_with_what_would_help() -> None:
    with pytest.raises(LineError, match=r"h has 4 blocks, expected 2 or 3 for 40 tokens in blocks of 16; pass --block"):
        block_ids({"h": [1, 2, 3, 4]}, "h", 40, 16, ImportOptions())
    with pytest.raises(LineError, match=r"h has 1 blocks, expected 2 for 32 tokens .* or --short-ids fill"):
        block_ids({"h": [1]}, "h", 32, 16, ImportOptions())
    assert block_ids({"h": [1]}, "h", 40, 16, ImportOptions(short_ids="fill")) == ((1,), ("short_ids_filled",))


@pytest.mark.parametrize("value", [{}, "1", [1.0], [True], [-1], [2**63], [None], [[1]]])
def test_what_is_no_array_of_ids_is_refused(value: Any) -> None:
    with pytest.raises(LineError, match="h"):
        ids(value, "h")


@pytest.mark.parametrize("value", ["", "a\nb", "\ud800", None, 1.5, [], "x" * 257])
def test_name_that_cannot_be_printed_is_refused(value: Any) -> None:
    with pytest.raises(LineError, match="s "):
        words({"s": value}, "s")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(value=JSON)
def test_no_value_ends_in_another_error(value: Any) -> None:
    record = {"v": value}
    for read in (
        lambda: whole(record, "v"),
        lambda: number(record, "v"),
        lambda: words(record, "v"),
        lambda: block_ids(record, "v", 9, 16, ImportOptions()),
    ):
        with contextlib.suppress(LineError):
            read()
