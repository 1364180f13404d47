from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from bench.engine.features import refuse_beyond_replay
from bench.engine.probe import StepReading
from bench.engine.replay import ReplaySession
from bench.engine.shape import resolve_shape
from bench.errors import ConfigError
from bench.options import EngineOptions
from bench.traces.model import Trace
from tests.engine.conftest import request, trace_of

Open = Callable[..., ReplaySession]


def run(session: ReplaySession) -> tuple[list[StepReading], dict[str, int]]:
    """The readings, and the tokens that each engine request was given."""
    readings: list[StepReading] = []
    tokens: dict[str, int] = {}

    def observe(scheduled: Any, outputs: Any) -> None:
        for batch in (outputs or {}).values():
            for output in batch.outputs:
                tokens[output.request_id] = tokens.get(output.request_id, 0) + len(output.new_token_ids)

    while not session.is_done:
        assert len(readings) < 200
        readings.append(session.step(observe))
    assert not session.scheduler.requests
    return readings, tokens


def test_a_request_above_the_lora_limit_waits_beside_free_slots(open_session: Open) -> None:
    trace = trace_of(
        request("a", output=3, lora="x"), request("b", output=2, lora="y"), request("c", output=4), max_loras=1
    )
    readings, tokens = run(open_session(trace))
    assert [(each.running, each.waiting, each.loras) for each in readings[:4]] == [
        (2, 1, 1),
        (2, 1, 1),
        (2, 1, 1),
        (2, 0, 1),
    ]
    assert tokens == {"a": 3, "b": 2, "c": 4}


def test_an_adapter_changes_what_the_prefix_cache_knows(open_session: Open) -> None:
    def scheduled(lora: str | None) -> int:
        trace = trace_of(
            request("a", prompt=65, lora="x", hash_ids=(1,)),
            request("b", 65, 2, 1, hash_ids=(1,), lora=lora),
            max_loras=2,
        )
        readings, _ = run(open_session(trace))
        return readings[1].scheduled_tokens

    assert scheduled("x") == 1 + 1
    assert scheduled("y") == scheduled(None) == 1 + 65


@pytest.mark.parametrize("ahead", [False, True])
def test_a_new_grammar_is_waited_for_and_a_known_one_is_not(open_session: Open, ahead: bool) -> None:
    trace = trace_of(
        request("a", output=4, grammar="g"), request("b", output=6), request("c", output=2, grammar="g", arrives=3)
    )
    readings, tokens = run(open_session(trace, async_scheduling=ahead))
    assert [(each.running, each.waiting, each.structured) for each in readings[:4]] == [
        (1, 1, 0),
        (1, 1, 0),
        (2, 0, 1),
        (3, 0, 2),
    ]
    assert tokens == {"a": 4, "b": 6, "c": 2}


@pytest.mark.parametrize("ahead", [False, True])
def test_drafts_are_accepted_and_rejected_and_nobody_gets_too_much(open_session: Open, ahead: bool) -> None:
    trace = trace_of(*(request(name, output=20) for name in "abcd"), num_speculative_tokens=3)
    readings, tokens = run(open_session(trace, async_scheduling=ahead))
    assert tokens == dict.fromkeys("abcd", 20)
    drafted, accepted = (sum(getattr(each, name) for each in readings) for name in ("drafted", "accepted"))
    assert 0 < accepted < drafted
    assert len(readings) < 20


def test_drafts_are_the_same_for_both_variants_and_one_step_ahead(open_session: Open) -> None:
    trace = trace_of(request("a", output=30), request("g", output=30, grammar="x"), num_speculative_tokens=4)

    def accepted(variant: str, **options: Any) -> list[int]:
        readings, _ = run(open_session(trace, variant, **options))
        return [each.accepted for each in readings if each.accepted]

    assert accepted("list") == accepted("dict")
    assert sum(accepted("list")) == sum(accepted("list", async_scheduling=True))


