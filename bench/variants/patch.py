"""A unified diff against the installed scheduler, applied exactly: no fuzz, no offset, no rejects left behind."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from bench.errors import VariantError
from bench.variants.source import MODULES


def read_patch(path: Path) -> PatchSet:
    """The parsed diff; raises VariantError unless it changes scheduler modules and nothing else."""
    try:
        patch = PatchSet(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise VariantError(f"patch {path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise VariantError(f"patch {path}: cannot be read ({error})") from error
    except UnidiffParseError as error:
        raise VariantError(f"patch {path}: not a unified diff ({error})") from error
    if not patch:
        raise VariantError(f"patch {path}: holds no change")
    for file in patch:
        if PurePosixPath(file.path).name not in MODULES or not file.is_modified_file:
            raise VariantError(f"patch {path}: changes {file.path}; expected only changes of {', '.join(MODULES)}")
    return patch


def rewrite_by_patch(patch: PatchSet, text: str, file: str) -> str:
    """`text` of `file` with its part of `patch` applied; raises VariantError with the first hunk that does not fit."""
    lines = text.splitlines(keepends=True)
    for changed in patch:
        if PurePosixPath(changed.path).name == file:
            lines = _apply(changed, lines, file)
    return "".join(lines)


def _apply(changed: PatchedFile, lines: list[str], file: str) -> list[str]:
    result: list[str] = []
    done = 0
    for hunk in changed:
        start = hunk.source_start - 1 if hunk.source_length else hunk.source_start
        expected = [line.value for line in hunk.source_lines()]
        if start < done or lines[start : start + len(expected)] != expected:
            raise VariantError(f"{file}: {_misfit(hunk, lines, start, expected)}; make the diff against that version")
        result += lines[done:start] + [line.value for line in hunk.target_lines()]
        done = start + len(expected)
    return result + lines[done:]


def _misfit(hunk: Hunk, lines: list[str], start: int, expected: list[str]) -> str:
    name = f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@"
    reason = "it overlaps the hunk before it"
    for number, wanted in enumerate(expected, start + 1):
        found = lines[number - 1] if number <= len(lines) else ""
        if found != wanted:
            reason = f"line {number} is {_shown(found)}, expected {_shown(wanted)}" if found else f"no line {number}"
            break
    return f"the hunk {name} does not apply to the installed vLLM ({reason})"


def _shown(line: str) -> str:
    text = repr(line.strip())
    return text if len(text) <= 80 else f"{text[:77]}…"
