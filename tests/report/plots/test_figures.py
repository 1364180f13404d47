from __future__ import annotations

import io
import math
import re

import matplotlib as mpl
import pandas as pd
import pytest
from PIL import Image as Pillow

from bench.analysis.load import Run
from bench.analysis.scaling import pair_costs, points, slopes
from bench.analysis.timeline import timeline
from bench.report.plots.costs import costs_figure
from bench.report.plots.effects import effects_figure
from bench.report.plots.style import Image, draw
from bench.report.plots.timelines import timeline_figure
from bench.units import SIGN_RULE
from tests.report.rows import row, table, void_row


def words(image: Image) -> str:
    return " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", image.svg.decode()))


@pytest.fixture(scope="module")
def effects(typical: pd.DataFrame) -> Image:
    return draw(effects_figure, typical)


@pytest.fixture(scope="module")
def costs(typical_run: Run) -> Image:
    table = pair_costs(typical_run)
    return draw(costs_figure, points(table), slopes(table), "replay", "abort-storm")


@pytest.fixture(scope="module")
def steps(typical_run: Run) -> Image:
    comparison = "replay-abort-storm-n256--dict"
    return draw(timeline_figure, timeline(typical_run, comparison), typical_run.comparison(comparison))


def test_effects_say_verdict_sign_margin_and_pairs_in_words(effects: Image) -> None:
    text = words(effects)
    for word in ("FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "VOID", "A/A", "n = 20", SIGN_RULE, "margin ±1.5 %"):
        assert word in text


def test_costs_say_function_variant_unit_and_pairs_in_words(costs: Image) -> None:
    text = words(costs)
    for word in ("schedule()", "update_from_output()", "finish_requests()", "list", "dict", "µs a step", "n = 20"):
        assert word in text


def test_steps_say_events_phases_unit_and_pairs_in_words(steps: Image) -> None:
    text = words(steps)
    for word in ("aborted (18)", "finished (20)", "preempted (0)", "steady (judged)", "µs a step", "n = 20"):
        assert word in text


def test_effects_draw_what_needs_attention_where_there_is_no_room_for_all() -> None:
    rows = [row(f"calm-{number}") for number in range(70)]
    text = words(draw(effects_figure, table(*rows, row("last", verdict="SLOWER"))))
    assert "last" in text
    assert "calm-0" in text
    assert "calm-69" not in text


def test_figures_are_the_same_bytes_twice(effects: Image, typical: pd.DataFrame) -> None:
    assert draw(effects_figure, typical) == effects


def test_files_hold_no_date_and_no_version(effects: Image, costs: Image, steps: Image) -> None:
    for image in (effects, costs, steps):
        assert b"dc:date" not in image.svg
        assert mpl.__version__.encode() not in image.svg
        assert "Software" not in Pillow.open(io.BytesIO(image.png)).info


def test_figures_are_as_wide_as_a_page_shows_them(effects: Image, costs: Image, steps: Image) -> None:
    assert {Pillow.open(io.BytesIO(image.png)).width for image in (effects, costs, steps)} == {1200}


def test_no_text_is_too_small_at_800_pixels(effects: Image, costs: Image, steps: Image) -> None:
    for image in (effects, costs, steps):
        sizes = re.findall(r"font(?:-size)?:[^;\"]*?([\d.]+)px", image.svg.decode())
        assert min(map(float, sizes)) * 800 / 576 >= 11


def test_drawing_leaves_the_settings_of_matplotlib_alone(typical: pd.DataFrame) -> None:
    before = dict(mpl.rcParams)
    draw(effects_figure, typical)
    assert dict(mpl.rcParams) == before


def test_names_are_drawn_literally() -> None:
    rows = table(row("$\\frac{", candidate="<b>&"), void_row("b", "why"))
    text = words(draw(effects_figure, rows))
    assert "$\\frac{" in text
    assert "&lt;b&gt;&amp;" in text


@pytest.mark.parametrize("effect", [0.0, 5.0, 80.0, 4000.0])
def test_effects_of_any_size_can_be_drawn(effect: float) -> None:
    rows = table(row(), row("b", effect_pct=effect, low_pct=effect - 1, high_pct=effect + 1, verdict="SLOWER"))
    assert draw(effects_figure, rows).png


def test_all_void_can_be_drawn() -> None:
    assert "VOID" in words(draw(effects_figure, table(void_row("a", "why"))))


def test_few_pairs_do_not_stretch_the_axis() -> None:
    unbounded = row("b", low_pct=-math.inf, high_pct=math.inf, verdict="INCONCLUSIVE", num_pairs=4)
    assert "compressed" not in words(draw(effects_figure, table(row(), unbounded)))
