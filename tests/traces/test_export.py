from __future__ import annotations

import ast
import importlib.util
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bench.errors import TraceError
from bench.traces.export import export_mooncake
from bench.traces.importers import import_trace
from bench.traces.workloads import generate

from .examples import request, trace

MADE = trace(
    request("a", input_length=600, hash_ids=(7, 8)),
    request("b", timestamp=2.5, input_length=1100, hash_ids=(7,), priority=3),
    request("c", timestamp=4.0, input_length=16),
)
VLLM_DATASETS = Path("benchmarks") / "datasets" / "datasets.py"


class Tokenizer:
    """A tokenizer as far as vLLM's dataset asks for one."""

    all_special_ids = (0,)

    def get_vocab(self) -> dict[str, int]:
        return {str(token): token for token in range(100)}


class BenchmarkDataset:
    """What vLLM's own class of this name leaves in the object, as far as the dataset below uses it."""

    def __init__(self, dataset_path: str, random_seed: int, **kwargs: Any) -> None:
        self.dataset_path = dataset_path
        self.random_seed = random_seed


def vllm_timed_trace() -> Any:
    """vLLM's `TimedTrace`, cut out of its module, whose other imports take many seconds."""
    found = importlib.util.find_spec("vllm")
    if found is None or found.origin is None:
        pytest.skip("vLLM is not installed here")
    module = Path(found.origin).parent / VLLM_DATASETS
    if not module.is_file():
        pytest.skip("this vLLM keeps its datasets elsewhere")
    nodes = [node for node in ast.parse(module.read_text()).body if getattr(node, "name", None) == "TimedTrace"]
    if not nodes:
        pytest.skip("this vLLM has no timed_trace dataset")
    names: dict[str, Any] = {
        "BenchmarkDataset": BenchmarkDataset,
        "SampleRequest": SimpleNamespace,
        "TokenizerLike": Any,
        "Any": Any,
        "json": json,
        "np": np,
        "random": random,
    }
    exec(compile(ast.Module(nodes, type_ignores=[]), str(module), "exec"), names)
    return names["TimedTrace"]


def test_every_block_has_an_id_and_unique_ones_are_new(tmp_path: Path) -> None:
    notes = export_mooncake(MADE, tmp_path / "out.jsonl")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert records == [
        {"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [7, 8]},
        {"timestamp": 2.5, "input_length": 1100, "output_length": 4, "hash_ids": [7, 9, 10]},
        {"timestamp": 4, "input_length": 16, "output_length": 4, "hash_ids": [11]},
    ]
    assert notes == ["block size 512 tokens, times in ms", "not in the format, left out: priority"]


def test_exported_trace_can_be_imported_again(tmp_path: Path) -> None:
    made = generate("staggered-finish", num_running=16, seed=1)
    export_mooncake(made, tmp_path / "out.jsonl")
    again = import_trace([tmp_path / "out.jsonl"]).trace
    for name in ("timestamp", "input_length", "output_length", "arrival_step"):
        assert [getattr(each, name) for each in again.requests] == [getattr(each, name) for each in made.requests]


def test_vllm_reads_an_exported_trace(tmp_path: Path) -> None:
    export_mooncake(MADE, tmp_path / "out.jsonl")
    labels = {f"timed_trace_label_{name}": name for name in ("timestamp", "input_length", "output_length", "hash_ids")}
    dataset = vllm_timed_trace()(
        dataset_path=str(tmp_path / "out.jsonl"),
        random_seed=1,
        timed_trace_chunk_hash_size=MADE.hash_block_tokens,
        timed_trace_sec_multiplier=0.001,
        **labels,
    )
    samples = dataset.sample(Tokenizer(), num_requests=9)
    assert [each.timestamp for each in samples] == [0, 0.0025, 0.004]
    assert [each.prompt_len for each in samples] == [each.input_length for each in MADE.requests]
    assert [each.expected_output_len for each in samples] == [each.output_length for each in MADE.requests]
    assert samples[0].prompt[:512] == samples[1].prompt[:512]
    assert samples[2].prompt != samples[0].prompt[:16]


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written"):
        export_mooncake(MADE, tmp_path / "none" / "out.jsonl")
