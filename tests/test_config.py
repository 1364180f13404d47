from __future__ import annotations

from pathlib import Path

import pytest

from bench.config import describe_options, load_experiment
from bench.errors import ConfigError

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
        (["measure.paris=3"], 'unknown key "measure.paris"; did you mean "pairs"?'),
        (["verdict.margin=3"], 'unknown key "verdict.margin"; did you mean "margin_pct"?'),
        (["cels=3"], 'unknown key "cels"; did you mean "cells"?'),
        (['measure.pairs="x"'], "\"measure.pairs\" is 'x': input should be a valid integer"),
        (["measure.pairs=1.5"], '"measure.pairs" is 1.5'),
        (["measure.pairs=true"], '"measure.pairs" is True'),
        (["measure.pairs=1"], '"measure.pairs" is 1: input should be greater than or equal to 2'),
        (["measure.slice_ms=-1"], '"measure.slice_ms" is -1'),
        (["verdict.margin_pct=0"], '"verdict.margin_pct" is 0'),
        (["engine.policy=lifo"], "\"engine.policy\" is 'lifo'"),
        (["engine.block_size=0"], '"engine.block_size" is 0'),
        (["cells.0.num_running=[0]"], "0 is not a possible number of running requests"),
        (["cells.0.num_running=[99999]"], "99999 is not a possible number of running requests"),
        (["cells.0.num_running=[]"], "num_running is empty"),
        (["cells.0.workloads=[]"], "names neither workloads nor traces"),
        (["cells.0.tier=gpu"], "\"cells.0.tier\" is 'gpu'"),
        (["cells.0.sweep={blok_size=[16,32]}"], '"blok_size" is no engine option; did you mean "block_size"?'),
        (["cells.0.sweep={block_size=[]}"], '"block_size" needs several different values'),
        (["cells.0.sweep={block_size=[32,32]}"], '"block_size" needs several different values'),
        (["cells.0.sweep={block_size=32}"], '"cells.0.sweep'),
        (["cells=[]"], '"cells" is ()'),
        (["candidates=[]"], '"candidates" is ()'),
        (['candidates=["dict","dict"]'], "names a candidate twice"),
        (["name=a/b"], "\"name\" is 'a/b'"),
        (["seed=-1"], '"seed" is -1'),
        (["measure.pairs"], "--set measure.pairs: expected KEY=VALUE"),
        (["cells.7.tier=replay"], "7 is not a place in an array of 1"),
        (["name.deep=1"], "--set name.deep=1: name is a value, not a table"),
    ],
)
def test_a_wrong_value_is_one_clear_line(config: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_experiment(config, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [("name = ", "not valid TOML"), ("", '"cells" is missing'), ("\x00", "not valid TOML")],
)
def test_a_damaged_file_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)


def test_a_missing_file_says_where_the_shipped_ones_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file; the shipped ones are in configs/"):
        load_experiment(tmp_path / "none.toml")


def test_a_folder_and_a_binary_file_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, binary):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_experiment(path)


def test_every_option_is_described() -> None:
    described = {key for key, _, _ in describe_options()}
    assert {"measure.pairs", "engine.policy", "verdict.margin_pct", "cells.tier"} <= described
