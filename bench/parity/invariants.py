"""What must hold after every step of any scheduler, whatever it decided."""

from __future__ import annotations

from typing import Any


def broken_invariant(scheduler: Any) -> str | None:
    """The first invariant that does not hold, in words, or None."""
    running = [*scheduler.running]
    waiting = [*scheduler.waiting, *scheduler.kv_holding_waiting]
    for name, queue in (("RUNNING", running), ("WAITING", waiting)):
        ids = [request.request_id for request in queue]
        if len(set(ids)) != len(ids):
            twice = next(request_id for request_id in ids if ids.count(request_id) > 1)
            return f"{twice} is in {name} twice"
    both = {request.request_id for request in running} & {request.request_id for request in waiting}
    if both:
        return f"{min(both)} is in RUNNING and in WAITING"
    for request in running:
        if request.status.name != "RUNNING":
            return f"{request.request_id} is in RUNNING with status {request.status.name}"
        if scheduler.requests.get(request.request_id) is not request:
            return f"{request.request_id} is in RUNNING but is not the request of that id"
    if len(running) > scheduler.max_num_running_reqs:
        return f"{len(running)} requests are in RUNNING, the limit is {scheduler.max_num_running_reqs}"
    return None
