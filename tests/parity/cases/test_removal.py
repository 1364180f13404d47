"""Shared cases S12, S13, S15 and S16: aborts and finishes, one or many, and who is left in which order."""

from __future__ import annotations

import pytest

from .conftest import Start


def test_s12_several_adjacent_running_requests_are_aborted_in_one_call(start: Start) -> None:
    case = start(usable=30)
    case.add(**{f"r{number}": (4, 8) for number in range(6)})
    case.step("r0:4 r1:4 r2:4 r3:4 r4:4 r5:4")
    case.abort("r2 r1 r3")
    case.step("r0:1 r4:1 r5:1", FIN="r1 r2 r3", free=24, out="r0 r4 r5")
    case.abort("r5")
    case.step("r0:1 r4:1", FIN="r5", free=26)
    case.abort("r0 r4")
    case.step("", FIN="r0 r4", free=30)


def test_s13_aborts_in_every_state_twice_and_of_unknown_ids(start: Start) -> None:
    case = start(usable=5, max_num_seqs=3)
    case.add(A=(4, 10), B=(4, 10), C=(4, 10), W0=(4, 3))
    case.step("A:4 B:4 C:4")
    case.step("A:1 B:1", PRE="C", W="C W0")
    case.abort("C W0 nope")
    case.step("A:1 B:1", FIN="C W0", W="")
    case.abort("C")
    case.abort("A")
    case.step("B:1", FIN="A", free=3)
    case.abort("A B C")
    case.step("", FIN="B", free=5)


def test_s15_an_id_that_finished_may_come_back(start: Start) -> None:
    case = start(usable=10)
    case.add(X=(4, 2), Y=(4, 6))
    case.step("X:4 Y:4")
    case.step("X:1 Y:1", out="X/length Y")
    case.add(X=(5, 2))
    case.step("Y:1 X:5", new="X", FIN="X", R="Y X")
    case.step("Y:1 X:1", out="Y X/length")
    case.abort("Y")
    case.add(Y=(3, 2))
    case.step("Y:3", new="Y", FIN="X Y", free=9)
    case.step("Y:1", out="Y/length")


def test_s15_a_live_id_is_refused_without_side_effects(start: Start) -> None:
    case = start()
    case.add(X=(4, 4))
    case.step("X:4")
    with pytest.raises(AssertionError, match="duplicate request id"):
        case.add(X=(4, 4))
    case.queues(R="X", W="")
    for _ in range(2):
        case.step("X:1")
    case.step("X:1", out="X/length")


def test_s16_survivors_of_several_finishes_keep_their_order(start: Start) -> None:
    case = start(usable=40)
    case.add(r0=(4, 5), r1=(4, 2), r2=(4, 5), r3=(4, 2), r4=(4, 5), r5=(4, 3))
    case.step("r0:4 r1:4 r2:4 r3:4 r4:4 r5:4")
    case.step("r0:1 r1:1 r2:1 r3:1 r4:1 r5:1", out="r0 r1/length r2 r3/length r4 r5")
    case.add(n0=(4, 4))
    case.step("r0:1 r2:1 r4:1 r5:1 n0:4", FIN="r1 r3", out="r0 r2 r4 r5/length n0")
    case.step("r0:1 r2:1 r4:1 n0:1")
    case.step("r0:1 r2:1 r4:1 n0:1", out="r0/length r2/length r4/length n0")
    case.step("n0:1", R="n0")


def test_s16_a_wave_of_finishes_makes_room_for_the_next(start: Start) -> None:
    case = start(max_num_seqs=4)
    case.add(**{f"r{number}": (4, 2) for number in range(8)})
    case.step("r0:4 r1:4 r2:4 r3:4")
    case.step("r0:1 r1:1 r2:1 r3:1", out="r0/length r1/length r2/length r3/length")
    case.step("r4:4 r5:4 r6:4 r7:4", R="r4 r5 r6 r7", FIN="r0 r1 r2 r3")


def test_s26_decisions_stay_equal_through_many_aborts(start: Start) -> None:
    """Of the performance case only the decisions, on a small queue; its times belong to a measurement."""
    case = start(usable=512, max_num_seqs=128)
    names = [f"r{number:03d}" for number in range(128)]
    case.add(**dict.fromkeys(names, (4, 9)))
    case.step(" ".join(f"{name}:4" for name in names))
    case.abort(" ".join(names[::4]))
    left = [name for name in names if name not in names[::4]]
    case.step(" ".join(f"{name}:1" for name in left), R=" ".join(left))
    for name in left[::3]:
        case.abort(name)
    left = [name for name in left if name not in left[::3]]
    case.step(" ".join(f"{name}:1" for name in left), R=" ".join(left))
    case.finish(by=9)