@pytest.mark.parametrize("ahead", [False, True])
def test_a_session_leaves_and_comes_back_with_its_next_input(open_session: Open, ahead: bool) -> None:
    trace = trace_of(
        request("a", output=3, session="s"),
        request("b", output=12),
        request("c", prompt=6, output=3, session="s", arrives=6),
        request("d", prompt=5, output=2, session="s", arrives=7),
        streaming_sessions=True,
    )
    readings, tokens = run(open_session(trace, async_scheduling=ahead))
    assert tokens == {"a": 3 + 3 + 2, "b": 12}
    assert readings[5].paused == 1
    assert (readings[6].paused, readings[6].reentered, readings[6].scheduled_tokens) == (0, 1, 1 + 1 + 6 - 1)
    assert sum(each.reentered for each in readings) == 2
    assert sum(each.finished for each in readings) == 2


def test_a_session_goes_away_under_its_first_id(open_session: Open) -> None:
    trace = trace_of(
        request("a", output=2, session="s"),
        request("b", output=9, session="s", arrives=4, abort_step=6),
        streaming_sessions=True,
    )
    readings, tokens = run(open_session(trace))
    assert readings[6].aborted == 1
    assert tokens == {"a": 4}


def test_a_session_says_only_what_belongs_together_where_sessions_do_not_stream(open_session: Open) -> None:
    readings, tokens = run(open_session(trace_of(request("a", session="s"), request("b", session="s", arrives=1))))
    assert tokens == {"a": 4, "b": 4}
    assert sum(each.reentered for each in readings) == 0


def test_a_reset_preempts_all_and_they_come_back_in_their_order(open_session: Open) -> None:
    session = open_session(trace_of(request("a", output=6), request("b", output=6)), prefix_cache_reset_interval=3)
    readings = [session.step() for _ in range(4)]
    assert [each.preempted for each in readings] == [0, 0, 0, 2]
    assert [each.request_id for each in session.scheduler.running] == ["a", "b"]


@pytest.mark.parametrize("ahead", [False, True])
def test_a_pause_stops_new_requests_or_all_for_a_step(open_session: Open, ahead: bool) -> None:
    trace = trace_of(request("a", output=9), request("b", output=3, arrives=3))
    readings, tokens = run(open_session(trace, pause_interval=3, async_scheduling=ahead))
    scheduled = [each.scheduled_tokens for each in readings[:8]]
    assert scheduled == [0, 4, 1, 1, 1 + 4, 1 + 1, 0, 1 + 1]  # all at 0 and 6, b alone at 3
    assert tokens == {"a": 9, "b": 3}


def test_prefills_are_deferred_between_the_steps_that_may_have_them(open_session: Open) -> None:
    trace = trace_of(request("a", output=8), request("b", output=3, arrives=1))
    readings, _ = run(open_session(trace, prefill_schedule_interval=4))
    assert [each.running for each in readings[:5]] == [1, 1, 1, 1, 2]


def test_an_image_waits_for_the_encoder(open_session: Open) -> None:
    trace = trace_of(
        request("a", 8, 2, images=((0, 6, 1),)),
        request("b", 8, 2, images=((2, 6, 2),)),
        max_num_encoder_input_tokens=6,
        encoder_cache_size=12,
    )
    readings, tokens = run(open_session(trace))
    assert [each.scheduled_tokens for each in readings[:2]] == [8 + 2, 1 + 6]  # b up to its image, then the rest
    assert tokens == {"a": 2, "b": 2}


def test_an_image_that_was_seen_costs_the_encoder_nothing(open_session: Open) -> None:
    trace = trace_of(
        request("a", 8, 2, images=((0, 6, 1),)),
        request("b", 8, 2, images=((2, 6, 1),)),
        max_num_encoder_input_tokens=6,
        encoder_cache_size=6,
    )
    readings, _ = run(open_session(trace))
    assert readings[0].scheduled_tokens == 8 + 8


