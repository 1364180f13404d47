from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from bench.errors import EXIT_FAULT, EXIT_INPUT, AccessError, GitHubError, TooLongError
from bench.report.comment import MARKER
from bench.report.github import MAX_WAIT_S, TRIES, Repository
from tests.report.github_server import BOT, NAME, TOKEN, Hub, once, serve

HEAD = "1" * 40
BRANCH = "plots"
FILES = {"pull-7/a.png": b"\x89PNG a", "pull-7/b.png": b"\x89PNG b"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serve() as made:
        made.add_pull(7, HEAD)
        yield made


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def repository(hub: Hub, waits: list[float]) -> Repository:
    return connect(hub, waits)


def connect(hub: Hub, waits: list[float], token: str = TOKEN, name: str = NAME) -> Repository:
    return Repository(hub.url, name, token, sleep=waits.append, pause_s=0)


def say(repository: Repository, text: str = "hello") -> str:
    return repository.write_comment(7, BOT, MARKER, f"{MARKER}\n{text}").how


def test_comment_is_made_then_updated_then_left_alone(hub: Hub, repository: Repository) -> None:
    assert [say(repository, text) for text in ("one", "two", "two")] == ["created", "updated", "unchanged"]
    assert [comment["body"] for comment in hub.comments[7]] == [f"{MARKER}\ntwo"]


def test_own_comment_is_found_past_the_first_pages(hub: Hub, repository: Repository) -> None:
    for number in range(150):
        hub.add_comment(7, f"talk {number}", "somebody")
    hub.add_comment(7, f"{MARKER}\nold", BOT)
    hub.add_comment(7, "more talk", "somebody")
    assert say(repository, "new") == "updated"
    assert hub.comments[7][150]["body"] == f"{MARKER}\nnew"
    assert hub.count(r"GET .*/comments\?") == 6


def test_marker_of_another_author_and_own_comment_without_it_are_left_alone(hub: Hub, repository: Repository) -> None:
    others = [(f"{MARKER}\nfake", "stranger"), ("unrelated", BOT), (f"quoting {MARKER}", BOT)]
    for body, author in others:
        hub.add_comment(7, body, author)
    assert say(repository) == "created"
    assert [(comment["body"], comment["user"]["login"]) for comment in hub.comments[7][:3]] == others


def test_oldest_of_several_own_comments_is_the_one(hub: Hub, repository: Repository) -> None:
    for text in ("first", "second"):
        hub.add_comment(7, f"{MARKER}\n{text}", BOT)
    assert say(repository, "new") == "updated"
    assert [comment["body"] for comment in hub.comments[7]] == [f"{MARKER}\nnew", f"{MARKER}\nsecond"]


def test_pull_request_is_found_by_its_head_past_the_first_pages(hub: Hub, repository: Repository) -> None:
    for number in range(100, 180):
        hub.add_pull(number, f"{number:040d}")
    hub.add_pull(500, "5" * 40)
    assert repository.pull_request_of("5" * 40) == 500
    assert hub.count(r"GET .*/pulls\?") == 3


def test_head_of_no_open_pull_request_is_one_clear_line(hub: Hub, repository: Repository) -> None:
    hub.add_pull(8, "8" * 40, state="closed")
    with pytest.raises(AccessError, match=r"no open pull request with head 8{40}; it moved on or was closed"):
        repository.pull_request_of("8" * 40)


def test_head_of_two_pull_requests_asks_which(hub: Hub, repository: Repository) -> None:
    hub.add_pull(9, HEAD)
    with pytest.raises(AccessError, match="pull requests #7, #9 with head"):
        repository.pull_request_of(HEAD)


def test_token_of_a_fork_is_refused_at_once_with_advice(hub: Hub, repository: Repository, waits: list[float]) -> None:
    hub.troubles.append(once("POST .*/comments", 403, {"message": "Resource not accessible by integration"}, 99))
    with pytest.raises(AccessError, match=r"from a fork never may.*docs/pull-requests\.md") as refused:
        say(repository)
    assert refused.value.exit_code == EXIT_INPUT
    assert (waits, hub.count("POST")) == ([], 1)


def test_bad_token_is_refused_and_not_repeated_in_the_message(hub: Hub, waits: list[float]) -> None:
    with pytest.raises(AccessError, match="401") as refused:
        say(connect(hub, waits, token="wrong-token"))
    assert "wrong-token" not in str(refused.value)


def test_unknown_repository_or_pull_request_is_one_clear_line(hub: Hub, waits: list[float]) -> None:
    with pytest.raises(AccessError, match="no such repository or pull request"):
        say(connect(hub, waits, name="owner/other"))
    with pytest.raises(AccessError, match="no such repository or pull request"):
        connect(hub, waits).write_comment(99, BOT, MARKER, "x")


def test_body_too_long_is_told_apart(hub: Hub, repository: Repository) -> None:
    with pytest.raises(TooLongError, match="too long"):
        say(repository, "x" * 70_000)
    assert hub.comments[7] == []


def test_rate_limit_is_waited_out_as_long_as_github_asks(hub: Hub, repository: Repository, waits: list[float]) -> None:
    hub.troubles.append(once("POST .*/comments", 429, {"message": "slow down"}, Retry_After="17"))
    reset = str(int(time.time()) + 100)
    limit = {"message": "API rate limit exceeded for installation"}
    hub.troubles.append(once("GET .*/pulls", 403, limit, x_ratelimit_remaining="0", x_ratelimit_reset=reset))
    assert say(repository) == "created"
    assert waits[1] == 17
    assert 95 <= waits[0] <= 100


def test_secondary_rate_limit_without_a_time_waits_a_minute(
    hub: Hub, repository: Repository, waits: list[float]
) -> None:
    hub.troubles.append(once("POST", 403, {"message": "You have exceeded a secondary rate limit"}))
    assert say(repository) == "created"
    assert waits == [60]


def test_rate_limit_that_lasts_too_long_is_given_up_at_once(
    hub: Hub, repository: Repository, waits: list[float]
) -> None:
    hub.troubles.append(once("GET", 429, {"message": "slow down"}, 9, Retry_After=str(int(MAX_WAIT_S) + 1)))
    with pytest.raises(GitHubError, match="run it again later") as refused:
        say(repository)
    assert refused.value.exit_code == EXIT_FAULT
    assert waits == []


def test_broken_server_is_asked_again_with_growing_pauses(hub: Hub, repository: Repository, waits: list[float]) -> None:
    hub.troubles.append(once("GET .*/pulls", 502, {"message": "Bad Gateway"}, 3))
    assert say(repository) == "created"
    assert waits == [1, 2, 4]


def test_server_that_stays_broken_is_given_up(hub: Hub, repository: Repository, waits: list[float]) -> None:
    hub.troubles.append(once("GET", 503, {"message": "down"}, 99))
    with pytest.raises(GitHubError, match=r"503 \(down\) for too long"):
        say(repository)
    assert len(waits) == TRIES - 1


def test_comment_that_was_made_before_the_answer_broke_is_not_made_twice(hub: Hub, repository: Repository) -> None:
    def make_and_break(request: str) -> tuple[int, dict[str, str], dict[str, str]] | None:
        if not request.startswith("POST") or hub.comments[7]:
            return None
        hub.add_comment(7, f"{MARKER}\nhello", BOT)
        return 502, {"message": "Bad Gateway"}, {}

    hub.troubles.append(make_and_break)
    assert say(repository) == "unchanged"
    assert len(hub.comments[7]) == 1


def test_no_server_at_all_is_one_clear_line(waits: list[float]) -> None:
    with serve() as gone:
        pass
    with pytest.raises(GitHubError, match="cannot be reached"):
        say(connect(gone, waits))
    assert len(waits) == TRIES - 1


def test_files_begin_a_branch_without_history(hub: Hub, repository: Repository) -> None:
    commit = repository.push_files(BRANCH, FILES, "plots")
    assert hub.refs == {f"heads/{BRANCH}": commit}
    assert hub.objects[commit]["parents"] == []
    assert hub.files_at(commit) == FILES


def test_same_files_again_make_no_commit(hub: Hub, repository: Repository) -> None:
    commit = repository.push_files(BRANCH, FILES, "plots")
    assert repository.push_files(BRANCH, FILES, "plots") == commit
    assert hub.count("POST .*/git/commits") == 1


def test_files_of_others_stay_on_the_branch(hub: Hub, repository: Repository) -> None:
    first = repository.push_files(BRANCH, {"pull-6/a.png": b"old"}, "plots")
    second = repository.push_files(BRANCH, FILES, "plots")
    assert hub.objects[second]["parents"] == [{"sha": first}]
    assert hub.files_at(second) == {"pull-6/a.png": b"old"} | FILES


def test_commit_of_a_job_that_came_between_is_kept(hub: Hub, repository: Repository, waits: list[float]) -> None:
    repository.push_files(BRANCH, {"pull-6/a.png": b"old"}, "plots")
    other = connect(hub, [])
    raced = []

    def come_between(request: str) -> None:
        if request.startswith("PATCH") and len(raced) < 2:
            raced.append(request)
            other.push_files(BRANCH, {f"pull-{len(raced)}/x.png": b"theirs"}, "plots")

    hub.troubles.append(come_between)
    commit = repository.push_files(BRANCH, FILES, "plots")
    assert set(hub.files_at(commit)) == {"pull-6/a.png", "pull-1/x.png", "pull-2/x.png", *FILES}
    assert hub.refs[f"heads/{BRANCH}"] == commit
    assert len(waits) >= 1


def test_branch_that_another_job_began_meanwhile_is_added_to(hub: Hub, repository: Repository) -> None:
    other, begun = connect(hub, []), []

    def begin_first(request: str) -> None:
        if request.startswith("POST") and request.endswith("/git/refs") and not begun:
            begun.append(request)
            other.push_files(BRANCH, {"theirs.png": b"theirs"}, "plots")

    hub.troubles.append(begin_first)
    assert set(hub.files_at(repository.push_files(BRANCH, FILES, "plots"))) == {"theirs.png", *FILES}


def test_branch_that_never_stands_still_is_given_up(hub: Hub, repository: Repository) -> None:
    repository.push_files(BRANCH, {"a": b"a"}, "plots")
    hub.troubles.append(once("PATCH .*/git/refs", 422, {"message": "Update is not a fast forward"}, 99))
    with pytest.raises(GitHubError, match="fast forward"):
        repository.push_files(BRANCH, FILES, "plots")


def test_default_branch_is_never_written(hub: Hub, repository: Repository) -> None:
    with pytest.raises(AccessError, match="main is the default branch"):
        repository.push_files("main", FILES, "plots")
    assert hub.count("POST") == 0


def test_pictures_are_read_where_the_repository_is_read() -> None:
    for api, web in (
        ("https://api.github.com", "https://github.com/owner/name"),
        ("https://git.example/api/v3", "https://git.example/owner/name"),
    ):
        assert Repository(api, NAME, "t").web_url == web
