from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from bench.analysis.comparisons import compare, write_comparisons
from bench.analysis.load import load_run
from bench.records import COMPARISONS
from tests.analysis.run_folder import CANARY, TYPICAL, Planned, change_pair, write_run


def verdicts(tmp_path: Path, planned: Sequence[Planned], seed: int = 1) -> pd.DataFrame:
    table = compare(load_run(write_run(tmp_path / "run", planned, seed, with_steps=False)))
    return table[table["gating"]].reset_index(drop=True)


def test_columns_and_types_are_those_of_the_contract(typical: pd.DataFrame) -> None:
    names = {"string": "str", "bool": "bool", "int64": "int64", "float64": "float64"}
    assert {name: str(kind) for name, kind in typical.dtypes.items()} == {
        column.name: names[column.type] for column in COMPARISONS
    }


def test_rows_come_in_the_manifests_order(typical: pd.DataFrame) -> None:
    assert typical["comparison"].drop_duplicates().tolist() == [one.id for one in TYPICAL]


def test_planted_effects_get_their_verdicts(typical: pd.DataFrame) -> None:
    rows = typical[typical["gating"]]
    assert rows["verdict"].tolist() == [
        "EQUIVALENT",
        "EQUIVALENT",
        "FASTER",
        "FASTER",
        "SLOWER",
        "INCONCLUSIVE",
        "VOID",
        "EQUIVALENT",
        "EQUIVALENT",
    ]
    planted = pd.Series([100 * one.effect for one in TYPICAL if one.pairs])
    measured = rows[rows["num_pairs"] > 0].reset_index(drop=True)
    wide = 1.5 * (measured["high_pct"] - measured["low_pct"])
    assert ((measured["effect_pct"] - planted).abs() < wide).all()


def test_cpu_time_judges_the_replay_tier_and_step_time_the_engine(typical: pd.DataFrame) -> None:
    rows = typical[typical["gating"] & (typical["verdict"] != "VOID")]
    found = set(zip(rows["tier"], rows["metric"], rows["clock"], strict=True))
    assert found == {("replay", "scheduler", "cpu"), ("engine", "step", "wall")}


def test_every_comparison_has_one_verdict_and_other_rows_have_none(typical: pd.DataFrame) -> None:
    assert (typical.groupby("comparison")["gating"].sum() == 1).all()
    assert (typical.loc[~typical["gating"], ["verdict", "reason"]] == "").all(axis=None)
    assert (typical.loc[typical["gating"], ["verdict", "reason"]] != "").all(axis=None)


def test_finish_has_a_row_only_where_requests_are_aborted(typical: pd.DataFrame) -> None:
    assert set(typical.loc[typical["metric"] == "finish", "workload"]) == {"abort-storm"}


def test_model_and_step_have_rows_only_in_the_engine_tier(typical: pd.DataFrame) -> None:
    assert set(typical.loc[typical["metric"].isin(["model", "step"]), "tier"]) == {"engine"}


def test_difference_is_the_effect_in_time(typical: pd.DataFrame) -> None:
    rows = typical[typical["num_pairs"] > 0]
    assert (rows["baseline_us"] * rows["effect_pct"] / 100).tolist() == pytest.approx(rows["difference_us"].tolist())


def test_void_comparison_has_one_row_without_figures(typical: pd.DataFrame) -> None:
    (row,) = typical[typical["workload"] == "finish-wave"].to_dict("records")
    assert row["reason"] == "decisions differ: step 31: r7 is scheduled by list only"
    assert (row["num_pairs"], row["pairs_needed"]) == (0, -1)
    assert pd.isna([row[column] for column in ("effect_pct", "low_pct", "baseline_us", "mde_pct")]).all()


def test_void_comparison_is_void_even_where_pairs_were_taken(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(effect=0.1, status="void", message="digests differ\nin pair 3"),))
    assert rows.loc[0, ["verdict", "reason", "num_pairs"]].tolist() == ["VOID", "digests differ in pair 3", 0]


def test_decisions_that_were_never_compared_are_void(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(parity=None), replace(CANARY, parity=None)))
    assert rows["verdict"].tolist() == ["VOID", "EQUIVALENT"]


def test_failed_comparison_keeps_its_message(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(pairs=0, status="failed", message="worker lost: signal 9"),))
    assert rows.loc[0, ["verdict", "reason"]].tolist() == [
        "INCONCLUSIVE",
        "measuring failed: worker lost: signal 9",
    ]


def test_comparison_that_is_still_planned_says_how_to_go_on(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(), Planned(workload="preemption", pairs=0, status="planned", parity=None)))
    assert rows["verdict"].tolist() == ["EQUIVALENT", "INCONCLUSIVE"]
    assert "--resume" in rows.loc[1, "reason"]


def test_partial_comparison_is_judged_and_says_what_is_missing(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(pairs=12, status="partial"),))
    assert rows.loc[0, "verdict"] == "EQUIVALENT"
    assert rows.loc[0, "reason"].endswith("12 of 20 planned pairs analysed")


