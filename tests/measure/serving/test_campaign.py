from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.errors import HostError
from bench.measure.serving.campaign import measure_served
from bench.records import CHUNKS, REQUESTS, STEPS
from tests.measure.serving.conftest import Book

OpenBook = Callable[..., Book]


def files(book: Book, folder: str) -> list[Path]:
    return sorted((book.ledger.run_dir / folder).glob("*.parquet"))


def test_every_pair_is_on_disk_with_both_arms_and_the_columns_of_the_contract(open_book: OpenBook) -> None:
    book = open_book()
    measure_served(book.ledger)
    for folder, columns in (("requests", REQUESTS), ("chunks", CHUNKS), ("steps", STEPS)):
        tables = [pq.read_table(file) for file in files(book, folder)]
        assert len(tables) == 2
        assert all(table.schema.names == [column.name for column in columns] for table in tables)
    assert (book.ledger.run_dir / "engines" / f"{book.manifest.comparisons[0].id}.json").is_file()
    (record,) = book.manifest.comparisons
    assert (record.num_pairs, record.message) == (2, "")
    requests = pq.read_table(files(book, "requests")[0]).to_pandas()
    assert requests.groupby("arm")["variant"].unique().map(list).to_dict() == {
        "baseline": ["list"],
        "candidate": ["dict"],
    }
    assert requests.groupby("arm")["position"].nunique().tolist() == [1, 1]
    trace = book.ledger.cells[record.cell].trace
    expected = sum(one.abort_after is not None for one in trace.requests)
    assert requests.groupby("arm")["hung_up"].sum().tolist() == [expected, expected]
    assert requests.groupby("arm").size().tolist() == [len(trace.requests)] * 2
    stayed = requests[~requests["hung_up"]].set_index(["arm", "request_id"])["num_tokens"]
    lengths = {one.request_id: one.output_length for one in trace.requests}
    assert all(tokens == lengths[name] for (_, name), tokens in stayed.items())


def test_pairs_of_two_orders_follow_one_another(open_book: OpenBook) -> None:
    book = open_book()
    measure_served(book.ledger)
    first = [
        table[table["position"] == 0]["arm"].unique().tolist()
        for table in (pq.read_table(file).to_pandas() for file in files(book, "requests"))
    ]
    assert sorted(first) == [["baseline"], ["candidate"]]


def test_what_is_on_disk_is_not_measured_again(open_book: OpenBook) -> None:
    book = open_book()
    measure_served(book.ledger)
    kept, gone = files(book, "requests")
    gone.unlink()
    written = kept.stat().st_mtime_ns
    book.update(book.manifest.comparisons[0].id, message="what ended the run before")
    measure_served(book.ledger)
    assert files(book, "requests") == [kept, gone]
    assert kept.stat().st_mtime_ns == written
    assert (book.manifest.comparisons[0].num_pairs, book.manifest.comparisons[0].message) == (2, "")
    assert set(pq.read_table(gone)["zygote"].to_pylist()) == {1}  # other servers than those of the first pair


def test_servers_start_anew_after_as_many_pairs_as_asked(open_book: OpenBook) -> None:
    book = open_book(pairs_a_start=1)
    measure_served(book.ledger)
    assert [set(pq.read_table(file)["zygote"].to_pylist()) for file in files(book, "requests")] == [{0}, {1}]
    assert len(book.manifest.zygotes) == 2


def test_a_server_that_dies_ends_its_comparison_with_a_message_and_the_next_goes_on(open_book: OpenBook) -> None:
    book = open_book("dies", canary=True)
    measure_served(book.ledger)
    first, canary = book.manifest.comparisons
    for record in (first, canary):
        assert record.num_pairs == 1
        assert "server ended in the middle of replay p1" in record.message
        assert "\n" not in record.message
    assert len(files(book, "requests")) == 2


def test_a_refused_client_is_told_with_the_servers_own_words(open_book: OpenBook) -> None:
    book = open_book("refuses")
    measure_served(book.ledger)
    assert "status 429" in book.manifest.comparisons[0].message
    assert "the queue is full" in book.manifest.comparisons[0].message


def test_a_server_without_memory_is_told_by_its_root_cause(open_book: OpenBook) -> None:
    book = open_book("no-memory")
    measure_served(book.ledger)
    assert book.manifest.comparisons[0].message == (
        "the baseline's server ended before it served: "
        "ValueError: No available memory for the cache blocks. Try another size."
    )


def test_a_server_that_is_never_healthy_is_told_by_the_option_that_gave_it_up(open_book: OpenBook) -> None:
    book = open_book("never-healthy", start_limit_s=3.0)
    measure_served(book.ledger)
    assert "not healthy within 3 s (serve.start_limit_s)" in book.manifest.comparisons[0].message


def test_the_run_keeps_its_own_cores(open_book: OpenBook) -> None:
    before = os.sched_getaffinity(0)
    measure_served(open_book().ledger)
    assert os.sched_getaffinity(0) == before


def test_no_step_log_is_left(open_book: OpenBook) -> None:
    book = open_book()
    measure_served(book.ledger)
    assert [path.suffix for path in (book.ledger.run_dir / "servers").iterdir()] == [".log", ".log"]


def test_engines_that_differ_in_an_option_are_refused_by_its_name() -> None:
    from bench.engine.serving import check_same_engine

    options = {"cache_config.block_size": "32", "scheduler": "a"}
    check_same_engine({"baseline": options, "candidate": options | {"scheduler": "b"}})
    with pytest.raises(HostError, match=r"differ in cache_config.block_size: 32 \(baseline\) and 16 \(candidate\)"):
        check_same_engine({"baseline": options, "candidate": options | {"cache_config.block_size": "16"}})


def test_an_engine_that_is_not_what_was_asked_for_is_refused(open_book: OpenBook) -> None:
    from bench.engine.serving import check_served

    shape = next(iter(open_book().ledger.cells.values())).shape
    facts = json.loads(json.dumps(shape.facts())) | {"num_blocks": shape.num_blocks + 1}
    check_served(facts, shape)
    with pytest.raises(HostError, match="block_size was asked as 32 but vLLM resolved it to 16 here"):
        check_served(facts | {"block_size": 16}, shape)
