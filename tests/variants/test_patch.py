from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from bench.errors import VariantError
from bench.variants.patch import read_patch, rewrite_by_patch
from bench.variants.source import installed_source

BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
AFTER = "one\n2\nthree\nfour\nfive\nsix\nseven\n8\nnine\n"


def write_patch(
    path: Path, before: str, after: str, file: str = "vllm/v1/core/sched/scheduler.py", context: int = 1
) -> Path:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{file}", f"b/{file}", n=context
    )
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_a_patch_is_applied_exactly(tmp_path: Path) -> None:
    patch = read_patch(write_patch(tmp_path / "p.diff", BEFORE, AFTER))
    assert rewrite_by_patch(patch, BEFORE, "scheduler.py") == AFTER


def test_another_module_is_left_alone(tmp_path: Path) -> None:
    patch = read_patch(write_patch(tmp_path / "p.diff", BEFORE, AFTER))
    assert rewrite_by_patch(patch, BEFORE, "async_scheduler.py") == BEFORE


def test_a_hunk_without_context_that_only_adds_lines_is_applied(tmp_path: Path) -> None:
    after = BEFORE.replace("three\n", "three\nnew\n")
    patch = read_patch(write_patch(tmp_path / "p.diff", BEFORE, after, context=0))
    assert rewrite_by_patch(patch, BEFORE, "scheduler.py") == after


def test_a_patch_of_the_installed_scheduler_is_applied(tmp_path: Path) -> None:
    text = installed_source().texts["scheduler.py"]
    after = text.replace("self.running.append(request)", "self.running.insert(0, request)")
    patch = read_patch(write_patch(tmp_path / "p.diff", text, after, context=3))
    assert rewrite_by_patch(patch, text, "scheduler.py") == after != text


@pytest.mark.parametrize("moved", ["zero\n" + BEFORE, BEFORE.replace("two", "too"), BEFORE[:20], ""])
def test_a_hunk_that_does_not_fit_is_named_and_nothing_is_guessed(tmp_path: Path, moved: str) -> None:
    patch = read_patch(write_patch(tmp_path / "p.diff", BEFORE, AFTER))
    with pytest.raises(VariantError, match=r"^scheduler\.py: the hunk @@ -\d,\d \+\d,\d @@ does not apply") as caught:
        rewrite_by_patch(patch, moved, "scheduler.py")
    assert "\n" not in str(caught.value)


def test_a_hunk_that_does_not_fit_says_which_line_it_missed(tmp_path: Path) -> None:
    patch = read_patch(write_patch(tmp_path / "p.diff", BEFORE, AFTER))
    with pytest.raises(VariantError, match=r"\(line 2 is 'too', expected 'two'\); make the diff against that version"):
        rewrite_by_patch(patch, BEFORE.replace("two", "too"), "scheduler.py")
    with pytest.raises(VariantError, match=r"\(no line 3\)"):
        rewrite_by_patch(patch, "one\ntwo\n", "scheduler.py")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no change"),
        ("not a diff\n", "holds no change"),
        ("--- a/scheduler.py\n+++ b/scheduler.py\n@@ -1,9 +1,9 @@\n one\n", "not a unified diff"),
    ],
)
def test_what_is_not_a_diff_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.diff"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(VariantError, match=message):
        read_patch(path)


def test_a_change_of_another_file_is_refused_by_name(tmp_path: Path) -> None:
    path = write_patch(tmp_path / "p.diff", BEFORE, AFTER, file="vllm/v1/request.py")
    with pytest.raises(VariantError, match=r"changes vllm/v1/request\.py; expected only changes of scheduler\.py"):
        read_patch(path)


def test_a_missing_file_and_a_binary_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VariantError, match="no such file"):
        read_patch(tmp_path / "none.diff")
    (tmp_path / "b.diff").write_bytes(b"\xff\x00")
    with pytest.raises(VariantError, match="cannot be read"):
        read_patch(tmp_path / "b.diff")
