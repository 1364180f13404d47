from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from PIL import Image as Pillow

from bench.errors import TraceError
from bench.report.plots.style import draw
from bench.report.plots.trace_figure import plot_trace, trace_figure
from bench.traces.model import EngineNeeds, Trace, TraceRequest
from bench.traces.workloads import generate

NEEDS = EngineNeeds(max_num_seqs=8, max_num_batched_tokens=64, kv_tokens=4096, max_model_len=2048)
REQUESTS = tuple(TraceRequest(f"r{k}", 700.0 * k, 600 + k, 4 + k, hash_ids=(1, 2)) for k in range(20))
TRACE = Trace("<chat> $x$", {}, 7, 2, 1, NEEDS, REQUESTS)


def test_figure_says_source_digest_units_and_share_in_words() -> None:
    text = " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", draw(trace_figure, TRACE).svg.decode()))
    for word in ("&lt;chat&gt; $x$", TRACE.digest[:12], "20 requests", "Arrivals in each 0.222 s", "tokens", "prompt"):
        assert word in text
    assert "95.1 % in all" in text


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_same_trace_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        plot_trace(TRACE, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if suffix == ".png":
        assert Pillow.open(io.BytesIO(paths[0].read_bytes())).size == (1200, 960)


def test_all_at_once_and_a_single_request_can_be_drawn() -> None:
    assert draw(trace_figure, generate("steady-decode", num_running=4, seed=1)).png
    assert draw(trace_figure, Trace("one", {}, 7, 1, 1, NEEDS, REQUESTS[:1])).png


@pytest.mark.parametrize(
    ("name", "expected"), [("a.pdf", "expected .png or .svg"), ("none/a.png", "cannot be written")]
)
def test_impossible_file_is_refused(tmp_path: Path, name: str, expected: str) -> None:
    with pytest.raises(TraceError, match=re.escape(expected)):
        plot_trace(TRACE, tmp_path / name)
