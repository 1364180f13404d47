"""Slices of public traces, where they lie beside the checkout or where RUNQUEUE_BENCH_PUBLIC_TRACES says.

The figures are of the slices, not of the traces that they were cut from.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.errors import TraceError
from bench.traces.importers import Imported, ImportOptions, import_trace
from bench.traces.statistics import burstiness, ideal_hit_share, percentiles

BESIDE = Path(__file__).resolve().parents[4] / "shared" / "traces"
SLICES = Path(os.environ.get("RUNQUEUE_BENCH_PUBLIC_TRACES", BESIDE))
LENGTHS = "ragpulse_component_lengths.jsonl"
NO_TRACES = {"README.md", "SHA256SUMS", "LICENSES", LENGTHS}

pytestmark = pytest.mark.skipif(
    not SLICES.is_dir(),
    reason="no public slices: set RUNQUEUE_BENCH_PUBLIC_TRACES, or put them into shared/traces beside the checkout",
)


@dataclass(frozen=True)
class Slice:
    """What comes out: rows read, p50, p90 and p99 of prompts and outputs, CV of gaps, ideal prefix hit in %."""

    format: str
    rows: int
    prompts: tuple[int, int, int]
    outputs: tuple[int, int, int]
    gap_cv: float
    hit_pct: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)
    lengths: bool = False


EXPECTED = {
    "azure2023_conv_busy600s.csv": Slice("azure", 4447, (459, 4084, 4142), (92, 401, 581), 1.04),
    "azure2023_code_busy600s.csv": Slice("azure", 2205, (1469, 5029, 7436), (13, 52, 232), 9.52),
    "azure2023_conv_tail50.csv": Slice("azure", 50, (997, 1316, 3614), (179, 434, 645), 1.23),
    "azure2024_displayed_rows_code.csv": Slice("azure", 10, (2162, 4725, 7670), (6, 56, 79), 2.83),
    "azure2024_displayed_rows_conv.csv": Slice("azure", 10, (862, 2688, 3152), (11, 264, 366), 2.83),
    "azure2025_multimodal_displayed_rows.csv": Slice("azure", 10, (949, 1724, 4564), (76, 326, 491), 2.83),
    "inference_perf_example_trace.csv": Slice("azure", 20, (388, 1315, 2221), (84, 152, 174), 1.36),
    "burstgpt_v1_quoted_rows.csv": Slice("burstgpt", 3, (472, 1087, 1087), (230, 276, 276), 0.29),
    "burstgpt_v2_quoted_rows.csv": Slice("burstgpt", 4, (906, 1779, 1779), (123, 446, 446), 0.27),
    "mooncake_conversation_first1107.jsonl": Slice(
        "mooncake", 1107, (8381, 29755, 99349), (365, 595, 1019), 2.84, 22.10
    ),
    "mooncake_synthetic_first900.jsonl": Slice("mooncake", 900, (2782, 35397, 55673), (167, 429, 777), 0.99, 15.95),
    "ragpulse_first600.jsonl": Slice("ragpulse", 600, (3189, 3921, 4875), (194, 465, 673), 1.37, 31.55, lengths=True),
    "ragpulse_rows3700-3899_week_boundary.jsonl": Slice(
        "ragpulse", 200, (3066, 3861, 4567), (219, 532, 810), 1.45, 32.72, {"clock_reset": "join"}, True
    ),
    "kv_cache_tester_sessions_max28k.jsonl": Slice(
        "sessions", 83, (16289, 23064, 26769), (176, 486, 5698), 4.96, 81.60
    ),
    "kv_cache_tester_trace_0291_subagent.json": Slice(
        "sessions", 32, (77320, 97317, 101059), (250, 2185, 3035), 2.29, 89.73
    ),
    "vidur_splitwise_conv_first500.csv": Slice("vidur", 500, (997, 1314, 4088), (217, 429, 580), 1.29),
    "vidur_arxiv_lengths_first5000.csv": Slice(
        "vidur-lengths", 5000, (2712, 3699, 3928), (165, 379, 3344), 1.0, options={"arrivals": "poisson"}
    ),
    "splitwise_sim_test_trace.csv": Slice("splitwise-sim", 3, (2048, 4096, 4096), (16, 32, 32), 0.33),
    # Drawn: the figures are those of seed 1.
    "servegen_deepseek_r1_peak_hour_clients.jsonl": Slice(
        "servegen", 106_276, (265, 699, 2304), (511, 1471, 1811), 1.26
    ),
    "servegen_deepseek_r1_chunk-52-trace.csv": Slice("servegen", 876, (115, 133, 177), (383, 535, 1206), 0.82),
    "servegen_deepseek_r1_chunk-52-dataset.json": Slice("servegen", 876, (115, 133, 177), (383, 535, 1206), 0.82),
}


@cache
def imported(name: str) -> Imported:
    expected = EXPECTED[name]
    lengths = SLICES / LENGTHS if expected.lengths else None
    return import_trace([SLICES / name], ImportOptions(**expected.options), lengths)


def test_every_slice_is_tried() -> None:
    assert {path.name for path in SLICES.iterdir()} - NO_TRACES == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_slice_is_imported_and_its_rows_add_up(name: str) -> None:
    expected, found = EXPECTED[name], imported(name)
    assert found.format == expected.format
    assert found.tally.read == expected.rows
    assert found.tally.kept == len(found.trace.requests) == expected.rows
    assert not found.tally.dropped


@pytest.mark.parametrize("name", EXPECTED)
def test_figures_of_the_slice_come_out(name: str) -> None:
    expected, requests = EXPECTED[name], imported(name).trace.requests
    assert percentiles([each.input_length for each in requests])[:3] == expected.prompts
    assert percentiles([each.output_length for each in requests])[:3] == expected.outputs
    assert burstiness([each.timestamp for each in requests]).gap_cv == pytest.approx(expected.gap_cv, abs=0.006)
    share = ideal_hit_share(requests, imported(name).trace.hash_block_tokens)
    assert 100 * share == pytest.approx(expected.hit_pct, abs=0.01)


def test_lengths_are_those_of_a_plain_reading_of_the_file() -> None:
    with (SLICES / "azure2023_code_busy600s.csv").open(newline="") as file:
        prompts = sorted(int(row["ContextTokens"]) for row in csv.DictReader(file))
    assert sorted(each.input_length for each in imported("azure2023_code_busy600s.csv").trace.requests) == prompts
    lines = (SLICES / "mooncake_synthetic_first900.jsonl").read_text().splitlines()
    ids = [tuple(json.loads(line)["hash_ids"]) for line in lines]
    assert [each.hash_ids for each in imported("mooncake_synthetic_first900.jsonl").trace.requests] == ids


@pytest.mark.parametrize(
    ("name", "prompts", "requests"),
    [("mooncake_conversation_first1107.jsonl", 0.298, 0.279), ("azure2023_conv_busy600s.csv", 0.965, 0.810)],
)
def test_share_that_4096_tokens_hold(name: str, prompts: float, requests: float) -> None:
    listed = imported(name).trace.requests
    assert np.mean([each.input_length <= 4096 for each in listed]) == pytest.approx(prompts, abs=0.001)
    held = np.mean([each.input_length + each.output_length <= 4096 for each in listed])
    assert held == pytest.approx(requests, abs=0.001)
    kept = import_trace([SLICES / name], ImportOptions(max_context=4096))
    assert kept.tally.kept == round(held * len(listed))
    assert kept.tally.dropped["over_max_context"] == len(listed) - kept.tally.kept


@pytest.mark.parametrize(
    ("name", "last_ms"),
    [
        ("mooncake_conversation_first1107.jsonl", 366_000),
        ("mooncake_synthetic_first900.jsonl", 245_153),
        ("ragpulse_first600.jsonl", 27_668_000),
    ],
)
def test_slice_lasts_as_long_as_its_readme_says(name: str, last_ms: int) -> None:
    assert imported(name).trace.requests[-1].timestamp == last_ms


def test_fall_of_the_clock_between_two_weeks_is_refused_unless_told() -> None:
    with pytest.raises(TraceError, match="line 101: the clock goes back by 604453 s; pass --clock-reset"):
        import_trace([SLICES / "ragpulse_rows3700-3899_week_boundary.jsonl"])


def test_ticks_of_three_seconds_are_spread_on_request() -> None:
    path = SLICES / "mooncake_conversation_first1107.jsonl"
    spread = import_trace([path], ImportOptions(spread_ms=3000.0))
    assert burstiness([each.timestamp for each in spread.trace.requests]).gap_cv == pytest.approx(1, abs=0.1)
    assert spread.trace.options["spread_ms"] == 3000.0


def test_sessions_and_calls_are_as_many_as_the_readme_says() -> None:
    requests = imported("kv_cache_tester_sessions_max28k.jsonl").trace.requests
    assert len({each.session for each in requests}) == 14
    assert max(each.input_length + each.output_length for each in requests) <= 28_672
    nested = imported("kv_cache_tester_trace_0291_subagent.json").trace.requests
    assert sum(each.timestamp % 1000 > 0 for each in nested) == 12  # only the subagents start within a second


def test_two_azure_services_share_a_clock() -> None:
    both = import_trace([SLICES / "azure2023_conv_busy600s.csv", SLICES / "azure2023_code_busy600s.csv"])
    assert both.tally.kept == 4447 + 2205
    assert both.trace.requests[-1].timestamp < 600_000


def test_table_of_lengths_is_no_trace() -> None:
    with pytest.raises(TraceError, match="is RAGPulse's table of lengths"):
        import_trace([SLICES / LENGTHS])
