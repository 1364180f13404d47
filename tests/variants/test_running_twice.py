from __future__ import annotations

import pytest

from bench.errors import VariantError
from bench.variants import running_twice
from bench.variants.source import SCHEDULER, installed_source

BEFORE = """\
class Scheduler:
    def schedule(self, budget):
        i = 0
        # The running ones first.
        while i < len(self.running) and budget > 0:
            request = self.running[i]
            if budget < request.tokens:
                # By priority.
                victim = max(self.running, key=rank)
                place = self.running.index(victim)
                del self.running[place]
                if place < i:
                    i -= 1
            i += 1
        assert len(self.running) <= self.most

    def update_from_output(self, stopped):
        if stopped:
            self.running = remove_all(self.running, stopped)
"""
AFTER = """\
class Scheduler:
    def schedule(self, budget):
        i = 0
        # The running ones first.
        bare_index = 0
        while bare_index < len(self.running) and budget > 0:
            self.running[bare_index]
            bare_index += 1
        while i < len(self.running) and budget > 0:
            request = self.running[i]
            if budget < request.tokens:
                # By priority.
                victim = max(self.running, key=rank)
                victim = max(self.running, key=rank)
                place = self.running.index(victim)
                place = self.running.index(victim)
                del self.running[place]
                if place < i:
                    i -= 1
            i += 1
        assert len(self.running) <= self.most

    def update_from_output(self, stopped):
        if stopped:
            remove_all(self.running.copy(), stopped)
            self.running = remove_all(self.running, stopped)
"""


def test_every_pass_is_done_twice_and_nothing_else_changes() -> None:
    assert running_twice.rewrite(BEFORE, SCHEDULER) == AFTER


def test_a_module_that_never_passes_over_the_queue_is_left_alone() -> None:
    text = "class Other:\n    def count(self):\n        return len(self.running)\n"
    assert running_twice.rewrite(text, "async_scheduler.py") == text


def test_a_scheduler_without_the_walk_is_refused() -> None:
    with pytest.raises(VariantError, match=r"found 0 walks over self\.running by position, expected 1"):
        running_twice.rewrite("class Scheduler:\n    pass\n", SCHEDULER)


def test_the_installed_scheduler_only_gains_lines() -> None:
    for file, text in installed_source().texts.items():
        before, after = text.splitlines(), running_twice.rewrite(text, file).splitlines()
        left = iter(after)
        assert all(line in left for line in before), "a line of the original is gone or moved"
        extra = "\n".join(after).count(running_twice.EXTRA_CURSOR)
        assert extra == (4 if file == SCHEDULER else 0)
        assert "\n".join(after).count("remove_all(self.running.copy(),") == (2 if file == SCHEDULER else 0)
