"""Small traces for the tests of this folder."""

from __future__ import annotations

from typing import Any

from bench.traces.model import EngineNeeds, Trace, TraceRequest

NEEDS = EngineNeeds(max_num_seqs=8, max_num_batched_tokens=64, kv_tokens=4096, max_model_len=2048)


def request(request_id: str = "a", **changes: Any) -> TraceRequest:
    fields: dict[str, Any] = {"timestamp": 0, "input_length": 16, "output_length": 4}
    return TraceRequest(request_id=request_id, **{**fields, **changes})


def trace(*requests: TraceRequest, **changes: Any) -> Trace:
    fields: dict[str, Any] = {
        "workload": "example",
        "options": {"steps": 3, "share": 0.5, "position": "head", "on": True},
        "seed": 7,
        "num_running": 2,
        "steady_running": 1,
        "engine": NEEDS,
        "requests": requests or (request("a"), request("b", timestamp=2.5)),
    }
    return Trace(**{**fields, **changes})
