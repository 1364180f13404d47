from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bench.report.comment import MARKER, MAX_BYTES, render_comment
from bench.report.content import Content
from bench.report.headline import WORST_FIRST
from bench.report.verdict_lines import verdict_lines
from bench.units import SIGN_RULE
from tests.report.rows import row, table, void_row


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
    assert any("26 more below" in line for line in lines)
    assert "* **and 10 more candidates**" in lines


def test_noise_floor_and_machine_stand_above_the_fold(content: Content) -> None:
    text = "\n".join(above_the_fold(render_comment(content, 1.5)))
    for words in ("Minimum detectable effects", "Disturbed slices", "A/A canary", "Machine: Example CPU, 2 cores"):
        assert words in text


def test_digest_of_every_trace_is_named(content: Content) -> None:
    comment = render_comment(content, 1.5)
    assert "* abort-storm: cccccccccccc" in comment
    many = replace(content.facts, traces=tuple((f"t{number}", "d") for number in range(50)))
    assert "* and 10 more in manifest.json" in render_comment(replace(content, facts=many), 1.5)


def test_folds_open_and_close_and_have_blank_lines_for_their_content(content: Content) -> None:
    comment = render_comment(content, 1.5)
    assert comment.count("<details>") == comment.count("</details>") == 7
    assert comment.count("</summary>\n\n") == 7
    assert comment.count("\n\n</details>\n\n") == 7
    titles = re.findall(r"<summary>(.*)</summary>", comment)
    assert titles[0] == "Chart"
    assert [title.split(":")[0] for title in titles[1:-1]] == list(WORST_FIRST)


def test_rows_have_as_many_cells_as_headers(content: Content) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", render_comment(content, 1.5), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def chart_of(comment: str) -> list[str]:
    return comment.split("```mermaid\n")[1].split("\n```")[0].split("\n")


def test_chart_puts_each_effect_in_its_place_and_0_in_the_middle(content: Content) -> None:
    rows = table(
        row("a", effect_pct=1.5), row("b", effect_pct=-0.75), row("c", effect_pct=0.0), row("d", effect_pct=99.0)
    )
    chart = chart_of(render_comment(replace(content, verdicts=verdict_lines(rows)), 1.5))
    assert chart[1] == "quadrantChart"
    assert "from -3 % to +3 %, 0 in the middle" in chart[2]
    assert [line.split("[")[1].split(",")[0] for line in chart[4:]] == ["0.750", "0.375", "0.500", "0.990"]
    assert chart[4].startswith('  "a dict +1.50 %": [')


def test_chart_is_made_of_letters_that_mermaid_cannot_misread(content: Content) -> None:
    rows = table(row('a"] --> b\n```%%{init}%%<script>;click', effect_pct=1.25), void_row("void", "why"))
    chart = chart_of(render_comment(replace(content, verdicts=verdict_lines(rows)), 1.5))
    points = chart[4:]
    assert len(points) == 1
    assert re.fullmatch(r'  "[A-Za-z0-9 ./+-]+ \+1\.25 %": \[0\.708, 0\.970\]', points[0])


def test_comment_without_an_effect_has_no_chart(content: Content) -> None:
    comment = render_comment(replace(content, verdicts=verdict_lines(table(void_row("a", "why")))), 1.5)
    assert "mermaid" not in comment


def test_comment_of_400_cells_is_markdown_that_closes_what_it_opens(content: Content) -> None:
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(render_comment(crowded(content, 400), 1.5))
    kinds = [token.type for token in tokens]
    tables = kinds.count("table_open")
    assert tables >= 3
    assert tables == kinds.count("table_close")
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>") == html.count("<summary>") >= 3
    assert [token.info for token in tokens if token.type == "fence"] == ["mermaid"]


def test_pictures_replace_the_chart_and_the_first_stands_above_the_fold(content: Content) -> None:
    pictures = {"Effects [x](y)": "https://example.invalid/a.png", "Cost": "https://example.invalid/b.png"}
    comment = render_comment(content, 1.5, pictures=pictures)
    assert "mermaid" not in comment
    assert above_the_fold(comment)[-1].endswith("(https://example.invalid/a.png)")
    assert "\\](y" in above_the_fold(comment)[-1]
    assert "<summary>More plots</summary>\n\n![Cost](https://example.invalid/b.png)" in comment
    assert len(above_the_fold(render_comment(crowded(content, 300), 1.5, pictures=pictures, link="https://x/y"))) <= 25


def test_link_leads_to_the_whole_report(content: Content) -> None:
    assert "[whole report](https://x/y)" in render_comment(content, 1.5, link="https://x/y")


def test_comment_of_400_cells_stays_within_its_limit_and_says_what_was_dropped(content: Content) -> None:
    comment = render_comment(crowded(content, 400), 1.5)
    assert 30_000 < len(comment.encode()) <= MAX_BYTES
    assert "Left out for length: EQUIVALENT: 400 of 401, " in comment
    assert comment.count("<details>") == comment.count("</details>")
    kept = re.findall(r"<summary>(.*)</summary>", comment)
    assert kept[0] == "Chart"
    assert kept[1] == "SLOWER: 1 of 401"
    assert not any(title in comment.split("Left out for length: ")[1] for title in kept)


def test_calmest_rows_go_first_and_the_top_stays_even_without_room(content: Content) -> None:
    whole, short = render_comment(content, 1.5), render_comment(content, 1.5, max_bytes=4000)
    assert "<summary>EQUIVALENT" in whole
    assert "<summary>EQUIVALENT" not in short
    assert "<summary>VOID" in short
    nothing = render_comment(content, 1.5, max_bytes=1)
    assert "<details>" not in nothing
    assert "| VOID |" not in nothing
    assert "VOID: 1 of 9" in nothing


def test_hostile_name_cannot_end_the_fold_or_fake_the_marker(content: Content) -> None:
    rows = table(row("</details><!-- runqueue-bench -->", reason="</details>"))
    comment = render_comment(replace(content, verdicts=verdict_lines(rows)), 1.5)
    assert comment.replace("\\</details", "").count("</details>") == comment.count("<details>")
    assert comment.count(MARKER) == 1
