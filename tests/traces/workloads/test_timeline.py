from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.traces.model import TraceRequest
from bench.traces.workloads.timeline import admit_together, ample_needs, short_prompts, token_budget


def test_prompts_that_fit_one_step_are_all_in_at_once() -> None:
    assert admit_together([3, 4, 5], budget=12) == ([0, 0, 0], 0)


def test_decodes_take_from_the_budget_of_later_prompts() -> None:
    # Step 0: 4 + 4. Step 1: two decodes leave 6 of 8: 4, and 2 of the last. Step 2: three decodes, its last 2.
    assert admit_together([4, 4, 4, 4], budget=8) == ([0, 0, 1, 2], 1)


def test_cut_prompt_is_in_before_its_first_token() -> None:
    assert admit_together([4, 20], budget=8) == ([0, 3], 0)


def test_full_step_sends_the_next_prompt_to_the_next_step() -> None:
    assert admit_together([8, 3], budget=8) == ([0, 1], 1)


@given(prompts=st.lists(st.integers(1, 50), min_size=1, max_size=30), spare=st.integers(1, 40))
def test_no_step_of_admission_passes_the_budget(prompts: list[int], spare: int) -> None:
    budget = len(prompts) + spare
    first_steps, all_in = admit_together(prompts, budget)
    assert first_steps == sorted(first_steps)
    assert all_in <= first_steps[-1]
    for step in range(first_steps[-1] + 1):
        done = sum(prompt for prompt, first in zip(prompts, first_steps, strict=True) if first <= step)
        decoded = sum(step - first for first in first_steps if first < step)
        assert done + decoded <= budget * (step + 1)


def test_short_prompts_fill_their_range() -> None:
    assert set(short_prompts(np.random.default_rng(1), 2000)) == set(range(16, 33))


@pytest.mark.parametrize(
    ("num_running", "num_arriving", "expected"), [(16, 0, 8192), (8000, 0, 16_000), (1024, 256, 9216)]
)
def test_token_budget_lets_arrivals_in_at_once(num_running: int, num_arriving: int, expected: int) -> None:
    assert token_budget(num_running, num_arriving) == expected


def test_ample_needs_hold_the_largest_requests_together() -> None:
    lengths = [(10, 10), (200, 100), (200, 56), (16, 1)]  # with one more token each: 256, 512, 512 and 256
    requests = [TraceRequest(f"r{number}", 0, *pair) for number, pair in enumerate(lengths)]
    needs = ample_needs(requests, max_num_seqs=2, budget=1)
    assert needs.kv_tokens == 512 + 512 + 256
    assert needs.max_model_len == 512
    assert needs.max_num_batched_tokens == 2
