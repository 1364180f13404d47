from __future__ import annotations

from bench import errors


def test_wrong_input_ends_in_exit_code_2() -> None:
    kinds = [errors.ConfigError, errors.TraceError, errors.VariantError, errors.HostError, errors.RunFolderError]
    assert {kind.exit_code for kind in kinds} == {2}


def test_what_breaks_while_measuring_ends_in_exit_code_1() -> None:
    assert errors.MeasureError.exit_code == errors.StepTimeoutError.exit_code == 1


def test_a_near_name_is_suggested() -> None:
    assert errors.nearest("steady-decod", ["steady-decode", "preemption"]) == '; did you mean "steady-decode"?'


def test_all_names_are_listed_where_none_is_near() -> None:
    assert errors.nearest("zzz", ["b", "a"]) == "; known: a, b"
