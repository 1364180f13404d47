"""Hand-made traces that starve for KV blocks, slots or tokens, each on an engine small enough to see why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.options import EngineOptions
from bench.parity.examples import BLOCK_TOKENS, Example
from bench.traces.model import EngineNeeds, Trace, TraceRequest


@dataclass(frozen=True)
class _Row:
    """One request; ids follow from the place, timestamps from the step unless `timestamp` says otherwise."""

    step: int
    prompt: int
    output: int
    priority: int = 0
    abort_step: int | None = None
    timestamp: float | None = None
    prefix: tuple[int, ...] = ()
    images: tuple[tuple[int, int, int], ...] = ()
    external_tokens: int = 0
    lost_block: int | None = None
    load_steps: int = 0


@dataclass(frozen=True)
class _Starving:
    name: str
    num_blocks: int
    max_num_seqs: int
    budget: int
    rows: Sequence[_Row]
    threshold: int = 0
    num_drafts: int = 0
    prefill_interval: int = 1
    encoder_budget: int = 0
    encoder_cache: int = 0
    kv_load_failure_policy: str = ""


_TRACES = (
    _Starving("outgrown", 8, 8, 64, [_Row(0, 4, 12, priority=number % 3) for number in range(6)]),
    _Starving(
        "late-and-urgent",
        7,
        8,
        64,
        [_Row(0, 4, 14, 5), _Row(0, 3, 14, 5), _Row(1, 5, 9, 3), _Row(2, 4, 9, 0), _Row(2, 4, 8, 1), _Row(4, 6, 5, 3)],
    ),
    _Starving(
        "tied",
        9,
        8,
        64,
        [_Row(number // 3, 4 + number % 2, 10, 1, timestamp=float(number // 2)) for number in range(9)],
    ),
    # The second evicts the first after that was given its token; the third then has one token more to itself.
    _Starving("budget-given-back", 6, 4, 8, [_Row(0, 4, 8, 5), _Row(1, 3, 8, 0), _Row(1, 18, 2, 1)]),
    _Starving(
        "chunked", 10, 5, 7, [_Row(0, 4, 20, 2), _Row(1, 24, 4, 1), _Row(2, 17, 6, 0), _Row(3, 3, 12, 3), _Row(9, 9, 3)]
    ),
    _Starving(
        "left-while-starved",
        8,
        4,
        64,
        [
            _Row(0, 4, 16, 1, abort_step=9),
            _Row(0, 4, 16, 2, abort_step=9),
            _Row(0, 4, 16, 3),
            _Row(0, 4, 16, 4, abort_step=6),
            _Row(2, 5, 8, 0, abort_step=9),
            _Row(3, 5, 8, 0),
        ],
    ),
    # Under PRIORITY each is the other's victim whenever it was given a chunk; they never end, and the proof must.
    _Starving(
        "evicting-each-other", 8, 7, 33, [_Row(0, 21, 3, timestamp=0.0), _Row(0, 12, 10, timestamp=0.0)], threshold=4
    ),
    # The first is given a chunk, deferred in the next step, and evicted by the second in that step.
    _Starving(
        "deferred-and-evicted",
        6,
        5,
        12,
        [_Row(1, 22, 2, 9), _Row(2, 4, 8, 0), _Row(2, 3, 8, 1)],
        threshold=4,
        prefill_interval=2,
    ),
    # The second evicts the first after that was given its drafts.
    _Starving("drafted-and-evicted", 4, 4, 64, [_Row(0, 4, 8, 5), _Row(1, 3, 8, 0)], num_drafts=2),
    # One step ahead, drafts fill the first up to the length of the model; it then has nothing to be given.
    _Starving("drafted-to-the-end", 16, 4, 64, [_Row(0, 4, 12), _Row(1, 4, 12), _Row(2, 4, 12)], num_drafts=3),
    # The fourth evicts the second after the encoder was given its image; the fourth's own then fits into the budget.
    _Starving(
        "image-given-back",
        5,
        16,
        64,
        [
            _Row(0, 4, 1, 9),
            _Row(0, 12, 2, 5, images=((8, 4, 0),)),
            _Row(1, 4, 4, 0),
            _Row(1, 12, 2, 1, images=((4, 4, 1),)),
        ],
        threshold=4,
        encoder_budget=4,
        encoder_cache=16,
    ),
    # One step ahead, the tail's blocks may still be written: it is no victim before its step is over.
    _Starving("blocks-in-flight", 3, 16, 64, [_Row(0, 4, 8), _Row(0, 4, 8)], kv_load_failure_policy="recompute"),
    # The second shares a block that never comes with the first, which computes it again for both.
    _Starving(
        "lost-on-the-way",
        20,
        16,
        64,
        [_Row(0, 16, 4, prefix=(0, 1, 2, 3), external_tokens=12, lost_block=1), _Row(0, 16, 4, prefix=(0, 1, 2, 3))],
        kv_load_failure_policy="recompute",
    ),
    # The second loads beside the steps of the first, loses a block there, and is computed from it on; the third leaves.
    _Starving(
        "loaded-beside",
        20,
        16,
        64,
        [
            _Row(0, 4, 12),
            _Row(0, 16, 4, external_tokens=12, lost_block=1, load_steps=3),
            _Row(1, 16, 4, external_tokens=12, load_steps=6, abort_step=4),
            _Row(2, 16, 4, external_tokens=12, load_steps=2),
        ],
        kv_load_failure_policy="recompute",
    ),
    _Starving("one-slot", 4, 1, 64, [_Row(number, 5, 3, priority=2 - number % 3) for number in range(5)]),
)


def starving_examples() -> Iterator[tuple[str, Example]]:
    """Each trace under both policies, sync and async, with a name to print."""
    for starving in _TRACES:
        trace = _trace(starving)
        for policy in ("fcfs", "priority"):
            for ahead in (False, True):
                options = {
                    "policy": policy,
                    "async_scheduling": ahead,
                    "block_size": BLOCK_TOKENS,
                    "enable_prefix_caching": any(row.prefix for row in starving.rows),
                    "long_prefill_token_threshold": starving.threshold,
                    "prefill_schedule_interval": starving.prefill_interval,
                    "log_stats": False,
                }
                name = f"{starving.name} {policy}{' async' if ahead else ''}"
                yield name, Example(trace, EngineOptions.model_validate(options))


def _trace(starving: _Starving) -> Trace:
    requests = tuple(
        TraceRequest(
            request_id=f"r{number}",
            timestamp=float(row.step) if row.timestamp is None else row.timestamp,
            input_length=row.prompt,
            output_length=row.output,
            arrival_step=row.step,
            priority=row.priority,
            abort_step=row.abort_step,
            hash_ids=row.prefix,
            images=row.images,
            external_tokens=row.external_tokens,
            lost_block=row.lost_block,
            load_steps=row.load_steps,
        )
        for number, row in enumerate(starving.rows)
    )
    return Trace(
        workload=f"starving-{starving.name}",
        options={},
        seed=0,
        num_running=starving.max_num_seqs,
        steady_running=1,
        engine=EngineNeeds(
            max_num_seqs=starving.max_num_seqs,
            max_num_batched_tokens=starving.budget,
            kv_tokens=BLOCK_TOKENS * starving.num_blocks,
            max_model_len=max(request.input_length + request.output_length for request in requests),
            num_speculative_tokens=starving.num_drafts,
            max_num_encoder_input_tokens=starving.encoder_budget,
            encoder_cache_size=starving.encoder_cache,
            kv_load_failure_policy=starving.kv_load_failure_policy,
        ),
        requests=requests,
        hash_block_tokens=BLOCK_TOKENS,
    )
