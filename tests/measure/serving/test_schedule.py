from __future__ import annotations

import numpy as np
import pytest

from bench.measure.serving.schedule import arm_orders, plan_requests
from tests.engine.conftest import request, trace_of

RNG = np.random.default_rng


def test_without_a_rate_the_timestamps_of_the_trace_are_the_arrivals() -> None:
    trace = trace_of(request("early", arrives=2), request("late", arrives=7))
    planned = plan_requests(trace, 256, None, RNG(1))
    assert [(one.request_id, one.due_ns) for one in planned] == [("early", 2_000_000), ("late", 7_000_000)]


def test_a_rate_gives_poisson_arrivals_that_a_seed_repeats() -> None:
    trace = trace_of(*(request(f"r{number}") for number in range(400)))
    due = [[one.due_ns for one in plan_requests(trace, 256, 50.0, RNG(seed))] for seed in (1, 1, 2)]
    assert due[0] == due[1] != due[2]
    gaps = np.diff(due[0]) / 1e9
    assert gaps.min() >= 0
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.2)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.25)  # exponential: as wide as long


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"abort_after": 3}, 3),
        ({"abort_step": 7}, 5),
        ({"abort_step": 2}, 1),
        ({"abort_step": 300}, None),  # the request has ended by then
    ],
)
def test_clients_hang_up_after_as_many_tokens_as_the_trace_says_in_tokens_or_steps(
    options: dict[str, int], expected: int | None
) -> None:
    trace = trace_of(request("a", output=8, arrives=2, **options))
    assert plan_requests(trace, 256, None, RNG(1))[0].hang_up_after == expected


def test_orders_are_abba_or_baab_and_the_start_is_drawn() -> None:
    orders = arm_orders(400, RNG(1))
    first = [order[0] for order in orders]
    assert all(one != two for one, two in zip(first[::2], first[1::2], strict=True))
    assert 70 < sum(name == "baseline" for name in first[::2]) < 130
    assert all(sorted(order) == ["baseline", "candidate"] for order in orders)


def test_an_odd_number_of_pairs_has_an_order_for_each() -> None:
    assert len(arm_orders(3, RNG(1))) == 3
