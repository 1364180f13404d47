"""RUNNING as vLLM's tests see it: a list, whatever the variant keeps.

About ninety places in vLLM's tests read or change `scheduler.running`, some by index or with `append`. They are
given a view that answers as a list does and writes through. The scheduler's own code is given the real
container, so that a list operation left in it fails here as it would in production.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator, MutableSequence
from pathlib import Path
from typing import Any, overload

_NAME = "running"


class RunningView(MutableSequence[Any]):
    """The keys of a dict in their order, as a list that can be changed."""

    def __init__(self, members: dict[Any, None]) -> None:
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return [*self._members][index]

    def __setitem__(self, index: Any, value: Any) -> None:
        changed = [*self._members]
        changed[index] = value
        self._become(changed)

    def __delitem__(self, index: int | slice) -> None:
        changed = [*self._members]
        del changed[index]
        self._become(changed)

    def insert(self, index: int, value: Any) -> None:
        """`value` stands at `index`, as in a list."""
        changed = [*self._members]
        changed.insert(index, value)
        self._become(changed)

    def __eq__(self, other: object) -> bool:
        return [*self._members] == [*other] if isinstance(other, (list, RunningView)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a list has none either

    def __repr__(self) -> str:
        return repr([*self._members])

    def _become(self, members: Iterable[Any]) -> None:
        kept = dict.fromkeys(members)
        self._members.clear()
        self._members.update(kept)


class RunningAttribute:
    """The attribute `running` of a scheduler class: a view for code below `tests`, the container for all other."""

    def __init__(self, tests: Path, keeps_dict: bool) -> None:
        self._tests = f"{tests}/"
        self._keeps_dict = keeps_dict

    def __get__(self, scheduler: Any, owner: type | None = None) -> Any:
        if scheduler is None:
            return self
        try:
            container = vars(scheduler)[_NAME]
        except KeyError:
            raise AttributeError(_NAME) from None
        return RunningView(container) if isinstance(container, dict) and self._asked_by_a_test() else container

    def __set__(self, scheduler: Any, value: Any) -> None:
        if self._keeps_dict and isinstance(value, (list, RunningView)) and self._asked_by_a_test():
            value = dict.fromkeys(value)
        vars(scheduler)[_NAME] = value

    def _asked_by_a_test(self) -> bool:
        return sys._getframe(2).f_code.co_filename.startswith(self._tests)


def show_as_list(scheduler_class: type, tests: Path) -> None:
    """`scheduler_class` and what derives from it show RUNNING to the code below `tests` as a list."""
    setattr(scheduler_class, _NAME, RunningAttribute(tests, keeps_dict(scheduler_class)))


def keeps_dict(scheduler_class: type) -> bool:
    """True where a constructor has `self.running = {}`: tests also fill schedulers on which none has run."""
    constructors = [vars(base)["__init__"] for base in scheduler_class.__mro__ if "__init__" in vars(base)]
    sources = [inspect.getsource(function) for function in constructors if inspect.isfunction(function)]
    return any(_starts_with_dict(ast.parse(textwrap.dedent(source))) for source in sources)


def _starts_with_dict(constructor: ast.Module) -> bool:
    for node in ast.walk(constructor):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Attribute) and target.attr == _NAME for target in targets):
                return True
    return False
