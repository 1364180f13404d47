"""One line of a trace file to one record, refusing whatever a record cannot hold.

Problems are raised as LineError without their place; `bench.traces.files` adds file and line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.errors import nearest
from bench.options import Scalar
from bench.traces.checks import shown
from bench.traces.model import EngineNeeds, TraceRequest, field_names

SCHEMA = 1
HEADER_KEY = "trace"
HEADER_NAMES = (
    "schema",
    "workload",
    "options",
    "seed",
    "num_running",
    "steady_running",
    "engine",
    "hash_block_tokens",
    "requests",
    "digest",
)
_MAX_INTEGER = 10**30  # the checks judge smaller ones; larger ones would not even turn into a float


class LineError(ValueError):
    """A line cannot be read; the text says why, without file and line."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a trace file as it stands there."""

    workload: str
    options: Mapping[str, Scalar]
    seed: int
    num_running: int
    steady_running: int
    engine: EngineNeeds
    hash_block_tokens: int
    requests: int
    digest: str


def parse_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`; raises LineError for anything else, however deep, long or odd."""
    if b"\0" in raw:
        raise LineError("holds zero bytes; it is a binary file or UTF-16, expected JSON Lines in UTF-8")
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise LineError("is not UTF-8; it is a binary file, or was saved in another encoding") from None
    except json.JSONDecodeError as error:
        raise LineError(f"is not JSON ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise LineError("is nested too deeply, expected one flat object") from None
    except LineError:
        raise
    except ValueError:
        raise LineError("holds a number of thousands of digits") from None
    if not isinstance(value, dict):
        raise LineError(f"is {_kind(value)}, expected a JSON object")
    return value


def parse_header(record: dict[str, Any]) -> Header:
    """The header in the first object of a file; raises LineError, with a hint where the file is another tool's."""
    if HEADER_KEY not in record:
        raise LineError('has no "trace" header; if this is a trace of another tool, convert it with `trace import`')
    _only_known(record, (HEADER_KEY,), "the first line")
    header = _object(record, HEADER_KEY)
    schema = _integer(header, "schema")
    if schema != SCHEMA:
        raise LineError(f"schema is {shown(schema)}, expected {SCHEMA}; this version reads no other")
    _only_known(header, HEADER_NAMES, "a trace's header")
    needs = _object(header, "engine")
    _only_known(needs, field_names(EngineNeeds), "engine")
    return Header(
        workload=_text(header, "workload"),
        options=_options(header),
        seed=_integer(header, "seed"),
        num_running=_integer(header, "num_running"),
        steady_running=_integer(header, "steady_running"),
        engine=_needs(needs),
        hash_block_tokens=_integer(header, "hash_block_tokens"),
        requests=_integer(header, "requests"),
        digest=_text(header, "digest"),
    )


def _needs(record: dict[str, Any]) -> EngineNeeds:
    """What is required, and those that are off by default where they are given."""
    return EngineNeeds(
        max_num_seqs=_integer(record, "max_num_seqs"),
        max_num_batched_tokens=_integer(record, "max_num_batched_tokens"),
        kv_tokens=_integer(record, "kv_tokens"),
        max_model_len=_integer(record, "max_model_len"),
        max_loras=_integer(record, "max_loras") if "max_loras" in record else 0,
        num_speculative_tokens=(
            _integer(record, "num_speculative_tokens") if "num_speculative_tokens" in record else 0
        ),
        streaming_sessions=_flag(record, "streaming_sessions") if "streaming_sessions" in record else False,
        max_num_encoder_input_tokens=(
            _integer(record, "max_num_encoder_input_tokens") if "max_num_encoder_input_tokens" in record else 0
        ),
        encoder_cache_size=_integer(record, "encoder_cache_size") if "encoder_cache_size" in record else 0,
        kv_load_failure_policy=_text(record, "kv_load_failure_policy") if "kv_load_failure_policy" in record else "",
    )


def parse_request(record: dict[str, Any], default_id: str) -> TraceRequest:
    """The request in one object; `default_id` stands in where it has no `request_id`. Raises LineError."""
    _only_known(record, field_names(TraceRequest), "a request")
    return TraceRequest(
        request_id=_text(record, "request_id") if "request_id" in record else default_id,
        timestamp=_number(record, "timestamp"),
        input_length=_integer(record, "input_length"),
        output_length=_integer(record, "output_length"),
        hash_ids=_integers(record, "hash_ids") if "hash_ids" in record else (),
        arrival_step=_integer(record, "arrival_step") if "arrival_step" in record else None,
        priority=_integer(record, "priority") if "priority" in record else 0,
        abort_after=_integer(record, "abort_after") if "abort_after" in record else None,
        abort_step=_integer(record, "abort_step") if "abort_step" in record else None,
        lora=_text(record, "lora") if "lora" in record else None,
        grammar=_text(record, "grammar") if "grammar" in record else None,
        session=_text(record, "session") if "session" in record else None,
        images=_images(record) if "images" in record else (),
        external_tokens=_integer(record, "external_tokens") if "external_tokens" in record else 0,
        lost_block=_integer(record, "lost_block") if "lost_block" in record else None,
        load_steps=_integer(record, "load_steps") if "load_steps" in record else 0,
    )


def _refuse_constant(name: str) -> float:
    raise LineError(f"holds {name}, expected finite numbers")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in pairs:
        if name in record:
            raise LineError(f"has the key {shown(name)} twice")
        record[name] = value
    return record


def strict_decoder() -> json.JSONDecoder:
    """Decodes as `parse_object` does: no NaN, no key twice; it raises LineError for these."""
    return json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique)


_DECODER = strict_decoder()
"""One for all lines: json.loads would make a new one for each."""


def _only_known(record: dict[str, Any], known: tuple[str, ...], what: str) -> None:
    for name in record:
        if name not in known:
            hint = nearest(name[:64], known)
            raise LineError(f"has the key {shown(name)}, which {what} does not have{hint}")


def _value(record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise LineError(f"{name} is missing; it is required")
    return record[name]


def _integer(record: dict[str, Any], name: str) -> int:
    return _whole(_value(record, name), name)


def _integers(record: dict[str, Any], name: str) -> tuple[int, ...]:
    values = _value(record, name)
    if not isinstance(values, list):
        raise LineError(f"{name} is {_kind(values)}, expected an array of whole numbers")
    return tuple(_whole(value, f"an entry of {name}") for value in values)


def _images(record: dict[str, Any]) -> tuple[tuple[int, int, int], ...]:
    values = _value(record, "images")
    if not isinstance(values, list) or not all(isinstance(value, list) and len(value) == 3 for value in values):
        raise LineError("images is not an array of [first token, number of tokens, id]")
    whole = [tuple(_whole(number, "an entry of images") for number in value) for value in values]
    return tuple((place, length, content) for place, length, content in whole)


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise LineError(f"{name} is {_kind(value)}, expected a whole number")
    if abs(value) >= _MAX_INTEGER:
        raise LineError(f"{name} is {shown(value)}, expected a possible one")
    return value


def _flag(record: dict[str, Any], name: str) -> bool:
    value = _value(record, name)
    if not isinstance(value, bool):
        raise LineError(f"{name} is {_kind(value)}, expected true or false")
    return value


def _number(record: dict[str, Any], name: str) -> float:
    value = _value(record, name)
    if isinstance(value, float):
        return value  # 1e999 is read as infinity: the checks refuse it
    return float(_whole(value, name))


def _text(record: dict[str, Any], name: str) -> str:
    value = _value(record, name)
    if not isinstance(value, str):
        raise LineError(f"{name} is {_kind(value)}, expected a string")
    return value


def _object(record: dict[str, Any], name: str) -> dict[str, Any]:
    value = _value(record, name)
    if not isinstance(value, dict):
        raise LineError(f"{name} is {_kind(value)}, expected an object")
    return value


def _options(header: dict[str, Any]) -> dict[str, Scalar]:
    options: dict[str, Scalar] = {}
    for name, value in _object(header, "options").items():
        if isinstance(value, int) and not isinstance(value, bool):
            value = _whole(value, f"option {shown(name)}")
        if not isinstance(value, bool | int | float | str):
            raise LineError(f"option {shown(name)} is {_kind(value)}, expected a number, a string, true or false")
        options[name] = value
    return options


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        return "an array" if isinstance(value, list) else "an object"
    return "true" if value is True else "false" if value is False else shown(value)
