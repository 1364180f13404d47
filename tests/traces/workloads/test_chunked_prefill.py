from __future__ import annotations

import pytest

from bench.traces.workloads import generate

from .simulator import simulate, steady


@pytest.mark.parametrize("num_running", [16, 64, 400])
def test_most_steady_steps_serve_a_part_of_a_long_prompt(num_running: int) -> None:
    made = generate("chunked-prefill", num_running=num_running, seed=1)
    steps = simulate(made)
    first, last = steady(made, steps)
    chunked = [step.num_chunked for step in steps[first : last + 1]]
    assert sum(count > 0 for count in chunked) > 0.5 * len(chunked)
    assert max(chunked[8:]) == 1  # one long prompt at a time, so none is kept waiting by another


@pytest.mark.parametrize("num_running", [16, 400])
def test_all_decoding_requests_stay_and_few_others_come_and_go(num_running: int) -> None:
    made = generate("chunked-prefill", num_running=num_running, seed=1)
    steps = simulate(made)
    first, last = steady(made, steps)
    decoding = [each.request_id for each in made.requests[:num_running]]
    assert all(step.running[:num_running] == decoding for step in steps[first : last + 1])
    assert max(len(step.running) for step in steps) <= num_running + 4
    finished = [place for step in steps[first:last] for place in step.finished_places]
    assert len(finished) == len(made.requests) - num_running > 5
    assert min(finished) >= num_running


@pytest.mark.parametrize(("num_running", "budget"), [(16, 512), (64, 512), (400, 800), (2000, 3024)])
def test_budget_leaves_at_most_half_a_prompt_beside_the_decodes(num_running: int, budget: int) -> None:
    made = generate("chunked-prefill", num_running=num_running, seed=1)
    assert made.engine.max_num_batched_tokens == budget


def test_long_prompts_are_as_long_as_asked() -> None:
    made = generate("chunked-prefill", num_running=16, seed=1, options={"prompt_tokens": 600})
    assert {each.input_length for each in made.requests[16:]} == {600}
    assert {each.output_length for each in made.requests[16:]} == {4}
