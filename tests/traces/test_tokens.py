from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench.errors import TraceError
from bench.traces.model import EngineNeeds
from bench.traces.tokens import prompt_token_ids

from .examples import request, trace

NEEDS = EngineNeeds(max_num_seqs=8, max_num_batched_tokens=64, kv_tokens=10**6, max_model_len=200_000)


def tokens(sent: object, vocab_size: int = 256, **changes: object) -> list[int]:
    return prompt_token_ids(trace(sent, engine=NEEDS, hash_block_tokens=16, **changes), sent, vocab_size)  # type: ignore[arg-type]


def test_tokens_are_those_of_every_other_machine() -> None:
    assert tokens(request("a", input_length=6)) == [114, 39, 251, 85, 219, 204]
    assert tokens(request("a", input_length=6, hash_ids=(1,)), vocab_size=32_000) == [
        13304,
        28351,
        27220,
        24170,
        31139,
        685,
    ]


def test_tokens_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from bench.traces.workloads import generate; from bench.traces.tokens import prompt_token_ids;"
        "t = generate('steady-decode', num_running=2, seed=5); print(prompt_token_ids(t, t.requests[1], 1000))"
    )
    root = str(Path(__file__).parents[2])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith("[")


@pytest.mark.parametrize("input_length", [1, 15, 16, 17, 32, 33, 100])
def test_there_are_as_many_tokens_as_input_length(input_length: int) -> None:
    most = -(-input_length // 16)
    for num_blocks in range(min(most, 3) + 1):
        assert len(tokens(request(input_length=input_length, hash_ids=tuple(range(num_blocks))))) == input_length


def test_equal_hash_ids_are_equal_tokens_and_the_rest_is_unique() -> None:
    first = tokens(request("a", input_length=48, hash_ids=(7, 8)))
    second = tokens(request("b", input_length=48, hash_ids=(7, 9)))
    assert first[:16] == second[:16]
    assert first[16:32] != second[16:32]
    assert first[32:] != second[32:]


def test_cut_block_is_the_beginning_of_the_whole_block() -> None:
    assert tokens(request(input_length=24, hash_ids=(7, 8))) == tokens(request(input_length=32, hash_ids=(7, 8)))[:24]


def test_seed_gives_other_tokens_for_blocks_and_for_the_rest() -> None:
    sent = request(input_length=32, hash_ids=(7,))
    assert tokens(sent, seed=1)[:16] != tokens(sent, seed=2)[:16]
    assert tokens(sent, seed=1)[16:] != tokens(sent, seed=2)[16:]


def test_request_named_like_a_block_has_other_tokens_than_the_block() -> None:
    assert tokens(request("7", input_length=16)) != tokens(request("7", input_length=16, hash_ids=(7,)))


def test_special_ids_are_never_used_and_all_others_are_about_equally() -> None:
    counts = Counter(tokens(request(input_length=100_000), vocab_size=13))
    assert set(counts) == set(range(3, 13))
    assert max(counts.values()) < 1.1 * min(counts.values())


@pytest.mark.parametrize("vocab_size", [0, 3, 2**31 + 1])
def test_vocabulary_without_ordinary_tokens_is_refused(vocab_size: int) -> None:
    with pytest.raises(TraceError, match=f"vocab_size is {vocab_size}, expected 4 to"):
        tokens(request(), vocab_size=vocab_size)


def test_smallest_vocabulary_has_one_token() -> None:
    assert tokens(request(input_length=3), vocab_size=4) == [3, 3, 3]
