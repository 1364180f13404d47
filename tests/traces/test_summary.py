from __future__ import annotations

from dataclasses import replace

from bench.traces.model import EngineNeeds
from bench.traces.summary import summarise
from bench.traces.workloads import generate

from .examples import NEEDS, request, trace

EXPECTED = """\
source                  example
options                 on=True, position=head, share=0.5, steps=3
seed                    7
digest                  DIGEST
requests                4
num_running             2 requests; steady from the first to the last step with ≥ 1
input_length            p50 16, p90 600, p99 600, max 600, sum 1232 tokens
output_length           p50 4, p90 4, p99 4, max 4, sum 16 tokens
arrivals                before 2 of the steps 0 to 9, at most 3 requests before one
clock                   3000 ms from the first to the last request (3 s)
burstiness              CV of gaps 1.41; variance/mean of counts 2.00 at 1 s, – at 10 s, – at 60 s (Poisson: 1)
aborts by step          2 requests before 1 steps, at most 2 at one
aborts by output        1 requests after a number of output tokens
priorities              0: 3 requests, 5: 1 requests (lower is more urgent)
shared prefixes         41.6 % of prompt tokens hit in a cache without limit, blocks of 512 tokens
lora                    2 requests with 1 different ones
max_num_seqs            8 requests
max_num_batched_tokens  64 tokens a step
kv_tokens               4096 tokens of KV cache
max_model_len           2048 tokens of prompt and output"""


def test_summary_says_every_fact_with_its_unit() -> None:
    made = trace(
        request("a", arrival_step=0, abort_step=4, lora="x", input_length=600, hash_ids=(1,)),
        request("b", arrival_step=0, abort_step=4, lora="x"),
        request("c", arrival_step=0, abort_after=2, priority=5),
        request("d", arrival_step=9, timestamp=3000, input_length=600, hash_ids=(1, 2)),
    )
    assert summarise(made) == EXPECTED.replace("DIGEST", made.digest)


def test_summary_counts_images_and_kv_loads() -> None:
    needs = replace(NEEDS, max_num_encoder_input_tokens=9, encoder_cache_size=9, kv_load_failure_policy="fail")
    one = request("a", images=((0, 4, 1), (4, 4, 2)), external_tokens=8, lost_block=0, load_steps=2)
    text = summarise(trace(one, request("b", images=((0, 4, 1),), external_tokens=4), engine=needs))
    assert "images                        3 with 2 different ones\n" in text
    assert (
        "external tokens               12 of 2 requests, 1 of which lose a block and 1 load beside the steps\n" in text
    )
    assert "max_num_encoder_input_tokens  9 tokens of images a step\n" in text
    assert text.endswith("kv_load_failure_policy        fail")


def test_summary_of_an_empty_life_is_short() -> None:
    text = summarise(trace(request("a", arrival_step=0), request("b", arrival_step=0)))
    assert "arrivals                all before step 0\nclock                   all requests at one instant\n" in text
    assert "aborts                  none" in text
    assert "shared prefixes         none" in text
    assert "burstiness" not in text
    assert "priorities" not in text


def test_many_priorities_are_given_as_a_range() -> None:
    requests = [request(f"r{number}", priority=number) for number in range(9)]
    assert "priorities              9 levels from 0 to 8" in summarise(trace(*requests))


def test_single_request_can_be_described() -> None:
    assert "requests                1" in summarise(trace(request("a")))


def test_summary_is_the_same_each_time_and_differs_for_another_engine() -> None:
    made = generate("abort-storm", num_running=16, seed=1)
    assert summarise(made) == summarise(generate("abort-storm", num_running=16, seed=1))
    other = replace(made, engine=EngineNeeds(99, 9999, 99_999, 999))
    assert "99999 tokens of KV cache" in summarise(other)


def test_rows_of_an_import_are_told_apart_from_its_options() -> None:
    counts = {"rows_read": 9, "rows_kept": 4, "dropped_outside_window": 3, "dropped_damaged": 2, "changed_spread": 4}
    text = summarise(trace(options={"format": "azure", **counts}))
    assert "options                 format=azure\n" in text
    assert "rows                    read 9, kept 4, dropped 5 (damaged 2, outside_window 3)\n" in text
    assert "rows changed            spread 4\n" in text
    whole = summarise(trace(options={"rows_read": 4, "rows_kept": 4}))
    assert "rows                    read 4, kept 4, dropped 0\n" in whole
    assert "rows changed" not in whole
