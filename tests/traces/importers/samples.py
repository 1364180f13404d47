"""A small file of each foreign format, made up for these tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.traces.importers import Imported, ImportOptions, import_trace

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 18:15:46.6805900,374,44\r\n"
    "2023-11-16 18:15:46,396,109\r\n"
    "2023-11-16 18:15:51.2224670,879,55"
)
BURSTGPT = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,472,18,490,Conversation log\n"
    "45.0,ChatGPT,1087,0,1087,Conversation log\n"
    "118,GPT-4,417.0,276,693,Conversation log\n"
)
BURSTGPT_2 = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "100.0,s-1,4,GPT-4,90,44,134,Conversation log\n"
    "151.0,,2,ChatGPT,36,29,65,API log\n"
)
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n"
VIDUR_LENGTHS = (
    "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.8\n2015,156,2171,12.9\n"
)
SPLITWISE_SIM = (
    "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
    "0,2,0,1,1,4096,32\n"
    "1,2,0,3,1,2048,8\n"
)
MOONCAKE = (
    '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]}\n'
    '{"timestamp": 0, "input_length": 1024, "output_length": 4, "hash_ids": [7, 9]}\n'
    '{"timestamp": 3000, "input_length": 1300, "output_length": 3, "hash_ids": [7, 9, 10]}\n'
)
TIMED_LENGTHS = "".join(
    f'{{"timestamp": {number}.25, "input_length": {100 + number}, "output_length": 4}}\n' for number in range(5)
)
BAILIAN = (
    '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 33, "output_length": 9, "type": "text", '
    '"turn": 1, "hash_ids": [1, 2, 3]}\n'
    '{"chat_id": 5, "parent_chat_id": 1, "timestamp": 7.25, "input_length": 50, "output_length": 9, "type": "text", '
    '"turn": 2, "hash_ids": [1, 2, 9, 10]}\n'
    '{"chat_id": 9, "parent_chat_id": 5, "timestamp": 8, "input_length": 16, "output_length": 9, "type": "text", '
    '"turn": 3, "hash_ids": [1]}\n'
)
RAGPULSE = (
    '{"timestamp": "82", "input_length": 60, "output_length": 19, "hash_ids": {"sys_prompt": [1], '
    '"passages_ids": [2, 3], "history": [], "web_search": [], "user_input": [4]}, "session_id": "a-1"}\n'
    '{"timestamp": "93", "input_length": 50, "output_length": 8, "hash_ids": {"sys_prompt": [1], '
    '"passages_ids": [2], "history": [], "web_search": [], "user_input": [5]}, "session_id": "a-2"}\n'
)
RAGPULSE_LENGTHS = (
    '{"sys_prompt_id": 1, "token_length": 20}\n'
    '{"passage_id": 2, "token_length": 12}\n'
    '{"passage_id": 3, "token_length": 18}\n'
    '{"user_input_id": 4, "token_length": 4}\n'
    '{"user_input_id": 5, "token_length": 12}\n'
)


def call(t: float, prompt: int, output: int, ids: list[int], **more: Any) -> dict[str, Any]:
    return {"t": t, "type": "n", "model": "m", "in": prompt, "out": output, "hash_ids": ids, **more}


SESSION = {
    "id": "trace_1",
    "models": ["m"],
    "block_size": 64,
    "hash_id_scope": "local",
    "tool_tokens": 10,
    "system_tokens": 10,
    "requests": [
        call(0.0, 130, 7, [1, 2], api_time=2.0, think_time=0.0),
        call(12.0, 200, 5, [1, 2, 3], api_time=3.0, think_time=10.0),
        {
            "t": 20.0,
            "type": "subagent",
            "agent_id": "a",
            "duration_ms": 4000,
            "requests": [call(0.0, 64, 3, [40]), call(1.5, 128, 3, [40, 41])],
        },
        call(124.0, 256, 2, [1, 2, 3, 4], think_time=100.0),
    ],
}
SESSIONS = json.dumps(SESSION) + "\n" + json.dumps({**SESSION, "id": "trace_2"}) + "\n"
VLLM_CUSTOM = (
    '{"prompt": "What is the capital of France?", "output_tokens": 10}\n{"prompt": "Why?", "output_tokens": 2}\n'
)
SHAREGPT = json.dumps(
    [
        {"id": "x", "conversations": [{"from": "human", "value": "a" * 40}, {"from": "gpt", "value": "b" * 9}]},
        {"id": "y", "conversations": [{"from": "human", "value": "only one"}]},
    ],
    indent=1,
)
SERVEGEN = json.dumps(
    {
        "client_id": 13,
        "windows": [[0, 2.0, 1.0, "Gamma", 1.0, 0.5], [600, 0, 0, "", 0, 0], [1200, 1.0, 1.0, "Weibull", 1.0, 1.0]],
        "dataset_window": 0,
        "input_tokens": [[10, 0.5], [20, 0.5]],
        "output_tokens": [[3, 1.0]],
        "reason_ratio": [],
    }
)
SERVEGEN_TRACE = "0,0,0,,0,0\r\n600,0.5,1.0,Gamma,1.0,2.0\r\n"
SERVEGEN_DATASET = json.dumps(
    {
        "0": {"input_tokens": "{103: 0.25, 105: 0.75}", "output_tokens": "{188: 1.0}", "reason_ratio": "{}"},
        "21600": {"input_tokens": "{}", "output_tokens": "{}", "reason_ratio": "{}"},
    }
)

NO_TIMES = {"arrivals": "poisson"}
SAMPLES: dict[str, tuple[str, str, dict[str, Any]]] = {  # format → (name of the file, text, options that it needs)
    "azure": ("azure.csv", AZURE, {}),
    "burstgpt": ("burst.csv", BURSTGPT, {}),
    "vidur": ("vidur.csv", VIDUR, {}),
    "vidur-lengths": ("lengths.csv", VIDUR_LENGTHS, NO_TIMES),
    "splitwise-sim": ("sim.csv", SPLITWISE_SIM, {}),
    "mooncake": ("mooncake.jsonl", MOONCAKE, {}),
    "timed-lengths": ("timed.jsonl", TIMED_LENGTHS, {}),
    "bailian": ("bailian.jsonl", BAILIAN, {}),
    "ragpulse": ("rag.jsonl", RAGPULSE, {}),
    "sessions": ("sessions.jsonl", SESSIONS, {}),
    "vllm-custom": ("custom.jsonl", VLLM_CUSTOM, NO_TIMES),
    "sharegpt": ("sharegpt.json", SHAREGPT, NO_TIMES),
    "servegen": ("clients.jsonl", SERVEGEN, {}),
}


class Importer:
    """Imports texts as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def __call__(self, name: str, text: str | bytes, lengths: Path | None = None, **options: Any) -> Imported:
        return import_trace([self.write(name, text)], ImportOptions(**options), lengths)

    def sample(self, format: str, change: Callable[[str], str] = str, **options: Any) -> Imported:
        name, text, needed = SAMPLES[format]
        return self(name, change(text), **{**needed, **options})


def packed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def rows(imported: Imported) -> list[tuple[float, int, int, tuple[int, ...]]]:
    """(timestamp in ms, input_length, output_length, hash_ids) of each request."""
    return [(each.timestamp, each.input_length, each.output_length, each.hash_ids) for each in imported.trace.requests]
