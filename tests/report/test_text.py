from __future__ import annotations

import pytest

from bench.report.text import clip, escape_markdown, listed, names, printable, slug


def test_control_and_direction_characters_become_blanks() -> None:
    assert printable("a\x1b[31mb\nc\u202ed\x00") == "a [31mb c d"


def test_long_name_loses_its_middle() -> None:
    assert clip("replay-a-very-long-name-n1024", 15) == "replay-…e-n1024"
    assert len(printable("x" * 10_000)) == 80


def test_short_name_stays_whole() -> None:
    assert clip("dict", 4) == "dict"


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("a|b", r"a\|b"),
        ("**bold** _it_ `code`", r"\*\*bold\*\* \_it\_ \`code\`"),
        ("<img src=x onerror=alert(1)>", r"\<img src=x onerror=alert(1)\>"),
        ("[click](http://evil)", r"[click\](http:\//evil)"),
        ("![x](y)", r"![x\](y)"),
        ("</details>", r"\</details\>"),
        ("&lt;", r"\&lt;"),
        ("# title\n# other", r"\# title \# other"),
        ("back\\slash", r"back\\slash"),
        ("www.evil.example", r"www\.evil.example"),
        ("@everyone", "@\u200beveryone"),
        ("<!-- runqueue-bench -->", r"\<!-- runqueue-bench --\>"),
        ("$x^2$ ~~gone~~", r"\$x^2\$ \~\~gone\~\~"),
    ],
)
def test_markup_is_shown_and_does_not_act(hostile: str, shown: str) -> None:
    assert escape_markdown(hostile) == shown


def test_plain_names_and_figures_stay_readable() -> None:
    assert (
        escape_markdown("replay-steady-decode-n256, [-0.52, +0.10] %") == "replay-steady-decode-n256, [-0.52, +0.10] %"
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [("../../etc/passwd", "etc-passwd"), ("class:m:C", "class-m-C"), ("…", "unnamed"), ("a" * 300, "a" * 100)],
)
def test_slug_stays_inside_its_folder(name: str, file: str) -> None:
    assert slug(name) == file


def test_lists_are_joined_as_people_do() -> None:
    assert [listed(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]


def test_names_of_files_differ_even_where_case_does_not_count() -> None:
    assert names(["a b", "a?b", "A-B", "a-b-2", "…"]) == ["a-b", "a-b-2", "A-B-3", "a-b-2-2", "unnamed"]
