"""Wrong inputs, one a row: each ends in one clear line on stderr and its exit code, and leaves nothing behind."""

from __future__ import annotations

import difflib
import os
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.cli import main
from bench.errors import EXIT_INPUT
from bench.traces.files import write_trace
from bench.traces.workloads import generate
from bench.variants import load
from bench.variants.source import installed_source
from tests.analysis.run_folder import Planned, change_manifest, change_pair, write_run

CONFIG = """
name = "small"
[[cells]]
workloads = ["steady-decode"]
num_running = [16]
options = { steps = 40 }
[measure]
pairs = 2
"""
OWN_CLASSES = {
    "own_classes.py": "class Scheduler:\n    def schedule(self): ...\n\n\nclass AsyncScheduler(Scheduler): ...\n"
}
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
UNFIT = f"--- a/{SCHEDULER}\n+++ b/{SCHEDULER}\n@@ -1 +1 @@\n-one\n+two\n"


@dataclass(frozen=True)
class Wrong:
    """A command line, a part of what must be said, and what lies in the working folder beside `small.toml`."""

    command: str
    message: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    prepare: Callable[[Path], object] = lambda here: None
    environment: Mapping[str, str] = field(default_factory=dict)


def config(text: str, message: str) -> Wrong:
    return Wrong("run wrong.toml", f"config wrong.toml: {message}", {"wrong.toml": text})


def override(assignment: str, message: str) -> Wrong:
    return Wrong(f"run small.toml --set {shlex.quote(assignment)}", message)


def candidate(spec: str, message: str, **files: str | bytes) -> Wrong:
    files = {".".join(name.rsplit("_", 1)): text for name, text in files.items()}
    return Wrong(f"verify --workload steady-decode --candidate {shlex.quote(spec)}", message, files)


def patch(message: str, text: Callable[[], str | bytes]) -> Wrong:
    command = "run small.toml --set 'candidates=[\"patch:my.diff\"]'"
    return Wrong(command, message, prepare=lambda here: write(here / "my.diff", text()))


def trace(old: str, new: str, message: str) -> Wrong:
    def spoil(here: Path) -> None:
        write_trace(generate("steady-decode", num_running=16, seed=1), here / "my.jsonl")
        text = (here / "my.jsonl").read_text()
        assert old in text
        write(here / "my.jsonl", text.replace(old, new, 1))

    return Wrong("verify --candidate dict --trace my.jsonl", f"trace my.jsonl{message}", prepare=spoil)


def run_folder(spoil: Callable[[Path], object], message: str, command: str = "report run") -> Wrong:
    return Wrong(command, message, prepare=lambda here: spoil(write_run(here / "run", (Planned(pairs=2),))))


def write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def diff(old: str, new: str, file: str = SCHEDULER) -> str:
    before = installed_source().texts["scheduler.py"]
    assert old in before
    after = before.replace(old, new)
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{file}", f"b/{file}")
    return "".join(lines)


def archive_of_nothing(here: Path) -> None:
    with tarfile.open(here / "release.tar.gz", "w:gz") as archive:
        archive.add(here / "small.toml", "vllm/small.toml")


