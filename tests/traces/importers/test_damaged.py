"""Damaged and hostile files: each ends in one clear line with file and line number, in bounded memory and time."""

from __future__ import annotations

import gzip
import json
import os
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import cli
from bench.errors import TraceError
from bench.traces.importers import ImportOptions, import_trace

from .samples import (
    AZURE,
    BAILIAN,
    BURSTGPT,
    MOONCAKE,
    RAGPULSE,
    RAGPULSE_LENGTHS,
    SERVEGEN,
    SERVEGEN_DATASET,
    SERVEGEN_TRACE,
    SESSION,
    SESSIONS,
    SHAREGPT,
    SPLITWISE_SIM,
    VIDUR,
    VLLM_CUSTOM,
    Importer,
    packed,
)

LIMIT_S = 60.0  # well under a second on an idle machine; others may use this one
LIMIT_BYTES = 300_000_000


def swap(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def session(**changes: Any) -> str:
    return json.dumps({**SESSION, **changes})


def servegen(**changes: Any) -> str:
    return json.dumps({**json.loads(SERVEGEN), **changes})


LONG = "9" * 5000
NESTED = json.loads("[" + '{"t": 0, "type": "subagent", "requests": [' * 9 + "]}" * 9 + "]")
DAMAGED: dict[str, tuple[str, str | bytes, str]] = {
    # kind: (name of the file, what it holds, what the message says after the name of the file)
    "empty": ("t.csv", "", ": is empty, expected a trace"),
    "only blank lines": ("t.csv", "\n \r\n\t\n", ": is empty, expected a trace"),
    "negative tokens": ("t.csv", swap(AZURE, ",396,", ",-396,"), " line 3: ContextTokens is -396, expected ≥ 1"),
    "zero prompt": ("t.csv", swap(AZURE, ",396,", ",0,"), " line 3: ContextTokens is 0, expected ≥ 1"),
    "zero output": ("t.csv", swap(AZURE, ",109", ",0"), " line 3: GeneratedTokens is 0, expected ≥ 1; drop the line o"),
    "nan tokens": ("t.csv", swap(AZURE, ",396,", ",NaN,"), " line 3: ContextTokens is 'NaN', expected a whole number"),
    "huge tokens": ("t.csv", swap(AZURE, ",396,", ",99999999,"), " line 3: ContextTokens is 99999999, expected ≤"),
    "absurd tokens": ("t.csv", swap(AZURE, ",396,", f",{LONG},"), " line 3: ContextTokens is '999999"),
    "tokens with a fraction": ("t.csv", swap(AZURE, ",396,", ",39.6,"), " line 3: ContextTokens is '39.6', expected a"),
    "empty cell": ("t.csv", swap(AZURE, ",396,", ",,"), " line 3: ContextTokens is empty, expected a whole number"),
    "formula": ("t.csv", swap(AZURE, ",396,", ",=1+1,"), " line 3: ContextTokens is '=1+1', expected a whole number"),
    "command formula": ("t.csv", swap(AZURE, "2023-11-16 18:15:46,", "=cmd|'/C calc'!A0,"), " line 3: TIMESTAMP is"),
    "missing column": ("t.csv", swap(AZURE, ",GeneratedTokens", ""), " line 1: looks like azure, but the column Gener"),
    "misspelt column": ("t.csv", swap(AZURE, "Generated", "Generatd"), 'is missing; did you mean "GeneratdTokens"?'),
    "unknown columns": ("t.csv", "a,b\n1,2\n", " line 1: has the columns a, b, which no known format has"),
    "column twice": ("t.csv", swap(AZURE, "TIMESTAMP,", "TIMESTAMP,TIMESTAMP,"), " line 1: has the column 'TIMESTAMP'"),
    "too few cells": ("t.csv", swap(AZURE, ",109", ""), " line 3: has 2 cells, expected the 3 of the header"),
    "too many cells": ("t.csv", swap(AZURE, ",109", ",109,1"), " line 3: has 4 cells, expected the 3 of the header"),
    "too many columns": ("t.csv", ",".join(f"c{k}" for k in range(1001)), " line 1: has 1001 columns, expected at mos"),
    "only one column": ("t.csv", "hello\nworld\n", " line 1: is neither JSON nor a CSV header"),
    "no such day": ("t.csv", swap(AZURE, "2023-11-16 18:15:46,", "2023-02-30 18:15:46,"), " line 3: TIMESTAMP is"),
    "no such hour": ("t.csv", swap(AZURE, "18:15:46,", "25:15:46,"), " line 3: TIMESTAMP is '2023-11-16 25:15:46': no"),
    "number for a date": ("t.csv", swap(AZURE, "2023-11-16 18:15:46,", "46.5,"), " line 3: TIMESTAMP is '46.5', exp"),
    "quote left open": ("t.csv", swap(AZURE, ",396,", ',"396,'), " line 4: is no CSV ("),
    "quote bomb": ("t.csv", swap(AZURE, ",396,", ',"' + "x\n" * 80_000), ": is no CSV (field larger than field limit"),
    "latin-1 text": ("t.csv", BURSTGPT.replace("GPT-4", "Grün").encode("latin-1"), " line 4: is not UTF-8"),
    "negative time": ("t.csv", swap(BURSTGPT, "45.0,", "-45,"), " line 3: Timestamp is -45.0, expected 0 to"),
    "infinite time": ("t.csv", swap(VIDUR, "4.314579", "inf"), " line 3: arrived_at is 'inf', expected a number"),
    "overflowing time": ("t.csv", swap(VIDUR, "4.314579", "1e999"), " line 3: arrived_at is inf, expected 0 to"),
    "wall clock for seconds": ("t.csv", swap(SPLITWISE_SIM, "0,3,1", "0,2023-01-01,1"), "arrival_timestamp is '2023"),
    "clock far back": ("t.csv", VIDUR + "9000,1,1\n1,1,1\n", " line 5: the clock goes back by 8999 s; pass"),
    "span of centuries": ("t.csv", VIDUR + "9e9,1,1\n", " line 4: is 9e+09 s after the first request, expected ≤ 1e+0"),
    "wrong unit": ("t.jsonl", "".join(
        f'{{"timestamp": {1 + k / 9999}, "input_length": 9, "output_length": 1, "hash_ids": [1]}}\n' for k in range(25)
    ), ": times in ms mean 1e+07 requests/s; say the unit with --time-unit"),
    "not json": ("t.jsonl", swap(MOONCAKE, '"input_length": 1024', "input_length"), " line 2: is not JSON ("),
    "first line not json": ("t.jsonl", "{timestamp: 0}\n" + MOONCAKE, " line 1: is not JSON ("),
    "array line": ("t.jsonl", MOONCAKE + "[1, 2]\n", " line 4: is an array, expected a JSON object"),
    "cut in a line": ("t.jsonl", MOONCAKE[:-20], " line 3: is not JSON (Unterminated string starting at at column"),
    "missing key": ("t.jsonl", swap(MOONCAKE, '"output_length": 4, ', ""), " line 2: output_length is missing; it is"),
    "key twice": ("t.jsonl", swap(MOONCAKE, '"output_length": 4', '"output_length": 4, "timestamp": 1'), "'timestamp'"),
    "nan in json": ("t.jsonl", swap(MOONCAKE, "1024", "NaN"), " line 2: holds NaN, expected finite numbers"),
    "null": ("t.jsonl", swap(MOONCAKE, "1024", "null"), " line 2: input_length is empty, expected a whole number"),
    "true": ("t.jsonl", swap(MOONCAKE, "1024", "true"), " line 2: input_length is True, expected a whole number"),
    "thousands of digits": ("t.jsonl", swap(MOONCAKE, "1024", LONG), " line 2: holds a number of thousands of digits"),
    "ids long": ("t.jsonl", swap(MOONCAKE, "[7, 8]", "[7, 8, 9]"), " line 1: hash_ids has 3 blocks, expected 1 or 2 f"),
    "ids short": ("t.jsonl", swap(MOONCAKE, "[7, 9, 10]", "[7]"), " line 3: hash_ids has 1 blocks, expected 2 or 3 fo"),
    "id negative": ("t.jsonl", swap(MOONCAKE, "[7, 9]", "[7, -9]"), " line 2: an entry of hash_ids is -9, expected"),
    "id huge": ("t.jsonl", swap(MOONCAKE, "[7, 9]", f"[7, {2**63}]"), " line 2: an entry of hash_ids is 9223372036854"),
    "id a text": ("t.jsonl", swap(MOONCAKE, "[7, 9]", '[7, "9"]'), " line 2: an entry of hash_ids is '9', expected a"),
    "ids a number": ("t.jsonl", swap(MOONCAKE, "[7, 9]", "7"), " line 2: hash_ids is 7, expected an array"),
    "deep json": ("t.jsonl", "[" * 200_000, " line 1: is nested too deeply"),
    "deep object": ("t.jsonl", MOONCAKE + '{"a":' * 100_000, " line 4: is nested too deeply"),
    "frozen trace": ("t.jsonl", '{"trace": {"schema": 1}}\n', " line 1: is a frozen trace already; use it as it is"),
    "other jsonl": ("t.jsonl", '{"a": 1}\n', " line 1: has the keys a, which no known format has; see docs/traces.md"),
    "table of lengths": ("t.jsonl", RAGPULSE_LENGTHS, " line 1: is RAGPulse's table of lengths; import its requests"),
    "unknown part of a prompt": ("t.jsonl", swap(RAGPULSE, "web_search", "web"), " line 1: hash_ids has the unknown p"),
    "chat without an id": ("t.jsonl", swap(BAILIAN, '"chat_id": 5', '"chat_id": "x"'), " line 2: chat_id is 'x', expe"),
    "session twice": ("t.jsonl", SESSIONS.replace("trace_2", "trace_1"), " line 2: session trace_1 was used before"),
    "session with shared ids": ("t.json", session(hash_id_scope="global"), " line 1: hash_id_scope is 'global', expec"),
    "session of other blocks": ("t.json", session(block_size=16), " line 1: block_size is 16, expected 64; pass --blo"),
    "session of no calls": ("t.json", session(requests={}), " line 1: requests is no array, expected the calls"),
    "call that is no object": ("t.json", session(requests=[5]), " line 1: requests holds something that is no object"),
    "calls out of order": ("t.json", session(requests=SESSION["requests"][::-1]), " line 1: t is 20, expected ≥ 124"),
    "endless subagents": ("t.json", session(requests=NESTED), "nest more than 8"),
    "session id with a line end": ("t.json", session(id="a\nb"), " line 1: id 'a\\nb' holds characters that cannot be"),
    "prompt no text": ("t.jsonl", swap(VLLM_CUSTOM, '"Why?"', "7"), " line 2: prompt is no text"),
    "array element no object": ("t.json", swap(SHAREGPT, "[\n", "[7,\n"), " line 1: holds an element that is no objec"),
    "array without an end": ("t.json", SHAREGPT[:-1], ": the array does not end; the file was cut here"),
    "array goes on": ("t.json", SHAREGPT + "[]", ": goes on after the end of its array"),
    "array broken": ("t.json", swap(SHAREGPT, '"id": "y"', '"id": y'), ": is not JSON (Expecting value)"),
    "empty array": ("t.json", "[]", " line 1: is an empty array, expected requests"),
    "windows back in time": ("t.json", servegen(windows=[[9, 0, 0, "", 0, 0], [0, 0, 0, "", 0, 0]]), "do not follow o"),
    "window of millions": ("t.json", servegen(windows=[[0, 1e6, 1, "Gamma", 1, 1e-6]]), " line 1: rate is 1000000 ove"),
    "gaps of nothing": ("t.json", servegen(windows=[[0, 1, 1, "Gamma", 0.001, 1e-9]]), "are too short to fill it"),
    "unknown pattern": ("t.json", servegen(windows=[[0, 1, 1, "Zipf", 1, 1]]), " line 1: pattern is 'Zipf', expected "),
    "shares of nothing": ("t.json", servegen(input_tokens=[[5, 0.0]]), " line 1: the shares of input_tokens are all 0"),
    "rate without lengths": ("t.json", servegen(input_tokens=[]), "the window from 0 s has a rate and no lengths"),
    "zero bytes": ("t.csv", bytes(64), " line 1: holds zero bytes; it is a binary file or UTF-16"),
    "binary": ("t.csv", b"\x93NUMPY\xff\xfe,\xff\n", " line 1: is not UTF-8; it is a binary file"),
    "pickle": ("t.csv", b"\x80\x04\x95\x10\x00\x00\x00", " line 1: holds zero bytes"),
    "utf-16": ("t.csv", AZURE.encode("utf-16"), " line 1: holds zero bytes; it is a binary file or UTF-16"),
    "gzip cut": ("t.csv.gz", packed(AZURE * 50)[:-12], "the gzip file was cut here, fetch it again"),
    "gzip damaged": ("t.csv.gz", packed(AZURE)[:20] + b"\xff\xff\xff" + packed(AZURE)[23:], "is damaged inside gzip ("),
    "gzip of blank lines": ("t.gz", gzip.compress(b"\n" * 3_000_000), "follows 100000 blank lines; it is no trace fil"),
    "gzip of one long line": ("t.gz", gzip.compress(b"1" * 30_000_000), " line 1: is longer than 10 MB; it is not a t"),
}  # fmt: skip


@pytest.fixture
def bounded() -> Iterator[None]:
    began = time.monotonic()
    tracemalloc.start()
    yield
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < LIMIT_BYTES
    assert time.monotonic() - began < LIMIT_S


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_file_ends_in_one_clear_line(importer: Importer, kind: str) -> None:
    name, text, expected = DAMAGED[kind]
    options = {"arrivals": "poisson"} if "conversations" in str(text) or '"prompt"' in str(text) else {}
    with pytest.raises(TraceError) as caught:
        importer(name, text, **options)
    message = str(caught.value)
    assert message.startswith(f"trace {importer.folder / name}")
    assert expected in message
    assert "\n" not in message
    assert len(message) < len(str(importer.folder)) + 400


def test_there_are_kinds_enough() -> None:
    assert len(DAMAGED) >= 30


def test_line_of_a_thousand_million_bytes_is_not_read_in_full(importer: Importer) -> None:
    path = importer.write("t.csv", AZURE.replace("\r\n", "\n"))
    os.truncate(path, 1_000_000_000)  # sparse: the file takes no room on the disk
    tracemalloc.start()
    began = time.monotonic()
    with pytest.raises(TraceError, match="line 4: is longer than 10 MB"):
        import_trace([path])
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 60_000_000
    assert time.monotonic() - began < LIMIT_S


@pytest.mark.usefixtures("bounded")
def test_array_of_one_huge_element_is_given_up_without_trying_again_and_again(importer: Importer) -> None:
    with pytest.raises(TraceError, match="holds an element longer than 10 MB, or is no JSON"):
        importer("t.json", '[{"conversations": [\n' + ('{"value": "' + "x" * 200 + '"},\n') * 50_000)


def test_array_of_many_small_elements_on_one_line_takes_no_quadratic_time(importer: Importer) -> None:
    element = '{"conversations":[{"value":"a"},{"value":"b"}]}'
    began = time.monotonic()
    imported = importer("t.json", "[" + ",".join([element] * 20_000) + "]", arrivals="at-once")
    assert imported.tally.kept == 20_000
    assert time.monotonic() - began < LIMIT_S


def test_missing_file_folder_and_pipe_are_refused(importer: Importer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, expected in (
        ("none.csv", "no such file; fetch"),
        ("", "is a folder or"),
        ("pipe", "is a folder or a dev"),
    ):
        with pytest.raises(TraceError, match=expected):
            import_trace([tmp_path / name])


@pytest.mark.parametrize("name", ["../escape", "a\0b", "x" * 300, "=1+1"])
def test_hostile_names_inside_a_file_stay_names(importer: Importer, name: str) -> None:
    text = "".join(
        json.dumps({"timestamp": k, "input_length": 5, "output_length": 1, "hash_ids": [1], "session_id": name}) + "\n"
        for k in range(2)
    )
    if name.isprintable() and len(name) <= 256:
        assert {each.session for each in importer("t.jsonl", text).trace.requests} == {name}
        assert sorted(path.name for path in importer.folder.iterdir()) == ["t.jsonl"]
    else:
        with pytest.raises(TraceError, match="line 1: session_id"):
            importer("t.jsonl", text)


def test_name_of_the_file_goes_into_the_header_without_its_folder(importer: Importer) -> None:
    trace = importer("é\x07.csv", AZURE).trace
    assert trace.options["source"] == "é?.csv"
    assert str(importer.folder) not in str(trace.options) + trace.workload


@pytest.mark.parametrize("text", ["", "x", "{}", '{"sys_prompt_id": 1}', '{"sys_prompt_id": 1, "token_length": -4}'])
def test_damaged_table_of_lengths_is_refused_or_lacks_the_id(importer: Importer, text: str) -> None:
    lengths = importer.write("lengths.jsonl", text)
    with pytest.raises(TraceError, match=r"(lengths\.jsonl line 1: |sys_prompt_id 1 has no token_length)"):
        importer("t.jsonl", RAGPULSE, lengths=lengths)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("0,0\n", "window 1 has not the six values"),
        (SERVEGEN_TRACE.replace("Gamma", "Zipf"), "pattern is 'Zipf'"),
        (SERVEGEN_TRACE.replace("0.5", "x"), "rate is 'x', expected a number"),
        ("\xff,0,0,,0,0\n", "start is"),
    ],
)
def test_damaged_servegen_pair_is_refused(importer: Importer, rows: str, expected: str) -> None:
    importer.write("c-dataset.json", SERVEGEN_DATASET)
    with pytest.raises(TraceError, match=expected):
        importer("c-trace.csv", rows)


def test_command_ends_with_exit_code_2_and_leaves_no_file(
    importer: Importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = importer.write("t.csv", swap(AZURE, ",396,", ",-396,"))
    monkeypatch.setattr("sys.argv", ["bench", "trace", "import", str(path), "-o", str(tmp_path / "out.jsonl")])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"error: trace {path} line 3: ContextTokens is -396, expected ≥ 1; drop the line")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["t.csv"]


def test_import_does_not_replace_its_own_source(
    importer: Importer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = importer.write("t.csv", AZURE)
    monkeypatch.setattr("sys.argv", ["bench", "trace", "import", str(path), "-o", f"{path.parent}/./t.csv"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert "would replace the file that is imported" in capsys.readouterr().err
    assert path.read_text() == AZURE.replace("\r\n", "\n")


def test_options_are_options_only() -> None:
    with pytest.raises(TypeError):
        ImportOptions(nonsense=1)  # type: ignore[call-arg]
