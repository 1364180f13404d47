from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.noise import NoiseSession, noise_sessions
from bench.measure.folder import read_manifest
from bench.measure.health import MAX_CLOCK_STEP_NS, TAKES, noise_of_session, troubles
from bench.measure.host import Cores, choose_cores
from bench.measure.noise import Noise
from bench.measure.opening import _with_noise
from bench.measure.progress import Reporter

QUIET = Noise(slice_us=2000, spread_pct=0.5, disturbed_pct=0.1, timer_ns=50, cpu_timer_ns=200)
BUSY = replace(QUIET, disturbed_pct=40.0)
APART = Cores(arms=10_001, orchestrator=10_000)


def forbidden(noise: Noise) -> list[str]:
    return [one.text for one in troubles(noise, APART, "performance", 0.1) if one.forbids]


@pytest.mark.parametrize(
    ("noise", "reason"),
    [
        (BUSY, "40.0 % of slices (expected ≤ 10 %) lost the core"),
        (replace(QUIET, cpu_timer_ns=10_000_000), "thread CPU clock is 10000000 ns (expected ≤ 25000 ns)"),
        (replace(QUIET, timer_ns=0), "wall clock is too long to be seen"),
    ],
)
def test_what_no_number_of_pairs_can_mend_forbids_a_verdict(noise: Noise, reason: str) -> None:
    (found,) = forbidden(noise)
    assert reason in found


@pytest.mark.parametrize("noise", [QUIET, replace(QUIET, spread_pct=9.0), replace(QUIET, timer_ns=MAX_CLOCK_STEP_NS)])
def test_what_more_pairs_can_mend_does_not(noise: Noise) -> None:
    assert forbidden(noise) == []


def test_a_moment_s_disturbance_is_measured_again() -> None:
    takes = iter([BUSY, QUIET, BUSY])
    session = noise_of_session(choose_cores(), "", 0.1, lambda num_slices: next(takes))
    assert session["unfit"] == []
    assert session["disturbed_pct"] == QUIET.disturbed_pct


def test_a_machine_that_stays_busy_is_not_fit() -> None:
    takes = iter([BUSY] * TAKES)
    session = noise_of_session(choose_cores(), "powersave", 3.0, lambda num_slices: next(takes))
    assert len(session["unfit"]) == 1
    assert (session["governor"], session["load_1min"]) == ("powersave", 3.0)
    assert next(takes, None) is None


def test_the_score_is_taken_on_the_arms_core_and_the_process_goes_back() -> None:
    cores, before, seen = choose_cores(), os.sched_getaffinity(0), []

    def measure(num_slices: int) -> Noise:
        seen.append(os.sched_getaffinity(0))
        return QUIET

    noise_of_session(cores, "", 0.1, measure)
    assert seen == [{cores.arms}]
    assert os.sched_getaffinity(0) == before


def test_a_real_run_has_a_score_that_the_analysis_reads(finished_run: Path) -> None:
    (session,) = noise_sessions(read_manifest(finished_run))
    assert session.slice_us > 0
    assert set(read_manifest(finished_run).host["noise"][0]) == set(NoiseSession.model_fields)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    session = NoiseSession(slice_us=1, spread_pct=1, disturbed_pct=1, timer_ns=1, cpu_timer_ns=1)
    monkeypatch.setattr("bench.measure.opening.noise_of_session", lambda *given: session.model_dump())
    return


@pytest.mark.usefixtures("quiet")
def test_a_resumed_run_adds_its_own_score_and_a_finished_one_none(finished_run: Path) -> None:
    manifest = read_manifest(finished_run)
    assert _with_noise(manifest, manifest.host, APART, Reporter()) is manifest
    first, *others = manifest.comparisons
    missing = manifest.model_copy(update={"comparisons": (first.model_copy(update={"num_pairs": 1}), *others)})
    resumed = _with_noise(missing, manifest.host, APART, Reporter())
    assert [one.slice_us == 1 for one in noise_sessions(resumed)] == [False, True]