def test_offered_tokens_are_not_computed(open_session: Open) -> None:
    trace = trace_of(request("a", 40, 2, external_tokens=32), kv_load_failure_policy="recompute")
    readings, tokens = run(open_session(trace))
    assert [each.scheduled_tokens for each in readings[:2]] == [40 - 32, 1]
    assert tokens == {"a": 2}


@pytest.mark.parametrize("ahead", [False, True])
def test_a_block_that_does_not_come_is_computed_with_all_behind_it(
    open_session: Open, ahead: bool, caplog: pytest.LogCaptureFixture
) -> None:
    trace = trace_of(request("a", 72, 2, external_tokens=64, lost_block=1), kv_load_failure_policy="recompute")
    readings, tokens = run(open_session(trace, async_scheduling=ahead))
    scheduled = [each.scheduled_tokens for each in readings]
    assert scheduled[0] == 72 - 64
    assert "KV load failure" not in caplog.text
    assert max(scheduled) >= 72 - 32  # one step ahead, with the tokens that are due by then
    assert tokens == {"a": 2}


@pytest.mark.parametrize("ahead", [False, True])
def test_a_load_beside_the_steps_is_waited_for(open_session: Open, ahead: bool) -> None:
    trace = trace_of(
        request("a", 4, 9), request("b", 40, 2, external_tokens=32, load_steps=3), kv_load_failure_policy="recompute"
    )
    readings, tokens = run(open_session(trace, async_scheduling=ahead))
    late = 3 + ahead  # with `ahead` the answer of the third step is there after the fourth was scheduled
    assert [each.scheduled_tokens for each in readings[: late + 2]] == [4, *[1] * (late - 1), 1 + 40 - 32, 2]
    assert tokens == {"a": 9, "b": 2}


@pytest.mark.parametrize("ahead", [False, True])
def test_a_load_beside_the_steps_ends_though_nothing_else_runs(open_session: Open, ahead: bool) -> None:
    trace = trace_of(request("a", 40, 2, external_tokens=32, load_steps=3), kv_load_failure_policy="fail")
    _, tokens = run(open_session(trace, async_scheduling=ahead))
    assert tokens == {"a": 2}


def test_a_block_lost_beside_the_steps_is_computed_with_all_behind_it(open_session: Open) -> None:
    one = request("a", 72, 2, external_tokens=64, lost_block=1, load_steps=2)
    readings, tokens = run(open_session(trace_of(one, kv_load_failure_policy="recompute")))
    assert [each.scheduled_tokens for each in readings] == [0, 0, 72 - 32, 1]
    assert tokens == {"a": 2}
    _, tokens = run(open_session(trace_of(one, request("b"), kv_load_failure_policy="fail")))
    assert tokens == {"a": 0, "b": 4}


def test_blocks_of_a_load_are_kept_until_it_is_over(open_session: Open) -> None:
    left = request("a", 40, 2, external_tokens=32, load_steps=4, abort_step=1)
    session = open_session(trace_of(left, request("b", 4, 9), kv_load_failure_policy="recompute"))
    held = []
    while not session.is_done:
        session.step()
        held.append("a" in session.scheduler.requests)
    assert held[:5] == [True, True, True, False, False]


def test_a_request_whose_load_fails_ends_where_failures_do(open_session: Open) -> None:
    trace = trace_of(request("a", 72, 2, external_tokens=64, lost_block=1), request("b"), kv_load_failure_policy="fail")
    _, tokens = run(open_session(trace))
    assert tokens == {"a": 0, "b": 4}


def test_what_a_trace_needs_is_in_the_shape_and_may_be_overridden() -> None:
    trace = trace_of(request("a", lora="x"), max_loras=2, num_speculative_tokens=3)
    shape = resolve_shape(EngineOptions(), trace)
    assert (shape.max_loras, shape.num_speculative_tokens) == (2, 3)
    other = resolve_shape(EngineOptions(max_loras=1, num_speculative_tokens=0), trace)
    assert (other.max_loras, other.num_speculative_tokens) == (1, 0)
    assert asdict(other)["max_loras"] == 1


