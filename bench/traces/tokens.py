"""Prompt tokens of a trace, the same on every machine and in every process.

They come from a stable hash of the trace's seed and the block's or the request's id, never from `hash()`.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from bench.errors import TraceError
from bench.traces.model import Trace, TraceRequest

FIRST_TOKEN_ID = 3  # ids 0 to 2 are padding, begin and end in the models that are shipped
MAX_VOCAB_SIZE = 2**31  # four bytes a token stay nearly uniform far below this


def prompt_token_ids(trace: Trace, request: TraceRequest, vocab_size: int) -> list[int]:
    """The `input_length` prompt tokens of `request`, each in 3 to `vocab_size` - 1.

    Each of `hash_ids` gives `hash_block_tokens` tokens, the last one cut at `input_length`; what they leave is
    unique to the `request_id`. Raises TraceError where `vocab_size` leaves no ordinary token.
    """
    if not FIRST_TOKEN_ID < vocab_size <= MAX_VOCAB_SIZE:
        raise TraceError(
            f"trace {trace.workload}: vocab_size is {vocab_size}, expected {FIRST_TOKEN_ID + 1} to {MAX_VOCAB_SIZE}"
        )
    parts = []
    left = request.input_length
    for hash_id in request.hash_ids:
        length = min(left, trace.hash_block_tokens)
        parts.append(_tokens(f"{trace.seed}/block/{hash_id}", length, vocab_size))
        left -= length
    parts.append(_tokens(f"{trace.seed}/request/{request.request_id}", left, vocab_size))
    tokens: list[int] = np.concatenate(parts).tolist()
    return tokens


def _tokens(source: str, length: int, vocab_size: int) -> npt.NDArray[np.uint32]:
    """`length` tokens made from `source`; a shorter call gives the beginning of a longer one."""
    # SHAKE128 gives as many bytes as wanted; "<u4" fixes the byte order on every machine.
    raw = np.frombuffer(hashlib.shake_128(source.encode()).digest(4 * length), dtype="<u4")
    return (raw % np.uint32(vocab_size - FIRST_TOKEN_ID) + np.uint32(FIRST_TOKEN_ID)).astype(np.uint32)