COMMAND_LINE = {
    "no such command": Wrong("runn small.toml", "No such command 'runn'"),
    "no config": Wrong("run", "Missing argument 'CONFIG'; see `python -m bench run --help`"),
    "one config too many": Wrong("run small.toml other.toml", "unexpected extra argument (other.toml)"),
    "unknown option": Wrong("run small.toml --fast", "No such option '--fast'"),
    "option without its value": Wrong("run small.toml --out", "Option '--out' requires an argument"),
    "unknown executor": Wrong("run small.toml --executor slurm", "'slurm' is not one of 'local', 'ray'"),
    "resume of what": Wrong("run small.toml --resume", "--resume needs --out"),
    "override without a value": Wrong("run small.toml --set measure.pairs", "expected KEY=VALUE"),
    "verify of what": Wrong("verify", "Missing option '--candidate'"),
    "verify, no such workload": Wrong("verify --candidate dict --workload nope", "no such workload"),
    "verify, both kinds of trace": Wrong(
        "verify --candidate dict --workload preemption --trace x", "--trace and --workload exclude each other"
    ),
    "verify, nothing running": Wrong("verify --candidate dict --num-running 0", "0 is not in the range 1<=x<=16384"),
    "verify, too much running": Wrong("verify --candidate dict --num-running 16385", "16385 is not in the range"),
    "verify, no seed": Wrong("verify --candidate dict --seeds 0", "0 is not in the range"),
    "verify, unknown policy": Wrong("verify --candidate dict --policy lifo", "'lifo' is not one of"),
    "verify, limit of nothing": Wrong("verify --candidate dict --step-time-limit 0", "0.0 is not in the range"),
    "verify, limit in words": Wrong("verify --candidate dict --step-time-limit soon", "'soon' is not a valid float"),
    "verify, mistyped engine option": Wrong(
        "verify --candidate dict --set engine.blck_size=4", 'did you mean "block_size"?'
    ),
    "verify, no engine option": Wrong("verify --candidate dict --set measure.pairs=4", "expected engine.KEY=VALUE"),
    "generate, no such workload": Wrong("trace generate nope -o t.jsonl", "no such workload"),
    "generate, nowhere": Wrong("trace generate preemption", "Missing option '-o' / '--output'"),
    "generate, too few running": Wrong("trace generate preemption -o t.jsonl --num-running 2", "num_running is 2"),
    "generate, negative seed": Wrong("trace generate preemption -o t.jsonl --seed -1", "-1 is not in the range"),
    "generate, option without a value": Wrong("trace generate preemption -o t.jsonl --set steps", "--set steps: exp"),
    "generate, option twice": Wrong(
        "trace generate preemption -o t.jsonl --set steps=9 --set steps=8", "steps is set twice"
    ),
    "generate, into a folder that is not there": Wrong(
        "trace generate steady-decode -o none/t.jsonl", "none/t.jsonl: cannot be written (No such file or directory)"
    ),
    "import of nothing": Wrong("trace import -o t.jsonl", "Missing argument 'FILE…'"),
    "import over its source": Wrong("trace import small.toml -o small.toml", "would replace the file that is imported"),
    "import, unknown choice": Wrong("trace import x -o t.jsonl --over-context trim", "'trim' is not one of"),
    "conformance, no source": Wrong("conformance --candidate dict --vllm-source none", "none: no such file or folder"),
    "conformance, no archive": Wrong(
        "conformance --candidate dict --vllm-source small.toml", "not a source release of vLLM (.tar.gz)"
    ),
    "conformance, archive of something else": Wrong(
        "conformance --candidate dict --vllm-source release.tar.gz",
        "expected a source release of vLLM",
        prepare=archive_of_nothing,
    ),
    "compat, no sources": Wrong("variants compat --sources none", "sources none: no <version>/vllm in it"),
    "diff against no tree": Wrong("variants diff dict --vllm none", "none/vllm/v1/core/sched/scheduler.py: no such"),
    "comment in no repository": Wrong("comment run", "Missing option '--repository'"),
    "comment in something else": Wrong("comment run --repository here --pull-request 1", "expected OWNER/NAME"),
    "comment in no pull request": Wrong("comment run --repository a/b", "either --pull-request or --head-sha"),
    "comment in pull request 0": Wrong("comment run --repository a/b --pull-request 0", "0 is not in the range"),
    "comment, cut commit": Wrong("comment run --repository a/b --head-sha abc", "expected all 40 hexadecimal digits"),
    "history of nothing": Wrong("history show --store none", "history none: holds no run"),
    "history check of no runs": Wrong("history check --recent 0", "0 is not in the range"),
}

