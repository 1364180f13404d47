"""The one place that knows vLLM's constructors, which change from version to version.

Each function makes one object of the installed vLLM out of our own plain ones. A name that the installed
version lacks ends in a HostError that tells which.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bench.engine.environment import prepare_this_process
from bench.engine.shape import EngineShape
from bench.engine.version import check_version
from bench.errors import HostError
from bench.traces.model import TraceRequest

check_version()
prepare_this_process()

try:
    import torch
    from vllm.config import KVTransferConfig, LoRAConfig, SpeculativeConfig, VllmConfig
    from vllm.engine.arg_utils import EngineArgs
    from vllm.lora.request import LoRARequest
    from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange
    from vllm.platforms import current_platform
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.utils.hashing import get_hash_fn_by_name
    from vllm.v1.core.encoder_cache_manager import EncoderCacheManager
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    from vllm.v1.core.sched.interface import PauseState
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    from vllm.v1.outputs import DraftTokenIds, KVConnectorOutput, ModelRunnerOutput
    from vllm.v1.request import Request, RequestStatus

    from bench.engine.connector import PromisingConnector, promise
    from bench.engine.grammars import make_manager
except ImportError as error:
    raise HostError(f"vLLM {check_version()} lacks a name that bench.engine.adapter needs: {error}") from error

TOKEN = 7
"""The one token that the stand-in model ever answers; nothing in the scheduler depends on which."""

NO_DRAFTS: Mapping[str, int] = MappingProxyType({})


def engine_arguments(shape: EngineShape, scheduler_class: type | None = None) -> EngineArgs:
    """vLLM's engine arguments for `shape`, with random weights and without a tokenizer."""
    arguments = EngineArgs(
        model=shape.model,
        load_format="dummy",
        skip_tokenizer_init=True,
        enforce_eager=shape.enforce_eager,
        seed=0,
        max_model_len=shape.max_model_len,
        max_num_seqs=shape.max_num_seqs,
        max_num_batched_tokens=shape.max_num_batched_tokens,
        block_size=shape.block_size,
        num_gpu_blocks_override=shape.num_blocks + 1,
        enable_prefix_caching=shape.enable_prefix_caching,
        scheduling_policy=shape.policy,
        scheduler_reserve_full_isl=shape.scheduler_reserve_full_isl,
        watermark=shape.watermark,
        long_prefill_token_threshold=shape.long_prefill_token_threshold,
        async_scheduling=shape.async_scheduling,
        disable_log_stats=not shape.log_stats,
        scheduler_cls=scheduler_class,
    )
    if shape.gpu_memory_utilization is not None:
        arguments.gpu_memory_utilization = shape.gpu_memory_utilization
    return arguments


def make_vllm_config(shape: EngineShape) -> VllmConfig:
    """The resolved configuration that a scheduler is built with."""
    config = engine_arguments(shape).create_engine_config()
    config.cache_config.num_gpu_blocks = shape.num_blocks + 1
    # vLLM's CPU platform turns this off without a word; the scheduler alone runs either way.
    config.scheduler_config.async_scheduling = shape.async_scheduling
    # Set here, as vLLM would first look for weights of adapters, and refuse n-grams one step ahead.
    if shape.max_loras:
        config.lora_config = LoRAConfig(max_loras=shape.max_loras)
    if shape.num_speculative_tokens:
        config.speculative_config = SpeculativeConfig(
            method="ngram",
            num_speculative_tokens=shape.num_speculative_tokens,
            prompt_lookup_max=1,
            target_model_config=config.model_config,
            target_parallel_config=config.parallel_config,
        )
    if shape.kv_load_failure_policy:
        config.kv_transfer_config = KVTransferConfig(
            kv_connector=PromisingConnector.__name__,
            kv_connector_module_path=PromisingConnector.__module__,
            kv_role="kv_consumer",
            kv_load_failure_policy=shape.kv_load_failure_policy,
        )
    return config


def make_scheduler(scheduler_class: type, config: VllmConfig, shape: EngineShape) -> Any:
    """A scheduler of `scheduler_class` with its own KV cache manager and nothing in its queues."""
    kv_cache = KVCacheConfig(
        num_blocks=shape.num_blocks + 1,
        kv_cache_tensors=[],
        kv_cache_groups=[KVCacheGroupSpec(["layer"], kv_attention(config))],
    )
    scheduler = scheduler_class(
        vllm_config=config,
        kv_cache_config=kv_cache,
        structured_output_manager=make_manager(config),
        block_size=shape.block_size,
        log_stats=shape.log_stats,
    )
    if shape.kv_load_failure_policy:
        for base in scheduler_class.__mro__:  # the module whose code it is says so
            logging.getLogger(base.__module__).addFilter(_is_no_failed_load)
    if shape.encoder_cache_size:
        # A text model has no encoder; the budget and the cache are real, the model behind them is not.
        scheduler.max_num_encoder_input_tokens = shape.max_num_encoder_input_tokens
        scheduler.encoder_cache_manager = EncoderCacheManager(cache_size=shape.encoder_cache_size)
    return scheduler


def _is_no_failed_load(record: logging.LogRecord) -> bool:
    """Loads fail here as the trace says: no reason to warn."""
    return "KV load failure" not in record.msg


def kv_attention(config: VllmConfig) -> FullAttentionSpec:
    """The KV cache of one layer of the model that `config` names."""
    return FullAttentionSpec(
        block_size=config.cache_config.block_size,
        num_kv_heads=config.model_config.get_num_kv_heads(config.parallel_config),
        head_size=config.model_config.get_head_size(),
        dtype=torch.float32,
    )


