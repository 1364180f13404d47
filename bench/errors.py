"""Every error that this project raises on purpose, and the exit code each one ends in.

    BenchError                  exit 1  our own fault, or something broke while measuring
    ├── InputError              exit 2  the caller gave something that cannot work
    │   ├── ConfigError                 an experiment file or a --set
    │   ├── TraceError                  a trace file, or options of a workload
    │   ├── VariantError                a variant SPEC, or a rewrite that meets unknown code
    │   ├── HostError                   no vLLM, an unsupported vLLM, a missing device
    │   ├── RunFolderError              a run folder that is missing, damaged or not ours
    │   └── AccessError                 a token that may not, or a repository that is not there
    ├── MeasureError            exit 1  a worker was lost, hung, or raised
    │   └── StepTimeoutError            one scheduler step ran past its time limit
    └── GitHubError             exit 1  GitHub could not be reached, or answered what nobody expected
        └── TooLongError                a comment is longer than GitHub takes

A message says what failed, where, found against expected, and what to do next, in one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

EXIT_DONE = 0
EXIT_FAULT = 1
EXIT_INPUT = 2
EXIT_VOID = 3
EXIT_REGRESSION = 4


class BenchError(Exception):
    """The root; `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = EXIT_FAULT


class InputError(BenchError):
    """The caller gave something that cannot work; nothing was measured."""

    exit_code: ClassVar[int] = EXIT_INPUT


class ConfigError(InputError):
    """An experiment file or a `--set` is wrong."""


class TraceError(InputError):
    """A trace file is missing, damaged or altered, or a workload's options are impossible."""


class VariantError(InputError):
    """A variant SPEC is unknown, or a rewrite met a use of `self.running` that it does not know."""


class HostError(InputError):
    """This machine lacks what was asked for: vLLM, a supported version of it, or a device."""


class RunFolderError(InputError):
    """A run folder is missing, damaged, or was not written by this project."""


class MeasureError(BenchError):
    """A worker process was lost, hung, or raised while measuring."""


class StepTimeoutError(MeasureError):
    """One scheduler step ran past its time limit."""


class GitHubError(BenchError):
    """GitHub could not be reached, or answered what nobody expected."""


class TooLongError(GitHubError):
    """The body of a comment is longer than GitHub takes."""


class AccessError(InputError):
    """The token may not do this, or the repository or pull request is not there."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint for a mistyped `name`: `; did you mean "…"?`, or the whole list when nothing is near."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f'; did you mean "{close[0]}"?' if close else f"; known: {', '.join(names)}"
