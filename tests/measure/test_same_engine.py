from __future__ import annotations

from typing import Any

import pytest

from bench.measure.messages import BASELINE, CANDIDATE, Describe
from bench.measure.pairs import NotAlikeError, _check_same_engine

ENGINE = {"scheduler": "list.Scheduler", "scheduler_base": "Scheduler", "scheduler_config.policy": "fcfs"}


class Arm:
    """Answers what its engine is."""

    def __init__(self, **facts: str) -> None:
        self.facts = facts

    def ask(self, command: Any, limit_s: float) -> dict[str, str]:
        assert isinstance(command, Describe)
        return self.facts


def arms(**candidate: str) -> Any:
    return {BASELINE: Arm(**ENGINE), CANDIDATE: Arm(**{**ENGINE, **candidate})}


def test_arms_that_differ_in_the_schedulers_class_alone_may_be_timed() -> None:
    engines = _check_same_engine(arms(scheduler="dict.Scheduler"))
    assert engines[CANDIDATE]["scheduler"] == "dict.Scheduler"


@pytest.mark.parametrize("name", ["scheduler_base", "scheduler_config.policy", "environment.VLLM_LOGGING_LEVEL"])
def test_whatever_else_differs_voids_the_pair_by_name(name: str) -> None:
    with pytest.raises(NotAlikeError, match=rf"the arms' engines differ in {name}: .* \(baseline\) and other \(candid"):
        _check_same_engine(arms(**{name: "other"}))


def test_the_replay_tier_has_no_engine_to_save() -> None:
    assert _check_same_engine({BASELINE: Arm(), CANDIDATE: Arm()}) == {}  # type: ignore[dict-item]
