from __future__ import annotations

from pathlib import Path

import pytest

from bench.engine.step_log import StepLogWriter, read_step_log
from bench.errors import MeasureError

FIELDS = ("began_ns", "ended_ns", "running")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.steps"
    writer = StepLogWriter(path, FIELDS, {"block_size": 32})
    for number in range(4):
        writer.append((10 * number, 10 * number + 5, -number))
    return path


def test_what_was_written_is_read(log: Path) -> None:
    read = read_step_log(log)
    assert read.fields == FIELDS
    assert read.facts == {"block_size": 32}
    assert read.rows.tolist() == [[0, 5, 0], [10, 15, -1], [20, 25, -2], [30, 35, -3]]


def test_steps_belong_to_the_stretch_in_which_they_began(log: Path) -> None:
    assert read_step_log(log).between(10, 30).field("running").tolist() == [-1, -2]


def test_a_row_that_a_killed_server_half_wrote_is_left_out(log: Path) -> None:
    log.write_bytes(log.read_bytes()[:-3])
    assert len(read_step_log(log).rows) == 3


def test_a_log_without_a_step_is_empty(tmp_path: Path) -> None:
    StepLogWriter(tmp_path / "log.steps", FIELDS, {})
    assert read_step_log(tmp_path / "log.steps").field("running").tolist() == []


@pytest.mark.parametrize("content", [None, b"", b"{", b"nonsense\n"])
def test_a_log_that_is_missing_or_no_log_is_an_error_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "log.steps"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MeasureError, match=r"log\.steps: the server wrote no") as raised:
        read_step_log(path)
    assert "\n" not in str(raised.value)
