"""The foreign formats and the options of an import as Markdown, for docs/traces.md."""

from __future__ import annotations

from bench.traces.importers.options import describe_import_options
from bench.traces.importers.registry import FORMATS
from bench.traces.importers.rows import Format

_CLOCKS = {
    "shared": "shared by files: they can be merged",
    "own": "the file's own",
    "session": "from the start of each session",
    "drawn": "drawn",
    "none": "none: needs `--arrivals`",
}


def formats_markdown() -> str:
    """A table of the formats: name, keys by which it is known, unit of its times, tokens a hash id."""
    rows = ["| format | known by | times | hash id | what |", "|---|---|---|---|---|"]
    rows += [_format_row(each) for each in FORMATS.values()]
    return "\n".join(rows)


def options_markdown() -> str:
    """A table of the options of `trace import`."""
    rows = ["| option | default | bounds | meaning |", "|---|---|---|---|"]
    for option in describe_import_options():
        flag = f"--{option.name.replace('_', '-')}"
        default = "off" if isinstance(option.default, bool) else option.default
        rows.append(f"| `{flag}` | {default} | {option.bounds().removeprefix('one of ')} | {option.meaning} |")
    return "\n".join(rows)


def _format_row(each: Format) -> str:
    keys = ", ".join(f"`{key}`" for key in each.keys)
    unit = {"ns": "date and time", None: "guessed by the rate, with a warning"}.get(each.time_unit, each.time_unit)
    times = _CLOCKS["none"] if each.clock == "none" else f"{unit}; {_CLOCKS[each.clock]}"
    has_ids = {"hash_ids", "hash_id_scope"} & {*each.keys, *each.used}
    block = f"{each.block_tokens} tokens" if has_ids else "–"
    return f"| `{each.name}` | {each.container}: {keys} | {times} | {block} | {each.what} |"
