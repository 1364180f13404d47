from __future__ import annotations

import sys

import click
import pytest

from bench.command import run_command
from bench.errors import EXIT_DONE, EXIT_INPUT, EXIT_VOID, VariantError


@click.command()
@click.option("--how", default="done")
def command(how: str) -> int | None:
    if how == "void":
        return EXIT_VOID
    if how == "error":
        raise VariantError("variant x: there is none")
    return None


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], EXIT_DONE, ""),
        (["--how", "void"], EXIT_VOID, ""),
        (["--how", "error"], EXIT_INPUT, "error: variant x: there is none\n"),
        (["--whow"], EXIT_INPUT, "No such option"),
    ],
)
def test_a_command_ends_in_its_exit_code(
    arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["prog", *arguments])
    with pytest.raises(SystemExit) as ended:
        run_command(command, "prog")
    assert ended.value.code == code
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
