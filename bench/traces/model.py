"""A frozen trace: its requests, what it asks of the engine, and the digest that names it.

Files belong to `bench.traces.files`, prompt tokens to `bench.traces.tokens`, making traces to
`bench.traces.workloads`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import islice

from bench.errors import TraceError
from bench.options import Scalar
from bench.traces.checks import MAX_REQUESTS, MAX_TOKENS, RequestChecks, range_problem, shown, text_problem
from bench.traces.request import TraceRequest
from bench.traces.streaming import SessionChecks

__all__ = ["EngineNeeds", "Trace", "TraceRequest", "digest_of"]

MOONCAKE_BLOCK_TOKENS = 512  # tokens a hash id, as the Mooncake traces have it
MAX_SEED = 2**64 - 1
MAX_KV_TOKENS = 10**12
MAX_OPTIONS = 100
MAX_LORAS = 1000  # adapters in one step; the largest that vLLM is run with hold a few dozen
MAX_SPECULATIVE_TOKENS = 64  # drafts a request and step; n-gram drafters propose a handful
KV_LOAD_FAILURE_POLICIES = ("", "recompute", "fail")  # as vLLM names them; the first: no connector
LINES_A_CHUNK = 1000  # hashed together: one by one takes longer than making them


@dataclass(frozen=True, slots=True)
class EngineNeeds:
    """What the engine must have for the trace to take its path; an experiment file may override each.

    `kv_tokens` is the size of the KV cache, `max_model_len` prompt and output together, both in tokens. The rest is
    off by default, and then left out of a file: `max_loras` adapters in one step, `num_speculative_tokens` drafts a
    request and step, and `streaming_sessions`, with which the requests of a session are the inputs of one streaming
    session (`bench.traces.streaming`); without it a session only says what belongs together. Of an encoder,
    `max_num_encoder_input_tokens` a step and `encoder_cache_size`, in tokens of images. With `kv_load_failure_policy`,
    "recompute" or "fail", there is a KV connector, which external tokens come through.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int
    max_model_len: int
    max_loras: int = 0
    num_speculative_tokens: int = 0
    streaming_sessions: bool = False
    max_num_encoder_input_tokens: int = 0
    encoder_cache_size: int = 0
    kv_load_failure_policy: str = ""

    def problem(self) -> str | None:
        """The first need that no engine can meet; None where all can be met."""
        for name in ("max_num_seqs", "max_num_batched_tokens", "max_model_len"):
            if found := range_problem(name, getattr(self, name), 1, MAX_TOKENS):
                return found
        if self.kv_load_failure_policy not in KV_LOAD_FAILURE_POLICIES:
            given = shown(self.kv_load_failure_policy)
            return f'kv_load_failure_policy is {given}, expected "recompute" or "fail", or none'
        if found := (
            range_problem("kv_tokens", self.kv_tokens, 1, MAX_KV_TOKENS)
            or range_problem("max_loras", self.max_loras, 0, MAX_LORAS)
            or range_problem("num_speculative_tokens", self.num_speculative_tokens, 0, MAX_SPECULATIVE_TOKENS)
            or range_problem("max_num_encoder_input_tokens", self.max_num_encoder_input_tokens, 0, MAX_TOKENS)
            or range_problem("encoder_cache_size", self.encoder_cache_size, 0, MAX_TOKENS)
        ):
            return found
        if self.max_num_batched_tokens < self.max_num_seqs:
            return (
                f"max_num_batched_tokens is {self.max_num_batched_tokens}, "
                f"expected ≥ max_num_seqs {self.max_num_seqs}; vLLM refuses less"
            )
        return None

    def request_problem(self, request: TraceRequest) -> str | None:
        """The first thing that `request` asks of an engine beyond these needs."""
        room = min(self.max_num_encoder_input_tokens, self.encoder_cache_size)
        for _, length, content in request.images:
            if length > room:
                return (
                    f"image {content} has {length} tokens, expected ≤ {room}, the lesser of the trace's "
                    "max_num_encoder_input_tokens and encoder_cache_size"
                )
        if request.external_tokens and not self.kv_load_failure_policy:
            return f"external_tokens is {request.external_tokens}, expected 0 in a trace without kv_load_failure_policy"
        return None

    def written(self) -> dict[str, int | str]:
        """The needs as a file has them: those that are off by default only where they are on."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.default is MISSING or getattr(self, each.name) != each.default
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """A frozen list of requests; one that exists is valid. Raises TraceError where it cannot be.

    `workload` names the generator, or the source of an imported trace, and `options` what it was told.
    `num_running` is the target length of RUNNING; the steady phase lasts from the first to the last step in which
    at least `steady_running` requests are running after `schedule()`. `hash_block_tokens` is the number of prompt
    tokens that one hash id stands for. `digest` is computed: see `digest_of`.
    """

    workload: str
    options: Mapping[str, Scalar] = field(hash=False)
    seed: int
    num_running: int
    steady_running: int
    engine: EngineNeeds
    requests: tuple[TraceRequest, ...]
    hash_block_tokens: int = MOONCAKE_BLOCK_TOKENS
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        if found := self._header_problem():
            raise TraceError(f"trace {self.workload}: {found}")
        object.__setattr__(self, "options", {name: self.options[name] for name in sorted(self.options)})
        checks = RequestChecks(self.engine.max_model_len, self.hash_block_tokens)
        sessions = SessionChecks(self.engine.max_model_len, streaming=self.engine.streaming_sessions)
        for number, request in enumerate(self.requests, start=1):
            if found := checks.problem(request) or sessions.problem(request) or self.engine.request_problem(request):
                raise TraceError(f"trace {self.workload} request {number} ({shown(request.request_id)}): {found}")
        object.__setattr__(self, "digest", digest_of(self.requests))

    def _header_problem(self) -> str | None:
        return (
            text_problem("workload", self.workload)
            or _options_problem(self.options)
            or range_problem("seed", self.seed, 0, MAX_SEED)
            or self.engine.problem()
            or range_problem("num_running", self.num_running, 1, MAX_TOKENS)
            or range_problem("steady_running", self.steady_running, 1, self.engine.max_num_seqs)
            or range_problem("hash_block_tokens", self.hash_block_tokens, 1, MAX_TOKENS)
            or range_problem("number of requests", len(self.requests), 1, MAX_REQUESTS)
        )


def digest_of(requests: Iterable[TraceRequest]) -> str:
    """SHA-256, in hex, over the canonical lines of `requests`, each ending in a newline.

    Whitespace, key order and line ends of a file do not change it; the header is not part of it.
    """
    digest = hashlib.sha256()
    lines = (request.canonical_line() + "\n" for request in requests)
    while chunk := "".join(islice(lines, LINES_A_CHUNK)):
        digest.update(chunk.encode("ascii"))
    return digest.hexdigest()


def field_names(cls: type[EngineNeeds] | type[TraceRequest]) -> tuple[str, ...]:
    """The names that a record of this kind has in a file, in order of declaration."""
    return tuple(each.name for each in fields(cls))


def _options_problem(options: Mapping[str, Scalar]) -> str | None:
    if len(options) > MAX_OPTIONS:
        return f"options has {len(options)} entries, expected ≤ {MAX_OPTIONS}"
    for name, value in options.items():
        if found := text_problem("an option's name", name):
            return found
        if isinstance(value, str) and (found := text_problem(f'option "{name}"', value)):
            return found
        if isinstance(value, float) and not math.isfinite(value):
            return f'option "{name}" is {value}, expected a finite number'
    return None
