from __future__ import annotations

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper

from bench.errors import VariantError
from bench.variants.source import installed_source
from bench.variants.uses import UseKind, Uses, find_uses


def uses_in(*lines: str) -> Uses:
    body = "\n        ".join(lines)
    text = f"class Scheduler:\n    def schedule(self):\n        {body}\n"
    return find_uses(MetadataWrapper(cst.parse_module(text)), "scheduler.py")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("self.running: list[Request] = []", UseKind.INIT),
        ("n = len(self.running)", UseKind.LENGTH),
        ("b = bool(self.running)", UseKind.TRUTH),
        ("while self.running: break", UseKind.TRUTH),
        ("if self.running: pass", UseKind.TRUTH),
        ("for r in self.running: pass", UseKind.ITERATION),
        ("x = any(r.ok for r in self.running)", UseKind.ITERATION),
        ("v = max(self.running, key=f)", UseKind.ITERATION),
        ("r = self.running[i]", UseKind.POSITION),
        ("r = self.running[0]", UseKind.HEAD),
        ("name = self.running[0].request_id", UseKind.HEAD),
        ("r = self.running[-1]", UseKind.TAIL),
        ("r = self.running.pop()", UseKind.POP),
        ("self.running.append(r)", UseKind.APPEND),
        ("v = self.running.index(r)", UseKind.INDEX),
        ("del self.running[v]", UseKind.DELETE_AT),
        ("self.running.remove(r)", UseKind.REMOVE),
    ],
)
def test_a_known_use_is_classified(line: str, kind: UseKind) -> None:
    (use,) = uses_in(line).listed
    assert use.kind is kind
    assert use.line == 3


@pytest.mark.parametrize(
    "line",
    [
        "self.running.sort()",
        "self.running.pop(0)",
        "self.running.insert(0, r)",
        "self.running[i] = r",
        "self.running[0] = r",
        "x = self.running[1]",
        "x = self.running[1:]",
        "x = self.running + other",
        "self.running = other",
        "self.running: deque[Request] = deque()",
        "x = sorted(self.running)",
        "f(self.running)",
        "self.other(self.running)",
        "x = r in self.running",
        "x = self.running",
        "del self.running",
        "del self.running[0]",
        "self.running += [r]",
        "x = self.running.copy",
        "x = [*self.running]",
        "x = self.running == []",
    ],
)
def test_an_unknown_use_is_an_error_with_file_line_and_text(line: str) -> None:
    with pytest.raises(VariantError) as caught:
        uses_in("pass", line)
    message = str(caught.value)
    assert "scheduler.py line 4: unknown use of self.running" in message
    assert line.split(":")[0] in message


def test_a_list_filled_in_a_loop_over_the_queue_and_put_in_its_place_is_its_survivors() -> None:
    uses = uses_in("kept = []", "for r in self.running:", "    kept.append(r)", "self.running = kept")
    assert [use.kind for use in uses.listed] == [UseKind.ITERATION, UseKind.SURVIVORS]


@pytest.mark.parametrize(
    "lines",
    [
        ("for r in self.running:", "    kept.append(r)", "self.running = other"),  # another list
        ("for r in self.waiting:", "    kept.append(r)", "self.running = kept"),  # filled from elsewhere
        ("for r in self.running:", "    kept.remove(r)", "self.running = kept"),  # not filled
    ],
)
def test_a_list_of_another_origin_put_in_the_queues_place_is_unknown(lines: tuple[str, ...]) -> None:
    with pytest.raises(VariantError, match=r"line 5: unknown use of self\.running"):
        uses_in(*lines)


def test_survivors_of_another_method_are_unknown() -> None:
    first = "class S:\n def f(self):\n  for r in self.running:\n   kept.append(r)\n"
    with pytest.raises(VariantError, match="line 6: unknown use"):
        find_uses(MetadataWrapper(cst.parse_module(first + " def g(self):\n  self.running = kept\n")), "s.py")


def test_another_objects_running_is_not_ours() -> None:
    assert uses_in("stats.running.add(1)", "running = 1").listed == ()


def test_a_method_that_promises_only_to_iterate_may_be_given_the_queue() -> None:
    text = "class S:\n def f(self, rs: Iterable[R], n: int): pass\n def g(self):\n  self.f(self.running, 1)\n"
    (use,) = find_uses(MetadataWrapper(cst.parse_module(text)), "s.py").listed
    assert use.kind is UseKind.PASSED


def test_the_same_method_given_the_queue_elsewhere_is_refused() -> None:
    text = "class S:\n def f(self, n: int, rs: Iterable[R]): pass\n def g(self):\n  self.f(self.running, 1)\n"
    with pytest.raises(VariantError, match="unknown use"):
        find_uses(MetadataWrapper(cst.parse_module(text)), "s.py")


def test_every_use_in_the_installed_vllm_is_known() -> None:
    source = installed_source()
    found = {name: find_uses(MetadataWrapper(cst.parse_module(text)), name) for name, text in source.texts.items()}
    mentions = source.texts["scheduler.py"].count("self.running")
    in_comments = sum("self.running" in line.partition("#")[2] for line in source.texts["scheduler.py"].splitlines())
    assert len(found["scheduler.py"].listed) == mentions - in_comments
