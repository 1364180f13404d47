from __future__ import annotations

from bench.traces.grammars import COMPILE_STEPS, GrammarCache


def test_a_new_grammar_takes_its_steps_and_a_known_one_none() -> None:
    cache = GrammarCache()
    assert cache.ready_step("g", 3) == 3 + COMPILE_STEPS
    assert cache.ready_step("g", 4) == 3 + COMPILE_STEPS
    assert cache.ready_step("g", 9) == 9
    assert cache.ready_step("h", 9) == 9 + COMPILE_STEPS
