"""One TOML file becomes one frozen, validated experiment; unknown keys are refused with the nearest known one.

The options themselves are in `bench.options`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench.errors import ConfigError, nearest
from bench.options import EngineOptions, Experiment, Scalar, Section, section_at


def load_experiment(path: Path, overrides: Sequence[str] = ()) -> Experiment:
    """Read `path` and apply `KEY=VALUE` overrides (dotted key, TOML value); raises ConfigError."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"config {path}: no such file; the shipped ones are in configs/") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"config {path}: cannot be read ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"config {path}: not valid TOML ({error})") from error
    for override in overrides:
        _apply_override(table, override)
    try:
        return Experiment.model_validate(table)
    except ValidationError as error:
        raise ConfigError(f"config {path}: {_first_problem(error)}") from error


class _EngineAlone(Section):
    engine: EngineOptions


def load_engine_options(overrides: Sequence[str], **given: Scalar) -> EngineOptions:
    """Engine options from `given` and `engine.KEY=VALUE` overrides, for commands without a file; raises ConfigError."""
    table: dict[str, Any] = {"engine": dict(given)}
    for override in overrides:
        if not override.startswith("engine."):
            raise ConfigError(f"--set {override}: expected engine.KEY=VALUE, for instance engine.block_size=16")
        _apply_override(table, override)
    try:
        return _EngineAlone.model_validate(table).engine
    except ValidationError as error:
        raise ConfigError(_first_problem(error)) from error


def _apply_override(table: dict[str, Any], override: str) -> None:
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"--set {override}: expected KEY=VALUE, for instance measure.pairs=40")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # a bare word is meant as a string: --set baseline=dict
    *parents, leaf = key.strip().split(".")
    here: Any = table
    for part in parents:
        here = _descend(here, part, override)
    if isinstance(here, list):
        here[_index(here, leaf, override)] = value
    elif isinstance(here, dict):
        here[leaf] = value
    else:
        raise ConfigError(f"--set {override}: {'.'.join(parents)} is a value, not a table")


def _descend(here: Any, part: str, override: str) -> Any:
    if isinstance(here, list):
        return here[_index(here, part, override)]
    if isinstance(here, dict):
        return here.setdefault(part, {})
    raise ConfigError(f"--set {override}: {part} lies below a value, not a table")


def _index(here: list[Any], part: str, override: str) -> int:
    if part.isdecimal() and int(part) < len(here):
        return int(part)
    raise ConfigError(f"--set {override}: {part} is not a place in an array of {len(here)}; count from 0")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        section = section_at(problem["loc"][:-1])
        return f'unknown key "{where}"{nearest(str(problem["loc"][-1]), section.model_fields)}'
    if problem["type"] == "missing":
        return f'"{where}" is missing; it is required'
    found = problem.get("input")
    message = problem["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    return f'"{where}" is {_shown(found)}: {message}'


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
