from __future__ import annotations

from bench.engine.environment import worker_environment


def test_nothing_is_looked_up_and_the_hash_seed_is_fixed() -> None:
    environment = worker_environment(hash_seed=7, core=1)
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["VLLM_NO_USAGE_STATS"] == "1"
    assert environment["PYTHONHASHSEED"] == "7"
    assert environment["VLLM_CPU_OMP_THREADS_BIND"] == "1"


def test_the_callers_environment_is_kept(monkeypatch) -> None:
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    assert worker_environment(0)["SOMETHING_ELSE"] == "kept"
