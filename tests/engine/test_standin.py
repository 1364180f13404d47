from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from bench.engine.adapter import TOKEN
from bench.engine.standin import StandInExecutor, stand_in_executor


@pytest.fixture
def executor() -> Iterator[Any]:
    """An executor as an engine starts it, without the engine's configuration."""
    made: Any = object.__new__(stand_in_executor(1.0))
    made._init_executor()
    yield made
    made.shutdown()


def batch(new: dict[str, tuple[int, int]] | None = None, cached: dict[str, tuple[int, int, int]] | None = None) -> Any:
    """A scheduler's output: `new` by id (prompt, scheduled), `cached` by id (computed, outputs, scheduled)."""
    new, cached = new or {}, cached or {}
    scheduled = {name: counts[-1] for name, counts in {**new, **cached}.items()}
    return SimpleNamespace(
        scheduled_new_reqs=[
            SimpleNamespace(req_id=name, prompt_len=prompt, num_computed_tokens=0) for name, (prompt, _) in new.items()
        ],
        scheduled_cached_reqs=SimpleNamespace(
            req_ids=[*cached],
            num_computed_tokens=[computed for computed, _, _ in cached.values()],
            num_output_tokens=[outputs for _, outputs, _ in cached.values()],
        ),
        num_scheduled_tokens=scheduled,
        total_num_scheduled_tokens=sum(scheduled.values()),
        finished_req_ids=set(),
    )


def tokens(executor: Any, scheduled: Any) -> list[list[int]]:
    assert executor.execute_model(scheduled) is None
    answer: list[list[int]] = executor.sample_tokens(None).sampled_token_ids
    return answer


def test_a_request_past_its_prompt_gets_one_token_and_a_chunk_none(executor: Any) -> None:
    assert tokens(executor, batch(new={"a": (4, 4), "b": (10, 6)})) == [[TOKEN], []]
    assert tokens(executor, batch(cached={"a": (4, 1, 1), "b": (6, 0, 4)})) == [[TOKEN], [TOKEN]]


def test_a_resumed_request_computes_what_it_already_had_before_it_gets_more(executor: Any) -> None:
    tokens(executor, batch(new={"a": (4, 4)}))
    assert tokens(executor, batch(cached={"a": (0, 3, 5)})) == [[]]
    assert tokens(executor, batch(cached={"a": (5, 3, 2)})) == [[TOKEN]]


def test_an_answer_comes_from_the_devices_own_thread(executor: Any) -> None:
    before = threading.active_count()
    executor.execute_model(batch(new={"a": (4, 4)}), non_block=True)
    assert threading.active_count() == before
    future = executor.sample_tokens(None, non_block=True)
    assert threading.active_count() == before + 1
    assert future.result().req_ids == ["a"]


def test_batches_are_answered_one_after_another_for_the_model_time_each(executor: Any) -> None:
    ends = []
    for name in "abc":
        executor.execute_model(batch(new={name: (4, 4)}), non_block=True)
        executor.sample_tokens(None, non_block=True)
        ends.append(executor._free_at_ns)
    assert ends[1] - ends[0] >= executor.model_time_ns
    assert ends[2] - ends[1] >= executor.model_time_ns


def test_a_batch_of_nothing_is_answered_at_once(executor: Any) -> None:
    assert executor.execute_model(batch(), non_block=True).result().req_ids == []


def test_what_it_never_thought_of_is_refused_by_name(executor: Any) -> None:
    with pytest.raises(NotImplementedError, match="no worker that could do 'profile'"):
        executor.collective_rpc("profile")


def test_each_model_time_is_a_class_of_its_own() -> None:
    five, ten = stand_in_executor(5), stand_in_executor(10)
    assert (five.model_time_ns, ten.model_time_ns, StandInExecutor.model_time_ns) == (5_000_000, 10_000_000, 0)
    assert five.supports_async_scheduling()
