"""A KV connector that promises tokens and moves none: what the scheduler decides about them is real.

A request carries its promise as vLLM's own connectors have it, in `kv_transfer_params`. What is lost on the way goes to
the answer of the step as a worker's connector would report it.
"""

from __future__ import annotations

from typing import Any

from bench.errors import HostError

try:
    from vllm.distributed.kv_transfer.kv_connector.v1.base import (
        KVConnectorBase_V1,
        KVConnectorMetadata,
        SupportsHMA,
    )
except ImportError as error:
    raise HostError(f"vLLM lacks a name that bench.engine.connector needs: {error}") from error


def promise(external_tokens: int, lost_block: int | None) -> dict[str, Any]:
    """The `kv_transfer_params` of a request: tokens offered, and the number of the block that does not come."""
    return {"external_tokens": external_tokens, "lost_block": lost_block}


class LoadMetadata(KVConnectorMetadata):  # type: ignore[misc]  # vLLM is not typed for us
    """What one step loads: the ids of the blocks that do not come."""

    def __init__(self, lost_block_ids: set[int]) -> None:
        self.lost_block_ids = lost_block_ids


class PromisingConnector(KVConnectorBase_V1, SupportsHMA):  # type: ignore[misc]
    """Loads within the step that admits a request; a block is lost the first time that it is asked for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._num_local: dict[str, int] = {}
        self._lost: set[str] = set()
        self._lost_block_ids: set[int] = set()

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
        """Tokens beyond those that the engine has, and that they are there when the step runs."""
        offered = (request.kv_transfer_params or {}).get("external_tokens", 0)
        self._num_local[request.request_id] = num_computed_tokens
        return max(0, offered - num_computed_tokens), False

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        """Note the block that does not come, if it is among those that are loaded."""
        if not num_external_tokens:
            return
        request_id, block = request.request_id, request.kv_transfer_params["lost_block"]
        if block is None or request_id in self._lost:
            return
        num_local = self._num_local[request_id]
        block_size = self._vllm_config.cache_config.block_size
        if num_local <= block * block_size < num_local + num_external_tokens:
            self._lost.add(request_id)
            self._lost_block_ids.add(blocks.get_block_ids()[0][block])

    def build_connector_meta(self, scheduler_output: Any) -> LoadMetadata:
        """What this step loads."""
        lost, self._lost_block_ids = self._lost_block_ids, set()
        return LoadMetadata(lost)

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> tuple[bool, dict[str, Any] | None]:
        """Its blocks are free at once: nothing is sent on."""
        self._num_local.pop(request.request_id, None)
        self._lost.discard(request.request_id)
        return False, None

    # The worker's side is never asked: no model runs in this tier.

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Not of the scheduler's side."""
        raise NotImplementedError

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Not of the scheduler's side."""
        raise NotImplementedError

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        """Not of the scheduler's side."""
        raise NotImplementedError

    def wait_for_save(self) -> None:
        """Not of the scheduler's side."""
        raise NotImplementedError
