"""Says a run in a pull request: plots onto a branch of their own, and one comment that later runs bring up to date.

The run folder is taken to come from a job that nobody trusts: only its raw data is read, within bounds, and text and
pictures are made here. How GitHub is spoken to is the business of `bench.report.github`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from bench.analysis.admission import UNTRUSTED
from bench.analysis.comparisons import compare
from bench.analysis.load import load_run
from bench.analysis.scaling import pair_costs
from bench.errors import BenchError, InputError, TooLongError
from bench.report.comment import MARKER, render_comment
from bench.report.compose import effects_drawn, scaling_drawn, summary
from bench.report.content import Content
from bench.report.github import Repository
from bench.report.headline import headlines, void_warning

MAX_PLOTS = 4  # the effects, and cost against size for the first workloads
MAX_PLOT_BYTES = 2 * 2**20
SHORTER_BYTES = (60_000, 15_000, 1)  # tried in turn where GitHub finds a comment too long; with 1 only the top is left
REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}", re.ASCII)
BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Draft:
    """A run ready to be said: its content, its margin in %, and PNG files by name, with a caption each."""

    content: Content
    margin_pct: float
    plots: Mapping[str, bytes]
    captions: Mapping[str, str]

    def body(self, pictures: Mapping[str, str], link: str, max_bytes: int = SHORTER_BYTES[0]) -> str:
        """The comment; `pictures` maps names of plots to URLs, and none of them makes a chart of letters."""
        by_caption = {self.captions[name]: url for name, url in pictures.items()}
        return render_comment(self.content, self.margin_pct, pictures=by_caption, link=link, max_bytes=max_bytes)


@dataclass(frozen=True)
class Target:
    """Where a run is said; `author` is who the token writes as, `link` leads to the whole report or is empty."""

    repository: str
    api_url: str
    author: str
    branch: str
    link: str = ""
    pull_request: int | None = None
    head_sha: str | None = None

    def check(self) -> None:
        """Raises InputError where a part cannot be what it is meant to be, before anything is sent."""
        if (self.pull_request is None) == (self.head_sha is None):
            raise InputError("name the pull request: either --pull-request or --head-sha")
        if not REPOSITORY.fullmatch(self.repository):
            raise InputError(f"--repository {self.repository!r}: expected OWNER/NAME")
        if self.head_sha is not None and not COMMIT.fullmatch(self.head_sha):
            raise InputError(f"--head-sha {self.head_sha!r}: expected all 40 hexadecimal digits of a commit")
        if not BRANCH.fullmatch(self.branch):
            raise InputError(f"--branch {self.branch!r}: expected letters, digits, dot, dash and underscore")
        if not _is_safe_url(self.api_url):
            raise InputError(f"--api-url {self.api_url!r}: expected https, so that nobody reads the token on its way")
        if self.link and (not _is_safe_url(self.link) or re.search(r"[\s()<>\"`|\\]", self.link)):
            raise InputError(f"--link {self.link!r}: expected an https URL without brackets, quotes and spaces")


def _is_safe_url(url: str) -> bool:
    parts = urlsplit(url)
    is_here = parts.hostname in ("127.0.0.1", "::1", "localhost")
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and is_here))


def draft(run_dir: Path, second: Path | None = None) -> Draft:
    """The run in `run_dir`, judged again from its raw files; raises RunFolderError, and writes nothing there.

    What an independent `second` job found stands beside it in a sentence: two that agree are worth more than one.
    """
    run = load_run(run_dir, UNTRUSTED)
    comparisons = compare(run)
    content = summary(run, comparisons)
    if second is not None:
        content = replace(content, notes=(*content.notes, _second_opinion(second)))
    drawn = [effects_drawn(comparisons), *scaling_drawn(pair_costs(run), MAX_PLOTS - 1)]
    drawn = [(picture, image) for picture, image in drawn if len(image.png) <= MAX_PLOT_BYTES]
    return Draft(
        content=content,
        margin_pct=100 * run.limits.margin,
        plots={f"{picture.name}.png": image.png for picture, image in drawn},
        captions={f"{picture.name}.png": picture.caption for picture, _ in drawn},
    )


def _second_opinion(run_dir: Path) -> str:
    run = load_run(run_dir, UNTRUSTED)
    comparisons = compare(run)
    found = "; ".join(line for line in (void_warning(comparisons), *headlines(comparisons)) if line)
    return f"A second job found: {found}."


def publish(made: Draft, target: Target, repository: Repository, warn: Warn) -> str:
    """One line about the comment that now says the run; nothing changes where it said so already.

    Where the plots cannot be stored, `warn` is told and the comment has its chart of letters. Raises BenchError.
    """
    number = target.pull_request
    if number is None:
        number = repository.pull_request_of(target.head_sha or "")
    pictures = _store(made, target.branch, number, repository, warn)
    for max_bytes in SHORTER_BYTES:
        try:
            body = made.body(pictures, target.link, max_bytes)
            written = repository.write_comment(number, target.author, MARKER, body)
        except TooLongError as error:
            if max_bytes == SHORTER_BYTES[-1]:
                raise
            warn(f"{error}; trying a shorter comment")
        else:
            return f"#{number}: comment {written.how}, {written.url}"
    raise AssertionError("the loop returns or raises")


def _store(made: Draft, branch: str, number: int, repository: Repository, warn: Warn) -> dict[str, str]:
    paths = {name: f"pull-{number}/{name}" for name in made.plots}
    try:
        commit = repository.push_files(
            branch, {paths[name]: png for name, png in made.plots.items()}, f"Plots of pull request {number}"
        )
    except BenchError as error:
        warn(f"plots were not stored, the comment has a chart in their place: {error}")
        return {}
    return {name: f"{repository.web_url}/raw/{commit}/{quote(path)}" for name, path in paths.items()}