EXPERIMENT = {
    "no such file": Wrong("run none.toml", "none.toml: no such file; the shipped ones are in configs/"),
    "a folder": Wrong("run .", "config .: cannot be read"),
    "binary file": Wrong("run wrong.toml", "wrong.toml: cannot be read", {"wrong.toml": b"\xff\xfe\x00"}),
    "not TOML": config("name = ", "not valid TOML"),
    "zero byte": config("\x00", "not valid TOML"),
    "key twice": config('name = "a"\nname = "b"', "not valid TOML"),
    "empty": config("", '"cells" is missing; it is required'),
    "cells as a table": config("[cells]\nworkloads = []", '"cells" is'),
    "mistyped table": override("cels=3", 'unknown key "cels"; did you mean "cells"?'),
    "mistyped key": override("measure.paris=3", 'unknown key "measure.paris"; did you mean "pairs"?'),
    "half a key": override("verdict.margin=3", 'unknown key "verdict.margin"; did you mean "margin_pct"?'),
    "word for a number": override("measure.pairs=x", "\"measure.pairs\" is 'x': input should be a valid integer"),
    "half a pair": override("measure.pairs=1.5", '"measure.pairs" is 1.5'),
    "flag for a number": override("measure.pairs=true", '"measure.pairs" is True'),
    "one pair": override("measure.pairs=1", '"measure.pairs" is 1: input should be greater than or equal to 2'),
    "negative slice": override("measure.slice_ms=-1", '"measure.slice_ms" is -1'),
    "margin of nothing": override("verdict.margin_pct=0", '"verdict.margin_pct" is 0'),
    "unknown policy": override("engine.policy=lifo", "\"engine.policy\" is 'lifo'"),
    "block of nothing": override("engine.block_size=0", '"engine.block_size" is 0'),
    "pause in every step": override("engine.pause_interval=1", "1 pauses in every step"),
    "cache too small": override("engine.kv_tokens=8", "can never fit"),
    "no such model": override("engine.model=nope", "neither a shipped model nor a folder"),
    "nothing running": override("cells.0.num_running=[0]", "0 is not a possible number of running requests"),
    "too much running": override("cells.0.num_running=[99999]", "99999 is not a possible number"),
    "no size": override("cells.0.num_running=[]", "num_running is empty"),
    "no workload": override("cells.0.workloads=[]", "names neither workloads nor traces"),
    "mistyped workload": override("cells.0.workloads=['stedy-decode']", 'did you mean "steady-decode"?'),
    "mistyped workload option": override("cells.0.options={stepz=3}", 'did you mean "steps"?'),
    "workload option out of bounds": override("cells.0.options={steps=0}", "steps is 0"),
    "no such trace": override("cells.0.traces=['none.jsonl']", "none.jsonl: no such file"),
    "unknown tier": override("cells.0.tier=gpu", "\"cells.0.tier\" is 'gpu'"),
    "mistyped sweep": override("cells.0.sweep={blok_size=[16,32]}", 'did you mean "block_size"?'),
    "sweep over nothing": override("cells.0.sweep={block_size=[]}", "needs several different values"),
    "sweep over one value twice": override("cells.0.sweep={block_size=[32,32]}", "needs several different values"),
    "sweep that is no list": override("cells.0.sweep={block_size=32}", '"cells.0.sweep'),
    "sweep out of bounds": override("cells.0.sweep={block_size=[32,0]}", "block_size cannot be 0"),
    "cell twice": override("cells.0.num_running=[16,16]", "replay-steady-decode-n16 is asked for twice"),
    "no cell": override("cells=[]", '"cells" is ()'),
    "no candidate": override("candidates=[]", '"candidates" is ()'),
    "candidate twice": override('candidates=["dict","dict"]', "names a candidate twice"),
    "name that is a path": override("name=a/b", "\"name\" is 'a/b'"),
    "negative seed": override("seed=-1", '"seed" is -1'),
    "cell that is not there": override("cells.7.tier=replay", "7 is not a place in an array of 1"),
    "key below a value": override("name.deep=1", "name is a value, not a table"),
}

