from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from bench.traces.request import TraceRequest

from .examples import request


def test_defaults_are_left_out_of_the_canonical_line_and_the_id_is_not() -> None:
    assert request("a").canonical_line() == '{"timestamp":0,"input_length":16,"output_length":4,"request_id":"a"}'


def test_canonical_line_has_every_given_field_in_the_fixed_order() -> None:
    full = request(
        "ü",
        load_steps=3,
        lost_block=0,
        external_tokens=8,
        images=((1, 2, 3), (4, 5, 6)),
        session="s",
        grammar="g",
        lora="l",
        abort_step=9,
        priority=-2,
        arrival_step=3,
        hash_ids=(5, 6),
        timestamp=1.5,
    )
    assert full.canonical_line() == (
        '{"timestamp":1.5,"input_length":16,"output_length":4,"hash_ids":[5,6],"request_id":"\\u00fc",'
        '"arrival_step":3,"priority":-2,"abort_step":9,"lora":"l","grammar":"g","session":"s",'
        '"images":[[1,2,3],[4,5,6]],"external_tokens":8,"lost_block":0,"load_steps":3}'
    )


def test_step_zero_is_not_taken_for_absent() -> None:
    line = request(arrival_step=0, abort_step=0).canonical_line()
    assert '"arrival_step":0' in line
    assert '"abort_step":0' in line


def test_whole_timestamps_are_written_as_integers() -> None:
    assert request(timestamp=3.0).canonical_line().startswith('{"timestamp":3,')
    assert request(timestamp=-0.0).canonical_line().startswith('{"timestamp":0,')


def test_timestamps_are_rounded_to_a_microsecond_when_made() -> None:
    assert request(timestamp=1.23456).timestamp == 1.235
    assert request(timestamp=1.23456) == request(timestamp=1.235)


def test_large_timestamps_have_no_exponent() -> None:
    assert request(timestamp=999_999_999_999.001).canonical_line().startswith('{"timestamp":999999999999.001,')


TEXTS = st.text(min_size=1, max_size=8)


@given(
    timestamp=st.floats(0, 1e12),
    lengths=st.tuples(st.integers(1, 10**7), st.integers(1, 10**7)),
    hash_ids=st.lists(st.integers(0, 2**63 - 1), max_size=3),
    numbers=st.fixed_dictionaries(
        {}, optional={name: st.integers(0, 10**8) for name in ("arrival_step", "priority", "abort_after", "abort_step")}
    ),
    texts=st.fixed_dictionaries({"request_id": TEXTS}, optional=dict.fromkeys(("lora", "grammar", "session"), TEXTS)),
)
def test_canonical_line_is_what_json_writes(
    timestamp: float, lengths: tuple[int, int], hash_ids: list[int], numbers: dict[str, int], texts: dict[str, str]
) -> None:
    sent = TraceRequest(
        timestamp=timestamp,
        input_length=lengths[0],
        output_length=lengths[1],
        hash_ids=tuple(hash_ids),
        **numbers,
        **texts,
    )
    record = json.loads(sent.canonical_line())
    assert json.dumps(record, separators=(",", ":")) == sent.canonical_line()
    given_fields = {"timestamp": sent.timestamp, "input_length": lengths[0], "output_length": lengths[1], **texts}
    given_fields |= {name: value for name, value in numbers.items() if value or name != "priority"}
    if hash_ids:
        given_fields["hash_ids"] = hash_ids
    assert record == given_fields
