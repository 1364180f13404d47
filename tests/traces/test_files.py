from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.errors import TraceError
from bench.traces import textfile
from bench.traces.files import read_trace, write_trace
from bench.traces.model import EngineNeeds, Trace, TraceRequest
from bench.traces.workloads import WORKLOADS, generate

from .examples import request, trace

Damage = Callable[[bytes], bytes]

GOLDEN = (
    b'{"trace":{"schema":1,"workload":"example","options":{"on":true,"position":"head","share":0.5,"steps":3},'
    b'"seed":7,"num_running":2,"steady_running":1,"engine":{"max_num_seqs":8,"max_num_batched_tokens":64,'
    b'"kv_tokens":4096,"max_model_len":2048},"hash_block_tokens":512,"requests":2,'
    b'"digest":"DIGEST"}}\n'
    b'{"timestamp":0,"input_length":16,"output_length":4,"request_id":"a"}\n'
    b'{"timestamp":2.5,"input_length":16,"output_length":4,"request_id":"b"}\n'
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chat.jsonl"


def written(path: Path, made: Trace | None = None) -> bytes:
    write_trace(made or trace(), path)
    return path.read_bytes()


def test_written_file_is_byte_for_byte_as_agreed(path: Path) -> None:
    assert written(path) == GOLDEN.replace(b"DIGEST", trace().digest.encode())


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_generated_trace_is_read_as_it_was_written(path: Path, workload: str) -> None:
    made = generate(workload, num_running=16, seed=3, options={"steps": 40})
    write_trace(made, path)
    assert read_trace(path) == made


@pytest.mark.parametrize(
    "harmless",
    [
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: b"\n" + raw.replace(b"\n", b"\n  \n\n") + b"\n\t\n",
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: raw.replace(b",", b" , ").replace(b":", b": "),
        lambda raw: raw.replace(b'"timestamp":0,"input_length":16', b'"input_length":16,"timestamp":0.0'),
    ],
    ids=["crlf", "bom", "blank lines", "no last newline", "spaces", "key order and 0.0"],
)
def test_harmless_differences_are_stood(path: Path, harmless: Damage) -> None:
    raw = written(path)
    changed = harmless(raw)
    assert changed != raw
    path.write_bytes(changed)
    assert read_trace(path) == trace()


def test_request_without_an_id_is_named_by_its_place(path: Path) -> None:
    raw = written(path, trace(request("r000000"), request("r000001")))
    path.write_bytes(raw.replace(b',"request_id":"r000000"', b"").replace(b',"request_id":"r000001"', b""))
    assert [each.request_id for each in read_trace(path).requests] == ["r000000", "r000001"]


def _swap(old: str, new: str) -> Damage:
    def damage(raw: bytes) -> bytes:
        assert old.encode() in raw
        return raw.replace(old.encode(), new.encode(), 1)

    return damage


def _line(number: int, text: bytes) -> Damage:
    def damage(raw: bytes) -> bytes:
        lines = raw.splitlines(keepends=True)
        lines[number - 1] = text
        return b"".join(lines)

    return damage


A = '"request_id":"a"'
DAMAGED: dict[str, tuple[Damage, str]] = {
    "empty": (lambda raw: b"", ": is empty, expected a header and requests"),
    "only blank lines": (lambda raw: b"\n \n", ": is empty, expected a header and requests"),
    "zero bytes": (lambda raw: bytes(64), " line 1: holds zero bytes; it is a binary file"),
    "random bytes": (lambda raw: b"\x93NUMPY\xff\xfe", " line 1: is not UTF-8; it is a binary file"),
    "utf-16": (lambda raw: raw.decode().encode("utf-16-le"), " line 1: holds zero bytes"),
    "gzip": (lambda raw: b"\x1f\x8b\x08rest", ": is compressed with gzip; unpack it first"),
    "no header": (lambda raw: raw.split(b"\n", 1)[1], ' line 1: has no "trace" header; if this is a trace of another'),
    "csv": (lambda raw: b"TIMESTAMP,ContextTokens\n", " line 1: is not JSON (Expecting value at column 1)"),
    "array line": (_line(2, b"[1,2]\n"), " line 2: is an array, expected a JSON object"),
    "number line": (_line(2, b"5\n"), " line 2: is 5, expected a JSON object"),
    "null line": (_line(2, b"null\n"), " line 2: is null, expected a JSON object"),
    "not json": (_line(2, b"{timestamp: 0}\n"), " line 2: is not JSON ("),
    "two objects": (_line(2, b"{} {}\n"), " line 2: is not JSON (Extra data"),
    "nesting bomb": (_line(2, b"[" * 200_000 + b"\n"), " line 2: is nested too deeply"),
    "nested object bomb": (_line(2, b'{"a":' * 100_000 + b"\n"), " line 2: is nested too deeply"),
    "nesting bomb first": (lambda raw: b"[" * 200_000, " line 1: is nested too deeply"),
    "huge digits": (_swap('"input_length":16', '"input_length":' + "9" * 5000), " line 2: holds a number of thousands"),
    "nan": (_swap('"timestamp":0', '"timestamp":NaN'), " line 2: holds NaN, expected finite numbers"),
    "infinity": (_swap('"timestamp":2.5', '"timestamp":Infinity'), " line 3: holds Infinity, expected finite"),
    "minus infinity": (_swap('"timestamp":0', '"timestamp":-Infinity'), " line 2: holds -Infinity"),
    "overflowing float": (
        _swap('"timestamp":2.5', '"timestamp":1e999'),
        " line 3: timestamp is inf, expected a finite",
    ),
    "huge time": (
        _swap('"timestamp":2.5', '"timestamp":' + "9" * 400),
        " line 3: timestamp is a number of more than 30",
    ),
    "wall clock": (
        _swap('"timestamp":2.5', '"timestamp":1700000000000'),
        " line 3: timestamp is 1700000000000, expected",
    ),
    "negative time": (_swap('"timestamp":0', '"timestamp":-1'), " line 2: timestamp is -1, expected ≥ 0"),
    "time backwards": (
        _swap('"timestamp":0', '"timestamp":3'),
        " line 3: timestamp is 2.5, expected ≥ 3 of the request",
    ),
    "time as text": (_swap('"timestamp":0', '"timestamp":"0"'), " line 2: timestamp is '0', expected a whole number"),
    "zero length": (_swap('"output_length":4', '"output_length":0'), " line 2: output_length is 0, expected ≥ 1; drop"),
    "negative length": (_swap('"input_length":16', '"input_length":-16'), " line 2: input_length is -16, expected ≥ 1"),
    "huge length": (
        _swap('"input_length":16', '"input_length":99999999'),
        " line 2: input_length is 99999999, expected",
    ),
    "too long": (_swap('"input_length":16', '"input_length":2045'), " line 2: input_length + output_length is 2049"),
    "bool length": (
        _swap('"input_length":16', '"input_length":true'),
        " line 2: input_length is true, expected a whole",
    ),
    "float length": (
        _swap('"input_length":16', '"input_length":16.0'),
        " line 2: input_length is 16.0, expected a whole",
    ),
    "text length": (
        _swap('"input_length":16', '"input_length":"16"'),
        " line 2: input_length is '16', expected a whole",
    ),
    "null length": (
        _swap('"input_length":16', '"input_length":null'),
        " line 2: input_length is null, expected a whole",
    ),
    "missing length": (_swap('"input_length":16,', ""), " line 2: input_length is missing; it is required"),
    "number as id": (_swap(A, '"request_id":5'), " line 2: request_id is 5, expected a string"),
    "empty id": (_swap(A, '"request_id":""'), " line 2: request_id is empty"),
    "surrogate id": (_swap(A, r'"request_id":"\ud800"'), " line 2: request_id '\\ud800' holds characters"),
    "duplicate id": (_swap(A, '"request_id":"b"'), ' line 3: request_id "b" was used before, expected unique ids'),
    "duplicate key": (_swap(A, A + ',"timestamp":1'), " line 2: has the key 'timestamp' twice"),
    "hash ids no array": (_swap(A, A + ',"hash_ids":{}'), " line 2: hash_ids is an object, expected an array"),
    "hash id bool": (_swap(A, A + ',"hash_ids":[true]'), " line 2: an entry of hash_ids is true, expected a whole"),
    "hash id negative": (_swap(A, A + ',"hash_ids":[-1]'), " line 2: a hash id is -1, expected ≥ 0"),
    "too many hash ids": (_swap(A, A + ',"hash_ids":[1,2]'), " line 2: hash_ids has 2 blocks, expected ≤ 1"),
    "abort before arrival": (
        _swap(A, A + ',"arrival_step":3,"abort_step":2'),
        " line 2: abort_step is 2, expected ≥ 3",
    ),
    "some steps missing": (_swap(A, A + ',"arrival_step":3'), " line 3: arrival_step is given for some requests only"),
    "unknown key": (
        _swap('"output_length":4', '"output_lenght":4'),
        'which a request does not have; did you mean "outp',
    ),
    "unknown header key": (_swap('"seed"', '"sed"'), 'which a trace\'s header does not have; did you mean "seed"?'),
    "unknown engine key": (
        _swap("max_num_seqs", "max_num_seq"),
        'which engine does not have; did you mean "max_num_seqs"',
    ),
    "second key beside the header": (
        _swap('{"trace":', '{"x":1,"trace":'),
        " line 1: has the key 'x', which the first line",
    ),
    "other schema": (
        _swap('"schema":1', '"schema":2'),
        " line 1: schema is 2, expected 1; this version reads no other",
    ),
    "schema as text": (_swap('"schema":1', '"schema":"1"'), " line 1: schema is '1', expected a whole number"),
    "header is a list": (_swap('{"trace":{', '{"trace":[{'), " line 1: is not JSON"),
    "header is a word": (_line(1, b'{"trace":"x"}\n'), " line 1: trace is 'x', expected an object"),
    "seed missing": (_swap('"seed":7,', ""), " line 1: seed is missing; it is required"),
    "seed negative": (_swap('"seed":7', '"seed":-7'), " line 1: trace example: seed is -7, expected ≥ 0"),
    "engine needs nothing": (_swap('"kv_tokens":4096', '"kv_tokens":0'), " line 1: kv_tokens is 0, expected ≥ 1"),
    "no block size": (_swap('"hash_block_tokens":512', '"hash_block_tokens":0'), " line 1: hash_block_tokens is 0"),
    "odd option": (_swap('"share":0.5', '"share":[]'), " line 1: option 'share' is an array, expected a number"),
    "no requests": (_swap('"requests":2', '"requests":0'), " line 1: requests is 0, expected ≥ 1"),
    "more than said": (_swap('"requests":2', '"requests":1'), " line 3: is one request more than the 1 of the header"),
    "fewer than said": (
        lambda raw: raw[: raw.index(b'{"timestamp":2.5')],
        ": holds 1 requests, expected 2 by its header",
    ),
    "cut last line": (lambda raw: raw[:-20], " line 3: is not JSON"),
    "altered length": (_swap('"output_length":4', '"output_length":5'), "by its header; the file was altered"),
    "altered digest": (_swap('"digest":"', '"digest":"0'), "by its header; the file was altered"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_file_ends_in_one_clear_line(path: Path, kind: str) -> None:
    damage, expected = DAMAGED[kind]
    path.write_bytes(damage(written(path)))
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    message = str(caught.value)
    assert message.startswith(f"trace {path}")
    assert expected in message
    assert "\n" not in message
    assert len(message) < len(str(path)) + 300


def test_cut_line_is_said_to_be_cut(path: Path) -> None:
    path.write_bytes(written(path)[:-20])
    with pytest.raises(TraceError, match="the file was cut inside this line, fetch it again"):
        read_trace(path)


def test_altered_file_names_both_digests(path: Path) -> None:
    path.write_bytes(written(path).replace(b'"output_length":4', b'"output_length":5', 1))
    changed = trace(request("a", output_length=5), request("b", timestamp=2.5))
    with pytest.raises(TraceError, match=f"digest is {changed.digest}, expected {trace().digest}"):
        read_trace(path)


def test_overlong_line_is_refused_before_it_is_read_in_full(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = written(path)
    path.write_bytes(raw + b" " * 10_000_001 + b"\n")
    with pytest.raises(TraceError, match="line 4: is longer than 10 MB"):
        read_trace(path)
    monkeypatch.setattr(textfile, "MAX_LINE_BYTES", max(map(len, raw.splitlines())) + 1)
    path.write_bytes(raw)
    assert read_trace(path) == trace()


def test_memory_is_bounded_however_long_a_line_is(path: Path) -> None:
    written(path)
    os.truncate(path, 60_000_000)
    tracemalloc.start()
    with pytest.raises(TraceError, match="line 4: is longer than 10 MB"):
        read_trace(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 35_000_000


def test_missing_file_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(TraceError, match=r"chat\.jsonl: no such file; make one with `trace generate`"):
        read_trace(path)


def test_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is a folder or a device, expected a trace file"):
        read_trace(tmp_path)


def test_pipe_is_refused_and_does_not_hang(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(TraceError, match="is a folder or a device"):
        read_trace(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_impossible_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_trace(tmp_path / name)
    with pytest.raises(TraceError, match="cannot be written"):
        write_trace(trace(), tmp_path / name)


def test_missing_folder_is_reported_when_writing(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot be written \(No such file or directory\); check the folder"):
        write_trace(trace(), tmp_path / "none" / "chat.jsonl")


def test_failed_write_leaves_the_old_file_and_no_draft(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(path)

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(TraceError, match="No space left on device"):
        write_trace(trace(seed=8), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_written_file_takes_the_place_of_another_at_once(path: Path) -> None:
    path.write_text("old")
    open_before = path.parent / "link"
    os.link(path, open_before)
    written(path)
    assert read_trace(path) == trace()
    assert open_before.read_text() == "old"
    assert sorted(path.parent.iterdir()) == [path, open_before]


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    ids = draw(st.lists(WORDS, min_size=1, max_size=8, unique=True))
    with_steps = draw(st.booleans())
    times = sorted(draw(st.lists(st.floats(0, 1e12), min_size=len(ids), max_size=len(ids))))
    steps = sorted(draw(st.lists(st.integers(0, 10**8), min_size=len(ids), max_size=len(ids))))
    requests = []
    for request_id, timestamp, step in zip(ids, times, steps, strict=True):
        output = draw(st.integers(1, 1000))
        fields: dict[str, Any] = {"arrival_step": step} if with_steps else {}
        match draw(st.sampled_from(["stays", "after", "step"])):
            case "after":
                fields["abort_after"] = draw(st.integers(1, output))
            case "step" if with_steps:
                fields["abort_step"] = draw(st.integers(step, 10**8))
        for name in ("lora", "grammar", "session"):
            fields[name] = draw(st.none() | WORDS)
        fields["hash_ids"] = tuple(draw(st.lists(st.integers(0, 2**63 - 1), max_size=3)))
        fields["priority"] = draw(st.integers(1 - 2**31, 2**31 - 1))
        requests.append(TraceRequest(request_id, timestamp, draw(st.integers(33, 9_998_000)), output, **fields))
    scalars = st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | WORDS
    return Trace(
        workload=draw(WORDS),
        options=draw(st.dictionaries(WORDS, scalars, max_size=3)),
        seed=draw(st.integers(0, 2**64 - 1)),
        num_running=draw(st.integers(1, 10**7)),
        steady_running=draw(st.integers(1, 64)),
        engine=EngineNeeds(64, draw(st.integers(64, 10**7)), draw(st.integers(1, 10**12)), 10**7),
        requests=tuple(requests),
        hash_block_tokens=16,
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=traces())
def test_any_trace_is_read_as_it_was_written(made: Trace, path: Path) -> None:
    write_trace(made, path)
    assert read_trace(path) == made
    header = json.loads(path.read_bytes().split(b"\n", 1)[0])["trace"]
    assert header["digest"] == made.digest
