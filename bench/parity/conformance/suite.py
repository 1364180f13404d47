"""Runs vLLM's scheduler tests on two variants, each in a pytest process of its own, without network."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.errors import InputError, MeasureError
from bench.parity.conformance.hub import write_hub_cache
from bench.parity.conformance.outcomes import Comparison, compare, read_outcomes
from bench.parity.conformance.source import NEEDED, folder_of_tests
from bench.variants import load
from bench.variants.build import build_root

SEARCHED = ("tests/v1/core", "tests/v1/kv_connector/unit", "tests/v1/streaming_input")
_SCHEDULES = re.compile(
    r"\b(create_scheduler\w*|Scheduler|AsyncScheduler)\(|\.running\b|sched\.(async_)?scheduler import"
)
_STARTS_AN_ENGINE = re.compile(r"\b(LLM|LLMEngine|AsyncLLM|EngineCore|RemoteOpenAIServer)\(")
TEST_TIME_LIMIT_S = 300  # the slowest test takes some 30 s; a broken candidate hangs
RUN_TIME_LIMIT_S = 7200
_ENDS_OF_PYTEST = (0, 1, 2)  # all passed, some failed, some files could not be collected: each has its outcomes
_STAND_INS = Path(__file__).parent / "stand_ins"

Progress = Callable[[Mapping[str, int]], None]
"""Told now and then how many tests each side has done."""


def run_conformance(baseline: str, candidate: str, vllm_source: Path, progress: Progress | None = None) -> Comparison:
    """Both sides on the same tests; raises InputError for a wrong source, MeasureError where pytest itself failed."""
    specs = {"baseline": from_anywhere(baseline), "candidate": from_anywhere(candidate)}
    for spec in specs.values():
        _ = load(spec).label  # a SPEC that names nothing is refused before anything starts
    folder = folder_of_tests(vllm_source)
    files = scheduler_tests(folder)
    if not files:
        raise InputError(f"{vllm_source}: holds no scheduler tests below {', '.join(SEARCHED)}")
    write_hub_cache(build_root() / "conformance" / "hub")
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = {side: Path(scratch, f"{side}.jsonl") for side in specs}
        _run_sides(specs, outcomes, folder, files, progress)
        read = {side: read_outcomes(path) for side, path in outcomes.items()}
    return compare(read["baseline"], read["candidate"])


def scheduler_tests(folder: Path) -> list[str]:
    """Test files that make a scheduler or look into its queue, and start no engine: those need a model's weights."""
    found = [path for below in SEARCHED for path in sorted((folder / below).rglob("test_*.py"))]
    texts = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in found}
    return [
        name
        for name, text in texts.items()
        if name == str(NEEDED) or (_SCHEDULES.search(text) and not _STARTS_AN_ENGINE.search(text))
    ]


def from_anywhere(spec: str) -> str:
    """`spec` with the path of its patch made absolute, since the tests run in a folder of their own."""
    kind, _, rest = spec.partition(":")
    return f"patch:{Path(rest).resolve()}" if kind == "patch" and rest else spec


def side_environment(spec: str) -> dict[str, str]:
    """Offline, with the models' facts, our package, and a stand-in for torchvision where there is none."""
    caches = build_root() / "conformance"
    paths = [str(Path(__file__).resolve().parents[3])]
    if spec.startswith("class:"):
        paths.append(str(Path.cwd()))  # where its module is found from here
    if importlib.util.find_spec("torchvision") is None:
        paths.insert(0, str(_STAND_INS))
    return {
        **os.environ,
        "HF_HUB_CACHE": str(caches / "hub"),
        "HF_HUB_OFFLINE": "1",
        "VLLM_CACHE_ROOT": str(caches / "vllm"),
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(paths),
    }


def side_command(spec: str, outcomes: Path, files: list[str]) -> list[str]:
    """The pytest of one side, which loads the plugin."""
    # Python's own tracebacks: pytest's fail on the sources of a few tests, and end the whole run with that.
    options = ["-q", "--tb=native", "-W", "ignore", f"--timeout={TEST_TIME_LIMIT_S}"]
    options += ["--continue-on-collection-errors"]
    plugins = ["-p", "bench.parity.conformance.plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return [sys.executable, "-m", "pytest", *options, *plugins, "--variant", spec, "--outcomes", str(outcomes), *files]


def _run_sides(
    specs: Mapping[str, str], outcomes: Mapping[str, Path], folder: Path, files: list[str], progress: Progress | None
) -> None:
    running: dict[str, subprocess.Popen[bytes]] = {}
    deadline = time.monotonic() + RUN_TIME_LIMIT_S
    try:
        for side, spec in specs.items():
            command = side_command(spec, outcomes[side], files)
            with _log(outcomes[side]).open("wb") as log:
                running[side] = subprocess.Popen(
                    command, cwd=folder, env=side_environment(spec), stdout=log, stderr=log
                )
        while any(process.poll() is None for process in running.values()):
            _check(specs, outcomes, running)
            if time.monotonic() > deadline:
                raise MeasureError(f"conformance: still running after {RUN_TIME_LIMIT_S} s")
            time.sleep(1)
            if progress is not None:
                progress({side: _num_lines(path) for side, path in outcomes.items()})
        _check(specs, outcomes, running)
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def _check(
    specs: Mapping[str, str], outcomes: Mapping[str, Path], running: Mapping[str, subprocess.Popen[bytes]]
) -> None:
    """Raises MeasureError where a side has ended without outcomes, or otherwise than pytest ends after tests."""
    for side, process in running.items():
        if process.poll() is None or (process.returncode in _ENDS_OF_PYTEST and _num_lines(outcomes[side])):
            continue
        lines = _log(outcomes[side]).read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "no output")
        raise MeasureError(f"conformance: pytest on {specs[side]} ended with {process.returncode}: {last[:200]}")


def _log(outcomes: Path) -> Path:
    return outcomes.with_suffix(".log")


def _num_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0
