"""One scheduler under a case: requests go in, drafts, aborts and answers too, and its decisions come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vllm.lora.request import LoRARequest
from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.core.sched.interface import PauseState
from vllm.v1.outputs import DraftTokenIds
from vllm.v1.request import Request

from bench.engine import adapter
from bench.engine.connector import promise
from bench.parity.decisions import Decisions, decisions_of
from bench.parity.invariants import broken_invariant

from .settings import Settings, make_scheduler


@dataclass(frozen=True)
class Asked:
    """One request of a case; `image` is (first token, number of tokens) of its one image.

    A KV connector offers its first `external_tokens`, and never brings the block `lost_block` of them.
    """

    request_id: str
    num_prompt_tokens: int
    max_tokens: int
    arrival: float
    priority: int = 0
    prompt_of: str | None = None
    image: tuple[int, int] | None = None
    lora: int | None = None
    grammar: bool = False
    resumable: bool = False
    external_tokens: int = 0
    lost_block: int | None = None


@dataclass
class Grammars:
    """Stands in for the structured output manager: says which tokens a grammar takes, and writes no mask."""

    refused: set[str] = field(default_factory=set)

    def accept_tokens(self, request: Any, tokens: list[int]) -> bool:
        return request.request_id not in self.refused

    def validate_tokens(self, request: Any, tokens: list[int]) -> list[int]:
        return tokens

    def grammar_bitmask(self, requests: Any, request_ids: list[str], drafts: Any) -> None:
        return None


class Arm:
    """A scheduler and the steps that it has in flight; each call answers with what was decided."""

    def __init__(self, scheduler_class: type, settings: Settings) -> None:
        self.grammars = Grammars()
        self.scheduler = make_scheduler(scheduler_class, settings, self.grammars)
        self.settings = settings
        self.hasher = adapter.make_block_hasher(self.scheduler.vllm_config, settings.shape)
        self.in_flight: list[tuple[Any, Any]] = []

    def add(self, asked: Asked) -> Decisions:
        self.scheduler.add_request(_request(asked, self.hasher))
        return self.queues()

    def abort(self, request_ids: list[str]) -> Decisions:
        adapter.abort(self.scheduler, request_ids)
        return self.queues()

    def compile_grammars(self, request_ids: list[str]) -> Decisions:
        for request_id in request_ids:
            self.scheduler.requests[request_id].structured_output_request.grammar = object()
        return {}

    def set_drafts(self, drafts: Mapping[str, int]) -> Decisions:
        self.scheduler.update_draft_token_ids(DraftTokenIds([*drafts], [[adapter.TOKEN] * n for n in drafts.values()]))
        return {}

    def pause(self, state: str) -> Decisions:
        self.scheduler.set_pause_state(PauseState[state])
        return {}

    def reset_prefix_cache(self) -> Decisions:
        return {"reset": self.scheduler.reset_prefix_cache(reset_running_requests=True), **self.queues()}

    def schedule(self, *, throttle: bool, accept: Mapping[str, int]) -> Decisions:
        scheduled = self.scheduler.schedule(throttle_prefills=throttle)
        answer = adapter.answer(scheduled, adapter.prefill_chunks(self.scheduler, scheduled))
        for request_id, num_accepted in accept.items():
            place = answer.req_id_to_index[request_id]
            answer.sampled_token_ids[place] = [adapter.TOKEN] * (1 + num_accepted)
        self.in_flight.append((scheduled, answer))
        rows = self.scheduler.get_grammar_bitmask(scheduled)
        return {
            **decisions_of(self.scheduler, scheduled, None),
            "grammar_rows": [] if rows is None else rows.structured_output_request_ids,
            "broken_invariant": self._broken(),
        }

    def update(self) -> Decisions:
        outputs = self.scheduler.update_from_output(*self.in_flight.pop(0))
        return {**decisions_of(self.scheduler, None, outputs), "broken_invariant": self._broken()}

    def queues(self) -> Decisions:
        return {**decisions_of(self.scheduler, None, None), "broken_invariant": self._broken()}

    def _broken(self) -> str | None:
        return broken_invariant(self.scheduler) or _lost_blocks(self.scheduler, self.settings.usable)


def _request(asked: Asked, hasher: Any) -> Any:
    constraint = StructuredOutputsParams(regex="x*") if asked.grammar else None
    first, length = asked.image or (0, 0)
    images = [MultiModalFeatureSpec(None, "image", f"image of {asked.request_id}", PlaceholderRange(first, length))]
    return Request(
        request_id=asked.request_id,
        prompt_token_ids=_prompt(asked.prompt_of or asked.request_id, asked.num_prompt_tokens),
        sampling_params=SamplingParams(
            max_tokens=asked.max_tokens,
            ignore_eos=True,
            detokenize=False,
            structured_outputs=constraint,
            extra_args={"kv_transfer_params": promise(asked.external_tokens, asked.lost_block)},
        ),
        pooling_params=None,
        arrival_time=asked.arrival,
        priority=asked.priority,
        mm_features=images if asked.image else None,
        lora_request=LoRARequest(f"adapter {asked.lora}", asked.lora, "/nowhere") if asked.lora else None,
        block_hasher=hasher,
        resumable=asked.resumable,
    )


def _prompt(owner: str, length: int) -> list[int]:
    """Tokens that begin with their owner's name, so that two owners never share a block."""
    return [*owner.encode(), *range(3, 3 + length)][:length]


def _lost_blocks(scheduler: Any, usable: int) -> str | None:
    (manager,) = scheduler.kv_cache_manager.coordinator.single_type_managers
    held = {block.block_id for blocks in manager.req_to_blocks.values() for block in blocks if not block.is_null}
    free = scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
    return None if len(held) + free == usable else f"{len(held)} blocks held and {free} free, of {usable}"
