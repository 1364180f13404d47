"""GitHub's REST API, as far as a pull-request comment needs it: the only module that opens a connection.

Every method may be called again without harm: what is there already is found first. What is written, and where, is the
business of `bench.report.publish`.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar
from urllib.parse import urlsplit

import github
import github.Repository
import requests
from github.GitCommit import GitCommit
from github.GithubException import GithubException
from github.GitRef import GitRef
from github.InputGitTreeElement import InputGitTreeElement
from github.IssueComment import IssueComment

from bench.errors import AccessError, BenchError, GitHubError, TooLongError

TRIES = 6  # with pauses doubling from one second about a minute of trouble is waited out
MAX_WAIT_S = 900.0  # a rate limit that lasts longer is for another job
BRANCH_TRIES = 6  # jobs that write the branch at the same time
TIMEOUT_S = 30
PAGE = 100  # the most that GitHub gives at once
PAUSE_S = 1.0  # GitHub asks for a second between writes

Result = TypeVar("Result")


@dataclass(frozen=True)
class Written:
    """A comment after it was written: `how` is created, updated or unchanged."""

    url: str
    how: str


class Repository:
    """One repository by `OWNER/NAME`; trouble that passes is waited out, other trouble raised in one line."""

    def __init__(
        self,
        api_url: str,
        name: str,
        token: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        pause_s: float = PAUSE_S,
    ) -> None:
        self.name = name
        self.web_url = f"{_web_url(api_url)}/{name}"
        self._sleep = sleep
        self._pause_s = pause_s
        self._client = github.Github(
            base_url=api_url.rstrip("/"),
            auth=github.Auth.Token(token),
            per_page=PAGE,
            timeout=TIMEOUT_S,
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=pause_s,
            user_agent="runqueue-bench",
        )

    @cached_property
    def _repository(self) -> github.Repository.Repository:
        return self._client.get_repo(self.name)

    def pull_request_of(self, head_sha: str) -> int:
        """The number of the open pull request whose head is `head_sha`; AccessError for none or several."""

        def find() -> list[int]:
            pulls = self._repository.get_pulls(state="open", sort="updated", direction="desc")
            return [pull.number for pull in pulls if pull.head.sha == head_sha]

        found = self._patiently(find)
        if len(found) != 1:
            what = "no open pull request" if not found else f"pull requests {', '.join(f'#{n}' for n in found)}"
            advice = "it moved on or was closed" if not found else "name one with --pull-request"
            raise AccessError(f"{self.name}: {what} with head {head_sha}; {advice}")
        return found[0]

    def write_comment(self, number: int, author: str, marker: str, body: str) -> Written:
        """The comment of `author` that starts with `marker` on pull request `number` says `body`; made if missing.

        A pull request that has several, from jobs that raced, gets its oldest one updated.
        """

        def write() -> Written:
            pull = self._repository.get_pull(number)
            mine = next((one for one in pull.get_issue_comments() if _is_ours(one, author, marker)), None)
            if mine is None:
                return Written(pull.create_issue_comment(body).html_url, "created")
            if (mine.body or "").replace("\r\n", "\n").strip() == body.strip():
                return Written(mine.html_url, "unchanged")
            mine.edit(body)
            return Written(mine.html_url, "updated")

        return self._patiently(write)

    def push_files(self, branch: str, files: Mapping[str, bytes], message: str) -> str:
        """The digest of a commit on `branch` that holds `files` by path; nothing else of the branch changes.

        The branch begins without a parent, so it shares no history with the code. Another job that writes it at the
        same time is not overwritten: its commit becomes the parent of ours.
        """

        def push() -> str:
            if branch == self._repository.default_branch:
                raise AccessError(f"{self.name}: {branch} is the default branch; plots go to a branch of their own")
            blobs = {path: self._blob(data) for path, data in files.items()}
            elements = [InputGitTreeElement(path, "100644", "blob", sha=sha) for path, sha in blobs.items()]
            for attempt in range(BRANCH_TRIES):
                try:
                    return self._commit(branch, elements, message)
                except GithubException as error:
                    if not _is_race(error) or attempt == BRANCH_TRIES - 1:
                        raise
                self._sleep(self._pause_s * 2**attempt)
            raise AssertionError("the loop returns or raises")

        return self._patiently(push)

    def _blob(self, data: bytes) -> str:
        return self._repository.create_git_blob(base64.b64encode(data).decode(), "base64").sha

    def _commit(self, branch: str, elements: list[InputGitTreeElement], message: str) -> str:
        ref = self._ref(branch)
        if ref is None:
            tree = self._repository.create_git_tree(elements)
            commit = self._repository.create_git_commit(message, tree, [])
            self._repository.create_git_ref(f"refs/heads/{branch}", commit.sha)
            return commit.sha
        parent: GitCommit = self._repository.get_git_commit(ref.object.sha)
        tree = self._repository.create_git_tree(elements, parent.tree)
        if tree.sha == parent.tree.sha:
            return parent.sha
        commit = self._repository.create_git_commit(message, tree, [parent])
        ref.edit(commit.sha, force=False)
        return commit.sha

    def _ref(self, branch: str) -> GitRef | None:
        try:
            return self._repository.get_git_ref(f"heads/{branch}")
        except GithubException as error:
            if error.status == 404:
                return None
            raise

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """What `call` returns; it is called again after trouble that passes, so it must find its own traces."""
        for attempt in range(TRIES):
            try:
                return call()
            except GithubException as error:
                wait, why = _wait_s(error, attempt), self._refusal(error)
                if wait is None or attempt == TRIES - 1:
                    raise why from error
            except requests.RequestException as error:
                wait = float(2**attempt)
                if attempt == TRIES - 1:
                    raise GitHubError(f"{self.name}: GitHub cannot be reached ({type(error).__name__})") from error
            self._sleep(wait)
        raise AssertionError("the loop returns or raises")

    def _refusal(self, error: GithubException) -> BenchError:
        said = " ".join((_message(error) or str(error.message or "")).split())[:200]
        where = f"{self.name}: GitHub answered {error.status}"
        if _is_rate_limit(error) or error.status >= 500:
            return GitHubError(f"{where} ({said}) for too long; run it again later")
        if error.status in (401, 403):
            return AccessError(
                f"{where} ({said}); the token may not write here: one of a pull request from a fork never may, "
                "so this belongs into a job of its own (docs/pull-requests.md)"
            )
        if error.status == 404:
            return AccessError(f"{where}; no such repository or pull request, or the token may not see it")
        if error.status == 422 and "too long" in said.lower():
            return TooLongError(f"{where} ({said})")
        return GitHubError(f"{where} ({said})")


def _is_ours(comment: IssueComment, author: str, marker: str) -> bool:
    is_author = comment.user is not None and comment.user.login.lower() == author.lower()
    return is_author and (comment.body or "").startswith(marker)


def _is_race(error: GithubException) -> bool:
    said = _message(error).lower()
    return error.status == 409 or (error.status == 422 and ("fast forward" in said or "already exists" in said))


def _is_rate_limit(error: GithubException) -> bool:
    headers = error.headers or {}
    is_spent = headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers
    return error.status == 429 or (error.status == 403 and (is_spent or "rate limit" in _message(error).lower()))


def _wait_s(error: GithubException, attempt: int) -> float | None:
    """Seconds to wait before another try, or None where no other try would help."""
    headers = error.headers or {}
    wait = float(2**attempt)
    if _is_rate_limit(error):
        if str(headers.get("retry-after", "")).isdecimal():
            wait = float(headers["retry-after"])
        elif str(headers.get("x-ratelimit-reset", "")).isdecimal():
            wait = max(1.0, float(headers["x-ratelimit-reset"]) - time.time())
        else:
            wait = 60.0 * 2**attempt
    elif error.status < 500:
        return None
    return wait if wait <= MAX_WAIT_S else None


def _message(error: GithubException) -> str:
    """All that GitHub said: its message and those of the single fields."""
    data = error.data if isinstance(error.data, dict) else {}
    fields = [str(one.get("message", "")) for one in data.get("errors") or [] if isinstance(one, dict)]
    return " ".join([str(data.get("message", "")), *fields]).strip()


def _web_url(api_url: str) -> str:
    """Where people read what `api_url` serves: GitHub's own two hosts, or one host for both."""
    parts = urlsplit(api_url)
    return f"{parts.scheme}://{'github.com' if parts.netloc == 'api.github.com' else parts.netloc}"
