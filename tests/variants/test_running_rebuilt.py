from __future__ import annotations

import pytest

from bench.errors import VariantError
from bench.variants import running_rebuilt
from bench.variants.source import SCHEDULER, installed_source

BEFORE = """\
class Scheduler:
    def update_from_output(self, stopped):
        # Remove the stopped ones.
        if stopped:
            self.running = remove_all(self.running, stopped)
        return stopped

    def finish_requests(self, aborted):
        if aborted:
            self.running = remove_all(self.running, aborted)
"""
AFTER = """\
class Scheduler:
    def update_from_output(self, stopped):
        # Remove the stopped ones.
        self.running = [req for req in self.running if req not in stopped]
        return stopped

    def finish_requests(self, aborted):
        if aborted:
            self.running = remove_all(self.running, aborted)
"""


def test_the_update_rebuilds_and_an_abort_does_not() -> None:
    assert running_rebuilt.rewrite(BEFORE, SCHEDULER) == AFTER


def test_a_module_without_the_removal_is_left_alone() -> None:
    text = "class Other:\n    def update_from_output(self):\n        return 1\n"
    assert running_rebuilt.rewrite(text, "async_scheduler.py") == text


def test_a_scheduler_without_the_removal_is_refused() -> None:
    with pytest.raises(VariantError, match="found 0 removals of stopped requests in update_from_output, expected 1"):
        running_rebuilt.rewrite("class Scheduler:\n    pass\n", SCHEDULER)


def test_the_installed_scheduler_changes_in_one_place() -> None:
    for file, text in installed_source().texts.items():
        before, after = text.splitlines(), running_rebuilt.rewrite(text, file).splitlines()
        added = [line.strip() for line in after if line not in before]
        assert added == (
            ["self.running = [req for req in self.running if req not in stopped_running_reqs]"]
            if file == SCHEDULER
            else []
        )
        assert len(before) - len(after) == (file == SCHEDULER)
