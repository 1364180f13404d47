"""Whether the pairs of a comparison come from machines of one kind; others may not be pooled."""

from __future__ import annotations

from collections import Counter

from bench.analysis.load import Run

KIND = ("cpu", "usable_cores", "architecture", "gpu")
"""The host facts that make a kind: what runs on another of these is another experiment."""


def mixed_hosts(run: Run, comparison: str) -> str:
    """Why the pairs of `comparison` may not be pooled, in one line, or an empty string where they may."""
    zygotes = run.manifest.zygotes
    pairs = run.pairs_of(comparison).drop_duplicates("pair")["zygote"]
    kinds = Counter(_kind(zygotes[zygote].host) for zygote in pairs if 0 <= zygote < len(zygotes))
    if len(kinds) < 2:
        return ""
    listed = "; ".join(f"{count} on {kind}" for kind, count in sorted(kinds.items()))
    return f"pairs come from hosts of different kinds, which are not pooled: {listed}; measure on one kind"


def _kind(host: dict[str, object]) -> str:
    return ", ".join(f"{name} {host.get(name) or 'none'}" for name in KIND)
