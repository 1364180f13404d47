"""The pytest plugin of a conformance run: vLLM's scheduler is the variant's, and each outcome goes into a file.

Loaded by `-p` before anything is collected. Both sides load it, and each its variant, in a process of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import random
import sys
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from bench.errors import VariantError
from bench.parity.conformance.outcomes import Outcome, reason_of
from bench.parity.conformance.view import show_as_list
from bench.variants import Variant, load
from bench.variants.source import MODULES, PACKAGE
from bench.variants.spec import BuiltVariant

_STEMS = [module.removesuffix(".py") for module in MODULES]


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options by which the run tells this side what it is."""
    group = parser.getgroup("conformance")
    group.addoption("--variant", help="SPEC of the variant that the tests run on")
    group.addoption("--outcomes", type=Path, help="file to write, one JSON object a test")


def pytest_configure(config: pytest.Config) -> None:
    """Put the variant in the place of vLLM's scheduler before a test module can import it."""
    if config.getoption("--variant"):
        substitute(load(config.getoption("--variant")), config.rootpath)
        config.pluginmanager.register(Recorder(config.getoption("--outcomes")))


def substitute(variant: Variant, tests: Path) -> None:
    """Every name that means vLLM's scheduler means the variant's from now on; `tests` is where a list is shown."""
    originals = {stem: importlib.import_module(f"{PACKAGE}.{stem}") for stem in _STEMS if _exists(stem)}
    if isinstance(variant, BuiltVariant):
        replaced = _modules_replaced(variant, originals)
    else:
        replaced = _class_replaced(variant, originals)
    for module in [module for name, module in sys.modules.items() if name.startswith("vllm.")]:
        for name, value in [*vars(module).items()]:
            if isinstance(value, type) and value in replaced:
                setattr(module, name, replaced[value])
    for substitute_class in set(replaced.values()):
        if not any(base in replaced.values() for base in substitute_class.__mro__[1:]):
            show_as_list(substitute_class, tests)


def _modules_replaced(variant: BuiltVariant, originals: dict[str, ModuleType]) -> dict[type, type]:
    """Whole modules change places, so that a test that patches a name in one patches the variant's."""
    assert variant.folder.is_dir()  # written on first use
    package = importlib.import_module(PACKAGE)
    replaced = {}
    for stem, original in originals.items():
        built = importlib.import_module(f"bench.variants.built.{variant.label}.{stem}")
        sys.modules[f"{PACKAGE}.{stem}"] = built
        setattr(package, stem, built)
        for name, value in vars(original).items():
            if isinstance(value, type) and value.__module__ == original.__name__:
                replaced[value] = getattr(built, name)
    return replaced


def _class_replaced(variant: Variant, originals: dict[str, ModuleType]) -> dict[type, type]:
    """A class of the caller's takes the place of the one class, sync or async, that it is a variant of."""
    try:
        return {originals["scheduler"].Scheduler: variant.scheduler}
    except VariantError:
        return {originals["async_scheduler"].AsyncScheduler: variant.async_scheduler}


def _exists(stem: str) -> bool:
    return importlib.util.find_spec(f"{PACKAGE}.{stem}") is not None


class Recorder:
    """Writes outcomes as they come, and throws the same dice for the same test on both sides."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Tests that draw at random draw alike."""
        random.seed(zlib.crc32(item.nodeid.encode()))
        uuid.uuid4 = lambda: uuid.UUID(int=random.getrandbits(128), version=4)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One line for the call, and one for a setup or teardown that did not pass."""
        if report.when == "call" or report.outcome != "passed":
            outcome = report.outcome if report.when == "call" or report.skipped else "error"
            self._write(report.nodeid, outcome, report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be collected is an outcome too."""
        if report.outcome != "passed":
            self._write(report.nodeid, "error" if report.failed else "skipped", report)

    def _write(self, test: str, outcome: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        logged = "\n".join(text for _, text in report.sections)
        if outcome == "skipped" and isinstance(report.longrepr, tuple):
            reason = report.longrepr[2].removeprefix("Skipped: ")
        else:
            reason = "" if outcome == "passed" else reason_of(report.longreprtext, logged)
        self._file.write(json.dumps(vars(Outcome(test, outcome, reason))) + "\n")


@pytest.fixture
def caplog_vllm(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What vLLM's own conftest gives by this name: `caplog` that sees vLLM's loggers."""
    logger = logging.getLogger("vllm")
    logger.propagate, before = True, logger.propagate
    yield caplog
    logger.propagate = before
