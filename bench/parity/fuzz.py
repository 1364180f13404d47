"""Campaigns: any number of random starving traces, candidate against baseline, until they do not decide alike.

`python -m bench.parity.fuzz --num N` prints how fast it searched. A trace that tells the two apart is written to a
file, and `--trace FILE` proves it again; exit code 3 in both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import click
from tqdm import tqdm

from bench.command import run_command
from bench.errors import EXIT_DONE, EXIT_VOID
from bench.parity.examples import Example, options_of, random_example
from bench.parity.proof import Proof
from bench.parity.prover import Prover, pair_of
from bench.traces.files import read_trace, write_trace

PATH = click.Path(path_type=Path)


@click.command()
@click.option("--num", default=1000, show_default=True, type=click.IntRange(1), help="Traces to try.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the first; each has its own."
)
@click.option("--candidate", default="dict", show_default=True, metavar="SPEC", help="Variant to refuse or let pass.")
@click.option("--baseline", default="list", show_default=True, metavar="SPEC", help="Variant to compare with.")
@click.option("--keep", default=Path(), type=PATH, help="Folder for a trace that tells them apart; absent: here.")
@click.option("--trace", "trace_file", type=PATH, help="Prove this one trace again, in place of a campaign.")
@click.option("--step-time-limit", default=5.0, show_default=True, type=click.FloatRange(0.01), help="In s.")
def main(
    num: int, seed: int, candidate: str, baseline: str, keep: Path, trace_file: Path | None, step_time_limit: float
) -> int:
    """Search for a trace on which CANDIDATE does not decide as BASELINE does."""
    prover = Prover(pair_of(baseline), pair_of(candidate), step_time_limit_s=step_time_limit)
    if trace_file is not None:
        trace = read_trace(trace_file)
        proof = prover.prove(Example(trace, options_of(trace)))
        click.echo(f"{trace_file}: {proof}")
        return EXIT_DONE if proof.alike else EXIT_VOID
    began = perf_counter()
    num_steps = 0
    for number in tqdm(range(seed, seed + num), unit="trace", disable=not sys.stderr.isatty()):
        example = random_example(number)
        proof = prover.prove(example)
        num_steps += proof.num_steps
        if not proof.alike:
            click.echo(f"seed {number}: {kept(example, proof, keep, f'fuzz-{number}', candidate, baseline)}")
            return EXIT_VOID
    took = perf_counter() - began
    click.echo(f"{num} traces alike, {num_steps} steps; {num / took:.0f} traces/s, {num_steps / took:.0f} steps/s")
    return EXIT_DONE


def kept(example: Example, proof: Proof, folder: Path, name: str, candidate: str, baseline: str = "list") -> str:
    """What differed, once the example's trace is in `folder`, and the command that proves it again."""
    path = folder / f"{name}.jsonl"
    write_trace(example.trace, path)
    return (
        f"{proof}\n{path}\n"
        f"again: python -m bench.parity.fuzz --trace {path} --candidate {candidate} --baseline {baseline}"
    )


if __name__ == "__main__":
    run_command(main, "python -m bench.parity.fuzz")
