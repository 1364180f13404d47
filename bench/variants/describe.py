"""Variants for people: names and digests, the uses they rewrite, and the diff against the installed vLLM."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper

from bench.errors import VariantError
from bench.variants.source import SchedulerSource, installed_source, read_source
from bench.variants.spec import NAMED, BuiltVariant, load
from bench.variants.uses import find_uses


def describe_variants() -> str:
    """Each named variant with its digest, then how often the installed scheduler uses `self.running`, by kind."""
    source = installed_source()
    lines = [f"vLLM {source.version}, scheduler source {source.digest[:12]}", ""]
    lines += [f"{name:<8} {load(name).digest[:12]}  {_first_line(name)}" for name in NAMED]
    kinds: Counter[str] = Counter()
    for file, text in source.texts.items():
        uses = find_uses(MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True), file)
        kinds.update(use.kind.value for use in uses.listed)
    lines += ["", f"{kinds.total()} uses of self.running:"]
    lines += [f"  {count:>3}  {kind}" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join(lines)


def diff_of(spec: str, vllm: Path | None = None) -> str:
    """A unified diff with vLLM's own paths against the tree `vllm`, absent the installed one.

    Empty for the identity. Raises VariantError for a class of the caller's, and where there is no scheduler.
    """
    variant = load(spec)
    if not isinstance(variant, BuiltVariant):
        raise VariantError(f"variant {spec}: a class of its own has no diff against vLLM")
    source = installed_source() if vllm is None else read_source(vllm, vllm.name)
    return diff_between(source, {file: variant.rewrite(text, file) for file, text in source.texts.items()})


def diff_between(source: SchedulerSource, rewritten: Mapping[str, str]) -> str:
    """The unified diff from the scheduler modules of `source` to `rewritten`, its modules by file name."""
    diff: list[str] = []
    for file, before in source.texts.items():
        path = source.path_of(file)
        diff += difflib.unified_diff(
            before.splitlines(keepends=True), rewritten[file].splitlines(keepends=True), f"a/{path}", f"b/{path}"
        )
    return "".join(diff)


def build_all() -> list[Path]:
    """The folder of every named variant, written where it was missing."""
    folders = []
    for name in NAMED:
        variant = load(name)
        assert isinstance(variant, BuiltVariant)
        folders.append(variant.folder)
    return folders


def _first_line(name: str) -> str:
    module = __import__(NAMED[name].__module__, fromlist=["__doc__"])
    return (module.__doc__ or "").strip().splitlines()[0]
