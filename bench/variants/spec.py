"""A variant SPEC becomes a pair of scheduler classes, sync and async.

`list`, `dict`, … are named variants; `patch:FILE` is a unified diff against the installed vLLM; `class:MODULE:CLASS`
is any importable class. The first two are built alike from the installed source, so that all else is shared.
`class:` and `patch:` run the caller's code by design.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

from bench.errors import VariantError, nearest
from bench.variants import running_as_dict, running_as_list, running_as_posted, running_rebuilt, running_twice
from bench.variants.build import Rewrite, build, digest_of_built, import_class
from bench.variants.patch import read_patch, rewrite_by_patch
from bench.variants.source import SCHEDULER

NAMED: dict[str, Rewrite] = {
    "list": running_as_list.rewrite,
    "dict": running_as_dict.rewrite,
    "list_rebuild": running_rebuilt.rewrite,
    "list_twice": running_twice.rewrite,
    "seed_patch": running_as_posted.rewrite,
}
"""The named variants, each with the rewrite that makes it; `bench.variants.<name>` must exist as a module."""


@dataclass(frozen=True)
class Variant(ABC):
    """One scheduler implementation; the classes are imported when they are first asked for."""

    spec: str
    label: str

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of the sources that its classes are made from, as 64 hex digits."""

    @property
    @abstractmethod
    def scheduler(self) -> type:
        """The synchronous scheduler class."""

    @property
    @abstractmethod
    def async_scheduler(self) -> type:
        """The asynchronous scheduler class; raises VariantError where the SPEC gives none."""

    @abstractmethod
    def check(self, *, is_async: bool) -> None:
        """Raise VariantError here, and not later in a worker, where that side cannot be had; vLLM is not imported."""


@dataclass(frozen=True)
class BuiltVariant(Variant):
    """A variant generated from the installed vLLM source."""

    rewrite: Rewrite

    @cached_property
    def folder(self) -> Path:
        """Where the generated modules lie; they are written on first use."""
        return build(self.label, self.rewrite)

    @property
    def digest(self) -> str:  # noqa: D102
        return digest_of_built(self.folder)

    @cached_property
    def scheduler(self) -> type:  # noqa: D102
        return self._class(SCHEDULER, "Scheduler")

    @cached_property
    def async_scheduler(self) -> type:  # noqa: D102
        return self._class("async_scheduler.py", "AsyncScheduler")

    def check(self, *, is_async: bool) -> None:  # noqa: D102
        assert self.folder.is_dir()  # a rewrite makes both sides, or is refused

    def _class(self, file: str, class_name: str) -> type:
        assert self.folder.is_dir()
        return import_class(self.label, file, class_name)


@dataclass(frozen=True)
class ClassVariant(Variant):
    """A class of the caller's; it serves the side, sync or async, that its own bases belong to."""

    @cached_property
    def _class(self) -> type:
        match = re.fullmatch(r"class:([\w.]+):(\w+)", self.spec)
        if match is None:
            raise VariantError(f"variant {self.spec}: expected class:MODULE:CLASS")
        module_name, class_name = match.groups()
        if "" not in sys.path:
            sys.path.insert(0, "")
        try:
            module = importlib.import_module(module_name)
        except Exception as error:  # whatever the caller's module does when it is imported
            why = f"{type(error).__name__}: {error}"
            raise VariantError(f"variant {self.spec}: module {module_name} cannot be imported ({why})") from error
        found = getattr(module, class_name, None)
        if not isinstance(found, type) or not hasattr(found, "schedule"):
            raise VariantError(f"variant {self.spec}: {module_name} has no scheduler class {class_name}")
        return found

    @property
    def digest(self) -> str:  # noqa: D102
        source = inspect.getsourcefile(self._class)
        return hashlib.sha256(Path(source).read_bytes() if source else self.spec.encode()).hexdigest()

    @cached_property
    def scheduler(self) -> type:  # noqa: D102
        if self._is_async:
            raise VariantError(
                f"variant {self.spec}: is an AsyncScheduler; the experiment asks for the synchronous one"
            )
        return self._class

    @cached_property
    def async_scheduler(self) -> type:  # noqa: D102
        if not self._is_async:
            raise VariantError(
                f"variant {self.spec}: is not an AsyncScheduler; vLLM would silently turn async scheduling off"
            )
        return self._class

    def check(self, *, is_async: bool) -> None:  # noqa: D102
        assert self.async_scheduler if is_async else self.scheduler

    @cached_property
    def _is_async(self) -> bool:
        return any(base.__name__ == "AsyncScheduler" for base in self._class.__mro__)


@cache
def load(spec: str) -> Variant:
    """The variant that `spec` names, the same object each time; raises VariantError where there is none."""
    kind, _, rest = spec.partition(":")
    if spec in NAMED:
        return BuiltVariant(spec, spec, NAMED[spec])
    if kind == "class" and rest:
        variant = ClassVariant(spec, _label(rest.rpartition(":")[2], spec))
        variant._class  # noqa: B018 - a class that is not there is refused now, not in a worker
        return variant
    if kind == "patch" and rest:
        patch = read_patch(Path(rest))
        digest = hashlib.sha256(Path(rest).read_bytes()).hexdigest()
        return BuiltVariant(spec, f"patch_{_slug(Path(rest).stem)}_{digest[:12]}", partial(rewrite_by_patch, patch))
    if kind in ("class", "patch"):
        raise VariantError(f"variant {spec}: expected class:MODULE:CLASS or patch:FILE")
    raise VariantError(f'unknown variant "{spec}"{nearest(spec, NAMED)}, class:MODULE:CLASS or patch:FILE')


def _label(name: str, spec: str) -> str:
    return f"class_{_slug(name)}_{hashlib.sha256(spec.encode()).hexdigest()[:8]}"


def _slug(text: str) -> str:
    return re.sub(r"\W", "_", text)[:40]
