"""A model executor without a model: it answers each batch after a set time, as a device of that step time would.

Given to vLLM's own `distributed_executor_backend` option, so that the real engine core, its batch queue and
`AsyncScheduler` run where there is no GPU. What is simulated is the model alone; nothing about it may be believed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

from bench.engine.adapter import kv_attention, model_output
from bench.units import NS_PER_MS, NS_PER_S

try:
    from vllm.v1.executor.abstract import Executor
except ImportError as error:
    from bench.errors import HostError

    raise HostError(f"vLLM lacks a name that bench.engine.standin needs: {error}") from error

LAYOUT = "LBNHC"  # no tensor has it; vLLM wants one that both its layout lists know
MEMORY_BYTES = 2**40  # more than any trace asks for; the number of blocks is set by the trace


def stand_in_executor(model_ms: float) -> type[StandInExecutor]:
    """The executor class of a device whose model step takes `model_ms`."""
    return type("StandInExecutor", (StandInExecutor,), {"model_time_ns": round(model_ms * NS_PER_MS)})


class StandInExecutor(Executor):  # type: ignore[misc]  # vLLM is not typed for us
    """One device: batches run one after another, each for `model_time_ns` from when it is there and the device is free.

    The time of an answer is drawn up when its batch is handed over, not when the thread wakes: a thread that gets the
    interpreter late makes one answer late and shifts none of those that follow.
    """

    model_time_ns: ClassVar[int] = 0

    @classmethod
    def supports_async_scheduling(cls) -> bool:
        """True, as of the executors whose models run beside the scheduler."""
        return True

    def _init_executor(self) -> None:
        self._device = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stand-in-model")
        self._free_at_ns = 0
        self._prompts: dict[str, int] = {}
        self._answer: Any = None

    def execute_model(self, scheduler_output: Any, non_block: bool = False) -> Any:
        """None where tokens are to be sampled next, an empty output where nothing was scheduled; without delay."""
        for request_id in scheduler_output.finished_req_ids:
            self._prompts.pop(request_id, None)
        self._answer = self._answer_of(scheduler_output)
        answer = None if scheduler_output.total_num_scheduled_tokens else self._answer
        return _done(answer) if non_block else answer

    def sample_tokens(self, grammar_output: Any, non_block: bool = False) -> Any:
        """The tokens of the batch that was executed last, when the device has had its time for it."""
        self._free_at_ns = max(time.monotonic_ns(), self._free_at_ns) + self.model_time_ns
        future = self._device.submit(_answer_at, self._free_at_ns, self._answer)
        return future if non_block else future.result()

    def _answer_of(self, scheduled: Any) -> Any:
        """One token for each request whose known tokens are all computed after this batch, as a sampler gives."""
        num_scheduled = scheduled.num_scheduled_tokens
        prefilling = set()
        for new in scheduled.scheduled_new_reqs:
            self._prompts[new.req_id] = new.prompt_len
            if new.num_computed_tokens + num_scheduled[new.req_id] < new.prompt_len:
                prefilling.add(new.req_id)
        cached = scheduled.scheduled_cached_reqs
        counts = zip(cached.req_ids, cached.num_computed_tokens, cached.num_output_tokens, strict=True)
        for request_id, num_computed, num_output in counts:
            if num_computed + num_scheduled[request_id] < self._prompts[request_id] + num_output:
                prefilling.add(request_id)
        return model_output(num_scheduled, prefilling)

    # ---- what an engine asks of its workers when it starts ----------------------------------------------------

    def get_kv_cache_specs(self) -> list[dict[str, Any]]:
        """One layer, so that blocks of the trace's size can be counted."""
        return [{"layer": kv_attention(self.vllm_config)}]

    def get_supported_kv_cache_layouts(self) -> list[list[str]]:
        """Any: there is no tensor."""
        return [[LAYOUT]]

    def set_kv_cache_layout(self, layout_name: str) -> None:
        """Nothing lies anywhere."""

    def determine_available_memory(self) -> list[int]:
        """Enough for every trace."""
        return [MEMORY_BYTES]

    def initialize_from_config(self, kv_cache_configs: list[Any]) -> None:
        """There is no cache to allocate."""

    def compile_or_warm_up_model(self) -> None:
        """There is no model to compile."""

    @property
    def supported_tasks(self) -> tuple[str, ...]:
        """Text generation alone."""
        return ("generate",)

    def reset_mm_cache(self) -> None:
        """There is none."""

    def check_health(self) -> None:
        """Always healthy."""

    def collective_rpc(
        self,
        method: str | Callable[..., Any],
        timeout: float | None = None,
        args: Any = (),
        kwargs: Any = None,
        **_: Any,
    ) -> list[Any]:
        """No worker to ask: refused by name, so that nothing is answered that was never thought of."""
        raise NotImplementedError(f"the stand-in executor has no worker that could do {method!r}")

    def shutdown(self) -> None:
        """End the device's thread; what it still runs is waited for."""
        self._device.shutdown(wait=True, cancel_futures=True)


def _answer_at(moment_ns: int, answer: Any) -> Any:
    time.sleep(max(0, moment_ns - time.monotonic_ns()) / NS_PER_S)
    return answer


def _done(answer: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(answer)
    return future
