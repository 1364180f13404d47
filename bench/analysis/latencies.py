"""Latencies of the serve tier: what clients saw in each replay, and the effect on each over pairs.

One value a metric, pair and arm; a pair's score is the log-ratio of its two. Every metric is a time, so that negative
= candidate faster holds for all: throughput is the time for an output token, goodput that for a good request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from bench.analysis import statistics
from bench.analysis.estimates import Estimate, Score
from bench.analysis.inference import infer
from bench.analysis.load import ARMS, Run
from bench.analysis.looks import ONE_LOOK, Tails
from bench.analysis.metrics import FUNCTIONS, METRICS, SERVE, TPOT, Metric
from bench.analysis.statistics import Floats
from bench.analysis.verdicts import MORE_PAIRS_DO_NOT_HELP, Ruling
from bench.options import ServeOptions
from bench.units import NS_PER_MS, NS_PER_US, format_signed_us, format_us

REPLAY = ["pair", "arm"]
STEP_COLUMNS = ["cpu_ns", "schedule_ns", "update_ns", "finish_ns"]
QUANTILES = {"p50": 0.5, "p99": 0.99}


def replay_values(run: Run, comparison_id: str) -> pd.DataFrame:
    """A row a pair and arm (the index), a column a metric of the tier, in ns; nan where a replay had none to show.

    TTFT counts every request, TPOT those with two tokens or more, ITL every gap between two chunks of one request,
    E2EL and goodput those whose clients stayed. Quantiles by linear interpolation.
    """
    requests = with_latencies(run.requests_of(comparison_id))
    parts = [_spread(requests, f"{name}_ns", name) for name in ("ttft", "tpot", "e2el")]
    parts.append(_spread(gaps(run, comparison_id), "itl_ns", "itl"))
    parts += [_rates(requests, objectives_of(run)), _steps(run, comparison_id)]
    return pd.concat(parts, axis="columns").reindex(columns=[metric.column for metric in METRICS[SERVE]])


def latency_estimates(run: Run, comparison_id: str, margin: float, tails: Tails = ONE_LOOK) -> dict[Metric, Estimate]:
    """The figures of every metric of the tier that some pair shows; the gating one always."""
    values = replay_values(run, comparison_id)
    num_requests = len(run.requests_of(comparison_id))
    scores = {metric: _scores(values[metric.column]) for metric in METRICS[SERVE]}
    return {
        metric: _estimate(metric, values[metric.column], scores, num_requests, margin, tails)
        for place, metric in enumerate(METRICS[SERVE])
        if place == 0 or scores[metric].size
    }


def served_pair_effects(run: Run, comparison_id: str, metric: Metric) -> pd.DataFrame:
    """A row a pair: pair, zygote, effect_pct of `metric`; negative = candidate faster."""
    arms = replay_values(run, comparison_id)[metric.column].unstack("arm").reindex(columns=ARMS)
    zygotes = run.requests_of(comparison_id).groupby("pair")["zygote"].first()
    effects = 100 * (arms[ARMS[1]] / arms[ARMS[0]] - 1)
    table = pd.DataFrame({"pair": arms.index, "zygote": zygotes.reindex(arms.index).to_numpy(), "effect_pct": effects})
    return table.dropna(subset=["effect_pct"]).reset_index(drop=True)


def beyond_scheduler(ruling: Ruling, estimates: Mapping[Metric, Estimate]) -> Ruling:
    """INCONCLUSIVE in place of a difference in mean TPOT that is larger than all that the scheduler does in a step.

    A token takes a step, and two schedulers differ in it by no more than the slower one takes; the rest is the machine.
    """
    parts = [estimates[part] for part in FUNCTIONS[SERVE] if part in estimates]
    most_us = max(sum(part.baseline_us for part in parts), sum(part.candidate_us for part in parts))
    if ruling.verdict not in ("FASTER", "SLOWER") or not parts or abs(estimates[TPOT].difference_us) <= most_us:
        return ruling
    reason = (
        f"would be {ruling.verdict}, but TPOT differs by {format_signed_us(estimates[TPOT].difference_us)} and the "
        f"whole scheduler takes {format_us(most_us)} a step: the machine made the difference; measure on a quieter one"
    )
    return replace(ruling, verdict="INCONCLUSIVE", reason=reason, pairs_needed=MORE_PAIRS_DO_NOT_HELP)


def with_latencies(requests: pd.DataFrame) -> pd.DataFrame:
    """`requests` with `ended_ns` from the start of the replay, and what cannot be told as nan.

    `tpot_ns` is the time from the first to the last token for each token after the first; a client that hung up has
    no `e2el_ns`.
    """
    later = (requests["num_tokens"] - 1).where(requests["num_tokens"] > 1)
    return requests.assign(
        tpot_ns=(requests["last_token_ns"] - requests["ttft_ns"]) / later,
        ended_ns=requests["due_ns"] + requests["e2el_ns"],
        e2el_ns=requests["e2el_ns"].where(~requests["hung_up"]),
    )


def gaps(run: Run, comparison_id: str) -> pd.DataFrame:
    """A row a gap between two chunks of one request: pair, arm, itl_ns."""
    chunks = run.chunks_of(comparison_id, ["pair", "arm", "request", "received_ns"])
    chunks = chunks.sort_values([*REPLAY, "request", "received_ns"], kind="stable")
    chunks["itl_ns"] = chunks.groupby([*REPLAY, "request"])["received_ns"].diff()
    return chunks.dropna(subset=["itl_ns"])[[*REPLAY, "itl_ns"]]


def is_good(requests: pd.DataFrame, objectives: ServeOptions) -> pd.Series:
    """True for a request whose client stayed and that kept every objective of the experiment."""
    good = ~requests["hung_up"]
    limits = {"ttft": objectives.ttft_slo_ms, "tpot": objectives.tpot_slo_ms, "e2el": objectives.e2el_slo_ms}
    for name, limit_ms in limits.items():
        if limit_ms is not None:
            good &= ~(requests[f"{name}_ns"] > limit_ms * NS_PER_MS)  # one token has no TPOT to break
    return good


def objectives_of(run: Run) -> ServeOptions:
    """The options of the tier that the run was made with."""
    return ServeOptions.model_validate(run.manifest.config.get("serve", {}))


def _spread(rows: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    replays = rows.groupby(REPLAY)[column]
    quantiles = {f"{name}_{label}": replays.quantile(level) for label, level in QUANTILES.items()}
    return pd.DataFrame({name: replays.mean(), **quantiles})


def _rates(requests: pd.DataFrame, objectives: ServeOptions) -> pd.DataFrame:
    """Time for an output token and for a good request: from the start of a replay to the end of its last answer."""
    replays = requests.assign(good=is_good(requests, objectives)).groupby(REPLAY)
    took_ns, good = replays["ended_ns"].max(), replays["good"].sum()
    return pd.DataFrame(
        {"throughput": took_ns / replays["num_tokens"].sum(), "goodput": took_ns / good.where(good > 0)}
    )


def _steps(run: Run, comparison_id: str) -> pd.DataFrame:
    """Mean time a step in the server's scheduler, from the probe inside its engine core."""
    steps = run.steps_of(comparison_id, [*REPLAY, *STEP_COLUMNS])
    return steps.groupby(REPLAY)[STEP_COLUMNS].mean()


def _scores(values: pd.Series) -> Floats:
    arms = values.unstack("arm").reindex(columns=ARMS).to_numpy(dtype=np.float64)
    usable = np.isfinite(arms).all(axis=1) & (arms > 0).all(axis=1)
    scores: Floats = np.log(arms[usable, 1] / arms[usable, 0])
    return scores


def _estimate(
    metric: Metric, values: pd.Series, scores: dict[Metric, Floats], num_requests: int, margin: float, tails: Tails
) -> Estimate:
    mine = scores[metric]
    beside = {one.name: theirs for one, theirs in scores.items()}.get(f"{metric.name}_p50", np.array([]))
    times = values.groupby("arm").median() / NS_PER_US
    inference = infer(mine, margin, tails)
    return Estimate(
        **vars(inference),
        num_slices=num_requests,
        baseline_us=float(times.get(ARMS[0], math.nan)),
        candidate_us=float(times.get(ARMS[1], math.nan)),
        all_slices=inference.effect,
        other_score=math.expm1(statistics.hodges_lehmann(beside)),
        score=_score_of(metric),
    )


def _score_of(metric: Metric) -> Score:
    part = metric.name.rpartition("_")[2]
    return "p50" if part == "p50" else "p99" if part == "p99" else "mean"
