"""A KV connector that promises tokens and moves none: what the scheduler decides about them is real.

A request carries its promise as vLLM's own connectors have it, in `kv_transfer_params`. What is lost on the way goes to
the answer of the step as a worker's connector would report it.
"""

from __future__ import annotations

from dataclasses import dataclass
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


def promise(external_tokens: int, lost_block: int | None, load_steps: int = 0) -> dict[str, Any]:
    """The `kv_transfer_params` of a request: tokens offered, the block that does not come, how long the rest takes."""
    return {"external_tokens": external_tokens, "lost_block": lost_block, "load_steps": load_steps}


class LoadMetadata(KVConnectorMetadata):  # type: ignore[misc]  # vLLM is not typed for us
    """What one step brings: ids of the blocks that do not come, and of requests whose loads beside the steps end."""

    def __init__(self, lost_block_ids: set[int], arrived: set[str]) -> None:
        self.lost_block_ids = lost_block_ids
        self.arrived = arrived


@dataclass
class _Load:
    """One that goes on beside the steps."""

    steps_left: int
    lost_block_ids: set[int]


class PromisingConnector(KVConnectorBase_V1, SupportsHMA):  # type: ignore[misc]
    """Loads within the step that admits a request, or beside `load_steps` steps; a block is lost the first time."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._num_local: dict[str, int] = {}
        self._lost: set[str] = set()
        self._lost_block_ids: set[int] = set()
        self._loads: dict[str, _Load] = {}

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
        """Tokens beyond those that the engine has, and whether they come beside the steps."""
        promised = request.kv_transfer_params or promise(0, None)
        self._num_local[request.request_id] = num_computed_tokens
        further = max(0, promised["external_tokens"] - num_computed_tokens)
        return further, further > 0 and promised["load_steps"] > 0

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        """Begin to load, if there is anything to be loaded."""
        if not num_external_tokens:
            return
        lost = self._lose(request, blocks, num_external_tokens)
        if load_steps := request.kv_transfer_params["load_steps"]:
            self._loads[request.request_id] = _Load(load_steps, lost)
        else:
            self._lost_block_ids |= lost

    def _lose(self, request: Any, blocks: Any, num_external_tokens: int) -> set[int]:
        """The id of the block that does not come, if it is among those that are loaded, and was not lost before."""
        request_id, block = request.request_id, request.kv_transfer_params["lost_block"]
        if block is None or request_id in self._lost:
            return set()
        num_local = self._num_local[request_id]
        block_size = self._vllm_config.cache_config.block_size
        if not num_local <= block * block_size < num_local + num_external_tokens:
            return set()
        self._lost.add(request_id)
        return {blocks.get_block_ids()[0][block]}

    def build_connector_meta(self, scheduler_output: Any) -> LoadMetadata:
        """What this step brings."""
        arrived = set()
        for request_id, load in self._loads.items():
            load.steps_left -= 1
            if not load.steps_left:
                arrived.add(request_id)
                self._lost_block_ids |= load.lost_block_ids
        for request_id in arrived:
            del self._loads[request_id]
        lost, self._lost_block_ids = self._lost_block_ids, set()
        return LoadMetadata(lost, arrived)

    def request_finished_all_groups(self, request: Any, block_ids: Any) -> tuple[bool, dict[str, Any] | None]:
        """Nothing is sent on; what is on its way still comes, and vLLM keeps the blocks until then."""
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
