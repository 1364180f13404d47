"""Structured output in the replay tier: vLLM's own manager, in front of grammars that take every token.

The manager's bookkeeping is real: rows of the bitmask, drafts that are validated, tokens that move a grammar on. The
grammars are not: none is parsed, each allows the whole vocabulary, and compiling takes steps instead of time.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

from bench.errors import HostError
from bench.traces.grammars import GrammarCache
from bench.traces.request import TraceRequest

try:
    import torch
    from vllm.v1.structured_output import StructuredOutputManager
    from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar
except ImportError as error:
    raise HostError(f"vLLM lacks a name that bench.engine.grammars needs: {error}") from error

TOKENS_A_WORD = 32  # of a bitmask: one bit a token


class AnyTokens(StructuredOutputGrammar):  # type: ignore[misc]  # vLLM is not typed for us
    """Takes every token and never ends."""

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """All of them."""
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """All of them."""
        return tokens

    def rollback(self, num_tokens: int) -> None:
        """There is no state to go back to."""

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """The row allows everything."""
        bitmask[batch_index].fill_(-1)

    def is_terminated(self) -> bool:
        """Never."""
        return False

    def reset(self) -> None:
        """There is no state."""


class AnyTokensBackend(StructuredOutputBackend):  # type: ignore[misc]
    """Makes such grammars, and the bitmask."""

    def compile_grammar(self, request_type: Any, grammar_spec: str, stop_token_ids: Any = None) -> AnyTokens:
        """A grammar that takes everything."""
        return AnyTokens()

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """(max_num_seqs, words) int32, all allowed."""
        return torch.full((max_num_seqs, -(-self.vocab_size // TOKENS_A_WORD)), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Nothing to give back."""


def make_manager(config: Any) -> StructuredOutputManager:
    """vLLM's manager with that backend."""
    manager = StructuredOutputManager(config)
    manager.backend = AnyTokensBackend(config, tokenizer=None, vocab_size=config.model_config.get_vocab_size())
    # Filled in this thread: a worker with threads of its own could not be forked.
    manager.fill_bitmask_parallel_threshold = sys.maxsize
    return manager


class GrammarCompiler:
    """Gives requests their grammars when they are compiled; until then vLLM skips them."""

    def __init__(self) -> None:
        self._cache = GrammarCache()
        self._due: dict[int, list[Any]] = defaultdict(list)

    def submit(self, request: TraceRequest, engine_request: Any, step: int) -> None:
        """The request arrives before `step`, and its grammar is asked for."""
        if request.grammar is not None:
            self._due[self._cache.ready_step(request.grammar, step)].append(engine_request)

    def finish(self, step: int) -> None:
        """Hand out what is compiled before `schedule()` of `step`."""
        for engine_request in self._due.pop(step, ()):
            engine_request.structured_output_request.grammar = AnyTokens()
