from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest

from bench.traces.columns import Columns, request_id
from bench.traces.model import TraceRequest, digest_of

STEPS = np.array([0, 0, 7, 9])
COLUMNS = Columns(
    times_ms=np.array([0, 1.23456, 70.0, 1e11 + 0.125]),
    inputs=np.array([16, 600, 1, 10_000_000]),
    outputs=np.array([1, 2, 3, 4]),
    hash_ids=[(), (7, 2**63 - 1), (), ()],
    sessions=[None, "s", 'ü"', None],
)
REQUESTS = [
    TraceRequest("r0000000", 0, 16, 1, arrival_step=0),
    TraceRequest("r0000001", 1.23456, 600, 2, (7, 2**63 - 1), arrival_step=0, session="s"),
    TraceRequest("r0000002", 70, 1, 3, arrival_step=7, session='ü"'),
    TraceRequest("r0000003", 1e11 + 0.125, 10_000_000, 4, arrival_step=9),
]


@pytest.mark.parametrize("chunk", [1, 3, 50_000])
def test_columns_have_the_lines_of_their_requests(chunk: int) -> None:
    text = b"".join(COLUMNS.canonical_lines(STEPS, chunk)).decode()
    assert text.splitlines() == [each.canonical_line() for each in REQUESTS]
    assert text.endswith("\n")


def test_columns_have_the_digest_of_their_requests() -> None:
    file = io.BytesIO()
    assert COLUMNS.digest(STEPS) == COLUMNS.digest(STEPS, file) == digest_of(REQUESTS)
    assert hashlib.sha256(file.getvalue()).hexdigest() == digest_of(REQUESTS)


def test_times_between_two_microseconds_are_rounded_as_a_request_rounds() -> None:
    times = np.array([0.0005, 0.0015, 0.0025, 1.0005, 2.6755, 1e9 + 0.0005, 1e12 - 0.0005])
    ones = np.ones(len(times), np.int64)
    columns = Columns(times, ones, ones, [()] * len(times), [None] * len(times))
    requests = [
        TraceRequest(request_id(place), time, 1, 1, arrival_step=1) for place, time in enumerate(times.tolist())
    ]
    assert columns.digest(ones) == digest_of(requests)


def test_requests_are_taken_in_the_asked_order() -> None:
    taken = COLUMNS.taken(np.array([2, 1]))
    assert taken.times_ms.tolist() == [70.0, 1.23456]
    assert taken.hash_ids == [(), (7, 2**63 - 1)]
    assert taken.sessions == ['ü"', "s"]
    assert len(taken) == 2


def test_ids_sort_in_order_of_arrival() -> None:
    ids = [request_id(number) for number in (0, 9, 10, 99_999, 100_000, 1_999_999)]
    assert ids == sorted(ids)