VARIANT = {
    "mistyped name": candidate("dct", 'unknown variant "dct"; did you mean "dict"?'),
    "empty": candidate("", 'unknown variant ""'),
    "class of nothing": candidate("class:", "expected class:MODULE:CLASS or patch:FILE"),
    "module alone": candidate("class:os", "expected class:MODULE:CLASS"),
    "no such module": candidate("class:no.such.module:Scheduler", "No module named 'no'"),
    "no such class": candidate("class:os.path:Scheduler", "os.path has no scheduler class Scheduler"),
    "function in place of a class": candidate("class:os.path:join", "os.path has no scheduler class join"),
    "shell in place of a module": candidate("class:a;b:c", "expected class:MODULE:CLASS"),
    "module that is not Python": candidate("class:unparsable:S", "(SyntaxError: ", unparsable_py="x ="),
    "module that raises": candidate(
        "class:raising:S", "(RuntimeError: later)", raising_py="raise RuntimeError('later')"
    ),
    "class of the wrong side": Wrong(
        "verify --workload steady-decode --async-scheduling --candidate class:own_classes:Scheduler",
        "is not an AsyncScheduler",
        OWN_CLASSES,
    ),
    "class of the wrong side, in a run": Wrong(
        "run small.toml --set 'candidates=[\"class:own_classes:AsyncScheduler\"]'",
        "the experiment asks for the synchronous one",
        OWN_CLASSES,
    ),
    "unknown baseline": override("baseline=lst", 'unknown variant "lst"; did you mean "list"?'),
    "diff of a class": Wrong("variants diff class:own_classes:Scheduler", "has no diff against vLLM", OWN_CLASSES),
}

PATCH = {
    "no file": candidate("patch:", "expected class:MODULE:CLASS or patch:FILE"),
    "no such file": candidate("patch:none.diff", "patch none.diff: no such file"),
    "empty": patch("my.diff: holds no change", lambda: ""),
    "prose": patch("my.diff: holds no change", lambda: "make it faster\n"),
    "binary": patch("my.diff: cannot be read", lambda: b"\xff\x00"),
    "cut off": patch("my.diff: not a unified diff", lambda: diff("self.running.pop()", "self.running.pop(0)")[:-200]),
    "of another file": patch(
        "changes vllm/v1/request.py; expected only changes of scheduler.py",
        lambda: diff("self.running.pop()", "self.running.pop(0)", "vllm/v1/request.py"),
    ),
    "of another version": patch(
        "does not apply to the installed vLLM",
        lambda: diff("self.running.pop()", "self.running.pop(0)").replace("\n ", "\n  ", 1),
    ),
    "that is no Python afterwards": patch(
        "the rewrite does not compile", lambda: diff("self.running.pop()", "self.running.pop(")
    ),
    "that does not fit, to verify": candidate("patch:my.diff", "does not apply to the installed vLLM", my_diff=UNFIT),
    "that does not fit, in a dry run": Wrong(
        "run small.toml --dry-run --set 'candidates=[\"patch:my.diff\"]'", "does not apply", {"my.diff": UNFIT}
    ),
}

TRACE = {
    "no such file": Wrong("trace show none.jsonl", "none.jsonl: no such file; make one with `trace generate`"),
    "a folder": Wrong("trace show .", "trace .: is a folder or a device"),
    "a config": Wrong("verify --candidate dict --trace small.toml", "trace small.toml line 2: is not JSON"),
    "empty": Wrong("trace show my.jsonl", "my.jsonl: is empty", {"my.jsonl": ""}),
    "compressed": Wrong("trace show my.jsonl", "compressed with gzip; unpack it", {"my.jsonl": b"\x1f\x8b\x08rest"}),
    "binary": Wrong("trace show my.jsonl", "it is a binary file", {"my.jsonl": b"\x93NUMPY\xff\xfe"}),
    "of another tool": Wrong("trace show my.jsonl", "convert it with `trace import`", {"my.jsonl": '{"timestamp": 0}'}),
    "other schema": trace('"schema":1', '"schema":2', " line 1: schema is 2, expected 1"),
    "altered": trace('"output_length":129', '"output_length":128', ": digest is"),
    "no output": trace('"output_length":', '"output_length":-', " line 2: output_length is -"),
    "mistyped key": trace('"output_length"', '"output_lenght"', " line 2: has the key 'output_lenght'"),
    "time that is none": trace('"timestamp":0', '"timestamp":NaN', " line 2: holds NaN"),
    "export of none": Wrong("trace export none.jsonl -o m.jsonl", "none.jsonl: no such file"),
    "export of something else": Wrong("trace export small.toml -o m.jsonl", "small.toml line 2: is not JSON"),
    "plot that is no picture": Wrong(
        "trace show my.jsonl --plot my.txt",
        'plot my.txt: ends in ".txt", expected .png or .svg',
        prepare=lambda here: write_trace(generate("steady-decode", num_running=16, seed=1), here / "my.jsonl"),
    ),
    "import of none": Wrong("trace import none.csv -o t.jsonl", "none.csv: no such file"),
    "import of an unknown format": Wrong("trace import small.toml -o t.jsonl", "small.toml"),
    "import of damaged rows": Wrong(
        "trace import my.csv -o t.jsonl",
        "my.csv line 2",
        {"my.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,374,44\n"},
    ),
}

