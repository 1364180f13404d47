"""Stands in for torchvision in a conformance run, where it is not installed: importable, and good for nothing else.

vLLM's multimodal models import it when they are asked for their limits; no scheduler test shows them an image
that torchvision would have to handle. Its version is so old that nobody prefers it to PIL.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__version__ = "0.0"


class _NamesAll(type):
    def __getattr__(cls, name: str) -> type:
        return _any_name(name)


class Absent(metaclass=_NamesAll):
    """What every name of every module here is."""


def _any_name(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return Absent


class _AnyModule(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname.startswith(f"{__name__}.") else None

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = _any_name


sys.meta_path.append(_AnyModule())


def __getattr__(name: str) -> type:
    return _any_name(name)
