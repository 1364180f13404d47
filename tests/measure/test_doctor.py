from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bench.measure import doctor
from bench.measure.host import Cores, choose_cores, host_facts, versions
from bench.measure.noise import Noise, measure_noise

QUIET = Noise(slice_us=2000, spread_pct=0.5, disturbed_pct=0.1, timer_ns=50, cpu_timer_ns=200)


def advice(
    noise: Noise = QUIET, cores: Cores | None = None, governor: str = "performance", load: float = 0.1
) -> list[str]:
    return [*doctor._advice(noise, cores or Cores(arms=10_001, orchestrator=10_000), governor, load)]


def test_a_quiet_machine_has_nothing_to_mend() -> None:
    assert advice() == []


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (advice(cores=Cores(0, 0)), "one usable core"),
        (advice(governor="powersave"), "frequency governor is powersave"),
        (advice(load=3.0), "load is 3.0"),
        (advice(noise=Noise(2000, 9.0, 0.1, 50, 200)), "spreads by 9.0 % (expected ≤ 3 %)"),
        (advice(noise=Noise(2000, 0.5, 40.0, 50, 200)), "40.0 % of slices (expected ≤ 10 %) lost the core"),
    ],
)
def test_each_trouble_says_what_to_mend(found: list[str], message: str) -> None:
    (line,) = found
    assert line.startswith("mend: ")
    assert message in line


def test_an_untried_vllm_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.engine.version.installed_version", lambda: "0.8.0")
    assert "vLLM 0.8.0 is installed" in advice()[0]


def test_noise_is_measured_in_its_units() -> None:
    noise = measure_noise(num_slices=40)
    assert noise.slice_us > 0
    assert noise.spread_pct >= 0
    assert 0 <= noise.disturbed_pct <= 100
    assert noise.timer_ns > 0


def test_the_arms_have_a_core_of_their_own_where_there_are_two() -> None:
    cores = choose_cores()
    assert cores.shared == (len(os.sched_getaffinity(0)) == 1)


def test_facts_and_versions_are_plain_values() -> None:
    assert all(isinstance(value, str | int | float | bool) for value in host_facts().values())
    assert versions()["python"] == sys.version.split()[0]


def test_the_command_prints_facts_and_ends_well() -> None:
    done = subprocess.run([sys.executable, "-m", "bench", "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "disturbed" in done.stdout