RUN_FOLDER = {
    "not there": Wrong("report none", "run none: no such folder"),
    "of something else": Wrong("report .", "manifest.json: missing"),
    "a file": Wrong("report small.toml", "run small.toml: no such folder"),
    "manifest cut off": run_folder(lambda run: write(run / "manifest.json", '{"format": 1'), "not valid JSON"),
    "manifest of something else": run_folder(lambda run: write(run / "manifest.json", "[]"), "not a manifest of"),
    "newer format": run_folder(lambda run: change_manifest(run, lambda m: m.update(format=9)), "reads up to 1; update"),
    "unknown key": run_folder(lambda run: change_manifest(run, lambda m: m.update(x=1)), '"x": extra inputs'),
    "no comparison": run_folder(
        lambda run: change_manifest(run, lambda m: m.update(comparisons=[])), "lists no comparison"
    ),
    "path that climbs": run_folder(
        lambda run: change_manifest(run, lambda m: m["traces"][0].update(file="../x")), "outside the run folder"
    ),
    "link inside": run_folder(lambda run: (run / "x").symlink_to("/etc/hostname"), "x is a symbolic link"),
    "pair cut off": run_folder(lambda run: write(next((run / "pairs").iterdir()), b"PAR1"), "not a readable Parquet"),
    "pair lost": run_folder(lambda run: next((run / "pairs").iterdir()).unlink(), "counts 2 pairs of"),
    "pair without a column": run_folder(
        lambda run: change_pair(run, lambda t: t.drop(columns="cpu_ns")), "column 'cpu_ns' is missing"
    ),
    "pair with one arm": run_folder(
        lambda run: change_pair(run, lambda t: t[t["arm"] == "baseline"]), "the two arms differ"
    ),
    "folder in place of a page": run_folder(lambda run: (run / "comparisons.csv" / "x").mkdir(parents=True), "written"),
    "damaged, to be said": run_folder(
        lambda run: write(run / "manifest.json", "{"),
        "not valid JSON",
        "comment run --repository a/b --pull-request 1 --dry-run",
    ),
    "damaged, to be kept": run_folder(
        lambda run: write(run / "manifest.json", "{"), "not valid JSON", "history add run --store past"
    ),
    "damaged, to be resumed": run_folder(
        lambda run: write(run / "manifest.json", "{"), "cannot be read", "run small.toml --out run --resume"
    ),
    "nothing to resume": Wrong("run small.toml --out none --resume", "none: manifest.json cannot be read"),
    "another's to resume": run_folder(
        lambda run: None, "cannot be resumed, config differs", "run small.toml --out run --resume"
    ),
    "holds a run already": run_folder(lambda run: None, "holds a run already", "run small.toml --out run"),
    "not empty": Wrong("run small.toml --out .", "exists and is not empty; choose another --out"),
    "below a file": Wrong("run small.toml --out small.toml/run", "cannot be made (Not a directory)"),
    "on a file system that takes none": Wrong("run small.toml --out /proc/run", "cannot be made"),
    "history in a file": run_folder(lambda run: None, "small.toml", "history add run --store small.toml"),
    "history of something else": Wrong(
        "history show --store past",
        "history past: cannot be read",
        prepare=lambda here: ((here / "past" / "x").mkdir(parents=True), write(here / "past" / "x" / "y.parquet", "?")),
    ),
}

