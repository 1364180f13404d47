from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.errors import TraceError
from bench.traces.columns import Columns
from bench.traces.importers.needs import Load, concurrency, load_of, residence
from bench.traces.importers.options import ImportOptions


def load(steps: list[int], prompts: list[int], outputs: list[int], **options: Any) -> Load:
    none = [()] * len(steps)
    columns = Columns(np.zeros(len(steps)), np.array(prompts), np.array(outputs), none, [None] * len(steps))
    return load_of(columns, np.array(steps), ImportOptions(**options))


def test_request_stays_for_its_chunks_and_its_tokens() -> None:
    columns = Columns(np.zeros(3), np.array([1, 100, 250]), np.array([1, 5, 5]), [()] * 3, [None] * 3)
    assert residence(columns, 100).tolist() == [1, 5, 7]


def test_concurrency_is_weighed_by_steps_and_silence_does_not_count() -> None:
    # One runs in steps 0 to 9, a second in 4 to 5; then nothing until step 100.
    assert concurrency(np.array([0, 4, 100]), np.array([10, 2, 2])) == (1, 2)
    assert concurrency(np.array([0, 0, 0]), np.array([5, 5, 9])) == (3, 3)
    assert concurrency(np.array([0, 5]), np.array([5, 5])) == (1, 1)


def test_engine_holds_all_that_run_together_up_to_its_slots() -> None:
    made = load([0, 0, 0], [200, 200, 400], [50, 50, 50])
    assert made.engine.kv_tokens == 256 + 256 + 512 + 256
    assert made.engine.max_model_len == 512
    assert made.num_running == 3
    assert made.steady_running == 1
    assert load([0, 0, 0], [200, 200, 400], [50, 50, 50], max_num_seqs=1).engine.kv_tokens == 512 + 256


def test_small_cache_and_few_slots_bound_the_usual_length() -> None:
    assert load([0] * 8, [99] * 8, [28] * 8, kv_tokens=512).num_running == 4
    assert load([0] * 8, [99] * 8, [28] * 8, max_num_seqs=3).num_running == 3
    assert load([0] * 8, [99] * 8, [28] * 8, num_running=6).num_running == 6


def test_default_cache_has_a_limit_but_holds_the_longest_request() -> None:
    assert load([0] * 100, [100_000] * 100, [9] * 100).engine.kv_tokens == 4_000_256
    assert load([0], [9_000_000], [9]).engine.kv_tokens > 9_000_000


def test_cache_too_small_for_a_request_is_refused() -> None:
    with pytest.raises(TraceError, match="kv_tokens is 100, expected ≥ 128, the longest request; or pass"):
        load([0], [99], [28], kv_tokens=100)
