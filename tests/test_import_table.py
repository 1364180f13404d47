"""The import table of docs/structure.md, held by reading every import of the package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "bench"
LAYERS = [
    {"__main__"},
    {"cli"},
    {"cli_report", "cli_traces", "cli_variants"},
    {"chain", "calibrate"},
    {"report"},
    {"analysis"},
    {"measure"},
    {"parity"},
    {"engine"},
    {"variants", "traces"},
    {"command", "config", "records", "manifest"},
    {"options"},
    {"units", "errors"},
]
"""From the top: a module may import from its own layer's package and from every layer below."""

THROUGH_FILES_ONLY = {"report", "analysis"}
"""These read run folders and never import what measures."""

ONLY_PLACE = {
    "vllm": {"engine"},
    "torch": {"engine"},
    "libcst": {"variants"},
    "unidiff": {"variants"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "pyperf": {"measure"},
    "github": {"report"},
    "requests": {"report"},
    "duckdb": {"analysis"},
    "ruptures": {"analysis"},
    "ray": {"measure"},
    "aiohttp": {"measure"},
    "click": {"cli", "cli_report", "cli_traces", "cli_variants", "command", "parity"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_names(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def layer(part: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if part in layer)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down_the_table(path: Path) -> None:
    here = part_of(path)
    if here == "__init__":
        return
    used = {name.split(".")[1] for name in imported_names(path) if name.startswith("bench.")}
    for part in used - {here, "__version__"}:
        assert layer(part) > layer(here), f"bench.{here} imports bench.{part}, which stands above or beside it"
        if here in THROUGH_FILES_ONLY:
            assert part not in {"measure", "parity", "engine", "variants"}, f"bench.{here} may not import bench.{part}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_each_library_is_used_in_its_one_place(path: Path) -> None:
    for library in {name.split(".")[0] for name in imported_names(path)} & set(ONLY_PLACE):
        assert part_of(path) in ONLY_PLACE[library], f"{library} may be imported only in {ONLY_PLACE[library]}"
