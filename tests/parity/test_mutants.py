from __future__ import annotations

import pytest
from click.testing import CliRunner

from bench.errors import EXIT_DONE, EXIT_VOID, VariantError
from bench.parity import mutants
from bench.parity.faults import MUTANTS, Edit, Mutant
from bench.parity.mutants import Hunted, hunt, hunting_ground, mutated, table
from bench.parity.starving import starving_examples

HANDFUL = [
    "victim-kept",
    "priority-min",
    "keeps-token-budget",
    "iterator-kept-fcfs",
    "cursor-not-shifted",
    "aborted-one",
    "keeps-drafts",
    "no-tokens-ends-walk",
    "cursor-shifted-if-scheduled",
    "deferral-asks-first",
]
FEATURED = {  # faults that a trace with adapters, sessions, images, KV loads or resets reaches, and which
    "victim-peeked-at-head": "blocks-in-flight fcfs async",
    "victim-taken-at-peek": "blocks-in-flight fcfs async",
    "keeps-encoder-budget": "image-given-back priority",
    "keeps-encoder-inputs": "image-given-back priority",
    "bad-blocks-backwards": "lost-on-the-way fcfs",
    "running-loras-lost": "lora-mix fcfs",
    "session-kept": "streaming-sessions fcfs",
    "reset-from-front": "random 4",
    "reset-keeps-running": "random 4",
}


def test_there_are_enough_faults_and_controls() -> None:
    assert sum(not mutant.harmless for mutant in MUTANTS.values()) >= 30
    assert sum(mutant.harmless for mutant in MUTANTS.values()) >= 3


@pytest.mark.parametrize("name", HANDFUL)
def test_a_fault_is_found(name: str) -> None:
    hunted = hunt(MUTANTS[name], dict(starving_examples()))
    assert hunted.proof is not None
    assert hunted.is_right


@pytest.mark.parametrize("name", FEATURED)
def test_a_fault_that_few_traces_reach_is_found(name: str) -> None:
    hunted = hunt(MUTANTS[name], {FEATURED[name]: hunting_ground(5)[FEATURED[name]]})
    assert hunted.proof is not None
    assert hunted.is_right


@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.harmless])
def test_a_harmless_change_is_let_pass(name: str) -> None:
    hunted = hunt(MUTANTS[name], dict(starving_examples()))
    assert hunted.proof is None, hunted.verdict
    assert hunted.verdict == "alike, as it should be"


def test_every_change_fits_the_installed_scheduler() -> None:
    text = mutants._dict_texts()[mutants.SCHEDULER]
    for mutant in MUTANTS.values():
        changed = text
        for edit in mutant.edits:
            changed = mutants._edited(changed, edit, mutant.name)
        compile(changed, mutant.name, "exec")
        assert changed != text


def test_a_change_that_does_not_fit_says_so() -> None:
    unknown = Mutant("unknown", "none", (Edit("self.walking.append(request)"),))
    with pytest.raises(VariantError, match="mutant unknown: found 0 places"):
        mutated(unknown)


def test_a_survivor_ends_in_exit_code_3(monkeypatch: pytest.MonkeyPatch) -> None:
    survivor = Mutant("nothing", "nothing is changed", (Edit("req_index = 0", "req_index = 0 + 0"),))
    monkeypatch.setattr(mutants, "MUTANTS", {"nothing": survivor})
    monkeypatch.setattr(mutants, "hunting_ground", lambda number: dict([*starving_examples()][:2]))
    result = CliRunner().invoke(mutants.main, [], standalone_mode=False)
    assert result.return_value == EXIT_VOID
    assert "**SURVIVED**" in result.output
    assert "wrong: nothing" in result.output


def test_a_refused_control_ends_in_exit_code_3(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = MUTANTS["victim-kept"]
    monkeypatch.setattr(mutants, "MUTANTS", {"control": Mutant("control", "none", fault.edits, harmless=True)})
    monkeypatch.setattr(mutants, "hunting_ground", lambda number: dict(starving_examples()))
    result = CliRunner().invoke(mutants.main, [], standalone_mode=False)
    assert result.return_value == EXIT_VOID
    assert "**REFUSED**" in result.output


def test_the_command_hunts_those_that_were_asked_for() -> None:
    result = CliRunner().invoke(
        mutants.main,
        ["--only", "stopped-kept", "--only", "control-own-cursor", "--num-random", "1"],
        standalone_mode=False,
    )
    assert result.return_value == EXIT_DONE
    assert "1 faults, 1 harmless changes" in result.output
    assert "alike, as it should be" in result.output


def test_an_unknown_mutant_is_refused_with_a_hint() -> None:
    result = CliRunner().invoke(mutants.main, ["--only", "victim-keep"], standalone_mode=False)
    assert isinstance(result.exception, VariantError)
    assert 'did you mean "victim-kept"?' in str(result.exception)


def test_the_table_is_markdown() -> None:
    hunted = [Hunted(Mutant("a", "one | other", (), harmless=True)), Hunted(MUTANTS["keeps-encoder-budget"])]
    lines = table(hunted).splitlines()
    assert lines[0].split() == [
        "|",
        "mutant",
        "|",
        "change",
        "to",
        "the",
        "dict",
        "variant",
        "|",
        "told",
        "apart",
        "by",
        "|",
    ]
    assert len(lines) == 4


def test_the_hunting_ground_has_both_policies_sync_and_async() -> None:
    ground = hunting_ground(3)
    modes = {(each.options.policy, each.options.async_scheduling) for each in ground.values()}
    assert modes == {(policy, ahead) for policy in ("fcfs", "priority") for ahead in (False, True)}
    assert {"random 0", "preemption priority async", "outgrown fcfs"} <= set(ground)