@pytest.mark.parametrize(
    ("trace", "options", "expected"),
    [
        (
            trace_of(request("a", lora="x")),
            {},
            "trace by-hand: request a has lora 'x' and max_loras is 0, expected ≥ 1; set engine.max_loras",
        ),
        (
            trace_of(request("a", session="s"), request("b", session="s"), streaming_sessions=True),
            {"prefix_cache_reset_interval": 4},
            "engine.prefix_cache_reset_interval is 4, expected 0",
        ),
        (
            trace_of(*(request(n, 40, 4, session="s") for n in "abc"), streaming_sessions=True),
            {"kv_tokens": 128},
            "a streaming session has 132 tokens, expected ≤ 128",
        ),
        (
            trace_of(request("a"), kv_load_failure_policy="fail"),
            {"prefix_cache_reset_interval": 4, "async_scheduling": True},
            "engine.prefix_cache_reset_interval is 4, expected 0: vLLM cannot reset while a KV connector",
        ),
        (
            trace_of(request("a", 40, external_tokens=32, load_steps=2), kv_load_failure_policy="fail"),
            {"prefix_cache_reset_interval": 4},
            "engine.prefix_cache_reset_interval is 4, expected 0: vLLM cannot reset while a KV connector",
        ),
        (
            trace_of(request("a", 40, external_tokens=32, lost_block=1), kv_load_failure_policy="fail"),
            {},
            "request a loses block 1 of 32 external tokens, expected one of them; a block has 32",
        ),
    ],
)
def test_an_engine_that_could_not_do_it_is_refused(trace: Trace, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_shape(EngineOptions.model_validate(options), trace)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("trace", "options", "expected"),
    [
        (trace_of(request("a", lora="x"), max_loras=1), {}, "request a has lora 'x'"),
        (trace_of(request("a", grammar="g")), {}, "request a has grammar 'g'"),
        (trace_of(request("a", session="s"), streaming_sessions=True), {}, "request a has session 's'"),
        (
            trace_of(request("a", images=((0, 1, 1),)), max_num_encoder_input_tokens=1, encoder_cache_size=1),
            {},
            "request a has images",
        ),
        (
            trace_of(request("a", external_tokens=3), kv_load_failure_policy="fail"),
            {},
            "request a has external_tokens",
        ),
        (trace_of(request("a"), kv_load_failure_policy="fail"), {}, "kv_load_failure_policy is 'fail'"),
        (trace_of(request("a"), num_speculative_tokens=3), {}, "num_speculative_tokens is 3"),
        (trace_of(request("a")), {"prefill_schedule_interval": 2}, "engine.prefill_schedule_interval is 2"),
        (trace_of(request("a")), {"prefix_cache_reset_interval": 2}, "engine.prefix_cache_reset_interval is 2"),
        (trace_of(request("a")), {"pause_interval": 2}, "engine.pause_interval is 2"),
    ],
)
@pytest.mark.parametrize("tier", ["engine", "serve"])
def test_tiers_with_a_model_refuse_it_by_name(trace: Trace, options: dict[str, Any], expected: str, tier: str) -> None:
    shape = resolve_shape(EngineOptions.model_validate(options), trace)
    refuse_beyond_replay(trace, shape, "replay")
    with pytest.raises(ConfigError, match=f"{expected}, which the {tier} tier cannot do; use the replay tier"):
        refuse_beyond_replay(trace, shape, tier)


@pytest.mark.parametrize("tier", ["engine", "serve"])
def test_plain_traces_run_on_every_tier(tier: str) -> None:
    trace = trace_of(request("a", session="chat"))
    refuse_beyond_replay(trace, resolve_shape(EngineOptions(), trace), tier)
