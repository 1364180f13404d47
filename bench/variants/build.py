"""Generated scheduler modules: written once per vLLM source and rewrite, importable in any process.

They lie in a build folder named by vLLM version and digest, as `<variant>/scheduler.py` and so on, and are
imported as `bench.variants.built.<variant>.scheduler`, so that a traceback shows the line that ran.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import platformdirs

from bench.errors import HostError, VariantError
from bench.variants.source import MODULES, SCHEDULER, SchedulerSource, digest_of, installed_source

BUILD_VARIABLE = "RUNQUEUE_BENCH_BUILD"
Rewrite = Callable[[str, str], str]


def build_root() -> Path:
    """The folder for what is generated: $RUNQUEUE_BENCH_BUILD, else `.build` of a checkout, else the user's cache."""
    if named := os.environ.get(BUILD_VARIABLE):
        return Path(named).resolve()
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".build"
    return Path(platformdirs.user_cache_dir("runqueue-bench"))


def build_folder(source: SchedulerSource) -> Path:
    """The build folder of one vLLM source; another source, or another version of the rewrites, has another one."""
    here = Path(__file__).parent
    rewrites = {path.name: path.read_text(encoding="utf-8") for path in here.glob("*.py")}
    key = digest_of({"vllm": source.digest, "rewrites": digest_of(rewrites)})
    return build_root() / "variants" / f"vllm-{source.version}-{key[:12]}"


def generated_texts(name: str, source: SchedulerSource, rewrite: Rewrite) -> dict[str, str]:
    """The modules of variant `name` by file name: each rewritten, and importing one another in place of vLLM's."""
    texts = {}
    for file, text in source.texts.items():
        rewritten = rewrite(text, file)
        for module in (module.removesuffix(".py") for module in MODULES):
            rewritten = rewritten.replace(
                f"from {source.package}.{module} import", f"from bench.variants.built.{name}.{module} import"
            )
        texts[file] = rewritten
    return texts


def build(name: str, rewrite: Rewrite) -> Path:
    """The folder with the generated modules of `name` for the installed vLLM, written if it is not there yet."""
    source = installed_source()
    folder = build_folder(source) / name
    if not folder.is_dir():
        texts = generated_texts(name, source, rewrite)
        check_compiles(texts)
        _write_whole(folder, texts)
        importlib.invalidate_caches()  # an import that was tried before remembers that there was no such folder
    return folder


def digest_of_built(folder: Path) -> str:
    """SHA-256 of the generated modules in `folder`: what a manifest records as the variant's digest."""
    return digest_of({path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")})


def import_class(name: str, file: str, class_name: str) -> type:
    """One class of a built variant; raises VariantError where the module cannot be imported or lacks it."""
    module_name = f"bench.variants.built.{name}.{file.removesuffix('.py')}"
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise VariantError(
            f"variant {name}: {module_name} cannot be imported ({type(error).__name__}: {error})"
        ) from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise VariantError(f"variant {name}: {module_name} has no class {class_name}")
    return found


def check_compiles(texts: Mapping[str, str]) -> None:
    """Raise VariantError with the file and line where one of the generated `texts` is not Python."""
    for file, text in texts.items():
        try:
            compile(text, file, "exec")
        except SyntaxError as error:
            raise VariantError(f"{file} line {error.lineno}: the rewrite does not compile ({error.msg})") from error


def _write_whole(folder: Path, texts: Mapping[str, str]) -> None:
    """Write beside the target and rename, so that another process sees all of it or nothing."""
    if SCHEDULER not in texts:
        raise VariantError(f"variant {folder.name}: no {SCHEDULER} was generated")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
            beside = Path(scratch, folder.name)
            beside.mkdir()
            for file, text in {"__init__.py": "", **texts}.items():
                (beside / file).write_text(text, encoding="utf-8")
            beside.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # else another process was faster
            raise HostError(
                f"build folder {folder.parent}: cannot be written ({error.strerror}); name another in {BUILD_VARIABLE}"
            ) from error