def kv_cache_bytes(config: VllmConfig, shape: EngineShape) -> int | None:
    """Memory that the KV cache of all layers takes on the host; None where the model runs on a device of its own."""
    if not current_platform.is_cpu():
        return None
    layers = config.model_config.get_num_layers(config.parallel_config)
    return int(kv_attention(config).page_size_bytes * layers * (shape.num_blocks + 1))


def make_block_hasher(config: VllmConfig, shape: EngineShape) -> Callable[[Any], list[Any]] | None:
    """What hashes a request's blocks for prefix caching; None where it is off."""
    if not shape.enable_prefix_caching:
        return None
    hash_function = get_hash_fn_by_name(config.cache_config.prefix_caching_hash_algo)
    init_none_hash(hash_function)
    hasher: Callable[[Any], list[Any]] = get_request_block_hasher(shape.block_size, hash_function)
    return hasher


def sampling(request: TraceRequest) -> SamplingParams:
    """Greedy, `output_length` tokens, never stopped by a token; with the request's grammar, if it has one."""
    grammar = None if request.grammar is None else StructuredOutputsParams(grammar=request.grammar)
    offered = {"kv_transfer_params": promise(request.external_tokens, request.lost_block, request.load_steps)}
    return SamplingParams(
        max_tokens=request.output_length,
        temperature=0.0,
        ignore_eos=True,
        detokenize=False,
        structured_outputs=grammar,
        extra_args=offered if request.external_tokens else None,
    )


def make_request(
    request: TraceRequest,
    prompt: list[int],
    hasher: Callable[[Any], list[Any]] | None,
    *,
    session: str | None = None,
    is_end: bool = False,
    lora_id: int = 0,
) -> Any:
    """vLLM's own request object; its arrival time is the trace's, so that no wall clock enters a decision.

    With `session` it is an input of the streaming session of that id, or with `is_end` the end of its input.
    """
    return Request(
        request_id=session or request.request_id,
        prompt_token_ids=prompt,
        sampling_params=sampling(request),
        pooling_params=None,
        arrival_time=request.timestamp,
        priority=request.priority,
        mm_features=[_image(*image) for image in request.images] or None,
        lora_request=LoRARequest(str(request.lora), lora_id, "/no/weights") if lora_id else None,
        block_hasher=hasher,
        resumable=session is not None and not is_end,
    )


def _image(place: int, length: int, content: int) -> MultiModalFeatureSpec:
    """An image without pixels: what the encoder's budget and cache, and the hashes of blocks, know of one."""
    return MultiModalFeatureSpec(None, "image", f"image {content}", PlaceholderRange(place, length))


def answer(scheduled: Any, prefilling: set[str], accepted: Mapping[str, int] = NO_DRAFTS) -> ModelRunnerOutput:
    """The stand-in model's output for one step: one token for each request past its prompt, none for a chunk.

    Before that token come as many drafts as are `accepted`, by request.
    """
    output = model_output(scheduled.num_scheduled_tokens, prefilling)
    for request_id, num_accepted in accepted.items():
        output.sampled_token_ids[output.req_id_to_index[request_id]] = [TOKEN] * (1 + num_accepted)
    if (loads := scheduled.kv_connector_metadata) is not None:
        output.kv_connector_output = KVConnectorOutput(
            finished_recving=loads.arrived, invalid_block_ids=loads.lost_block_ids
        )
    return output


def draft_token_ids(request_ids: list[str], counts: Sequence[int]) -> DraftTokenIds:
    """As many drafts for each request; which tokens they are decides nothing."""
    return DraftTokenIds(request_ids, [[TOKEN] * count for count in counts])


def is_running(request: Any) -> bool:
    """Whether its status says so."""
    return bool(request.status == RequestStatus.RUNNING)


def reset_prefix_cache(scheduler: Any) -> None:
    """Empty the prefix cache, which preempts every running request."""
    scheduler.reset_prefix_cache(reset_running_requests=True)


def pause(scheduler: Any, *, everything: bool) -> None:
    """Schedule nothing from now on, or only what runs."""
    scheduler.set_pause_state(PauseState.PAUSED_ALL if everything else PauseState.PAUSED_NEW)


def unpause(scheduler: Any) -> None:
    """Schedule as before."""
    scheduler.set_pause_state(PauseState.UNPAUSED)


def model_output(request_ids: Iterable[str], prefilling: set[str]) -> ModelRunnerOutput:
    """TOKEN for each request, in their order, but for those that are `prefilling`."""
    ids = list(request_ids)
    one = [TOKEN]
    tokens = [[] if request_id in prefilling else one for request_id in ids] if prefilling else [one] * len(ids)
    return ModelRunnerOutput(
        req_ids=ids,
        req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
        sampled_token_ids=tokens,
    )


def prefill_chunks(scheduler: Any, scheduled: Any) -> set[str]:
    """Ids scheduled in this step whose known tokens are still not all computed after it."""
    requests = scheduler.requests
    return {request_id for request_id in scheduled.num_scheduled_tokens if requests[request_id].is_prefill_chunk}


def abort(scheduler: Any, request_ids: Iterable[str]) -> None:
    """Finish requests from outside in one call, as the engine does for clients that hung up."""
    scheduler.finish_requests(request_ids, RequestStatus.FINISHED_ABORTED)


def num_waiting(scheduler: Any) -> int:
    """Length of both waiting queues."""
    return len(scheduler.waiting) + len(scheduler.kv_holding_waiting)
