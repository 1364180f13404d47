"""What travels between stages through files: the columns of each table, and the manifest of a run folder.

Each column carries its unit and meaning; `docs/results.md` lists them and a test holds the two together.
Writing belongs to `bench.measure`, reading to `bench.analysis`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LEAD_IN = "lead-in"
"""Phase of a step that is run before the timed ones of its slice."""


@dataclass(frozen=True)
class Column:
    """One column: `type` is a pyarrow type name, `unit` is empty for plain counts and names."""

    name: str
    type: Literal["string", "int64", "float64", "bool"]
    unit: str
    meaning: str


IDENTITY = (
    Column("cell", "string", "", "tier, workload and size of the comparison"),
    Column("comparison", "string", "", "the cell and the candidate compared in it; `aa` is the baseline with itself"),
    Column("pair", "int64", "", "number of the pair, from 0: the replicate of the analysis"),
    Column("zygote", "int64", "", "process that forked the pair: its place in `zygotes` of the manifest, from 0"),
    Column("arm", "string", "", "`baseline` or `candidate`"),
    Column("variant", "string", "", "variant SPEC that ran in this arm"),
)

STEPS = (
    *IDENTITY,
    Column("step", "int64", "", "step number in the trace, from 0"),
    Column("fork", "int64", "", "time that the arms were forked and ran the steady phase, from 0; -1: before that"),
    Column(
        "phase", "string", "", "`admission`, `warmup`, `lead-in`, `steady` or `drain`; only steady steps are judged"
    ),
    Column("slice", "int64", "", "slice that timed this step, from 0; -1: none did"),
    Column("cpu_ns", "int64", "ns", "thread CPU time in schedule, update_from_output and finish_requests"),
    Column("schedule_ns", "int64", "ns", "wall time in `schedule()`"),
    Column("update_ns", "int64", "ns", "wall time in `update_from_output()`"),
    Column("finish_ns", "int64", "ns", "wall time in `finish_requests()`: aborts delivered before this step"),
    Column("grammar_ns", "int64", "ns", "wall time in `get_grammar_bitmask()`"),
    Column(
        "model_ns", "int64", "ns", "wall time in the model executor; 0 in the replay tier, whose model is a stand-in"
    ),
    Column("idle_ns", "int64", "ns", "wall time in which an engine waited for a batch that the model still ran"),
    Column("input_ns", "int64", "ns", "wall time of an engine in adding and aborting requests, outside its core"),
    Column("output_ns", "int64", "ns", "wall time of an engine in handling outputs, outside its core"),
    Column("other_ns", "int64", "ns", "what of an engine's step lies in none of the other parts"),
    Column("step_ns", "int64", "ns", "wall time of the whole step, the engine's own work included"),
    Column("running", "int64", "requests", "length of RUNNING right after `schedule()`"),
    Column("waiting", "int64", "requests", "length of both waiting queues right after `schedule()`"),
    Column("scheduled_tokens", "int64", "tokens", "tokens scheduled in this step"),
    Column("preempted", "int64", "requests", "requests preempted in this step"),
    Column("finished", "int64", "requests", "requests that stopped by themselves in this step"),
    Column("aborted", "int64", "requests", "requests aborted before this step"),
)

PAIRS = (
    *IDENTITY,
    Column("slice", "int64", "", "number of the slice within the pair, from 0; both arms run the same steps in it"),
    Column("fork", "int64", "", "time that the arms were forked and ran the steady phase, from 0"),
    Column("position", "int64", "", "0: this arm ran the slice first, 1: second"),
    Column("first_step", "int64", "", "first step of the slice"),
    Column("num_steps", "int64", "steps", "steps in the slice"),
    Column("cpu_ns", "int64", "ns", "thread CPU time in the scheduler over the slice"),
    Column("wall_ns", "int64", "ns", "wall time in the scheduler over the slice"),
    Column("schedule_ns", "int64", "ns", "wall time in `schedule()` over the slice"),
    Column("update_ns", "int64", "ns", "wall time in `update_from_output()` over the slice"),
    Column("finish_ns", "int64", "ns", "wall time in `finish_requests()` over the slice"),
    Column("grammar_ns", "int64", "ns", "wall time in `get_grammar_bitmask()` over the slice"),
    Column("model_ns", "int64", "ns", "wall time in the model executor over the slice"),
    Column("idle_ns", "int64", "ns", "wall time in which an engine waited for the model over the slice"),
    Column("input_ns", "int64", "ns", "wall time of an engine in adding and aborting requests over the slice"),
    Column("output_ns", "int64", "ns", "wall time of an engine in handling outputs over the slice"),
    Column("other_ns", "int64", "ns", "what of an engine's steps lies in none of the other parts, over the slice"),
    Column("step_ns", "int64", "ns", "wall time of the whole steps over the slice"),
    Column("involuntary_switches", "int64", "", "times the kernel took the core away during the slice"),
    Column("minor_faults", "int64", "", "page faults served from memory during the slice"),
    Column("major_faults", "int64", "", "page faults served from disk during the slice"),
    Column("steal_ms", "float64", "ms", "time the hypervisor took from this core during the slice"),
    Column("gc_collections", "int64", "", "garbage collections of the oldest generation during the slice"),
)

REQUESTS = (
    *IDENTITY,
    Column("position", "int64", "", "0: this arm's replay ran first in its pair, 1: second"),
    Column("request", "int64", "", "place of the request in the order of arrival, from 0"),
    Column("request_id", "string", "", "its name in the trace"),
    Column("due_ns", "int64", "ns", "intended arrival, from the start of the replay"),
    Column("late_ns", "int64", "ns", "how much later than intended the client sent it"),
    Column("ttft_ns", "int64", "ns", "from the intended arrival to the first token"),
    Column("last_token_ns", "int64", "ns", "from the intended arrival to the last token that came"),
    Column("e2el_ns", "int64", "ns", "from the intended arrival to the end of the answer, or to the hang-up"),
    Column("num_tokens", "int64", "tokens", "output tokens that came"),
    Column("num_chunks", "int64", "", "streamed chunks that they came in"),
    Column("hung_up", "bool", "", "true: the client closed the connection, as the trace says"),
)

CHUNKS = (
    *IDENTITY,
    Column("request", "int64", "", "place of the request in the order of arrival, from 0"),
    Column("received_ns", "int64", "ns", "from the intended arrival of the request to this chunk"),
    Column("num_tokens", "int64", "tokens", "output tokens in it"),
)

PROBE = (
    Column("num_running", "int64", "requests", "length of the RUNNING queue"),
    Column("pair", "int64", "", "number of the pair of neighbouring steps, from 0; which came first was drawn"),
    Column("with_ns", "int64", "ns", "thread CPU time of the step that ran with the probe"),
    Column("without_ns", "int64", "ns", "thread CPU time of the step that ran without it"),
)

COMPARISONS = (
    Column("cell", "string", "", "tier, workload and size"),
    Column("comparison", "string", "", "the cell and the candidate"),
    Column("tier", "string", "", "`replay`, `engine` or `serve`"),
    Column("workload", "string", "", "workload or trace name"),
    Column("num_running", "int64", "requests", "target length of the RUNNING queue"),
    Column("baseline", "string", "", "variant SPEC"),
    Column("candidate", "string", "", "variant SPEC"),
    Column("canary", "bool", "", "true: the baseline compared with itself"),
    Column("metric", "string", "", "one part of a step by name, `scheduler`, `step`, or a latency (docs/serving.md)"),
    Column("clock", "string", "", "`cpu` (thread CPU time) or `wall`"),
    Column("gating", "bool", "", "true: this row carries the verdict of its comparison"),
    Column("look", "int64", "", "1, or 2 where the first look did not settle it and more pairs were measured"),
    Column("num_pairs", "int64", "pairs", "pairs analysed"),
    Column("num_slices", "int64", "slices", "slices analysed over all pairs; serve: requests"),
    Column("excluded_pct", "float64", "%", "share of slices excluded by the rule in docs/method.md"),
    Column(
        "baseline_us", "float64", "µs", "baseline time a step, or latency: median over pairs of the mean over steps"
    ),
    Column("candidate_us", "float64", "µs", "candidate time a step, likewise"),
    Column("difference_us", "float64", "µs", "effect in time a step; negative = candidate faster"),
    Column("effect_pct", "float64", "%", "Hodges–Lehmann estimate over pairs; negative = candidate faster"),
    Column("low_pct", "float64", "%", "lower end of the exact 95 % signed-rank interval"),
    Column("high_pct", "float64", "%", "upper end of the exact 95 % signed-rank interval"),
    Column("judged_low_pct", "float64", "%", "lower end of the interval that judges: 95 %, or wider with two looks"),
    Column("judged_high_pct", "float64", "%", "upper end of the interval that judges"),
    Column("low90_pct", "float64", "%", "lower end of the exact 90 % interval, which judges equivalence in one look"),
    Column("high90_pct", "float64", "%", "upper end of the exact 90 % interval"),
    Column("all_slices_pct", "float64", "%", "the estimate with no slice excluded"),
    Column("other_score_pct", "float64", "%", "the estimate by the score that did not judge (sums or medians)"),
    Column(
        "score", "string", "", "`median` of slice ratios, `sums` where they are episodic; serve: `mean`, `p50`, `p99`"
    ),
    Column("t_low_pct", "float64", "%", "lower end of the t interval, for comparison"),
    Column("t_high_pct", "float64", "%", "upper end of the t interval"),
    Column("bca_low_pct", "float64", "%", "lower end of the BCa bootstrap interval, for comparison"),
    Column("bca_high_pct", "float64", "%", "upper end of the BCa bootstrap interval"),
    Column("p_value", "float64", "", "two-sided signed-rank test of no effect"),
    Column("p_holm", "float64", "", "the same by Holm over the candidates' rows with a verdict; `--gate` heeds it"),
    Column("pair_sd_pct", "float64", "%", "standard deviation of a pair's score"),
    Column("mde_pct", "float64", "%", "smallest true effect that these pairs would show in 80 of 100 runs"),
    Column(
        "pairs_needed", "int64", "pairs", "pairs that would settle it at the margin; 0: settled, -1: no number would"
    ),
    Column("margin_pct", "float64", "%", "smallest difference that matters"),
    Column("verdict", "string", "", "FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE or VOID; empty where not gating"),
    Column("reason", "string", "", "why, in one line"),
)
