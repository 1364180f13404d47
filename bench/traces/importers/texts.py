"""Files of texts without token counts or times: vLLM's custom dataset and ShareGPT, by a declared length rule."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.traces.importers.fields import output_tokens, value_of
from bench.traces.importers.options import ImportOptions
from bench.traces.importers.rows import Dropped, Format, Inputs, Reader, Record, Row
from bench.traces.lines import LineError


def make_custom_reader(inputs: Inputs) -> Reader:
    """One request a record; the prompt's length by the rule, the output's as given."""

    def read(record: Record) -> Iterator[Row | Dropped]:
        prompt = _text(value_of(record, "prompt"), "prompt")
        output, changed = output_tokens(record, "output_tokens", inputs.options)
        if not prompt:
            yield Dropped("empty_prompt")
        else:
            yield Row(None, _tokens(prompt, inputs.options), output, changed=("length_by_rule", *changed))

    return read


def make_sharegpt_reader(inputs: Inputs) -> Reader:
    """The first two turns of a conversation, as vLLM's own benchmark takes them: prompt and answer."""

    def read(record: Record) -> Iterator[Row | Dropped]:
        turns = value_of(record, "conversations")
        if not isinstance(turns, list):
            raise LineError("conversations is no array, expected turns")
        if len(turns) < 2:
            yield Dropped("fewer_than_two_turns")
            return
        prompt, answer = (_turn(turn) for turn in turns[:2])
        if not prompt or not answer:
            yield Dropped("empty_turn")
            return
        output = _tokens(answer, inputs.options)
        raised = ("output_raised",) if output < inputs.options.min_output else ()
        output = max(output, inputs.options.min_output)
        yield Row(None, _tokens(prompt, inputs.options), output, changed=("length_by_rule", *raised))

    return read


def _turn(turn: object) -> str:
    if not isinstance(turn, dict):
        raise LineError("a turn is no object, expected from and value")
    return _text(value_of(turn, "value"), "value")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise LineError(f"{name} is no text")
    return value


def _tokens(text: str, options: ImportOptions) -> int:
    return math.ceil(len(text) / options.chars_per_token)


VLLM_CUSTOM = Format(
    name="vllm-custom",
    what="vLLM's custom dataset: prompts with output_tokens",
    container="json",
    keys=("prompt", "output_tokens"),
    time_unit="s",
    make_reader=make_custom_reader,
    clock="none",
)
SHAREGPT = Format(
    name="sharegpt",
    what="ShareGPT conversations, an array or lines",
    container="json",
    keys=("conversations",),
    time_unit="s",
    make_reader=make_sharegpt_reader,
    clock="none",
)
