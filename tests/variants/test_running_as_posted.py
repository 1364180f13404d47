from __future__ import annotations

import ast

import pytest

from bench.errors import VariantError
from bench.variants import running_as_dict, running_as_posted
from bench.variants.source import SCHEDULER, installed_source

BEFORE = """\
import itertools
from collections.abc import Iterable


class Scheduler:
    def schedule(self):
        req_index = 0
        while req_index < len(self.running) and token_budget > 0:
            request = self.running[req_index]
            while True:
                if self.policy:
                    preempted_req = max(self.running)
                else:
                    preempted_req = self.running[-1]
                if self.policy:
                    victim_index = self.running.index(preempted_req)
                    del self.running[victim_index]
                    if victim_index < req_index:
                        req_index -= 1

                    roll_back(preempted_req)
                else:
                    preempted_req = self.running.pop()
                if preempted_req == request:
                    break
            req_index += 1
        return None

    def update(self, stopped):
        self.running = remove_all(self.running, stopped)

    def abort(self, aborted):
        self.running = remove_all(self.running, aborted)
"""
AFTER = """\
import itertools
from collections.abc import Iterable


class Scheduler:
    def schedule(self):
        req_index = 0
        num_live = len(self.running)
        for request in self.running:
            if not (req_index < num_live and token_budget > 0):
                break
            while True:
                if self.policy:
                    preempted_req = max(self.running)
                else:
                    preempted_req = next(reversed(self.running))
                if self.policy:
                    num_live += 1

                    roll_back(preempted_req)
                else:
                    num_live += 1
                if req_index == num_live:
                    break
            req_index += 1
        while len(self.running) > num_live:
            self.running.popitem()
        return None

    def update(self, stopped):
        for req in stopped:
            del self.running[req]

    def abort(self, aborted):
        for req in aborted:
            del self.running[req]
"""


def test_the_posted_logic_replaces_walk_eviction_and_removal() -> None:
    assert running_as_posted.rewrite(BEFORE, SCHEDULER) == AFTER


def test_another_module_is_rewritten_as_for_dict() -> None:
    for file, text in installed_source().texts.items():
        if file != SCHEDULER:
            assert running_as_posted.rewrite(text, file) == running_as_dict.rewrite(text, file)


def test_a_scheduler_without_the_places_is_refused() -> None:
    with pytest.raises(VariantError, match="places for the posted logic: found"):
        running_as_posted.rewrite("class Scheduler:\n    pass\n", SCHEDULER)


def test_the_installed_scheduler_is_rewritten_to_valid_code() -> None:
    text = running_as_posted.rewrite(installed_source().texts[SCHEDULER], SCHEDULER)
    ast.parse(text)
    assert "running_iter" not in text
    assert text.count("num_live += 1") == 2
