"""What an n-gram drafter would propose and the model accept, the same on every machine and for every variant.

Nothing is drafted in truth. Both are drawn from a stable hash of the trace's seed, the request and the position: the
number of tokens, prompt and output, that the request has in front of the drafts.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.int64]

MISS_SHARE = 4  # one position in so many has no earlier match, and nothing is proposed there
ACCEPTED = (2, 3)  # of so many drafts, so many are accepted, if all in front of them are
_BITS = 53


def draft_key(seed: int, request_id: str) -> int:
    """What the draws of one request are made from, 0 to 2⁶⁴ - 1."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/drafts/{request_id}".encode(), digest_size=8).digest(), "little")


def num_proposed(keys: Keys, positions: Counts, num_speculative_tokens: int) -> Counts:
    """(n,): drafts that are proposed at each position, all or none, as where an n-gram occurred before or not."""
    misses: npt.NDArray[np.bool_] = _drawn(keys, positions) % np.uint64(MISS_SHARE) == 0
    return np.where(misses, 0, num_speculative_tokens).astype(np.int64)


def num_accepted(keys: Keys, positions: Counts, num_drafts: Counts) -> Counts:
    """(n,): how many of the first drafts at each position the model accepts, of `num_drafts` that it is given."""
    most = int(num_drafts.max(initial=0))
    # Whole numbers throughout: a logarithm may differ in its last digit from machine to machine.
    limits = [(ACCEPTED[0] ** count << _BITS) // ACCEPTED[1] ** count for count in range(1, most + 1)]
    drawn = _drawn(keys, positions) >> np.uint64(64 - _BITS)
    accepted: Counts = (drawn[:, np.newaxis] < np.array(limits, dtype=np.uint64)[np.newaxis, :]).sum(axis=1)
    return np.minimum(accepted, num_drafts)


def _drawn(keys: Keys, positions: Counts) -> Keys:
    """A number from 0 to 2⁶⁴ - 1 for each position: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    mixed = keys + positions.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    drawn: Keys = mixed ^ (mixed >> np.uint64(31))
    return drawn
