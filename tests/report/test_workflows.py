"""The workflows keep their promises: what can write runs nothing that a pull request brought."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from bench.cli import cli

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
NAMES = sorted(path.name for path in FOLDER.glob("*.yml"))
RUN_UNTRUSTED_CODE = ("bench.yml", "ci.yml", "measure.yml")

Workflow = dict[str, Any]


def workflow(name: str) -> Workflow:
    content: Workflow = yaml.safe_load((FOLDER / name).read_text())
    content["on"] = content.pop(True)  # YAML 1.1 reads the key `on` as a truth value
    return content


def jobs(name: str) -> list[dict[str, Any]]:
    return list(workflow(name)["jobs"].values())


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in jobs(name):
        yield from job.get("steps", [])


def grants(name: str) -> list[Any]:
    found = [workflow(name).get("permissions"), *(job.get("permissions") for job in jobs(name))]
    return [one for one in found if one is not None]


def test_there_is_a_workflow_for_each_purpose() -> None:
    assert NAMES == ["bench.yml", "ci.yml", "comment.yml", "measure.yml", "nightly.yml"]


@pytest.mark.parametrize("name", NAMES)
def test_no_workflow_gives_a_pull_request_the_rights_of_the_repository(name: str) -> None:
    assert "pull_request_target" not in (FOLDER / name).read_text()
    assert "secrets." not in (FOLDER / name).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_no_expression_stands_inside_a_shell(name: str) -> None:
    for step in steps(name):
        assert "${{" not in step.get("run", ""), step["name"]
        assert "script" not in step.get("with", {}), step["name"]


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_pinned_by_commit_and_says_its_release(name: str) -> None:
    used = re.findall(r"uses: (\S+)(.*)", (FOLDER / name).read_text())
    assert used
    for action, comment in used:
        if not action.startswith("./"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
            assert re.match(r" # v\d+\.\d+\.\d+$", comment), action


@pytest.mark.parametrize("name", NAMES)
def test_rights_are_named_job_by_job_and_time_is_bounded(name: str) -> None:
    assert workflow(name)["permissions"] in ({}, {"contents": "read"})
    for job in jobs(name):
        assert "timeout-minutes" in job or "uses" in job
        assert job.get("permissions") != "write-all"


@pytest.mark.parametrize("name", RUN_UNTRUSTED_CODE)
def test_what_runs_a_pull_request_s_code_can_only_read(name: str) -> None:
    assert grants(name)
    assert all(set(grant.values()) <= {"read"} for grant in grants(name))


@pytest.mark.parametrize("name", NAMES)
def test_checked_out_code_never_keeps_the_token(name: str) -> None:
    for step in steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_comment_follows_bench_and_nothing_else_starts_it() -> None:
    assert workflow("comment.yml")["on"] == {
        "workflow_run": {"workflows": [workflow("bench.yml")["name"]], "types": ["completed"]}
    }
    assert list(workflow("bench.yml")["on"]) == ["pull_request"]


def test_comment_checks_out_the_default_branch_alone() -> None:
    checkouts = [step for step in steps("comment.yml") if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["ref"] for step in checkouts] == ["${{ github.event.repository.default_branch }}"]
    assert all("repository" not in step["with"] for step in checkouts)
    for step in steps("comment.yml"):
        assert not re.search(r"\bgit\s+(?:fetch|checkout|clone|pull)|\bgh\s+pr\b|make ", step.get("run", ""))


def test_artifact_of_the_other_run_lies_outside_the_checkout_and_is_only_an_argument() -> None:
    fetch = next(step for step in steps("comment.yml") if "download-artifact" in step.get("uses", ""))
    assert fetch["with"]["path"] == "${{ runner.temp }}/untrusted"
    for step in steps("comment.yml"):
        for line in step.get("run", "").splitlines():
            if "$runs" in line and not line.strip().startswith("if [ "):
                assert line.strip().startswith("venv/bin/python -m bench comment ")


def test_comment_takes_the_pull_request_from_the_head_commit() -> None:
    step = next(one for one in steps("comment.yml") if one["name"] == "Comment")
    assert step["env"]["HEAD_SHA"] == "${{ github.event.workflow_run.head_sha }}"
    assert '--head-sha "$HEAD_SHA"' in step["run"]
    assert "pull_requests" not in str(workflow("comment.yml"))


def test_artifacts_have_the_names_that_others_fetch_them_by() -> None:
    upload = next(step for step in steps("measure.yml") if "upload-artifact" in step.get("uses", ""))
    assert upload["with"]["name"] == "bench-run-${{ matrix.number }}"
    assert jobs("measure.yml")[0]["strategy"]["matrix"]["number"] == [1, 2]
    for name in ("measure.yml", "comment.yml", "nightly.yml"):
        fetched = [step["with"]["pattern"] for step in steps(name) if "download-artifact" in step.get("uses", "")]
        assert fetched == ["bench-run-*"]


@pytest.mark.parametrize(("first", "second", "code"), [(0, 0, 0), (4, 0, 0), (0, 4, 0), (4, 4, 4)])
def test_gate_is_red_only_where_both_jobs_agree(tmp_path: Path, first: int, second: int, code: int) -> None:
    for number, found in ((1, first), (2, second)):
        (tmp_path / "runs" / f"bench-run-{number}").mkdir(parents=True)
        (tmp_path / "runs" / f"bench-run-{number}" / "exit-code").write_text(f"{found}\n")
    script = next(step["run"] for step in steps("measure.yml") if step["name"].startswith("Fail where"))
    environment = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == code
    assert ("no proof" in (tmp_path / "summary").read_text()) == (first != second)


@pytest.mark.parametrize("name", NAMES)
def test_shell_of_every_step_can_be_parsed(name: str) -> None:
    for step in steps(name):
        if "run" in step:
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_options_that_workflows_pass_are_those_of_the_commands() -> None:
    calls = 0
    for name in NAMES:
        for step in steps(name):
            text = re.sub(r"\\\n\s*", " ", step.get("run", ""))
            for words in re.findall(r"-m bench ([^|>\n]*)", text):
                calls += 1
                check_call(words.split(), set(re.findall(r"options\+?=\((--[\w-]+)", text)))
    assert calls >= 8


def check_call(words: list[str], added: set[str]) -> None:
    command: click.Command = cli
    for word in words:
        if not isinstance(command, click.Group):
            break
        known = command.commands
        command = known[word]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} | added <= options, command.name


def test_every_input_of_the_reusable_workflow_is_described_used_and_documented() -> None:
    inputs = workflow("measure.yml")["on"]["workflow_call"]["inputs"]
    text, docs = (FOLDER / "measure.yml").read_text(), (ROOT / "docs" / "pull-requests.md").read_text()
    for name, one in inputs.items():
        assert one["description"].endswith(".")
        assert "default" in one
        assert f"inputs.{name}" in text
        assert f"`{name}`" in docs


def test_experiments_that_workflows_name_are_there() -> None:
    named = {config for name in NAMES for config in re.findall(r"configs/\S+\.toml", (FOLDER / name).read_text())}
    assert len(named) >= 2
    assert all((ROOT / config).is_file() for config in named)


def test_callers_pass_only_inputs_that_there_are() -> None:
    inputs = workflow("measure.yml")["on"]["workflow_call"]["inputs"]
    for name in ("bench.yml", "nightly.yml"):
        for job in jobs(name):
            assert set(job.get("with", {})) <= set(inputs)


def test_no_index_is_named_where_a_variable_can_name_it() -> None:
    for name in NAMES:
        text = (FOLDER / name).read_text()
        assert "http" not in re.sub(r"http\.extraheader|html_url", "", text)
        assert ("make setup" in text) == ('make setup TORCH_CPU_INDEX="$TORCH_CPU_INDEX"' in text)


def test_linter_finds_nothing() -> None:
    linter = shutil.which("zizmor", path=Path(sys.executable).parent) or shutil.which("zizmor")
    if linter is None:
        pytest.skip("zizmor is not installed")
    done = subprocess.run([linter, "--offline", str(ROOT / ".github")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
