"""One side of `pyperf_side_by_side.py`: the steady steps of one variant as a benchmark of `pyperf.Runner`.

Run it as any pyperf script, with `--variant`, `--seed` and `--num-running` beside pyperf's own options. A value is the
scheduler's thread CPU time a step, the same clock that judges the pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pyperf

from bench.engine.shape import resolve_shape
from bench.options import EngineOptions
from bench.traces.workloads import generate
from bench.variants import load

WORKLOAD = "steady-decode"
STEPS = 120  # steady steps of one session; another one is filled when they are over
WARMUP_STEPS = 8
NS_PER_S = 1e9


def main() -> None:
    """Let pyperf start its processes, or be one of them."""
    runner = pyperf.Runner(program_args=(__file__,), add_cmdline_args=_pass_on)
    runner.argparser.add_argument("--variant", default="list")
    runner.argparser.add_argument("--seed", type=int, default=1)
    runner.argparser.add_argument("--num-running", type=int, default=256)
    options = runner.parse_args()
    cost_of_steps = steady_step_costs(options.variant, options.num_running, options.seed)
    runner.bench_time_func(WORKLOAD, lambda loops: sum(next(cost_of_steps) for _ in range(loops)) / NS_PER_S)


def _pass_on(command: list[str], options: argparse.Namespace) -> None:
    command += ["--variant", options.variant, "--seed", str(options.seed), "--num-running", str(options.num_running)]


def steady_step_costs(variant: str, num_running: int, seed: int) -> Iterator[int]:
    """CPU time of one steady step after another in ns, without end."""
    from bench.engine import adapter  # not in the process that only starts the others
    from bench.engine.replay import ReplaySession

    trace = generate(WORKLOAD, num_running=num_running, seed=seed, options={"steps": STEPS})
    shape = resolve_shape(EngineOptions(), trace)
    while True:
        session = ReplaySession(load(variant).scheduler, trace, shape, adapter.make_vllm_config(shape))
        while session.step().running < trace.steady_running:
            pass
        for _ in range(WARMUP_STEPS):
            session.step()
        while (reading := session.step()).running >= trace.steady_running:
            yield reading.cpu_ns


if __name__ == "__main__":
    main()
