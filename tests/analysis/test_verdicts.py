from __future__ import annotations

import math
from typing import Any

import pytest

from bench.analysis.verdicts import Evidence, Limits, Ruling, doubts_canary, judge, withhold

LIMITS = Limits(margin=0.015, max_excluded=0.20)


def evidence(effect: float, half: float, **changes: Any) -> Evidence:
    """Symmetric intervals: 95 % reaches `half` either way, 90 % five sixths of it."""
    narrow = half * 5 / 6
    whole = {
        "num_pairs": 20,
        "effect": effect,
        "interval": (effect - half, effect + half),
        "equivalence": (effect - narrow, effect + narrow),
        "pairs_to_settle": 31,
    }
    return Evidence(**(whole | changes))


@pytest.mark.parametrize(
    ("effect", "half", "verdict"),
    [
        (0.000, 0.004, "EQUIVALENT"),
        (0.006, 0.004, "EQUIVALENT"),  # a difference that is real and too small to matter
        (-0.006, 0.004, "EQUIVALENT"),
        (0.030, 0.004, "SLOWER"),
        (-0.030, 0.004, "FASTER"),
        (0.016, 0.0155, "SLOWER"),  # lower limit just above 0, estimate just above the margin
        (0.016, 0.0165, "INCONCLUSIVE"),  # lower limit below 0
        (0.014, 0.004, "INCONCLUSIVE"),  # excludes 0, may exceed the margin or not
        (-0.014, 0.004, "INCONCLUSIVE"),
        (0.000, 0.030, "INCONCLUSIVE"),
        (0.000, 0.0175, "EQUIVALENT"),  # the 95 % interval may leave the margin, the 90 % interval judges
        (0.000, 0.0181, "INCONCLUSIVE"),
    ],
)
def test_rule_gives_the_verdict(effect: float, half: float, verdict: str) -> None:
    assert judge(evidence(effect, half), LIMITS).verdict == verdict


def test_estimate_at_the_margin_is_not_slower() -> None:
    assert judge(evidence(0.015, 0.001), LIMITS).verdict == "INCONCLUSIVE"


def test_settled_verdicts_need_no_more_pairs() -> None:
    assert judge(evidence(0.03, 0.004), LIMITS).pairs_needed == 0
    assert judge(evidence(0.0, 0.004), LIMITS).pairs_needed == 0


def test_open_verdict_says_how_many_pairs_would_settle_it() -> None:
    ruling = judge(evidence(0.0, 0.03), LIMITS)
    assert ruling.pairs_needed == 31
    assert ruling.reason == (
        "+0.00 %, 95 % interval [-3.00, +3.00] % holds 0 and reaches past the margin of ±1.5 %; "
        "about 31 pairs would settle it"
    )


def test_more_pairs_than_were_taken_are_asked_for() -> None:
    assert judge(evidence(0.0, 0.03, pairs_to_settle=7), LIMITS).pairs_needed == 21


def test_hopeless_number_of_pairs_is_named_as_such() -> None:
    ruling = judge(evidence(0.0149, 0.004, pairs_to_settle=10_000), LIMITS)
    assert "10000 pairs or more" in ruling.reason


def test_real_but_small_difference_is_said_to_be_one() -> None:
    assert "too small to matter" in judge(evidence(0.006, 0.004), LIMITS).reason
    assert "too small to matter" not in judge(evidence(0.0, 0.004), LIMITS).reason


def test_void_comes_before_everything() -> None:
    ruling = judge(evidence(0.03, 0.004, void="step 3 differs", failed="lost a worker", excluded=0.9), LIMITS)
    assert ruling == Ruling("VOID", "step 3 differs", -1)


def test_failed_comparison_is_inconclusive_with_its_message() -> None:
    assert judge(Evidence(0, failed="lost a worker"), LIMITS) == Ruling("INCONCLUSIVE", "lost a worker", -1)


def test_too_many_excluded_slices_forbid_a_verdict() -> None:
    ruling = judge(evidence(0.03, 0.004, excluded=0.21), LIMITS)
    assert (ruling.verdict, ruling.pairs_needed) == ("INCONCLUSIVE", -1)
    assert "21 % of slices were disturbed, 20 % are allowed" in ruling.reason
    assert judge(evidence(0.03, 0.004, excluded=0.20), LIMITS).verdict == "SLOWER"


@pytest.mark.parametrize("pairs", [0, 1, 2, 5])
def test_fewer_pairs_than_an_interval_needs_forbid_a_verdict(pairs: int) -> None:
    ruling = judge(evidence(0.0, 0.004, num_pairs=pairs), LIMITS)
    assert ruling.verdict == "INCONCLUSIVE"
    assert "needs at least 6" in ruling.reason


@pytest.mark.parametrize(
    ("wall", "verdict"),
    [
        ((-0.04, -0.02), "INCONCLUSIVE"),  # opposite
        ((0.01, 0.05), "SLOWER"),  # the same side
        ((-0.04, 0.01), "SLOWER"),  # holds 0: says nothing
        ((math.nan, math.nan), "SLOWER"),
        (None, "SLOWER"),
    ],
)
def test_clocks_may_not_contradict_each_other(wall: tuple[float, float] | None, verdict: str) -> None:
    assert judge(evidence(0.03, 0.004, other_clock=wall), LIMITS).verdict == verdict


def doubt(found: Evidence) -> str:
    return doubts_canary(judge(found, LIMITS), found, LIMITS)


def test_canary_that_holds_zero_is_clean() -> None:
    assert doubt(evidence(0.002, 0.004)) == ""


def test_canary_with_a_tiny_real_difference_is_clean() -> None:
    assert doubt(evidence(0.006, 0.004)) == ""


def test_canary_that_differs_by_more_than_half_the_margin_is_not_clean() -> None:
    assert doubt(evidence(0.008, 0.004)) == "+0.80 % [+0.40, +1.20] % between identical schedulers"
    assert doubt(evidence(-0.03, 0.004)) != ""


def test_wide_canary_that_holds_zero_is_clean() -> None:
    assert doubt(evidence(0.012, 0.03)) == ""


@pytest.mark.parametrize("found", [Evidence(0, failed="not measured"), Evidence(0, void="step 1 differs"), Evidence(0)])
def test_canary_that_tells_nothing_is_not_clean(found: Evidence) -> None:
    assert doubt(found) != ""


@pytest.mark.parametrize("verdict", ["FASTER", "SLOWER", "EQUIVALENT"])
def test_doubt_about_the_job_withholds_what_was_settled(verdict: Any) -> None:
    held = withhold(Ruling(verdict, "why", 0), "+0.80 % between identical schedulers")
    assert (held.verdict, held.pairs_needed) == ("INCONCLUSIVE", -1)
    assert held.reason.startswith(f"would be {verdict}, but the A/A canary is not clean: +0.80 %")


@pytest.mark.parametrize("ruling", [Ruling("VOID", "why"), Ruling("INCONCLUSIVE", "why", 40)])
def test_doubt_about_the_job_changes_nothing_where_nothing_was_settled(ruling: Ruling) -> None:
    assert withhold(ruling, "doubt") == ruling


def test_clean_canary_changes_nothing() -> None:
    assert withhold(Ruling("FASTER", "why", 0), "") == Ruling("FASTER", "why", 0)
