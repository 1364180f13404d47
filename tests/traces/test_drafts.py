from __future__ import annotations

import numpy as np

from bench.traces.drafts import draft_key, num_accepted, num_proposed

KEYS = np.array([draft_key(1, f"r{number}") for number in range(20_000)], dtype=np.uint64)
POSITIONS = np.arange(20_000) % 97 + 1


def test_draws_are_those_of_every_other_machine() -> None:
    assert draft_key(1, "r0") == 7_224_720_099_694_707_989
    assert num_proposed(KEYS[:12], POSITIONS[:12], 3).tolist() == [3, 3, 3, 3, 0, 3, 3, 3, 3, 3, 3, 3]
    assert num_accepted(KEYS[:12], POSITIONS[:12], np.full(12, 3)).tolist() == [2, 3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 0]


def test_three_of_four_positions_have_drafts() -> None:
    proposed = num_proposed(KEYS, POSITIONS, 5)
    assert set(proposed.tolist()) == {0, 5}
    assert abs(np.mean(proposed == 5) - 0.75) < 0.01


def test_two_of_three_are_accepted_if_all_before_them_are() -> None:
    accepted = num_accepted(KEYS, POSITIONS, np.full(len(KEYS), 3))
    for count in (1, 2, 3):
        assert abs(np.mean(accepted >= count) - (2 / 3) ** count) < 0.01


def test_more_drafts_change_nothing_about_the_first() -> None:
    three = num_accepted(KEYS, POSITIONS, np.full(len(KEYS), 3))
    eight = num_accepted(KEYS, POSITIONS, np.full(len(KEYS), 8))
    assert np.array_equal(np.minimum(eight, 3), three)


def test_nothing_is_accepted_where_nothing_was_drafted() -> None:
    assert num_accepted(KEYS[:9], POSITIONS[:9], np.zeros(9, dtype=np.int64)).tolist() == [0] * 9
    assert num_accepted(KEYS[:0], POSITIONS[:0], POSITIONS[:0]).tolist() == []


def test_a_draw_depends_on_seed_request_and_position() -> None:
    assert draft_key(1, "a") != draft_key(2, "a") != draft_key(2, "b")
    here = num_accepted(KEYS, POSITIONS, np.full(len(KEYS), 8))
    there = num_accepted(KEYS, POSITIONS + 1, np.full(len(KEYS), 8))
    assert abs(np.corrcoef(here, there)[0, 1]) < 0.03
