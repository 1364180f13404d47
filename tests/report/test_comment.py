from __future__ import annotations

from dataclasses import replace

from bench.report.comment import MARKER, MAX_BYTES, render_comment
from bench.report.content import Content
from bench.report.verdict_lines import verdict_lines
from bench.units import SIGN_RULE
from tests.report.rows import row, table


def above_the_fold(comment: str) -> list[str]:
    return comment.split("<details>")[0].rstrip("\n").split("\n")


def crowded(content: Content, cells: int) -> Content:
    rows = [row(f"replay-{'x' * 200}-n{number}", reason="why " * 100) for number in range(cells)]
    rows.append(row("last", verdict="SLOWER"))
    return replace(
        content,
        verdicts=verdict_lines(table(*rows)),
        headlines=tuple(f"candidate {number}: EQUIVALENT" for number in range(12)),
        notes=("The run stopped early.",),
    )


def test_comment_starts_with_its_marker(content: Content) -> None:
    assert render_comment(content, 1.5).startswith(f"{MARKER}\n")


def test_verdict_stands_above_the_fold_with_sign_and_margin(content: Content) -> None:
    text = "\n".join(above_the_fold(render_comment(content, 1.5)))
    assert "VOID: 1 of 9" in text
    assert SIGN_RULE in text
    assert "−3 % … +3 %" in text


def test_at_most_25_lines_stand_above_the_fold(content: Content) -> None:
    for one in (content, crowded(content, 300)):
        assert len(above_the_fold(render_comment(one, 1.5))) <= 25


def test_what_needs_attention_comes_first_and_the_rest_is_counted(content: Content) -> None:
    lines = above_the_fold(render_comment(crowded(content, 30), 1.5))
    first = next(line for line in lines if line.startswith("| last"))
    assert lines.index(first) == lines.index("| :-- | :-- | :-- | --: | --: | :-- |") + 1
    assert any("23 more below" in line for line in lines)
    assert "* **and 9 more candidates**" in lines


def test_fold_opens_and_closes_and_has_blank_lines_for_its_table(content: Content) -> None:
    comment = render_comment(content, 1.5)
    assert comment.count("<details>") == comment.count("</details>") == 1
    assert "\n\n<details>\n<summary>Reasons and figures</summary>\n\n|" in comment
    assert comment.endswith("\n\n</details>\n")


def test_comment_of_a_huge_run_stays_within_what_github_takes(content: Content) -> None:
    comment = render_comment(crowded(content, 3000), 1.5)
    assert len(comment.encode()) <= MAX_BYTES
    assert "more rows are in report.md" in comment


def test_hostile_name_cannot_end_the_fold_or_fake_the_marker(content: Content) -> None:
    rows = table(row("</details><!-- runqueue-bench -->", reason="</details>"))
    comment = render_comment(replace(content, verdicts=verdict_lines(rows)), 1.5)
    assert comment.replace("\\</details", "").count("</details>") == 1
    assert comment.count(MARKER) == 1
