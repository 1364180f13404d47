from __future__ import annotations

from bench.measure.cell_names import suffix_of, words_of
from bench.options import EngineOptions


def test_a_cell_without_a_sweep_has_its_plain_name() -> None:
    assert suffix_of({}, EngineOptions()) == words_of({}, EngineOptions()) == ""


def test_swept_options_are_named_with_their_values_in_their_order() -> None:
    swept = {"policy": "fcfs", "block_size": 32}
    assert suffix_of(swept, EngineOptions()) == "-policy_fcfs-block_size_32"
    assert words_of(swept, EngineOptions()) == ", policy fcfs, block_size 32"


def test_a_simulated_model_says_so_however_it_was_asked_for() -> None:
    swept = {"async_scheduling": True, "stand_in_model_ms": 5}
    simulated = EngineOptions(async_scheduling=True, stand_in_model_ms=5)
    assert suffix_of(swept, simulated) == "-async-simulated_model_5ms"
    assert suffix_of({"async_scheduling": True}, simulated) == "-async-simulated_model_5ms"
    assert words_of({}, EngineOptions(stand_in_model_ms=2.5)) == ", simulated model 2.5ms"


def test_a_name_holds_no_letter_that_a_file_name_must_not() -> None:
    assert suffix_of({"model": "a/b c"}, EngineOptions()) == "-model_a-b_c"
