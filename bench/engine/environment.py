"""The environment variables of every process that runs vLLM here; set before vLLM is imported.

No hub, no usage reports, one thread, and request ids as the trace names them.
"""

from __future__ import annotations

import os

_FIXED = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # EngineCore in this process, where the probe can reach it
    "VLLM_DISABLE_REQUEST_ID_RANDOMIZATION": "1",  # a random suffix would make every decision look different
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; the number of blocks is set by the trace
    "VLLM_CPU_SGL_KERNEL": "0",
    "TOKENIZERS_PARALLELISM": "false",
    # One thread: both arms share one core, and a process without threads may be forked.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
}


def worker_environment(hash_seed: int, core: int | None = None) -> dict[str, str]:
    """The whole environment of a worker process; `core` binds vLLM's CPU model runner to it."""
    bound = {"VLLM_CPU_OMP_THREADS_BIND": str(core)} if core is not None else {}
    return {**os.environ, **_FIXED, **bound, "PYTHONHASHSEED": str(hash_seed)}


def prepare_this_process() -> None:
    """Set the variables in this process; the hash seed can only be given to a new one."""
    os.environ.update(_FIXED)
