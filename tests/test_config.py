"""The experiment file as an object; what is wrong in one is told by `tests/test_wrong_inputs.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.config import load_experiment
from bench.errors import ConfigError
from bench.options import describe_options

SMALL = """
name = "small"
[[cells]]
workloads = ["steady-decode"]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_defaults_stand_on_the_fields(config: Path) -> None:
    experiment = load_experiment(config)
    assert experiment.baseline == "list"
    assert experiment.candidates == ("dict",)
    assert experiment.cells[0].num_running == (64, 256)


def test_overrides_take_dotted_keys_and_toml_values(config: Path) -> None:
    overrides = ["measure.pairs=7", "cells.0.num_running=[16]", 'candidates=["list"]', "baseline=dict"]
    experiment = load_experiment(config, overrides)
    assert experiment.measure.pairs == 7
    assert experiment.cells[0].num_running == (16,)
    assert experiment.candidates == ("list",)
    assert experiment.baseline == "dict"


@pytest.mark.parametrize("shipped", sorted(Path("configs").glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_config_is_valid(shipped: Path) -> None:
    assert load_experiment(shipped).name == shipped.stem


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (['measure.pairs="x"'], "\"measure.pairs\" is 'x': input should be a valid integer"),
        (["cells.0.sweep={stand_in_model_ms=[5]}"], "the replay tier has no simulated model"),
        (["engine.stand_in_model_ms=5"], "is for the engine tier and this file has replay cells"),
    ],
)
def test_a_wrong_value_is_one_clear_line(config: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_experiment(config, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_option_is_described() -> None:
    described = {key for key, _, _ in describe_options()}
    assert {"measure.pairs", "engine.policy", "verdict.margin_pct", "cells.tier"} <= described