def test_unclean_canary_withholds_the_verdicts_of_its_tier_only(tmp_path: Path) -> None:
    rows = verdicts(
        tmp_path,
        (replace(CANARY, effect=0.03), Planned(effect=0.05), replace(CANARY, tier="engine"), Planned(tier="engine")),
    )
    assert rows["verdict"].tolist() == ["SLOWER", "INCONCLUSIVE", "EQUIVALENT", "EQUIVALENT"]
    assert rows.loc[1, "reason"].startswith("would be SLOWER, but the A/A canary is not clean: +2.")


def test_job_without_a_canary_is_judged(tmp_path: Path) -> None:
    assert verdicts(tmp_path, (Planned(effect=0.05),))["verdict"].tolist() == ["SLOWER"]


def test_canary_that_was_not_measured_withholds_verdicts(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (replace(CANARY, pairs=0, status="planned", parity=None), Planned(effect=0.05)))
    assert rows["verdict"].tolist() == ["INCONCLUSIVE", "INCONCLUSIVE"]


def test_clocks_of_opposite_sign_are_inconclusive(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(effect=0.05, wall_effect=-0.05),))
    assert rows.loc[0, "verdict"] == "INCONCLUSIVE"
    assert "two clocks disagree" in rows.loc[0, "reason"]


def test_disturbed_slices_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(disturbed=0.1), Planned(workload="preemption", disturbed=0.5)))
    assert rows["verdict"].tolist() == ["EQUIVALENT", "INCONCLUSIVE"]
    assert 5 < rows.loc[0, "excluded_pct"] < 15
    assert rows.loc[0, "num_slices"] == round(240 * (1 - rows.loc[0, "excluded_pct"] / 100))
    assert "slices were disturbed" in rows.loc[1, "reason"]


def test_everything_excluded_leaves_the_unfiltered_estimate(tmp_path: Path) -> None:
    rows = verdicts(tmp_path, (Planned(disturbed=1.0, effect=0.05),))
    assert rows.loc[0, "verdict"] == "INCONCLUSIVE"
    assert pd.isna(rows.loc[0, "effect_pct"])
    assert rows.loc[0, "all_slices_pct"] == pytest.approx(5, abs=1)


def test_episodic_cost_is_judged_on_sums_and_said_so(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(sd=0.001, pairs=8),))
    spent = ["cpu_ns", "wall_ns"]
    for file in sorted((folder / "pairs").iterdir()):
        table = pq.read_table(file).to_pandas()
        slow = (table["arm"] == "candidate") & (table["slice"] == 5)
        table.loc[slow, spent] *= 2
        pq.write_table(pq.read_table(file).from_pandas(table, preserve_index=False), file)
    row = compare(load_run(folder)).iloc[0]
    assert (row["score"], row["verdict"]) == ("sums", "SLOWER")
    assert row["effect_pct"] == pytest.approx(100 / 12, abs=0.5)
    assert "the cost is episodic (medians say" in row["reason"]


@pytest.mark.parametrize("pairs", [1, 2, 5])
def test_few_pairs_have_figures_and_no_verdict(tmp_path: Path, pairs: int) -> None:
    row = verdicts(tmp_path, (Planned(effect=0.2, pairs=pairs),)).iloc[0]
    assert (row["verdict"], row["num_pairs"]) == ("INCONCLUSIVE", pairs)
    assert row["effect_pct"] == pytest.approx(20, abs=3)
    assert row["reason"].startswith(f"{pairs} pair")


def test_identical_variants_are_seldom_called_different(tmp_path: Path) -> None:
    planned = [Planned(workload=f"w{number}", pairs=8, sd=0.012) for number in range(30)]
    rows = verdicts(tmp_path, planned, seed=3)
    assert not rows["verdict"].isin(["SLOWER", "FASTER"]).any()
    assert ((rows["low_pct"] > 0) | (rows["high_pct"] < 0)).sum() <= 5  # 30 at 4 %: more than 5 in 1 of 500 runs


def test_written_tables_are_the_same_bytes_twice(typical: pd.DataFrame, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in write_comparisons(typical, tmp_path)]
    assert [path.read_bytes() for path in write_comparisons(typical, tmp_path)] == first
    assert b"\r" not in first[0]


def test_written_tables_read_back_as_they_were(typical: pd.DataFrame, tmp_path: Path) -> None:
    text, binary = write_comparisons(typical, tmp_path)
    pd.testing.assert_frame_equal(pq.read_table(binary).to_pandas(), typical)
    read = pd.read_csv(
        text,
        keep_default_na=False,
        na_values={column: [""] for column in typical if typical[column].dtype == "float64"},
    )
    pd.testing.assert_frame_equal(read, typical, check_dtype=False, rtol=1e-8)


def test_result_does_not_depend_on_the_order_of_rows_in_a_file(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=6),), with_steps=False)
    expected = compare(load_run(folder))
    change_pair(folder, lambda table: table.iloc[::-1])
    pd.testing.assert_frame_equal(compare(load_run(folder)), expected)