ENVIRONMENT = {
    "no token": Wrong(
        "comment run --repository a/b --pull-request 1",
        "--token-env GITHUB_TOKEN: that environment variable is empty or not set",
        environment={"GITHUB_TOKEN": ""},
    ),
    "token to be sent in the clear": Wrong(
        "comment run --repository a/b --pull-request 1 --api-url http://elsewhere.example",
        "expected https",
        prepare=lambda here: write_run(here / "run", (Planned(pairs=2),), with_steps=False),
        environment={"GITHUB_TOKEN": "secret"},
    ),
    "build folder that is a file": Wrong(
        "variants build",
        "cannot be written (Not a directory); name another in",
        environment={"RUNQUEUE_BENCH_BUILD": "small.toml"},
    ),
    "no Ray cluster": Wrong(
        "run small.toml --executor ray --address 127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"
    ),
}

AREAS = {
    "command line": COMMAND_LINE,
    "config": EXPERIMENT,
    "variant": VARIANT,
    "patch": PATCH,
    "trace": TRACE,
    "run folder": RUN_FOLDER,
    "environment": ENVIRONMENT,
}
ROWS = {f"{area}: {name}": wrong for area, rows in AREAS.items() for name, wrong in rows.items()}
IN_A_PROCESS = (
    "command line: unknown option",
    "config: mistyped key",
    "variant: mistyped name",
    "patch: of another version",
    "trace: altered",
    "run folder: manifest cut off",
    "environment: no token",
)
"""One of each area is run as a user runs it; the others in this process, which takes a hundredth of the time."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh working folder that holds one sound config."""
    monkeypatch.chdir(tmp_path)
    load.cache_clear()  # the same SPEC is another file in each folder
    write(tmp_path / "small.toml", CONFIG)
    return tmp_path


def lay_out(wrong: Wrong, here: Path) -> None:
    for name, content in wrong.files.items():
        write(here / name, content)
    wrong.prepare(here)


def what_lies_in(here: Path) -> dict[str, bytes | None]:
    found = {str(path.relative_to(here)): path for path in here.rglob("*") if "__pycache__" not in path.parts}
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


def check_told(wrong: Wrong, code: int | str | None, out: str, err: str) -> None:
    assert (code, out) == (EXIT_INPUT, ""), err
    assert len(err.splitlines()) == 1, err
    assert err.startswith("error: ")
    assert wrong.message in err
    assert len(err) < 700


def test_the_table_is_as_long_as_was_asked_for() -> None:
    assert len(ROWS) >= 60
    assert all(rows for rows in AREAS.values())


@pytest.mark.parametrize("row", ROWS)
def test_wrong_input_is_one_clear_line_and_nothing_is_written(
    row: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = ROWS[row]
    lay_out(wrong, here)
    before = what_lies_in(here)
    monkeypatch.setattr("bench.cli_report.limit_memory", lambda most: None)  # it would bind this process for good
    monkeypatch.setattr(sys, "argv", ["bench", *shlex.split(wrong.command)])
    for name, value in wrong.environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    told = capfd.readouterr()
    check_told(wrong, ended.value.code, told.out, told.err)
    assert what_lies_in(here) == before


@pytest.mark.parametrize("row", IN_A_PROCESS)
def test_it_is_the_same_in_a_process_of_its_own(row: str, here: Path) -> None:
    wrong = ROWS[row]
    lay_out(wrong, here)
    before = what_lies_in(here)
    command = [sys.executable, "-m", "bench", *shlex.split(wrong.command)]
    environment = {**os.environ, **wrong.environment}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    check_told(wrong, done.returncode, done.stdout, done.stderr)
    assert what_lies_in(here) == before
