"""What cannot be served is refused before anything is measured, and before there is a run folder."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from bench.errors import HostError
from bench.measure.opening import open_campaign
from bench.options import Experiment


def experiment(**changes: Any) -> Experiment:
    cells = [{"tier": "serve", "workloads": ["arrivals"], "num_running": [4]}]
    return Experiment.model_validate({"cells": cells, **changes})


def test_a_taken_port_is_refused(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(HostError, match=f"port {port} cannot be served on"):
            open_campaign(experiment(serve={"port": port}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_manifest_states_the_cores_of_servers_and_client(tmp_path: Path) -> None:
    host = open_campaign(experiment(), tmp_path / "run").manifest.host
    assert isinstance(host["client_core"], int)
    assert host["server_cores"]
