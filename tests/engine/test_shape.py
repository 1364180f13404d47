from __future__ import annotations

import pytest

from bench.engine.shape import resolve_shape
from bench.errors import ConfigError
from bench.options import EngineOptions
from tests.engine.conftest import request, trace_of


def test_what_the_experiment_leaves_open_comes_from_the_trace() -> None:
    shape = resolve_shape(EngineOptions(), trace_of(request("a"), kv_tokens=100))
    assert (shape.max_num_seqs, shape.max_num_batched_tokens) == (16, 8192)
    assert shape.num_blocks == 4  # 100 tokens need 4 blocks of 32


def test_the_experiment_overrides_the_trace() -> None:
    options = EngineOptions(max_num_seqs=2, max_num_batched_tokens=64, kv_tokens=640, block_size=64)
    shape = resolve_shape(options, trace_of(request("a")))
    assert (shape.max_num_seqs, shape.max_num_batched_tokens, shape.num_blocks) == (2, 64, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_num_batched_tokens": 8}, "max_num_batched_tokens is 8, expected ≥ max_num_seqs"),
        ({"kv_tokens": 4}, "44 tokens can never fit in a KV cache of 1 blocks of 32"),
        ({"max_model_len": 8}, "a request has 44 tokens, expected ≤ max_model_len"),
        ({"long_prefill_token_threshold": 9999}, "long_prefill_token_threshold is 9999"),
        ({"model": "tinny"}, 'engine.model is "tinny".*did you mean "tiny"'),
        ({"model": "no/such/folder"}, "neither a shipped model nor a folder"),
    ],
)
def test_what_cannot_go_together_is_one_clear_line(options: dict[str, object], message: str) -> None:
    trace = trace_of(request("a", prompt=40))
    with pytest.raises(ConfigError, match=message):
        resolve_shape(EngineOptions.model_validate(options), trace)
