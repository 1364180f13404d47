"""Each format by a small file: what is read, in which unit, and what is counted."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from bench.errors import TraceError
from bench.traces.files import read_trace, write_trace
from bench.traces.importers import FORMATS, ImportOptions, import_trace

from .samples import (
    AZURE,
    BURSTGPT_2,
    MOONCAKE,
    RAGPULSE_LENGTHS,
    SAMPLES,
    SERVEGEN_DATASET,
    SERVEGEN_TRACE,
    SESSION,
    SHAREGPT,
    Importer,
    packed,
    rows,
)


def test_every_format_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMATS)


@pytest.mark.parametrize("format", SAMPLES)
def test_format_is_known_by_its_keys_and_rows_add_up(importer: Importer, format: str) -> None:
    imported = importer.sample(format)
    assert imported.format == format
    assert imported.tally.read == len(imported.trace.requests) + imported.tally.dropped.total()
    assert imported.trace.options["rows_read"] == imported.tally.read
    assert imported.trace.options["rows_kept"] == len(imported.trace.requests)
    assert imported.trace.options["format"] == format
    assert imported.trace.requests[0].timestamp == 0


# A change here changes what an import makes of a file: do it only on purpose, and say so in the commit.
GOLDEN = {
    "azure": "3471f62b50d7ee1dcbcae3617709a73c9bf38887971862d42ef17f721ed3b4c4",
    "burstgpt": "08337a19bae3c01c3453e5f1bc4280b94f7ce5261b46170619b5e742fd554edf",
    "vidur": "aa44b9086c6f8240652dfdeca82d939bfa1ffb0b5a86a3ab2c3ee14769d41cca",
    "vidur-lengths": "8011f15f8da38be9eb04883b1a64c9751785e67ee76767719ed9183acb795d6b",
    "splitwise-sim": "abd585555357d50c8ed39be342a91049b8b96a29b174aee70cc378049fad1a87",
    "mooncake": "7b56294364bb55b7d20d1e1eef1cb5f86dde07e2a9736b4da4055bee9c7782dd",
    "timed-lengths": "a3e966c90aacfec18d1072db9a2193dcac2af83a6ebd4fe171d625ff7f797e80",
    "bailian": "8be90ea154241673c17c791f34ad662af8ff1051679021fef5ad88d4981f3c07",
    "ragpulse": "412fc49582fc00e25bc7603031cfc25350bd794a0d01d3d993b7971f45e45f4d",
    "sessions": "6b2051a8a1e4fb7379343e5285673d62ea91dee25bf9c42ee775a17c02f1b557",
    "vllm-custom": "f6fb2a19e2e2ffa43cded657936651763578c44a2d39487672da38a4ecf1bc13",
    "sharegpt": "bafb85a033c68072509847f6aab52bff44be05cc63154515d1b1e4aa0c113f92",
    "servegen": "9b872a12da81c11f3e7b977260199c9a760f97e6cb777b769c77d1d84eedb0d3",
}


@pytest.mark.parametrize("format", SAMPLES)
def test_digest_is_that_of_every_other_machine(importer: Importer, format: str) -> None:
    assert importer.sample(format).trace.digest == GOLDEN[format]


@pytest.mark.parametrize("format", SAMPLES)
def test_imported_trace_is_read_as_it_was_written(importer: Importer, tmp_path: Path, format: str) -> None:
    trace = importer.sample(format).trace
    write_trace(trace, tmp_path / "out.jsonl")
    assert read_trace(tmp_path / "out.jsonl") == trace


@pytest.mark.parametrize("format", SAMPLES)
def test_gzip_bom_crlf_and_blank_lines_make_no_difference(importer: Importer, format: str) -> None:
    name, text, options = SAMPLES[format]
    plain = importer(name, text, **options).trace
    lines = text.replace("\r\n", "\n").splitlines()
    assert importer(name, packed(text), **options).trace == plain
    assert importer(name, b"\xef\xbb\xbf" + text.encode(), **options).trace == plain
    assert importer(name, "\r\n".join(lines), **options).trace == plain
    assert importer(name, "\n\n".join(lines) + "\n\n\n", **options).trace == plain


@pytest.mark.parametrize("format", [name for name in SAMPLES if SAMPLES[name][0].endswith(".csv")])
def test_columns_may_stand_in_any_order(importer: Importer, format: str) -> None:
    def turned(text: str) -> str:
        return "\n".join(",".join(reversed(line.split(","))) for line in text.splitlines())

    assert rows(importer.sample(format, turned)) == rows(importer.sample(format))


def test_azure_times_have_decimals_or_none_and_are_put_in_order(importer: Importer) -> None:
    imported = importer.sample("azure")
    assert rows(imported) == [(0, 396, 109, ()), (680.59, 374, 44, ()), (5222.467, 879, 55, ())]
    assert imported.tally.changed == {"moved_into_order": 1}
    assert imported.time_unit == "wall clock"


def test_azure_zones_and_forms_are_one_clock(importer: Importer) -> None:
    text = (
        "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
        "2024-05-12 00:00:00.001163+00:00,0,1,1\n"
        "2024-05-12T00:00:00.002163Z,1,2,1\n"
        "2024-05-12 01:30:00+01:30,0,3,1\n"
        "2024-05-11 22:00:01-0200,0,4,1\n"
    )
    assert [each[:2] for each in rows(importer("a.csv", text))] == [(0, 3), (1.163, 1), (2.163, 2), (1000, 4)]


def test_two_azure_files_are_merged_on_their_clock(importer: Importer, tmp_path: Path) -> None:
    first = importer.write("code.csv", AZURE)
    second = importer.write("conv.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:45.5,1,2\n")
    merged = import_trace([first, second], ImportOptions())
    assert [each[:2] for each in rows(merged)] == [(0, 1), (500, 396), (1180.59, 374), (5722.467, 879)]
    assert merged.trace.options["source"] == "code.csv+conv.csv"


def test_files_with_clocks_of_their_own_are_not_merged(importer: Importer) -> None:
    paths = [importer.write("a.jsonl", MOONCAKE), importer.write("b.jsonl", MOONCAKE)]
    with pytest.raises(TraceError, match="mooncake files have each a clock of their own"):
        import_trace(paths, ImportOptions())


def test_files_of_two_formats_are_not_merged(importer: Importer) -> None:
    paths = [importer.write("a.csv", AZURE), importer.write("b.jsonl", MOONCAKE)]
    with pytest.raises(TraceError, match=r"b\.jsonl: is mooncake, expected azure as a\.csv"):
        import_trace(paths, ImportOptions())


def test_burstgpt_answer_of_no_tokens_is_a_failure(importer: Importer) -> None:
    imported = importer.sample("burstgpt")
    assert rows(imported) == [(0, 472, 18, ()), (113_000, 417, 276, ())]
    assert imported.tally.dropped == {"failed_without_response": 1}
    raised = importer.sample("burstgpt", min_output=1)
    assert rows(raised)[1] == (40_000, 1087, 1, ())
    assert raised.tally.changed == {"output_raised": 1}


def test_burstgpt_2_has_sessions(importer: Importer) -> None:
    assert [each.session for each in importer("b.csv", BURSTGPT_2).trace.requests] == ["s-1", None]


def test_columns_that_are_not_used_are_told(importer: Importer) -> None:
    assert "not used: Model, Total tokens, Log Type" in importer.sample("burstgpt").notes


def test_vidur_counts_seconds(importer: Importer) -> None:
    assert rows(importer.sample("vidur")) == [(0, 374, 44, ()), (4314.579, 396, 109, ())]


def test_splitwise_sim_counts_seconds(importer: Importer) -> None:
    assert rows(importer.sample("splitwise-sim")) == [(0, 4096, 32, ()), (2000, 2048, 8, ())]


@pytest.mark.parametrize("format", ["vidur-lengths", "vllm-custom", "sharegpt"])
def test_file_without_times_needs_an_arrival_process(importer: Importer, format: str) -> None:
    with pytest.raises(TraceError, match="files have no times; pass --arrivals poisson"):
        importer.sample(format, arrivals="recorded")


def test_mooncake_counts_ms_and_keeps_the_ids(importer: Importer) -> None:
    imported = importer.sample("mooncake")
    assert rows(imported)[2] == (3000, 1300, 3, (7, 9, 10))
    assert imported.trace.hash_block_tokens == 512
    assert imported.time_unit == "ms"


def test_unit_can_be_told(importer: Importer) -> None:
    imported = importer.sample("mooncake", time_unit="s")
    assert rows(imported)[2][0] == 3_000_000
    assert imported.time_unit == "s"


def test_unit_without_ids_is_guessed_by_the_rate_and_warned_of(importer: Importer) -> None:
    seconds = importer.sample("timed-lengths")
    assert seconds.time_unit == "s"
    assert any("guessed s by the rate, 1 requests/s" in note for note in seconds.notes)
    text = "".join(f'{{"timestamp": {200 * k}, "input_length": 9, "output_length": 4}}\n' for k in range(5))
    milliseconds = importer("t.jsonl", text)
    assert milliseconds.time_unit == "ms"
    assert any("guessed ms by the rate, 5 requests/s" in note for note in milliseconds.notes)


def test_unit_that_cannot_be_meant_is_refused(importer: Importer) -> None:
    fast = "".join(
        f'{{"timestamp": {0.01 * k}, "input_length": 9, "output_length": 4, "hash_ids": [1]}}\n' for k in range(30)
    )
    with pytest.raises(TraceError, match=r"times in ms mean 1e\+05 requests/s; say the unit with --time-unit"):
        importer("t.jsonl", fast)
    assert importer("t.jsonl", fast, time_unit="ms").trace.requests[-1].timestamp == pytest.approx(0.29)


def test_bailian_turns_are_one_session_and_their_history_is_not_added(importer: Importer) -> None:
    imported = importer.sample("bailian")
    assert [each.session for each in imported.trace.requests] == ["chat-1"] * 3
    assert rows(imported)[1] == (6750, 50, 9, (1, 2, 9, 10))
    assert imported.trace.hash_block_tokens == 16


def test_ragpulse_without_lengths_shares_nothing_and_says_so(importer: Importer) -> None:
    imported = importer.sample("ragpulse")
    assert rows(imported) == [(0, 60, 19, ()), (11_000, 50, 8, ())]
    assert imported.tally.changed == {"ids_without_lengths": 2}


def test_ragpulse_blocks_are_equal_where_their_tokens_are(importer: Importer) -> None:
    # 20 tokens of text 1, 12 of text 2: two blocks of 16 are shared; 22 and 12 more tokens differ.
    lengths = importer.write("lengths.jsonl", RAGPULSE_LENGTHS)
    imported = importer(*SAMPLES["ragpulse"][:2], lengths=lengths)
    first, second = (each.hash_ids for each in imported.trace.requests)
    assert first[:2] == second[:2]
    assert (len(first), len(second)) == (3, 2)
    assert imported.trace.options["component_lengths"] == "lengths.jsonl"


def test_ragpulse_blocks_of_one_text_differ(importer: Importer) -> None:
    lengths = importer.write("lengths.jsonl", '{"passage_id": 2, "token_length": 48}\n')
    text = '{"timestamp": "0", "input_length": 50, "output_length": 1, "hash_ids": {"passages_ids": [2]}}\n'
    imported = importer("rag.jsonl", text, lengths=lengths)
    assert len(set(imported.trace.requests[0].hash_ids)) == 3


def test_sessions_have_ids_of_their_own_and_subagents_run_inside(importer: Importer) -> None:
    requests = importer.sample("sessions").trace.requests
    first = [each for each in requests if each.session == "trace_1"]
    second = [each for each in requests if each.session == "trace_2"]
    assert [each.timestamp for each in first] == [0, 12_000, 20_000, 21_500, 124_000]
    assert [each.input_length for each in first] == [130, 200, 64, 128, 256]
    assert first[4].hash_ids[:3] == first[1].hash_ids
    assert first[3].hash_ids[0] == first[2].hash_ids[0]
    assert not {i for each in first for i in each.hash_ids} & {i for each in second for i in each.hash_ids}


def test_long_pauses_of_a_session_are_shortened_for_all_that_follows(importer: Importer) -> None:
    # Calls end at 2, 15 and, the subagent, 24 s: pauses of 10, 5 and 100 s, of which 4 stay.
    imported = importer("s.json", json.dumps(SESSION, indent=2), max_think_s=4)
    assert [each[0] for each in rows(imported)] == [0, 6000, 13_000, 14_500, 21_000]
    assert imported.tally.changed == {"pause_shortened": 2}


def test_session_starts_follow_the_arrival_process(importer: Importer) -> None:
    imported = importer.sample("sessions", arrivals="even", rate=0.1)
    second = [each.timestamp for each in imported.trace.requests if each.session == "trace_2"]
    assert second == [10_000, 22_000, 30_000, 31_500, 134_000]


def test_texts_are_as_long_as_the_rule_says(importer: Importer) -> None:
    imported = importer.sample("vllm-custom", chars_per_token=3.0)
    assert [(each.input_length, each.output_length) for each in imported.trace.requests] == [(10, 10), (2, 2)]
    assert imported.tally.changed["length_by_rule"] == 2
    shared = importer.sample("sharegpt")
    assert [(each.input_length, each.output_length) for each in shared.trace.requests] == [(10, 3)]
    assert shared.tally.dropped == {"fewer_than_two_turns": 1}


@pytest.mark.parametrize("indent", [None, 0, 4])
def test_sharegpt_may_be_one_line_many_lines_or_an_object_a_line(importer: Importer, indent: int | None) -> None:
    plain = rows(importer.sample("sharegpt"))
    assert rows(importer("s.json", json.dumps(json.loads(SHAREGPT), indent=indent), arrivals="poisson")) == plain
    lines = "\n".join(json.dumps(each) for each in json.loads(SHAREGPT))
    assert rows(importer("s.jsonl", lines, arrivals="poisson")) == plain


def test_servegen_draws_as_many_requests_as_its_rates_say(importer: Importer) -> None:
    imported = importer.sample("servegen")
    times = [each.timestamp / 1000 for each in imported.trace.requests]
    early, late = (sum(low <= time < high for time in times) for low, high in ((0, 605), (1190, 1800)))
    assert early + late == len(times)
    assert early == pytest.approx(1200, abs=5 * math.sqrt(1200))
    assert late == pytest.approx(600, abs=5 * math.sqrt(600))
    prompts = [each.input_length for each in imported.trace.requests]
    assert set(prompts) == {10, 20}
    assert prompts.count(10) == pytest.approx(len(prompts) / 2, rel=0.15)
    assert {each.output_length for each in imported.trace.requests} == {3}
    assert imported.trace.digest != importer.sample("servegen", seed=2).trace.digest
    assert imported.trace.digest == importer.sample("servegen").trace.digest


@pytest.mark.parametrize("name", ["chunk-1-trace.csv", "chunk-1-dataset.json"])
def test_servegen_pair_is_found_by_either_file(importer: Importer, name: str) -> None:
    importer.write("chunk-1-trace.csv", SERVEGEN_TRACE)
    importer.write("chunk-1-dataset.json", SERVEGEN_DATASET)
    imported = import_trace([importer.folder / name], ImportOptions())
    assert imported.format == "servegen"
    assert {each.input_length for each in imported.trace.requests} == {103, 105}
    assert {each.output_length for each in imported.trace.requests} == {188}
    assert len(imported.trace.requests) == pytest.approx(300, abs=5 * math.sqrt(300))


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true')", "{1: __import__('os')}", "{" + "(" * 5000, "1+1", "{1: 1e999}", "[1, 2", "\0"],
)
def test_servegen_literals_are_never_evaluated(importer: Importer, text: str) -> None:
    importer.write("c-trace.csv", SERVEGEN_TRACE)
    dataset: dict[str, Any] = json.loads(SERVEGEN_DATASET)
    dataset["0"]["input_tokens"] = text
    with pytest.raises(TraceError, match="input_tokens"):
        import_trace([importer.write("c-dataset.json", json.dumps(dataset))], ImportOptions())
