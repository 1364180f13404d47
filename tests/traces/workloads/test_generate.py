from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.errors import TraceError
from bench.traces.workloads import WORKLOADS, describe_workloads, generate, missed_paths, workload

from .simulator import readings, simulate, steady

# A change here changes every frozen trace: do it only on purpose, and say so in the commit.
GOLDEN: dict[str, str] = {
    "abort-storm": "d71828c7d0f5b626c147ea5097cc6ad3dace112fba6a7c985a438ba94211eab6",
    "arrivals": "335644e14a762e1b191bb842db73c10b795a15716e09032a12c8759ba194197e",
    "chunked-prefill": "0c3b98591b5b241a7cbfb9cbd2bcb01626918e24e5f5b2e89cd3d5a4a27b4c6c",
    "finish-wave": "be3afee6cc1e0dd8f28328484f39ece3907069bdcc6600b7866be382bc3aaa15",
    "lora-mix": "80929da8c656c0de3b759464992b1f6c5087907cffb1955cfa2bd03760b8cf5e",
    "preemption": "ef894afd26fef81e9e2e51734bea33474a7d03b645ffec658d0e9a4794e38f3f",
    "prefix-tree": "bc9f1c551d8e71009bcd6d97ec496f48d43309bd9417bca72eec612289b0cfd3",
    "priority-preemption": "08a198dddda25aa7145681c08c47d1cf7495b04f255cfdc34342ff091893f816",
    "single-abort": "2af85f3f111fdf2b2626df1882204c6563e1f6390f16fbd9ac36750daba0d9c4",
    "speculative-drafts": "ef27a1ce2deef57408c0edfb1f34654f1eb031591c07c4da38a3c24af5a8931a",
    "staggered-finish": "4f78b572809a5165e726308742c07a359f30e7d00905cef0cee3553db02249b2",
    "steady-decode": "ec12811ee328f3129709fe36bf80d6c418b07dbf79453e506ccac71ae65085c2",
    "streaming-sessions": "a96a2b6e8222d3446192be58da4bf3f94c987af913edf5a6b0fb48be3695cdfc",
    "structured-output": "f183ac039049607be98ab2acf0240650ed43953376d3c44da4efd5e1b6989065",
    "waiting-abort-storm": "dcac8d0a53b78004b33541515cfeef84716a1cf80dfddd160af39fb434e635c5",
}
UNPLANNED = {"preemption", "priority-preemption", "arrivals"}  # who runs when is left to the scheduler
NAMES = sorted(WORKLOADS)
# tests/parity/test_workloads.py replays these on vLLM's scheduler: the simulator knows no adapters, grammars, drafts
# or sessions.
FEATURED = {"lora-mix", "structured-output", "speculative-drafts", "streaming-sessions"}
SIMULATED = sorted(set(WORKLOADS) - FEATURED)


@pytest.mark.parametrize("name", NAMES)
def test_digest_is_that_of_every_other_machine(name: str) -> None:
    assert generate(name, num_running=16, seed=1).digest == GOLDEN[name]


@pytest.mark.parametrize("name", NAMES)
def test_recorded_options_make_the_same_trace_again(name: str) -> None:
    first = generate(name, num_running=24, seed=2, options={"steps": 40})
    assert set(first.options) == {option.name for option in WORKLOADS[name].options}
    assert generate(name, num_running=24, seed=2, options=first.options) == first


@pytest.mark.parametrize("name", NAMES)
def test_seed_changes_the_trace(name: str) -> None:
    assert generate(name, num_running=16, seed=1).digest != generate(name, num_running=16, seed=2).digest


def test_workloads_do_not_share_their_randomness() -> None:
    prompts = {
        tuple(each.input_length for each in generate(name, num_running=16, seed=1).requests[:16])
        for name in NAMES
        if name not in {"preemption", "priority-preemption", "prefix-tree"}  # more is added to their prompts
    }
    assert len(prompts) == len(NAMES) - 3


@pytest.mark.parametrize("name", NAMES)
def test_timestamps_follow_the_steps(name: str) -> None:
    made = generate(name, num_running=16, seed=1, options={"step_ms": 2.5})
    assert all(each.timestamp == 2.5 * (each.arrival_step or 0) for each in made.requests)
    assert made.requests[-1].arrival_step == 0 or made.requests[-1].timestamp > 0


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize("num_running", [16, 64, 400])
def test_steady_phase_is_about_as_long_as_asked_and_the_trace_ends_soon_after(name: str, num_running: int) -> None:
    made = generate(name, num_running=num_running, seed=1, options={"steps": 96})
    steps = simulate(made)
    first, last = steady(made, steps)
    exact = name not in UNPLANNED
    assert last - first + 1 == 96 if exact else 86 <= last - first + 1 <= 116
    assert len(steps) - last <= (5 if exact else 40)
    assert first <= 30
    if exact or name == "arrivals":
        assert sum(len(step.preempted) for step in steps) == 0


