from __future__ import annotations

import pytest

from bench.traces.statistics import ideal_hit_share
from bench.traces.workloads import generate

from .simulator import simulate, steady


def test_prompts_are_paths_of_one_tree() -> None:
    made = generate("prefix-tree", num_running=64, seed=1, options={"levels": 3, "branches": 2})
    parents: dict[int, int] = {}
    for each in made.requests:
        assert each.hash_ids[0] == 0
        assert len(each.hash_ids) == 3
        for parent, child in zip(each.hash_ids, each.hash_ids[1:], strict=False):
            assert parents.setdefault(child, parent) == parent
    assert len(set(parents)) == 2 + 4
    assert made.hash_block_tokens == 64


@pytest.mark.parametrize("num_running", [16, 400])
def test_one_leaves_and_one_arrives_in_each_step_and_little_is_computed(num_running: int) -> None:
    made = generate("prefix-tree", num_running=num_running, seed=1)
    steps = simulate(made)
    first, last = steady(made, steps)
    assert {len(step.running) for step in steps[first : last + 1]} == {num_running}
    assert all(step.finished_places[0] == 0 for step in steps[first : last + 1])
    computed = [step.num_tokens - len(step.running) for step in steps[first + 1 : last + 1]]
    assert sum(tokens < 32 for tokens in computed) > 0.8 * len(computed)


def test_most_prompt_tokens_are_shared_and_the_rest_is_unique() -> None:
    made = generate("prefix-tree", num_running=400, seed=1)
    assert 0.85 < ideal_hit_share(made.requests, 64) < 0.95
    assert all(16 <= each.input_length - 64 * len(each.hash_ids) <= 32 for each in made.requests)


def test_deeper_trees_share_more() -> None:
    shares = [
        ideal_hit_share(generate("prefix-tree", num_running=64, seed=1, options={"levels": n}).requests, 64)
        for n in (1, 2, 3)
    ]
    assert shares == sorted(shares)
