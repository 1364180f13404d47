from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from bench.parity.conformance.hub import FACTS, write_hub_cache

LOOK_UP = """
from transformers import AutoConfig, AutoTokenizer
print(AutoConfig.from_pretrained("facebook/opt-125m").hidden_size)
print(AutoTokenizer.from_pretrained("llava-hf/llava-1.5-7b-hf").encode("a<image>"))
"""


def test_each_model_of_the_facts_has_a_snapshot_with_its_config(tmp_path: Path) -> None:
    names = write_hub_cache(tmp_path)
    assert "facebook/opt-125m" in names
    assert len(names) == len([*FACTS.glob("*.json")])
    for name in names:
        model = tmp_path / f"models--{name.replace('/', '--')}"
        snapshot = model / "snapshots" / (model / "refs" / "main").read_text()
        assert "model_type" in json.loads((snapshot / "config.json").read_text())


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    write_hub_cache(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_hub_cache(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_config_and_tokenizer_are_found_offline_by_the_name_of_the_model(tmp_path: Path) -> None:
    write_hub_cache(tmp_path)
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", LOOK_UP], env=environment, capture_output=True, text=True, check=False)
    hidden_size, tokens = done.stdout.splitlines()[-2:]
    assert hidden_size == "768", done.stderr
    assert json.loads(tokens)[-1] == 32000