@pytest.mark.parametrize("name", SIMULATED)
def test_smallest_size_works_and_one_less_is_refused(name: str) -> None:
    least = WORKLOADS[name].min_running
    made = generate(name, num_running=least, seed=1)
    steps = simulate(made)
    first, last = steady(made, steps)
    assert 128 <= last - first + 1 <= 170
    assert sum(len(step.finished_places) for step in steps) > 0
    with pytest.raises(TraceError, match=f"num_running is {least - 1}, expected {least} to 16384"):
        generate(name, num_running=least - 1, seed=1)


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.parametrize("num_running", [16, 64, 400])
def test_workload_takes_the_path_that_it_promises(name: str, num_running: int) -> None:
    made = generate(name, num_running=num_running, seed=1)
    steps = simulate(made)
    first, last = steady(made, steps)
    assert missed_paths(name, made.options, readings(steps), slice(first, last + 1)) == []


@pytest.mark.parametrize("name", SIMULATED)
def test_steps_of_another_path_are_told_from_it(name: str) -> None:
    made = generate(name, num_running=64, seed=1)
    idle = {field: np.zeros(100, dtype=np.int64) for field in readings([])}
    busy = {field: np.full(100, 100) for field in idle}
    assert missed_paths(name, made.options, idle, slice(None)) or missed_paths(name, made.options, busy, slice(None))


def test_traces_of_other_sources_promise_nothing() -> None:
    assert missed_paths("mooncake:chat", {}, {}, slice(None)) == []


@pytest.mark.parametrize("num_running", [-5, 16_385])
def test_impossible_size_is_refused(num_running: int) -> None:
    with pytest.raises(TraceError, match=f"num_running is {num_running}, expected 1 to 16384"):
        generate("steady-decode", num_running=num_running, seed=1)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_impossible_seed_is_refused(seed: int) -> None:
    with pytest.raises(TraceError, match="expected 0 to 18446744073709551615"):
        generate("steady-decode", num_running=4, seed=seed)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("steady-decod", {}, 'workload steady-decod: no such workload; did you mean "steady-decode"?'),
        ("steady-decode", {"step": 3}, 'workload steady-decode: no option "step"; did you mean "steps"?'),
        ("steady-decode", {"steps": 0}, "workload steady-decode: option steps is 0, expected 1 to 100000 steps"),
        ("staggered-finish", {"position": "end"}, "option position is 'end'"),
        ("finish-wave", {"wave": 17}, "with num_running 16: option wave is 17, expected 2 to 16"),
        ("finish-wave", {"wave": 1}, "with num_running 16: option wave is 1, expected 2 to 16"),
        ("finish-wave", {"steps": 16}, "no wave falls into 16 steps; expected steps > period 16"),
        ("single-abort", {"steps": 5}, "no abort falls into 5 steps; expected steps > period 4 + 1"),
        ("abort-storm", {"storm": 17}, "option storm is 17, expected 2 to 16"),
        ("abort-storm", {"storm": 8, "calls": "each", "period": 8}, "option period is 8, expected > storm 8 for calls"),
        ("waiting-abort-storm", {"storm": 1}, "option storm is 1, expected 2 to 16"),
        ("waiting-abort-storm", {"steps": 33}, "no abort falls into 33 steps; expected steps > period 32 + 1"),
        ("abort-storm", {"steps": 33}, "no abort falls into 33 steps; expected steps > period 32 + 1"),
        ("preemption", {"kv_share": 0.9}, "option kv_share is 0.9, expected 0.4 to 0.75"),
        ("chunked-prefill", {"steps": 8}, "no long prompt fits into 8 steps, expected ≥"),
    ],
)
def test_impossible_order_is_refused(name: str, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(TraceError) as caught:
        generate(name, num_running=16, seed=1, options=options)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("name", "options"),
    [("finish-wave", {"steps": 17}), ("single-abort", {"steps": 6}), ("abort-storm", {"steps": 34})],
)
def test_fewest_steps_that_are_said_to_work_do(name: str, options: dict[str, Any]) -> None:
    steps = simulate(generate(name, num_running=16, seed=1, options=options))
    assert sum(len(step.aborted_places) + (len(step.finished_places) == 2) for step in steps) > 0


def test_orders_of_too_many_requests_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TraceError, match="needs more than 2000000 requests; lower steps or num_running"):
        generate("preemption", num_running=16_384, seed=1, options={"steps": 100_000})
    monkeypatch.setattr(workload, "MAX_REQUESTS", 30)
    assert len(generate("single-abort", num_running=16, seed=1, options={"steps": 60}).requests) == 30
    with pytest.raises(TraceError, match="needs more than 30 requests"):
        generate("single-abort", num_running=16, seed=1, options={"steps": 64})


def test_description_names_every_workload_and_option() -> None:
    text = describe_workloads()
    for name, each in WORKLOADS.items():
        assert f"{name}: {each.path} (num_running ≥ {each.min_running})" in text
    assert "  period   from one wave to the next; default 16 steps; 1 to 100000 steps\n" in text
    assert "default head; one of head, middle, tail\n" in text
