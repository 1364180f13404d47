from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from bench.errors import TraceError
from bench.traces.model import digest_of
from bench.traces.workloads import WORKLOADS

from .examples import NEEDS, request, trace

ROOT = Path(__file__).parents[2]
GENERATE = (
    "from bench.traces.workloads import generate, WORKLOADS;"
    "print([generate(name, num_running=16, seed=5).digest for name in WORKLOADS])"
)


def test_digest_is_sha256_over_the_canonical_lines() -> None:
    lines = (
        b'{"timestamp":0,"input_length":16,"output_length":4,"request_id":"a"}\n'
        b'{"timestamp":2.5,"input_length":16,"output_length":4,"request_id":"b"}\n'
    )
    assert trace().digest == hashlib.sha256(lines).hexdigest()


def test_digest_does_not_depend_on_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", GENERATE],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "4711")
    }
    assert len(outputs) == 1
    assert outputs.pop().count("'") == 2 * len(WORKLOADS)


def test_digest_changes_with_any_field_and_with_the_order() -> None:
    base = request("a", arrival_step=0)
    others = [
        replace(base, **change)
        for change in (
            {"request_id": "b"},
            {"timestamp": 0.001},
            {"input_length": 17},
            {"output_length": 5},
            {"hash_ids": (1,)},
            {"arrival_step": 1},
            {"priority": 1},
            {"abort_after": 1},
            {"abort_step": 1},
            {"lora": "x"},
            {"grammar": "x"},
            {"session": "x"},
            {"images": ((0, 2, 1),)},
            {"external_tokens": 8},
            {"lost_block": 0},
            {"load_steps": 1},
        )
    ]
    assert len({digest_of([each]) for each in [base, *others]}) == 1 + len(others)
    assert digest_of([base, others[0]]) != digest_of([others[0], base])


def test_digest_leaves_the_header_out() -> None:
    assert trace(seed=8, workload="other").digest == trace().digest


def test_digest_follows_a_replaced_request() -> None:
    changed = replace(trace(), requests=(request("z"),))
    assert changed.digest == digest_of([request("z")])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"requests": ()}, "number of requests is 0, expected ≥ 1"),
        ({"requests": (request("a"), request("a"))}, "request 2 ('a'): request_id \"a\" was used before"),
        ({"seed": -1}, "seed is -1, expected ≥ 0"),
        ({"seed": 2**64}, "seed is 18446744073709551616, expected ≤ 18446744073709551615"),
        ({"num_running": 0}, "num_running is 0, expected ≥ 1"),
        ({"steady_running": 9}, "steady_running is 9, expected ≤ 8"),
        ({"hash_block_tokens": 0}, "hash_block_tokens is 0, expected ≥ 1"),
        ({"workload": ""}, "workload is empty"),
        ({"options": {"share": float("nan")}}, 'option "share" is nan, expected a finite number'),
        ({"engine": replace(NEEDS, kv_tokens=0)}, "kv_tokens is 0, expected ≥ 1"),
        ({"engine": replace(NEEDS, max_num_seqs=65)}, "max_num_batched_tokens is 64, expected ≥ max_num_seqs 65"),
        ({"engine": replace(NEEDS, max_model_len=19)}, "expected ≤ 19, the trace's max_model_len"),
        ({"engine": replace(NEEDS, encoder_cache_size=-1)}, "encoder_cache_size is -1, expected ≥ 0"),
        ({"engine": replace(NEEDS, kv_load_failure_policy="retry")}, "kv_load_failure_policy is 'retry', expected"),
        (
            {"requests": (request(images=((0, 5, 2),)),), "engine": replace(NEEDS, encoder_cache_size=9)},
            "request 1 ('a'): image 2 has 5 tokens, expected ≤ 0, the lesser of the trace's max_num_encoder_in",
        ),
        (
            {"requests": (request(external_tokens=5),)},
            "external_tokens is 5, expected 0 in a trace without kv_load_failure_policy",
        ),
    ],
)
def test_impossible_trace_cannot_be_made(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(TraceError) as caught:
        trace(**changes)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_trace_is_frozen_and_keeps_its_own_options() -> None:
    options: dict[str, Any] = {"z": 1, "a": 2}
    made = trace(options=options)
    options["z"] = 5
    assert list(made.options.items()) == [("a", 2), ("z", 1)]
    with pytest.raises(FrozenInstanceError):
        made.seed = 3  # type: ignore[misc]


def test_trace_travels_between_processes() -> None:
    assert pickle.loads(pickle.dumps(trace())) == trace()
