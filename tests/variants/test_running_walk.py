from __future__ import annotations

import libcst as cst
import pytest

from bench.errors import VariantError
from bench.variants.running_walk import removed_by_index, walk_cursor

INDEX = "place = self.running.index(victim)"
DELETE = "del self.running[place]"
SHIFT = "if place < i:\n    i -= 1"


def loop(test: str, first: str) -> cst.While:
    return cst.ensure_type(cst.parse_statement(f"while {test}:\n    {first}\n    self.running[j]\n"), cst.While)


@pytest.mark.parametrize(
    ("test", "first", "cursor"),
    [
        ("i < len(self.running)", "r = self.running[i]", "i"),
        ("budget > 0 and k < len(self.running)", "r = self.running[k]", "k"),
        ("self.running", "r = self.running[i]", None),
        ("i < len(self.running)", "r = self.running[j]", None),
        ("i < len(self.running)", "r = self.waiting[i]", None),
        ("i < len(self.running)", "pass", None),
    ],
)
def test_a_walk_reads_first_at_the_cursor_that_its_test_bounds(test: str, first: str, cursor: str | None) -> None:
    assert walk_cursor(loop(test, first)) == cursor


def statements(*texts: str) -> list[cst.BaseStatement]:
    return [cst.parse_statement(text) for text in texts]


def test_the_victim_of_an_index_a_deletion_and_a_shift_is_named() -> None:
    assert removed_by_index(statements(INDEX, DELETE, SHIFT, "pass"), "i", "s.py") == "victim"


@pytest.mark.parametrize(
    ("cursor", "texts"),
    [
        ("j", (INDEX, DELETE, SHIFT)),
        (None, (INDEX, DELETE, SHIFT)),
        ("i", (INDEX, SHIFT, DELETE)),
        ("i", (INDEX, DELETE)),
        ("i", (INDEX, "del self.running[other]", SHIFT)),
        ("i", (INDEX, DELETE, "if place <= i:\n    i -= 1")),
    ],
)
def test_anything_else_around_the_index_is_refused(cursor: str | None, texts: tuple[str, ...]) -> None:
    with pytest.raises(VariantError, match=r"s\.py: after self\.running\.index"):
        removed_by_index(statements(*texts), cursor, "s.py")
