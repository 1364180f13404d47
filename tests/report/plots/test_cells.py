from __future__ import annotations

import io
import math
import re

import pandas as pd
import pytest
from PIL import Image as Pillow

from bench.analysis.load import Run
from bench.analysis.pair_effects import pair_effects
from bench.analysis.quantiles import COLUMNS, quantile_shift
from bench.report.plots.cells import cell_figure
from bench.report.plots.style import Image, draw
from bench.units import SIGN_RULE
from tests.report.rows import row

STORM = "replay-abort-storm-n1024--dict"
NO_PAIRS = pd.DataFrame(columns=["pair", "zygote", "effect_pct"], dtype="float64")
NO_PARTS = pd.DataFrame(columns=["metric", "baseline_us", "candidate_us"])
NO_QUANTILES = pd.DataFrame(columns=COLUMNS)


def words(image: Image) -> str:
    return " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", image.svg.decode()))


@pytest.fixture(scope="module")
def storm(typical_run: Run, typical: pd.DataFrame) -> Image:
    rows = typical[typical["comparison"] == STORM]
    parts = rows[(rows["clock"] == "wall") & rows["metric"].isin(["schedule", "update", "finish"])]
    gating = rows[rows["gating"]].iloc[0].to_dict()
    return draw(
        cell_figure, gating, pair_effects(typical_run, STORM, "median"), parts, quantile_shift(typical_run, STORM)
    )


def test_cell_says_sign_unit_functions_and_quantiles_in_words(storm: Image) -> None:
    text = words(storm)
    for word in (SIGN_RULE, "µs a step", "schedule()", "finish…()", "p50", "p99", "effect of each pair, %", "95 %"):
        assert word in text


def test_cell_fits_a_phone_with_text_that_can_be_read(storm: Image) -> None:
    assert Pillow.open(io.BytesIO(storm.png)).width == 600
    sizes = re.findall(r"font(?:-size)?:[^;\"]*?([\d.]+)px", storm.svg.decode())
    assert min(map(float, sizes)) * 340 / 288 >= 10


def test_empty_panels_say_so() -> None:
    text = words(draw(cell_figure, row(), NO_PAIRS, NO_PARTS, NO_QUANTILES))
    assert all(word in text for word in ("no pair", "no figures", "no steps saved"))


def test_one_pair_without_bounds_can_be_drawn() -> None:
    pairs = pd.DataFrame({"pair": [0], "zygote": [0], "effect_pct": [3.0]})
    quantiles = pd.DataFrame([[0.5, 1.0, 1.0, 0.0, -math.inf, math.inf, 1, 60]], columns=COLUMNS)
    drawn = draw(cell_figure, row(low_pct=-math.inf, high_pct=math.inf), pairs, NO_PARTS, quantiles)
    assert "first pair" in words(drawn)
    assert " last" not in words(drawn)
