from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from bench.errors import EXIT_INPUT, AccessError, GitHubError, InputError, RunFolderError
from bench.report.comment import MARKER
from bench.report.github import Repository
from bench.report.publish import Draft, Target, draft, publish
from tests.analysis.run_folder import CANARY, Planned, write_run
from tests.report.github_server import BOT, NAME, TOKEN, Hub, once, serve

HEAD = "1" * 40
RUN = (replace(CANARY, pairs=6), Planned(pairs=6), Planned(pairs=6, num_running=64, effect=0.05))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = write_run(tmp_path_factory.mktemp("publish") / "run", RUN, with_steps=False)
    (made / "plots").mkdir()
    (made / "plots" / "effects.png").write_bytes(b"not a picture")
    (made / "comment.md").write_text("@everybody look here")
    return made


@pytest.fixture(scope="module")
def made(folder: Path) -> Draft:
    return draft(folder)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve() as server:
        server.add_pull(7, HEAD)
        yield server


def target(hub: Hub, **changes: object) -> Target:
    return replace(Target(NAME, hub.url, BOT, "plots", pull_request=7), **changes)  # type: ignore[arg-type]


def say(made: Draft, hub: Hub, warnings: list[str] | None = None, **changes: object) -> str:
    repository = Repository(hub.url, NAME, TOKEN, sleep=lambda _: None, pause_s=0)
    return publish(made, target(hub, **changes), repository, (warnings if warnings is not None else []).append)


def test_plots_are_made_here_and_linked_by_commit(made: Draft, hub: Hub) -> None:
    say(made, hub)
    body = hub.comments[7][0]["body"]
    commit = hub.refs["heads/plots"]
    files = hub.files_at(commit)
    assert set(files) == {"pull-7/effects.png", "pull-7/cost-replay-steady-decode.png"}
    assert all(Image.open(io.BytesIO(png)).format == "PNG" for png in files.values())
    urls = re.findall(r"\]\((http[^)]*\.png)\)", body)
    assert urls == [f"{hub.url}/{NAME}/raw/{commit}/{path}" for path in files]
    assert "mermaid" not in body


def test_text_is_made_here_too(made: Draft, hub: Hub) -> None:
    say(made, hub, link="https://example.invalid/run/1")
    body = hub.comments[7][0]["body"]
    assert body.startswith(MARKER)
    assert "everybody" not in body
    assert "dict vs list: SLOWER in 1 of 2 cells" in body
    assert "[whole report](https://example.invalid/run/1)" in body


def test_second_job_says_its_own_verdict(folder: Path, tmp_path: Path) -> None:
    second = write_run(tmp_path / "second", (replace(CANARY, pairs=6), Planned(pairs=6)), with_steps=False)
    assert "A second job found: dict vs list: EQUIVALENT in the only cell" in draft(folder, second).body({}, "")


def test_second_time_changes_nothing(made: Draft, folder: Path, hub: Hub) -> None:
    assert say(made, hub).startswith("#7: comment created, https://example.invalid/7")
    writes = hub.count("POST .*comments|PATCH|POST .*/commits")
    assert say(draft(folder), hub).startswith("#7: comment unchanged")
    assert hub.count("POST .*comments|PATCH|POST .*/commits") == writes


def test_pull_request_is_found_by_head(made: Draft, hub: Hub) -> None:
    assert say(made, hub, pull_request=None, head_sha=HEAD).startswith("#7: comment created")
    with pytest.raises(AccessError, match="no open pull request"):
        say(made, hub, pull_request=None, head_sha="2" * 40)


def test_without_leave_to_push_the_comment_has_a_chart(made: Draft, hub: Hub) -> None:
    hub.troubles.append(once("POST .*/git/", 403, {"message": "Resource not accessible by integration"}, 99))
    warnings: list[str] = []
    say(made, hub, warnings)
    assert "```mermaid" in hub.comments[7][0]["body"]
    assert len(warnings) == 1
    assert "plots were not stored" in warnings[0]


def test_token_of_a_fork_can_do_nothing_and_is_told_so(made: Draft, hub: Hub) -> None:
    hub.troubles.append(once("POST|PATCH", 403, {"message": "Resource not accessible by integration"}, 99))
    with pytest.raises(AccessError, match="from a fork"):
        say(made, hub)
    assert hub.comments[7] == []


def test_comment_that_github_finds_too_long_is_shortened(made: Draft, hub: Hub) -> None:
    too_long = {"message": "Validation Failed", "errors": [{"message": "body is too long"}]}
    hub.troubles.append(once("POST .*/comments", 422, too_long, 2))
    warnings: list[str] = []
    say(made, hub, warnings)
    body = hub.comments[7][0]["body"]
    assert "<details>" not in body
    assert "SLOWER in 1 of 2" in body
    assert len(warnings) == 2


def test_comment_that_is_always_too_long_fails_in_the_end(made: Draft, hub: Hub) -> None:
    too_long = {"message": "Validation Failed", "errors": [{"message": "body is too long"}]}
    hub.troubles.append(once("POST .*/comments", 422, too_long, 99))
    with pytest.raises(GitHubError, match="too long"):
        say(made, hub)


def test_folder_of_an_untrusted_job_is_bounded(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", RUN[:1], with_steps=False)
    with (folder / "plots.bin").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(RunFolderError, match=r"plots\.bin has 68157440 bytes, expected at most"):
        draft(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pull_request": None}, "either --pull-request or --head-sha"),
        ({"head_sha": HEAD}, "either --pull-request or --head-sha"),
        ({"repository": "owner/name/../other"}, "expected OWNER/NAME"),
        ({"repository": "owner"}, "expected OWNER/NAME"),
        ({"pull_request": None, "head_sha": "abc"}, "all 40 hexadecimal digits"),
        ({"pull_request": None, "head_sha": f"{HEAD}\n"}, "all 40 hexadecimal digits"),
        ({"branch": "../main"}, "expected letters"),
        ({"branch": "-f"}, "expected letters"),
        ({"api_url": "http://api.example"}, "expected https"),
        ({"api_url": "file:///etc"}, "expected https"),
        ({"link": "javascript:alert(1)"}, "expected an https URL"),
        ({"link": "https://x/) <img src=x>"}, "expected an https URL"),
    ],
)
def test_target_that_cannot_be_is_refused_before_anything_is_sent(changes: dict[str, object], message: str) -> None:
    good = Target(NAME, "https://api.github.com", BOT, "plots", pull_request=7)
    good.check()
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        replace(good, **changes).check()  # type: ignore[arg-type]
    assert refused.value.exit_code == EXIT_INPUT


def test_only_one_module_can_open_a_connection() -> None:
    package = Path(__file__).resolve().parents[2] / "bench"
    network = re.compile(
        r"^\s*(?:import|from) (?:requests|github|httpx|urllib\.request|urllib3|aiohttp)\b", re.MULTILINE
    )
    users = {path.name for folder in ("report", "analysis") for path in (package / folder).rglob("*.py")
             if network.search(path.read_text())}  # fmt: skip
    assert users == {"github.py"}
