"""What each test came to on two variants: the same, or differing; and in words why one did not run or failed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

MISSING = "no outcome"
_REASON_LENGTH = 110
_NEEDS = (
    (re.compile(r"No module named '(\w+)"), "the package {}"),
    (re.compile(r"fixture '(\w+)' not found"), "the fixture {} of vLLM's conftest"),
    (re.compile(r"Cannot reach https://huggingface\.co/([\w.-]+/[\w.-]+)/resolve"), "files of {} from a model hub"),
    (
        re.compile(r"(?:Can't load|couldn't find|Failed to load)[^\n]*'([\w.-]+/[\w.-]+)'"),
        "files of {} from a model hub",
    ),
    (re.compile(r"(?:offline mode is enabled|LocalEntryNotFoundError|couldn't connect to)()"), "a model hub{}"),
    (re.compile(r"async def functions are not natively supported()"), "a pytest plugin for async tests{}"),
    (re.compile(r"accelerator device when none is available()"), "a GPU{}"),
    (re.compile(r"(?:Torch not compiled with (CUDA)|No (CUDA) GPUs|(NVIDIA) driver)"), "{}"),
)
"""How an environment says that it lacks something; the error is looked at first, then what was logged."""

_EXCEPTION = re.compile(r"[\w.]*(Error|Exception|Failed|Exit|Interrupt)(:|$)")


@dataclass(frozen=True)
class Outcome:
    """One test on one variant: passed, failed, skipped or error, and why."""

    test: str
    outcome: str
    reason: str = ""

    @property
    def ran(self) -> bool:
        """True where the test's own code gave a verdict on the scheduler."""
        return self.outcome == "passed" or (self.outcome == "failed" and not self.reason.startswith("needs "))


@dataclass(frozen=True)
class Difference:
    """A test that came to something else on the candidate."""

    test: str
    baseline: Outcome
    candidate: Outcome


@dataclass(frozen=True)
class Comparison:
    """All tests of a run by what became of them on both sides; reasons are counted."""

    num_passed: int
    failed: Mapping[str, int]
    not_run: Mapping[str, int]
    differing: Sequence[Difference]

    @property
    def num_ran(self) -> int:
        """Tests that ran on both variants to the same end."""
        return self.num_passed + sum(self.failed.values())

    @property
    def conforms(self) -> bool:
        """True where no test differs, and at least one passed on both."""
        return not self.differing and self.num_passed > 0


def reason_of(error: str, logged: str) -> str:
    """One line: what the test needs that is not here, else the exception that ends the traceback `error`."""
    for text in (error, logged):
        for pattern, need in _NEEDS:
            if found := pattern.search(text):
                return f"needs {need.format(next((group for group in found.groups() if group), ''))}"
    lines = [line for line in error.splitlines() if line.strip()] or ["unknown"]
    exceptions = [line for line in lines if _EXCEPTION.match(line)]
    last = " ".join((exceptions or lines)[-1].split())
    return re.sub(r"\b0x[0-9a-f]+", "0x…", last)[:_REASON_LENGTH]


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """The outcomes of one side by test; of several for one test, a bad end of setup or teardown counts."""
    outcomes: dict[str, Outcome] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        outcome = Outcome(**json.loads(line))
        if outcome.test not in outcomes or outcomes[outcome.test].outcome == "passed":
            outcomes[outcome.test] = outcome
    return outcomes


def compare(baseline: Mapping[str, Outcome], candidate: Mapping[str, Outcome]) -> Comparison:
    """Test by test; one that has no outcome on one side differs."""
    num_passed = 0
    failed: Counter[str] = Counter()
    not_run: Counter[str] = Counter()
    differing = []
    for test in sorted({*baseline, *candidate}):
        ours = baseline.get(test, Outcome(test, MISSING))
        theirs = candidate.get(test, Outcome(test, MISSING))
        if (ours.outcome, ours.reason) != (theirs.outcome, theirs.reason):
            differing.append(Difference(test, ours, theirs))
        elif ours.outcome == "passed":
            num_passed += 1
        elif ours.ran:
            failed[ours.reason] += 1
        else:
            not_run[f"{ours.outcome}: {ours.reason}"] += 1
    return Comparison(num_passed, failed, not_run, differing)


def table_of(comparison: Comparison, baseline: str, candidate: str) -> str:
    """The comparison as text, the verdict first."""
    rows = [("passed on both", comparison.num_passed, "")]
    for label, reasons in (("failed on both", comparison.failed), ("not run on either", comparison.not_run)):
        rows.append((label, sum(reasons.values()), ""))
        rows += [("", count, reason) for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))]
    rows.append(("differing", len(comparison.differing), ""))
    verdict = "conforms with" if comparison.conforms else "is NOT SHOWN to conform with"
    lines = [f"{candidate} {verdict} {baseline} in vLLM's own scheduler tests: {comparison.num_ran} ran on both alike"]
    lines.append(
        tabulate(rows, ("", "tests", "reason"), "plain", disable_numparse=True, colalign=("left", "right", "left"))
    )
    for difference in comparison.differing:
        lines.append(difference.test)
        for spec, outcome in ((baseline, difference.baseline), (candidate, difference.candidate)):
            lines.append(f"  {spec}: {outcome.outcome} {outcome.reason}".rstrip())
    return "\n".join(lines)
