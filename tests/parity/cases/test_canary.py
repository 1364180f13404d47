"""The patch as posted fails on what its defects are about: the cases would notice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.variants import load

from . import test_preemption, test_seed_defects
from .conftest import Start, starting
from .driver import DifferenceError


@pytest.mark.parametrize(
    "case",
    [
        test_preemption.test_s01_victims_come_from_the_tail_and_may_be_the_requester,
        test_preemption.test_s02_one_request_evicts_several_in_one_step,
        test_preemption.test_s05_a_victim_scheduled_in_the_same_step_is_rolled_back,
        test_preemption.test_s06_nobody_is_skipped_after_an_earlier_entry_was_evicted,
        test_seed_defects.test_defects_1_and_3_the_requester_is_its_own_victim,
        test_seed_defects.test_defect_2_one_eviction_is_enough,
        test_seed_defects.test_defect_4_a_victim_is_not_visited_again,
        test_seed_defects.test_defect_5_a_victim_is_scheduled_once_when_it_returns,
        test_seed_defects.test_defect_6_two_victims_are_two_requests,
        test_seed_defects.test_defect_8_the_walk_goes_on_after_an_eviction,
        test_seed_defects.test_defect_10_an_aborted_victim_is_gone,
        test_seed_defects.test_defect_11_nobody_runs_after_the_last_one_was_its_own_victim,
        test_seed_defects.test_defect_12_a_victim_leaves_its_slot,
        test_seed_defects.test_defect_13_a_resumed_request_goes_to_the_tail,
    ],
)
def test_the_posted_patch_is_refused(case: Callable[[Start], None]) -> None:
    variant = load("seed_patch")
    with pytest.raises(DifferenceError):
        case(starting((variant.scheduler, variant.async_scheduler)))
