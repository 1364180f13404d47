"""A hub cache that holds just enough of the models that vLLM's scheduler tests name: their facts, no weights.

`configs/<owner>--<model>.json` states the facts: the config; and for models that see images the processor, the
tokenizer and its special tokens. The tokenizer knows single bytes and those, since no test decodes a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FACTS = Path(__file__).parent / "configs"
_REVISION = "0" * 40
_FILES = {
    "config": "config.json",
    "image_processor": "preprocessor_config.json",
    "processor": "processor_config.json",
    "tokenizer": "tokenizer_config.json",
}


def write_hub_cache(folder: Path, facts: Path = FACTS) -> list[str]:
    """`folder` is a hub cache with the models of `facts`; returns their names."""
    names = []
    for path in sorted(facts.glob("*.json")):
        model = folder / f"models--{path.stem}"
        snapshot = model / "snapshots" / _REVISION
        snapshot.mkdir(parents=True, exist_ok=True)
        (model / "refs").mkdir(exist_ok=True)
        (model / "refs" / "main").write_text(_REVISION, encoding="utf-8")
        for name, content in _files_of(json.loads(path.read_text(encoding="utf-8"))).items():
            (snapshot / name).write_text(json.dumps(content), encoding="utf-8")
        names.append(path.stem.replace("--", "/"))
    return names


def _files_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    files = {name: facts[part] for part, name in _FILES.items() if part in facts}
    if "special_tokens" in facts:
        files["tokenizer.json"] = _tokenizer(facts["special_tokens"])
    return files


def _tokenizer(special_tokens: Mapping[str, int]) -> dict[str, Any]:
    """A byte-level tokenizer without merges, in the format of the `tokenizers` library."""
    added = [
        {"id": number, "content": token, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for token, number in special_tokens.items()
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    # The library numbers an added token anew unless the vocabulary holds it.
    vocabulary = {**{token: number for number, token in enumerate(_byte_tokens())}, **special_tokens}
    return {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


def _byte_tokens() -> list[str]:
    """The 256 characters that a byte-level tokenizer writes for bytes; which byte each stands for is no matter here."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(number) for number in [*printable, *range(0x100, 0x200 - len(printable))]]
