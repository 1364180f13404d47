"""The pages and experiment files that name workloads, formats and options say what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.config import load_experiment
from bench.traces.importers.describe import formats_markdown, options_markdown
from bench.traces.workloads import WORKLOADS, generate, workloads_markdown
from bench.traces.workloads.describe import option_row
from bench.traces.workloads.workload import STEP_MS, STEPS

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.toml"))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def generated(text: str, marker: str) -> str:
    return text.split(f"<!-- generated: {marker} -->\n", 1)[1].split("\n<!-- end -->", 1)[0]


def test_page_of_workloads_is_that_of_the_code() -> None:
    text = page("workloads.md")
    assert generated(text, "python -m bench trace workloads --markdown") == workloads_markdown()
    assert f"\n{option_row(STEPS)}\n{option_row(STEP_MS)}\n" in text


def test_every_workload_answers_a_question() -> None:
    questions = page("workloads.md").split("## Which one", 1)[1]
    assert all(f"`{name}`" in questions for name in WORKLOADS)


def test_tables_of_formats_and_options_are_those_of_the_code() -> None:
    text = page("traces.md")
    assert generated(text, "formats") == formats_markdown()
    assert generated(text, "options") == options_markdown()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_experiment_is_valid_and_its_workloads_can_be_made(path: Path) -> None:
    for group in load_experiment(path).cells:
        for workload in group.workloads:
            assert generate(workload, num_running=16, seed=1, options=group.options).requests
        assert not any(Path(trace).is_absolute() or ".." in trace for trace in group.traces)


def test_full_experiment_has_every_workload_of_its_policy() -> None:
    named = {name for group in load_experiment(ROOT / "configs" / "full.toml").cells for name in group.workloads}
    assert named | {"priority-preemption"} == set(WORKLOADS)
