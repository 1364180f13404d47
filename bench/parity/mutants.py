"""Puts known faults on the `dict` variant and hunts them: a proof that misses one, or refuses a harmless change, fails.

`python -m bench.parity.mutants` prints what killed each, as Markdown, and ends with exit code 3 where one survived.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import click
from tabulate import tabulate
from tqdm import tqdm

from bench.command import run_command
from bench.errors import EXIT_DONE, EXIT_VOID, VariantError, nearest
from bench.options import EngineOptions
from bench.parity.examples import Example, random_example
from bench.parity.faults import MUTANTS, Edit, Mutant
from bench.parity.proof import Proof
from bench.parity.prover import Prover, SchedulerPair, pair_of
from bench.parity.starving import starving_examples
from bench.traces.workloads import WORKLOADS, generate
from bench.variants.build import generated_texts
from bench.variants.source import SCHEDULER, installed_source
from bench.variants.spec import NAMED

ASYNC = "async_scheduler.py"
STEP_TIME_LIMIT_S = 5.0  # a step of these traces takes about 1 ms, but a busy machine may stall; faults that hang wait
NUM_RANDOM = 200  # traces
NUM_RUNNING = 24  # of the workloads: long enough for several in one step


@dataclass(frozen=True)
class Hunted:
    """What became of a mutant: how it was told apart, or None where every trace looked alike."""

    mutant: Mutant
    trace: str = ""
    proof: Proof | None = None

    @property
    def is_right(self) -> bool:
        """True where a fault was found, or a harmless change was let pass."""
        return (self.proof is None) == self.mutant.harmless

    @property
    def verdict(self) -> str:
        """One cell of the table."""
        if self.proof is None:
            return "alike, as it should be" if self.mutant.harmless else "**SURVIVED**"
        text = self._killed(self.proof)
        return f"**REFUSED**: {text}" if self.mutant.harmless else text

    def _killed(self, proof: Proof) -> str:
        difference = proof.difference
        if difference is None:
            return f"{self.trace}: {proof.fault}"
        shown = f"{difference.field}: {difference.candidate}" if _is_message(difference.field) else difference.field
        return f"{self.trace}, step {difference.step}: {' '.join(shown.split())[:90]}"


def mutated(mutant: Mutant) -> SchedulerPair:
    """The scheduler classes of `dict` with the fault put on; raises VariantError where its lines are not there."""
    texts = dict(_dict_texts())
    for edit in mutant.edits:
        texts[SCHEDULER] = _edited(texts[SCHEDULER], edit, mutant.name)
    name = f"mutant_{mutant.name.replace('-', '_')}"
    modules = {file: _imported(name, file, texts[file]) for file in (SCHEDULER, ASYNC)}
    return SchedulerPair(modules[SCHEDULER].Scheduler, modules[ASYNC].AsyncScheduler)


def hunt(mutant: Mutant, examples: Mapping[str, Example]) -> Hunted:
    """Run the mutant against the `list` baseline until an example tells the two apart, or to the last."""
    prover = Prover(pair_of("list"), mutated(mutant), step_time_limit_s=STEP_TIME_LIMIT_S)
    for name, example in examples.items():
        proof = prover.prove(example)
        if not proof.alike:
            return Hunted(mutant, name, proof)
    return Hunted(mutant)


def hunting_ground(num_random: int = NUM_RANDOM) -> dict[str, Example]:
    """Starvation traces and workloads under both policies, sync and async, then random traces; by a name to print."""
    random = {f"random {seed}": random_example(seed) for seed in range(num_random)}
    return {**dict(starving_examples()), **dict(_workload_examples()), **random}


def table(hunted: Iterable[Hunted]) -> str:
    """What was found, as a Markdown table."""
    rows = [(each.mutant.name, each.mutant.fault, each.verdict.replace("|", "\\|")) for each in hunted]
    return tabulate(rows, headers=["mutant", "change to the dict variant", "told apart by"], tablefmt="github")


@click.command()
@click.option("--num-random", default=NUM_RANDOM, show_default=True, type=click.IntRange(1), help="Random traces.")
@click.option("--only", multiple=True, metavar="NAME", help="Mutant to hunt; may be given again. Absent: all.")
def main(num_random: int, only: tuple[str, ...]) -> int:
    """Hunt every mutant and print what killed it; exit 3 if one survives or a harmless one is refused."""
    for name in only:
        if name not in MUTANTS:
            raise VariantError(f"no mutant {name}{nearest(name, MUTANTS)}")
    chosen = [MUTANTS[name] for name in only or MUTANTS]
    ground = hunting_ground(num_random)
    progress = tqdm(chosen, unit="mutant", disable=not sys.stderr.isatty())
    hunted = [hunt(mutant, ground) for mutant in progress]
    click.echo(table(hunted))
    wrong = [each.mutant.name for each in hunted if not each.is_right]
    num_faults = sum(not each.mutant.harmless for each in hunted)
    click.echo(
        f"\n{num_faults} faults, {len(hunted) - num_faults} harmless changes, {len(ground)} traces; "
        + (f"wrong: {', '.join(wrong)}" if wrong else "each told apart as it should be")
    )
    return EXIT_VOID if wrong else EXIT_DONE


def _workload_examples() -> Iterator[tuple[str, Example]]:
    for workload in WORKLOADS:
        options = {"steps": 48, **({"priority_levels": 3} if workload == "preemption" else {})}
        trace = generate(workload, num_running=NUM_RUNNING, seed=1, options=options)
        for policy in ("fcfs", "priority"):
            for ahead in (False, True):
                engine = {"policy": policy, "async_scheduling": ahead, "log_stats": False}
                name = f"{workload} {policy}{' async' if ahead else ''}"
                yield name, Example(trace, EngineOptions.model_validate(engine))


@cache
def _dict_texts() -> Mapping[str, str]:
    return generated_texts("dict", installed_source(), NAMED["dict"])


def _edited(text: str, edit: Edit, name: str) -> str:
    """`text` with the lines of `edit` replaced where they stand, however deep they are indented there."""
    lines, before = text.splitlines(), edit.before.splitlines()
    places = [
        place
        for place in range(len(lines) - len(before) + 1)
        if textwrap.dedent("\n".join(lines[place : place + len(before)])).splitlines() == before
    ]
    if len(places) != 1:
        raise VariantError(
            f"mutant {name}: found {len(places)} places for {edit.before!r}, expected 1; "
            "the fault must be written anew for this vLLM"
        )
    (place,) = places
    indentation = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    after = textwrap.indent(edit.after or "pass", indentation).splitlines()
    return "\n".join([*lines[:place], *after, *lines[place + len(before) :], ""])


def _imported(name: str, file: str, text: str) -> ModuleType:
    """A module of the mutant, importable by the next one of it; never written to disk."""
    prefix = f"bench.variants.built.{name}"
    module = ModuleType(f"{prefix}.{file.removesuffix('.py')}")
    sys.modules[module.__name__] = module
    code = text.replace("bench.variants.built.dict.", f"{prefix}.")
    exec(compile(code, f"<{name}/{file}>", "exec"), module.__dict__)
    return module


def _is_message(field: str) -> bool:
    return field in {"error", "broken_invariant"}


if __name__ == "__main__":
    run_command(main, "python -m bench.parity.mutants")
