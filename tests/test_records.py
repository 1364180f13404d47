from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from bench.manifest import Manifest
from bench.records import CHUNKS, COMPARISONS, PAIRS, PROBE, REQUESTS, STEPS

RESULTS = Path("docs/results.md")


TABLES = [("steps", STEPS), ("pairs", PAIRS), ("probe", PROBE), ("comparisons", COMPARISONS)]
TABLES += [("requests", REQUESTS), ("chunks", CHUNKS)]


@pytest.mark.parametrize(("table", "columns"), TABLES)
def test_docs_describe_every_column_with_its_unit(table: str, columns: tuple) -> None:
    text = RESULTS.read_text(encoding="utf-8")
    section = text.partition(f"## `{table}")[2].partition("\n## ")[0]
    documented = [line for line in section.splitlines() if line.startswith("| `")]
    expected = [f"| `{c.name}` | {c.unit or '–'} | {c.meaning} |" for c in columns]
    assert documented == expected


def test_no_table_names_a_column_twice() -> None:
    for columns in (STEPS, PAIRS, COMPARISONS):
        names = [column.name for column in columns]
        assert len(set(names)) == len(names)


def test_a_manifest_with_a_key_of_another_program_is_noticed() -> None:
    with pytest.raises(ValidationError, match="extra"):
        Manifest.model_validate({"name": "x", "created": "", "config": {}, "versions": {}, "host": {}, "extra": 1})
