from __future__ import annotations

import pandas as pd

from bench.report.tables import TABLE_WIDTH, verdict_table
from tests.report.rows import row, table, void_row

GOLDEN = """\
cell                       candidate  baseline   effect     95 % interval     MDE  pairs  verdict
replay-steady-decode-n256  A/A         3.05 ms  -0.31 %  [-0.62, +0.10] %  0.35 %     20  EQUIVALENT
replay-steady-decode-n256  dict        3.05 ms  -0.31 %  [-0.62, +0.10] %  0.35 %     20  EQUIVALENT
replay-abort-storm-n64     dict         312 µs  +2.40 %  [-1.10, +5.90] %  4.10 %      8  INCONCLUSIVE
replay-finish-wave-n64     dict              –        –                 –       –      0  VOID

effect and interval: negative = candidate faster; margin ±1.5 %; baseline: time a step
MDE: smallest true effect that these pairs would show in 80 of 100 runs; A/A: the baseline with itself

INCONCLUSIVE replay-abort-storm-n64, dict: too wide; about 70 pairs would settle it
VOID replay-finish-wave-n64, dict: decisions differ: step 31: r7 is scheduled by list only

VOID: 1 of 4 comparisons cannot be trusted; their times say nothing about speed
dict vs list: VOID in 1 of 3 cells, EQUIVALENT in 1 and INCONCLUSIVE in 1 (margin ±1.5 %)"""


def test_small_table_reads_letter_by_letter() -> None:
    rows = table(
        row(candidate="list", canary=True),
        row(),
        row(gating=False, metric="schedule", verdict=""),
        row(
            "replay-abort-storm-n64",
            baseline_us=312.4,
            effect_pct=2.4,
            low_pct=-1.1,
            high_pct=5.9,
            mde_pct=4.1,
            num_pairs=8,
            verdict="INCONCLUSIVE",
            reason="too wide; about 70 pairs would settle it",
        ),
        void_row("replay-finish-wave-n64", "decisions differ: step 31: r7 is scheduled by list only"),
    )
    assert verdict_table(rows) == GOLDEN


def test_no_line_is_wider_than_a_terminal(typical: pd.DataFrame) -> None:
    hostile = table(row("x" * 300, candidate="y" * 300, verdict="INCONCLUSIVE", reason="because " * 200))
    for rows in (typical, hostile):
        assert max(map(len, verdict_table(rows).splitlines())) <= TABLE_WIDTH


def test_long_cells_stay_apart_by_their_sizes() -> None:
    text = verdict_table(table(*(row(f"replay-{'long-' * 12}n{size}") for size in (64, 1024))))
    assert "n64 " in text
    assert "n1024 " in text


def test_a_simulated_model_is_named_whole() -> None:
    cell = "engine-steady-decode-n1024-async-simulated_model_10ms"
    assert cell in verdict_table(table(row(cell)))


def test_names_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in verdict_table(table(row("\x1b[2Jcell", candidate="a\x1bb", verdict="VOID", reason="\x1b[31m")))


def test_same_figures_give_the_same_text(typical: pd.DataFrame) -> None:
    assert verdict_table(typical) == verdict_table(typical.copy())
