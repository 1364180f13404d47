"""What a scheduler decided in one step, as plain values that two variants can be compared by.

Order counts wherever vLLM's own consumers see an order; where vLLM hands out a set, the ids are sorted.
"""

from __future__ import annotations

from typing import Any

Decisions = dict[str, Any]
"""Field name → comparable value, in the order in which a difference is looked for."""


def decisions_of(scheduler: Any, scheduled: Any, outputs: Any) -> Decisions:
    """The decisions of one step, from what `schedule()` and `update_from_output()` returned; either may be None."""
    decided: Decisions = {}
    if scheduled is not None:
        decided |= _scheduled(scheduled)
    decided["running"] = [request.request_id for request in scheduler.running]
    decided["waiting"] = [request.request_id for request in scheduler.waiting]
    decided["kv_holding_waiting"] = [request.request_id for request in scheduler.kv_holding_waiting]
    decided["free_blocks"] = scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
    if outputs is not None:
        decided["outputs"] = {
            client: [_output(output) for output in batch.outputs] for client, batch in outputs.items()
        }
    return decided


def _scheduled(scheduled: Any) -> Decisions:
    cached = scheduled.scheduled_cached_reqs
    return {
        "num_scheduled_tokens": [*scheduled.num_scheduled_tokens.items()],
        "new_requests": [request.req_id for request in scheduled.scheduled_new_reqs],
        "new_block_ids_of_new": [request.block_ids for request in scheduled.scheduled_new_reqs],
        "num_computed_tokens_of_new": [request.num_computed_tokens for request in scheduled.scheduled_new_reqs],
        "cached_requests": cached.req_ids,
        "resumed_requests": sorted(cached.resumed_req_ids),
        "preempted_requests": sorted(scheduled.preempted_req_ids or ()),
        "finished_requests": sorted(scheduled.finished_req_ids),
        "new_block_ids_of_cached": cached.new_block_ids,
        "num_computed_tokens_of_cached": cached.num_computed_tokens,
        "num_output_tokens_of_cached": cached.num_output_tokens,
        "all_token_ids": [*cached.all_token_ids],
        "spec_decode_tokens": [*scheduled.scheduled_spec_decode_tokens.items()],
        "encoder_inputs": [*scheduled.scheduled_encoder_inputs.items()],
        "freed_encoder_hashes": [*scheduled.free_encoder_mm_hashes],
        "has_structured_output_requests": scheduled.has_structured_output_requests,
        "has_sync_kv_loads": scheduled.has_sync_kv_loads,
    }


def _output(output: Any) -> tuple[str, list[int], str | None, Any]:
    reason = None if output.finish_reason is None else output.finish_reason.name
    return (output.request_id, list(output.new_token_ids), reason, output.stop_reason)


def first_difference(baseline: Decisions, candidate: Decisions) -> tuple[str, Any, Any] | None:
    """(field, baseline's value, candidate's value) of the first field that differs, or None; an error comes first."""
    for field in {"error": None, **baseline, **candidate}:
        ours, theirs = baseline.get(field), candidate.get(field)
        if ours != theirs:
            return field, ours, theirs
    return None
