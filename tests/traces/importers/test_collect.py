from __future__ import annotations

import pytest

from bench.errors import TraceError
from bench.traces.importers import collect

from .samples import Importer, rows


def lines(*times: float, output: int = 4) -> str:
    return "".join(
        f'{{"timestamp": {time}, "input_length": 9, "output_length": {output}, "hash_ids": [1]}}\n' for time in times
    )


def test_times_count_from_the_first_kept_request(importer: Importer) -> None:
    assert [each[0] for each in rows(importer("t.jsonl", lines(5000, 5000, 7500)))] == [0, 0, 2500]
    window = importer("t.jsonl", lines(5000, 7000, 9000), window_start_s=1)
    assert [each[0] for each in rows(window)] == [0, 2000]


def test_window_keeps_its_start_and_not_its_end(importer: Importer) -> None:
    imported = importer("t.jsonl", lines(0, 1000, 2000, 3000), window_start_s=1, window_end_s=3)
    assert [each[0] for each in rows(imported)] == [0, 1000]
    assert imported.tally.dropped == {"outside_window": 2}
    assert imported.tally.read == 4


def test_limit_counts_kept_requests_and_stops_reading(importer: Importer) -> None:
    text = lines(0, output=100) + lines(1000, 2000, 3000) + "damaged\n"
    imported = importer("t.jsonl", text, limit=2, max_context=50)
    assert [each[2] for each in rows(imported)] == [4, 4]
    assert (imported.tally.read, imported.tally.kept) == (3, 2)
    assert "stopped reading at t.jsonl line 3: the limit was reached" in imported.notes


def test_small_step_back_is_put_in_order_and_counted(importer: Importer) -> None:
    imported = importer("t.jsonl", lines(0, 9000, 8000, 3_600_000 + 9000, 9001))
    assert [each[0] for each in rows(imported)] == [0, 8000, 9000, 9001, 3_609_000]
    assert imported.tally.changed == {"moved_into_order": 2}


def test_first_request_need_not_be_the_earliest(importer: Importer) -> None:
    assert [each[0] for each in rows(importer("t.jsonl", lines(500, 400)))] == [0, 100]


def test_fall_of_the_clock_by_over_an_hour_is_refused_joined_or_ends_the_trace(importer: Importer) -> None:
    text = lines(0, 3_700_000, 50_000, 60_000)
    with pytest.raises(TraceError, match=r"line 3: the clock goes back by 3650 s; pass --clock-reset join"):
        importer("t.jsonl", text)
    joined = importer("t.jsonl", text, clock_reset="join")
    assert [each[0] for each in rows(joined)] == [0, 3_700_000, 3_700_000, 3_710_000]
    assert "clock fell back 3650 s at line 3; the parts are joined" in joined.notes
    first = importer("t.jsonl", text, clock_reset="first")
    assert [each[0] for each in rows(first)] == [0, 3_700_000]
    assert first.tally.dropped == {"after_clock_reset": 2}


def test_damaged_rows_are_dropped_only_on_request_and_the_first_ones_told(importer: Importer) -> None:
    text = lines(0) + "x\n{}\n" * 2 + lines(1000)
    with pytest.raises(TraceError, match=r"t\.jsonl line 2: is not JSON .*; drop the line, or --drop-damaged"):
        importer("t.jsonl", text)
    imported = importer("t.jsonl", text, drop_damaged=True)
    assert imported.tally.dropped == {"damaged": 4}
    assert len(rows(imported)) == 2
    told = [note for note in imported.notes if note.startswith("damaged: t.jsonl line ")]
    assert len(told) == 3
    assert told[1] == "damaged: t.jsonl line 3: input_length is missing; it is required"


def test_file_of_which_nothing_is_left_says_why(importer: Importer) -> None:
    with pytest.raises(TraceError, match="no request is left of 2; dropped: outside_window 2"):
        importer("t.jsonl", lines(0, 1), window_start_s=5)


def test_too_many_requests_and_ids_are_refused(importer: Importer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "MAX_HASH_IDS", 2)
    with pytest.raises(TraceError, match="line 3: brings the hash ids to more than 2; pass --window-end-s or --limit"):
        importer("t.jsonl", lines(0, 1, 2))
    monkeypatch.setattr(collect, "MAX_REQUESTS", 2)
    with pytest.raises(TraceError, match="line 3: is one request more than 2; pass --window-end-s or --limit"):
        importer("t.jsonl", lines(0, 1, 2))


def test_slow_file_of_a_known_unit_is_doubted(importer: Importer) -> None:
    text = lines(*(4_000_000 * number for number in range(20)))
    with pytest.raises(TraceError, match=r"times in ms mean 0\.00025 requests/s"):
        importer("t.jsonl", text)
    assert len(rows(importer("t.jsonl", lines(*(4_000_000 * number for number in range(19)))))) == 19
