from __future__ import annotations

from typing import Any

import pytest

from bench.errors import TraceError
from bench.traces.importers import ImportOptions, describe_import_options


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rate_scale": 0.0}, "import option rate_scale is 0.0, expected 1e-06 to 1000000"),
        ({"rate": float("nan")}, "import option rate is nan, expected"),
        ({"spread_ms": -1.0}, "import option spread_ms is -1.0, expected 0 to 10000000 ms"),
        ({"limit": 2_000_001}, "import option limit is 2000001, expected 0 to 2000000 requests"),
        ({"seed": 2**64}, "import option seed is 18446744073709551616, expected 0 to 18446744073709551615"),
        ({"time_unit": "minutes"}, "import option time_unit is 'minutes'"),
        ({"arrivals": "poison"}, "import option arrivals is 'poison'; did you mean \"poisson\"?"),
        ({"window_start_s": 5.0, "window_end_s": 5.0}, "window_end_s is 5, expected > window_start_s, which is 5"),
        ({"max_num_seqs": 9, "max_num_batched_tokens": 8}, "max_num_batched_tokens is 8, expected ≥ max_num_seqs"),
        ({"max_context": 1}, "max_context is 1, expected ≥ 2"),
    ],
)
def test_impossible_option_is_refused(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(TraceError) as caught:
        ImportOptions(**options)
    assert expected in str(caught.value)


def test_only_what_was_said_goes_into_the_header() -> None:
    assert ImportOptions().said() == {}
    assert ImportOptions(rate_scale=2.0, seed=1, over_context="clip").said() == {
        "rate_scale": 2.0,
        "over_context": "clip",
    }


def test_every_option_has_a_meaning_and_bounds_or_choices() -> None:
    for option in describe_import_options():
        assert option.meaning
        assert option.bounds() or isinstance(option.default, bool)
        assert option.help()[0].isupper()
