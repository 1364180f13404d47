"""The summary of a calibration: JSON for machines, a page of tables, and a plot, from its gates alone."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from tabulate import tabulate

from bench.analysis.calibration import A_A, components, summarise, upper_bound
from bench.analysis.files import replace_file
from bench.report.plots.calibration import calibration_figure
from bench.report.plots.style import draw
from bench.report.text import printable

Plan = Mapping[str, Any]
PLANTED = (
    "A planted effect is work that was done: `percent` of one further slice of the candidate, of median cost, on each "
    "of its slices. The levels of a gate share its pairs; gates are independent."
)


def write_calibration(folder: Path, plan: Plan, gates: pd.DataFrame, pairs: pd.DataFrame) -> list[Path]:
    """`calibration.json`, `.md`, `.svg`, `.png` and `gates.csv` in `folder`; the same gates give the same bytes."""
    summary = summarise(gates)
    spread = components(pairs)
    margin = float(plan["config"]["verdict"]["margin_pct"])
    image = draw(calibration_figure, gates, summary, margin, _note(plan, gates))
    content = {
        "plan": plan,
        "claim": claim(summary, plan),
        "false_alarm_upper_bound_pct": _bound(summary, "called"),
        "variance_components": spread,
        "levels": json.loads(summary.to_json(orient="records", double_precision=6)),
    }
    files = {
        "calibration.json": (json.dumps(content, indent=1) + "\n").encode(),
        "calibration.md": _page(plan, summary, spread, gates).encode(),
        "calibration.svg": image.svg,
        "calibration.png": image.png,
        "gates.csv": gates.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode(),
    }
    return [replace_file(folder / name, text) for name, text in files.items()]


def claim(summary: pd.DataFrame, plan: Plan) -> str:
    """One sentence with figures: false alarms with their bound, the smallest effect always found, and the time."""
    levels = summary.to_dict("records")
    same = next(row for row in levels if row["planted_pct"] == A_A)
    found = [row for row in levels if row["planted_pct"] > 0 and row["found"] >= 0.95 * row["num_gates"]]
    words = (
        f"In {same['num_gates']} gates of identical schedulers {same['called']} were called SLOWER or FASTER "
        f"(at most {_bound(summary, 'called'):.1f} % with 95 % confidence)"
    )
    if found:
        least = found[0]
        words += f", and a planted +{least['planted_pct']:g} % was found in {least['found']} of {least['num_gates']}"
    return f"{words}, in a median of {same['seconds']:.0f} s a gate."


def _bound(summary: pd.DataFrame, name: str) -> float:
    same = summary[summary["planted_pct"] == A_A].iloc[0]
    return 100 * upper_bound(int(same[name]), int(same["num_gates"]))


def _note(plan: Plan, gates: pd.DataFrame) -> str:
    cell = plan["config"]["cells"][0]
    pairs = int(gates["num_pairs"].median())
    what = f"{cell['workloads'][0]}, {cell['num_running'][0]} running; {gates['gate'].nunique()} gates of {pairs} pairs"
    return f"{printable(what)}; {printable(str(plan['cpu']))}, {plan['usable_cores']} cores"


def _page(plan: Plan, summary: pd.DataFrame, spread: Mapping[str, float], gates: pd.DataFrame) -> str:
    levels = summary.to_dict("records")
    parts = [
        "# Calibration: how often the verdict cries wolf, and how small a change it sees",
        claim(summary, plan),
        f"{_note(plan, gates)}. {PLANTED}",
        _table(("planted", "gates", "interval excludes 0", "wrong sign", "called", "95 % interval holds it"),
               [_rates(row) for row in levels]),
        _table(("planted", "mean estimate", "SD of estimates", "half width", "EQUIVALENT", "SLOWER", "FASTER",
                "INCONCLUSIVE"), [_estimates(row) for row in levels]),
        _table(("variance component", "SD of a pair's score"), [
            ("within a zygote", _percent(spread["within_zygote_sd_pct"])),
            ("between zygotes", _percent(spread["between_zygotes_sd_pct"])),
            ("between gates", _percent(spread["between_gates_sd_pct"])),
        ]),
        _time(levels[0], gates),
        "![estimates and power](calibration.png)",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


def _rates(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    return (
        _planted(row),
        str(row["num_gates"]),
        *(_share(row, "found"), str(row["wrong_sign"]), _share(row, "called"), _share(row, "covered")),
    )


def _estimates(row: Mapping[Hashable, Any]) -> tuple[str, ...]:
    figures = (f"{row['effect_pct']:+.3f} %", _percent(row["effect_sd_pct"]), f"± {row['half_width_pct']:.2f} %")
    return (_planted(row), *figures, *(str(row[name]) for name in ("equivalent", "slower", "faster", "inconclusive")))


def _planted(row: Mapping[Hashable, Any]) -> str:
    return f"+{row['planted_pct']:g} %" if row["planted_pct"] else "0 (A/A)"


def _share(row: Mapping[Hashable, Any], name: str) -> str:
    share = 100 * row[name] / row["num_gates"]
    return f"{row[name]} = {share:.0f} % [{row[f'{name}_low_pct']:.1f}, {row[f'{name}_high_pct']:.1f}]"


def _percent(value: float) -> str:
    return f"{value:.2f} %" if math.isfinite(value) else "–"


def _time(row: Mapping[Hashable, Any], gates: pd.DataFrame) -> str:
    excluded = gates.loc[gates["planted_pct"] == A_A, "excluded_pct"]
    return (
        f"A gate took a median of {row['seconds']:.0f} s (at most {row['max_seconds']:.0f} s), "
        f"{row['timed_share_pct']:.0f} % of it in timed steps; {excluded.median():.1f} % of slices were excluded "
        f"(median; at most {excluded.max():.1f} %)."
    )
