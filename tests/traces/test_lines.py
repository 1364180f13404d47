from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.traces.files import read_trace, write_trace
from bench.traces.lines import LineError, parse_header, parse_object, parse_request
from bench.traces.model import TraceRequest

from .examples import NEEDS, request, trace

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    ["timestamp", "input_length", "output_length", "hash_ids", "priority", "lora", "request_id", "images", "x"]
)


def test_every_field_of_a_request_is_read() -> None:
    sent = request("a", hash_ids=(1,), arrival_step=1, priority=2, abort_step=3, lora="l", grammar="g", session="s")
    sent = replace(sent, images=((0, 3, 7), (4, 2, 8)), external_tokens=8, lost_block=0, load_steps=2)
    assert parse_request(parse_object(sent.canonical_line().encode()), "unused") == sent


def test_missing_id_is_filled_in() -> None:
    assert parse_request({"timestamp": 0, "input_length": 1, "output_length": 1}, "r5").request_id == "r5"


def outcome(parse: Callable[[], object]) -> object:
    """What `parse` gives, or the LineError it ends in; any other error goes through."""
    try:
        return parse()
    except LineError as error:
        return error


@given(raw=st.binary(max_size=60))
def test_no_bytes_end_in_another_error(raw: bytes) -> None:
    assert isinstance(outcome(lambda: parse_object(raw)), dict | LineError)


@given(record=st.dictionaries(NAMES, JSON))
def test_no_object_ends_in_another_error(record: dict[str, Any]) -> None:
    found = outcome(lambda: parse_request(record, "r0"))
    assert isinstance(found, TraceRequest | LineError)
    assert "x" not in record or isinstance(found, LineError)


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ({}, "images is not an array of [first token, number of tokens, id]"),
        ([[1, 2]], "images is not an array of [first token, number of tokens, id]"),
        ([[1, 2, "x"]], "an entry of images is 'x', expected a whole number"),
        ([[1, True, 3]], "an entry of images is true, expected a whole number"),
    ],
)
def test_images_of_another_shape_are_refused(images: object, expected: str) -> None:
    with pytest.raises(LineError) as caught:
        parse_request({"timestamp": 0, "input_length": 9, "output_length": 1, "images": images}, "a")
    assert str(caught.value) == expected


@given(header=JSON)
def test_no_header_of_another_shape_is_taken(header: Any) -> None:
    with pytest.raises(LineError):
        parse_header({"trace": header})


def test_needs_that_are_off_by_default_are_written_and_read_only_where_they_are_on(tmp_path: Path) -> None:
    asked = {"max_loras": 2, "num_speculative_tokens": 3, "streaming_sessions": True}
    encoder = {"max_num_encoder_input_tokens": 5, "encoder_cache_size": 6}
    plain, full = trace(), trace(engine=replace(NEEDS, **asked, **encoder, kv_load_failure_policy="fail"))
    assert "max_loras" not in plain.engine.written()
    assert plain.digest == full.digest
    for made in (plain, full):
        write_trace(made, tmp_path / "t.jsonl")
        assert read_trace(tmp_path / "t.jsonl") == made


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({"max_loras": True}, "max_loras is true, expected a whole number"),
        ({"streaming_sessions": 1}, "streaming_sessions is 1, expected true or false"),
        ({"encoder_cache_size": 1.5}, "encoder_cache_size is 1.5, expected a whole number"),
        ({"kv_load_failure_policy": None}, "kv_load_failure_policy is null, expected a string"),
        ({"num_speculative_token": 1}, 'did you mean "num_speculative_tokens"?'),
    ],
)
def test_needs_of_a_wrong_kind_are_refused(needs: dict[str, object], expected: str) -> None:
    header: dict[str, Any] = {"schema": 1, "engine": {**NEEDS.written(), **needs}, "workload": "x", "options": {}}
    header |= dict.fromkeys(("seed", "num_running", "steady_running", "hash_block_tokens", "requests"), 1)
    with pytest.raises(LineError) as caught:
        parse_header({"trace": header})
    assert expected in str(caught.value)
