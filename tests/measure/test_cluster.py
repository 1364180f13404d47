"""A real Ray cluster of two nodes on this machine: the same contract, and a node that dies in the middle."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.errors import HostError
from bench.measure.cluster import RayExecutor
from bench.measure.opening import open_campaign
from tests.measure.conftest import Make

MEASURE = {"pairs": 6, "zygotes": 2, "slice_ms": 0.5, "warmup_steps": 4, "canary": False}


@pytest.fixture
def cluster() -> Iterator[Any]:
    utilities = pytest.importorskip("ray.cluster_utils", reason="ray is not installed: pip install '.[cluster]'")
    cluster = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield cluster
    cluster.shutdown()


@pytest.mark.timeout(2400)
def test_a_node_that_dies_in_the_middle_is_survived(
    cluster: Any, tmp_path: Path, small_experiment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.measure.cluster.READY_LIMIT_S", 1500.0)  # others may use the machine
    nodes = [cluster.add_node(num_cpus=2) for _ in range(2)]
    cluster.wait_for_nodes()
    run_dir = tmp_path / "run"
    campaign = open_campaign(small_experiment(measure=MEASURE), run_dir, cluster=cluster.address)

    def kill_a_node_after_the_first_pair() -> None:
        while not [*(run_dir / "pairs").glob("*.parquet")]:
            time.sleep(0.1)
        cluster.remove_node(nodes[0], allow_graceful=False)

    killer = threading.Thread(target=kill_a_node_after_the_first_pair, daemon=True)
    killer.start()
    manifest = campaign.measure()
    killer.join(timeout=120)
    assert manifest.status == "measured"
    assert [(c.num_pairs, c.message) for c in manifest.comparisons] == [(6, "")]
    slices = pd.concat(pd.read_parquet(path) for path in (run_dir / "pairs").iterdir())
    assert set(slices["zygote"]) <= set(range(len(manifest.zygotes)))
    assert (slices.groupby("pair")["zygote"].nunique() == 1).all()
    assert {zygote.hash_seed for zygote in manifest.zygotes} == set(manifest.hash_seeds)
    assert all(zygote.host["cpu"] for zygote in manifest.zygotes)


def test_no_cluster_is_one_clear_line() -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install '.[cluster]'")
    with pytest.raises(HostError, match=r"no Ray cluster answers at 127\.0\.0\.1:1"), RayExecutor("127.0.0.1:1"):
        pass


def test_no_ray_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(HostError, match="ray is not installed"), RayExecutor("auto"):
        pass
