"""What the sessions of a run found out about the noise of their machine before they measured.

The limits are declared where the score is taken; here a session is fit or says why not.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.analysis.load import Run
from bench.analysis.metrics import SERVE
from bench.manifest import Manifest

KEY = "noise"  # in a manifest's host facts: one object a session


class NoiseSession(BaseModel):
    """`spread_pct`: interquartile range of equal work's CPU time; `disturbed_pct`: slices that lost the core, in %.

    `unfit` holds what forbids a verdict, in words; empty where the machine was fit.
    """

    model_config = ConfigDict(frozen=True)

    slice_us: float
    spread_pct: float
    disturbed_pct: float
    timer_ns: int
    cpu_timer_ns: int
    governor: str = ""
    smt_siblings: str = ""
    load_1min: float = 0.0
    unfit: tuple[str, ...] = ()


def noise_sessions(manifest: Manifest) -> tuple[NoiseSession, ...]:
    """The scores of a run in order, one a session; none where it took none, or what is there is not ours."""
    found = manifest.host.get(KEY)
    try:
        return tuple(NoiseSession.model_validate(one) for one in found) if isinstance(found, list) else ()
    except ValidationError:
        return ()


def unfit_host(run: Run, tier: str) -> str:
    """Why no verdict may rest on this machine, in one line; empty where it was fit, and for servers on other cores."""
    reasons = [reason for session in noise_sessions(run.manifest) for reason in session.unfit]
    if tier == SERVE or not reasons:
        return ""
    return f"the machine was not fit before the first pair: {'; '.join(dict.fromkeys(reasons))}"
