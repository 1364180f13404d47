"""The JSON Schemas, against which other tools may check a trace, say what the code says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bench.traces
from bench.traces import checks, model
from bench.traces.files import write_trace
from bench.traces.lines import HEADER_NAMES, SCHEMA
from bench.traces.model import EngineNeeds, Trace, TraceRequest, field_names
from bench.traces.workloads import WORKLOADS, generate

from .examples import NEEDS, request, trace

jsonschema = pytest.importorskip("jsonschema")

FOLDER = Path(bench.traces.__file__).parent / "schema"
HEADER: dict[str, Any] = json.loads((FOLDER / "header.schema.json").read_text(encoding="utf-8"))
REQUEST: dict[str, Any] = json.loads((FOLDER / "request.schema.json").read_text(encoding="utf-8"))
FULL = trace(
    request(
        "ü", arrival_step=1, abort_step=3, priority=-2, lora="l", grammar="g\n", session="s", hash_ids=(2**63 - 1,)
    ),
    request("b", timestamp=2.5, arrival_step=2, abort_after=2),
    request(
        "c", timestamp=3, arrival_step=2, images=((0, 4, 1), (4, 4, 1)), external_tokens=8, lost_block=1, load_steps=4
    ),
    engine=replace(NEEDS, max_num_encoder_input_tokens=4, encoder_cache_size=4, kv_load_failure_policy="fail"),
)


def lines_of(made: Trace, folder: Path) -> list[dict[str, Any]]:
    write_trace(made, folder / "t.jsonl")
    return [json.loads(line) for line in (folder / "t.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("schema", [HEADER, REQUEST])
def test_schema_is_one(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    "made", [FULL, *(generate(name, num_running=16, seed=1) for name in WORKLOADS)], ids=["full", *WORKLOADS]
)
def test_every_written_line_is_valid(tmp_path: Path, made: Trace) -> None:
    header, *requests = lines_of(made, tmp_path)
    jsonschema.Draft202012Validator(HEADER).validate(header)
    check = jsonschema.Draft202012Validator(REQUEST)
    for each in requests:
        check.validate(each)


def test_schema_names_every_field_and_no_other() -> None:
    properties = HEADER["properties"]["trace"]["properties"]
    assert set(properties) == set(HEADER["properties"]["trace"]["required"]) == set(HEADER_NAMES)
    assert set(properties["engine"]["properties"]) == set(field_names(EngineNeeds))
    assert set(REQUEST["properties"]) == set(field_names(TraceRequest))
    assert properties["schema"]["const"] == SCHEMA


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (REQUEST["properties"]["input_length"]["maximum"], checks.MAX_TOKENS),
        (REQUEST["properties"]["timestamp"]["maximum"], checks.MAX_TIMESTAMP_MS),
        (REQUEST["properties"]["arrival_step"]["maximum"], checks.MAX_STEP),
        (REQUEST["properties"]["priority"]["maximum"], checks.MAX_PRIORITY),
        (REQUEST["properties"]["hash_ids"]["items"]["maximum"], checks.MAX_HASH_ID),
        (REQUEST["properties"]["lora"]["maxLength"], checks.MAX_NAME),
        (REQUEST["properties"]["grammar"]["maxLength"], checks.MAX_GRAMMAR),
        (HEADER["properties"]["trace"]["properties"]["requests"]["maximum"], checks.MAX_REQUESTS),
        (HEADER["properties"]["trace"]["properties"]["seed"]["maximum"], model.MAX_SEED),
        (HEADER["properties"]["trace"]["properties"]["options"]["maxProperties"], model.MAX_OPTIONS),
    ],
)
def test_bounds_are_those_of_the_code(found: int, expected: int) -> None:
    assert found == expected


@pytest.mark.parametrize(
    "change",
    [
        {"input_length": 0},
        {"output_length": 1.5},
        {"timestamp": -1},
        {"hash_ids": [-1]},
        {"request_id": ""},
        {"abort_step": 3},
        {"images": [[1, 2]]},
        {"images": [[1, 2, 3, 4]]},
        {"lost_block": 0},
        {"load_steps": 1},
        {"arrival_step": 1, "abort_step": 3, "abort_after": 1},
        {"unknown": 1},
    ],
)
def test_impossible_request_is_not_valid(change: dict[str, Any]) -> None:
    record = {**json.loads(request().canonical_line()), **change}
    assert not jsonschema.Draft202012Validator(REQUEST).is_valid(record)


def test_header_without_a_digest_or_with_an_array_for_an_option_is_not_valid(tmp_path: Path) -> None:
    header = lines_of(FULL, tmp_path)[0]
    check = jsonschema.Draft202012Validator(HEADER)
    header["trace"]["options"]["steps"] = [1]
    assert not check.is_valid(header)
    header["trace"]["options"]["steps"] = 1
    assert check.is_valid(header)
    del header["trace"]["digest"]
    assert not check.is_valid(header)
