"""The drafter of the replay tier, and the model's verdict on its drafts: nothing is computed, both are drawn.

What is drawn, and from what, is said in `bench.traces.drafts`. Drafts go the way that vLLM's engine core sends them:
to the scheduler after a step where it waits for the answer, as placeholders where it runs ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.engine import adapter
from bench.traces.drafts import draft_key, num_accepted, num_proposed


class Drafter:
    """Proposes for the requests of one scheduler, `num_speculative_tokens` for each at most."""

    def __init__(self, scheduler: Any, seed: int, num_speculative_tokens: int, *, ahead: bool) -> None:
        self._requests = scheduler.requests
        self._scheduler = scheduler
        self._seed = seed
        self._most = num_speculative_tokens
        self._ahead = ahead
        self._keys: dict[str, int] = {}

    def accepted(self, scheduled: Any) -> dict[str, int]:
        """Drafts that the model accepts, by request, of those that were scheduled; ask when their answer is due."""
        ids = self._drafted(scheduled)
        if not ids:
            return {}
        given = np.array([len(scheduled.scheduled_spec_decode_tokens[request_id]) for request_id in ids])
        if self._ahead:  # placeholders: the drafter may have found fewer
            given = np.minimum(given, self._proposed(ids))
        return dict(zip(ids, num_accepted(*self._places(ids), given).tolist(), strict=True))

    def propose(self, scheduled: Any) -> None:
        """After a step whose answer the scheduler has: its drafts for the next one."""
        if self._ahead:
            return
        ids = [request_id for request_id in scheduled.num_scheduled_tokens if self._decodes(request_id)]
        if ids:
            counts = self._proposed(ids).tolist()
            self._scheduler.update_draft_token_ids(adapter.draft_token_ids(ids, counts))

    def fill_placeholders(self, scheduled: Any) -> None:
        """Before the bitmask of a step that ran ahead: its drafts, as vLLM fills them in where grammars check them."""
        if not (self._ahead and scheduled.pending_structured_output_tokens):
            return
        if ids := self._drafted(scheduled):
            counts = self._proposed(ids).tolist()
            self._scheduler.update_draft_token_ids_in_output(adapter.draft_token_ids(ids, counts), scheduled)

    def _drafted(self, scheduled: Any) -> list[str]:
        """Who has drafts in this step, but for the padding that vLLM gives requests that it admits with one token."""
        padded = {new.req_id for new in scheduled.scheduled_new_reqs} | scheduled.scheduled_cached_reqs.resumed_req_ids
        return [
            request_id
            for request_id in scheduled.scheduled_spec_decode_tokens
            if request_id in self._requests and request_id not in padded
        ]

    def _decodes(self, request_id: str) -> bool:
        request = self._requests.get(request_id)
        return request is not None and adapter.is_running(request) and not request.is_prefill_chunk

    def _proposed(self, ids: Sequence[str]) -> Any:
        return num_proposed(*self._places(ids), self._most)

    def _places(self, ids: Sequence[str]) -> tuple[Any, Any]:
        keys = np.array([self._key(request_id) for request_id in ids], dtype=np.uint64)
        return keys, np.array([self._requests[request_id].num_tokens for request_id in ids], dtype=np.int64)

    def _key(self, request_id: str) -> int:
        if request_id not in self._keys:
            self._keys[request_id] = draft_key(self._seed, request_id)
        return self._keys[request_id]
