from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import TraceError
from bench.traces.columns import Columns
from bench.traces.importers.options import ImportOptions
from bench.traces.importers.rows import Tally
from bench.traces.importers.shaping import arrival_steps, arrival_times_ms, shape


def columns(count: int = 4, gap_ms: float = 1000) -> Columns:
    return Columns(
        times_ms=np.arange(count) * float(gap_ms),
        inputs=np.full(count, 1300),
        outputs=np.full(count, 100),
        hash_ids=[(1, 2, 3)] * count,
        sessions=["a", "b"] * (count // 2),
    )


def shaped(made: Columns, by_session: bool = False, **options: object) -> tuple[Columns, Tally]:
    tally = Tally(read=len(made))
    return shape(made, ImportOptions(**options), by_session, 512, tally), tally  # type: ignore[arg-type]


def test_nothing_is_changed_unasked() -> None:
    made, tally = shaped(columns())
    assert made.times_ms.tolist() == [0, 1000, 2000, 3000]
    assert not tally.changed
    assert not tally.dropped


def test_rate_scale_packs_the_requests_closer() -> None:
    assert shaped(columns(), rate_scale=4.0)[0].times_ms.tolist() == [0, 250, 500, 750]


def test_spread_is_seeded_bounded_and_counted() -> None:
    made, tally = shaped(columns(2000, gap_ms=0), spread_ms=3000.0, seed=5)
    assert 0 == made.times_ms.min() < 10
    assert 2980 < made.times_ms.max() <= 3000
    assert (np.diff(made.times_ms) >= 0).all()
    assert abs(np.median(made.times_ms) - 1500) < 150
    assert tally.changed == {"spread": 2000}
    assert (shaped(columns(2000, gap_ms=0), spread_ms=3000.0, seed=5)[0].times_ms == made.times_ms).all()
    assert (shaped(columns(2000, gap_ms=0), spread_ms=3000.0, seed=6)[0].times_ms != made.times_ms).any()


def test_length_scale_scales_blocks_too_so_that_sharing_stays() -> None:
    made, tally = shaped(columns(), length_scale=0.25)
    assert set(made.inputs) == {325}
    assert set(made.outputs) == {25}
    assert made.hash_ids[0] == (1, 2, 3)
    assert tally.changed == {"length_scaled": 4}


def test_length_scale_that_breaks_blocks_is_refused_with_one_that_does_not() -> None:
    with pytest.raises(TraceError, match=r"of 512 tokens would stand for 153.6; .* with 0.30078125"):
        shaped(columns(), length_scale=0.3)


def test_clipping_cuts_the_prompt_and_its_ids() -> None:
    made, tally = shaped(columns(), max_context=1000, over_context="clip")
    assert set(made.inputs) == {900}
    assert set(made.outputs) == {100}
    assert made.hash_ids[0] == (1, 2)
    assert tally.changed == {"clipped": 4}


def test_clipping_cuts_an_output_only_where_it_is_too_long_alone() -> None:
    made, _ = shaped(columns(), max_context=60, over_context="clip")
    assert set(made.inputs) == {1}
    assert set(made.outputs) == {59}


@given(
    scale=st.sampled_from([0.125, 0.25, 0.5, 1.0, 2.0]),
    context=st.integers(2, 5000),
    prompts=st.lists(st.tuples(st.integers(1, 4000), st.integers(1, 500)), min_size=1, max_size=8),
)
def test_no_shape_leaves_an_impossible_request(scale: float, context: int, prompts: list[tuple[int, int]]) -> None:
    inputs, outputs = (np.array(each) for each in zip(*prompts, strict=True))
    ids = [tuple(range(-(-prompt // 512))) for prompt, _ in prompts]
    made, _ = shaped(
        Columns(np.zeros(len(prompts)), inputs, outputs, ids, [None] * len(prompts)),
        length_scale=scale,
        max_context=context,
        over_context="clip",
    )
    assert (made.inputs >= 1).all()
    assert (made.outputs >= 1).all()
    assert (made.inputs + made.outputs <= context).all()
    most = -(-made.inputs // (512 * scale))
    assert all(len(each) <= limit for each, limit in zip(made.hash_ids, most, strict=True))


@pytest.mark.parametrize(("process", "cv"), [("poisson", 1.0), ("gamma", 2.0), ("even", 0.0)])
def test_arrival_process_has_its_rate_and_burstiness(process: str, cv: float) -> None:
    options = ImportOptions(arrivals=process, rate=5.0, burstiness=0.25)
    gaps = np.diff(arrival_times_ms(options, 40_000, np.random.default_rng(1)))
    assert gaps.mean() == pytest.approx(200, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, abs=0.06)


def test_all_may_arrive_at_once() -> None:
    made, tally = shaped(columns(), arrivals="at-once")
    assert set(made.times_ms) == {0}
    assert tally.changed == {"arrival_drawn": 4}


def test_sessions_keep_their_inner_times() -> None:
    made, tally = shaped(columns(), by_session=True, arrivals="even", rate=1.0)
    assert made.times_ms.tolist() == [0, 2000, 2000, 4000]
    assert made.sessions == ["a", "b", "a", "b"]
    assert tally.changed == {"session_start_drawn": 2}


def test_steps_follow_the_clock_as_it_is_written() -> None:
    times, outputs = np.array([0, 9.9994, 9.9996, 30.0]), np.full(4, 9)
    steps, num_idle = arrival_steps(times, outputs, 10.0)
    assert steps.tolist() == [0, 0, 1, 3]
    assert num_idle == 0


def test_idle_time_has_no_steps() -> None:
    # Steps 0 to 4 and 3 to 12 are busy; then nothing until step 100, and until 900.
    times, outputs = np.array([0, 30.0, 1000.0, 9000.0, 9010.0]), np.array([5, 10, 2, 1, 1])
    steps, num_idle = arrival_steps(times, outputs, 10.0)
    assert steps.tolist() == [0, 3, 13, 15, 16]
    assert num_idle == (100 - 13) + (900 - 102)


def test_clock_that_needs_too_many_steps_is_refused() -> None:
    busy = np.array([10**9, 1])
    with pytest.raises(TraceError, match=r"step_ms is 0.001: 100001 s are more than 100000000 steps; pass a longer"):
        arrival_steps(np.array([0.0, 100_001_000.0]), busy, 0.001)
    assert arrival_steps(np.array([0.0, 100_001_000.0]), np.array([5, 5]), 0.001)[0].tolist() == [0, 5]
