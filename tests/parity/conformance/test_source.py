from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from bench.errors import InputError
from bench.parity.conformance.source import folder_of_tests, release_name
from bench.variants.build import BUILD_VARIABLE
from bench.variants.source import installed_version

FILES = {
    "vllm/__init__.py": "raise ImportError('not this one')\n",
    "tests/__init__.py": "",
    "tests/utils.py": "",
    "tests/models/big.py": "",
    "tests/v1/core/test_scheduler.py": "x = 1\n",
}


@pytest.fixture(autouse=True)
def build_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(BUILD_VARIABLE, str(tmp_path / "build"))
    return tmp_path / "build"


def write_tree(folder: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def pack(tree: Path, release: Path) -> Path:
    with tarfile.open(release, "w:gz") as archive:
        archive.add(tree, arcname="vllm-1.0")
    return release


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


TAKEN = {"pytest.ini", "tests/__init__.py", "tests/utils.py", "tests/v1/core/test_scheduler.py"}


def test_of_a_tree_only_the_tests_are_taken(tmp_path: Path, build_root: Path) -> None:
    folder = folder_of_tests(write_tree(tmp_path / "tree"))
    assert files_in(folder) == TAKEN
    assert folder.is_relative_to(build_root)


def test_of_a_release_only_the_tests_are_taken(tmp_path: Path) -> None:
    folder = folder_of_tests(pack(write_tree(tmp_path / "tree"), tmp_path / "any.tar.gz"))
    assert files_in(folder) == TAKEN


def test_a_folder_that_holds_the_release_of_the_installed_version_will_do(tmp_path: Path) -> None:
    (tmp_path / "releases").mkdir()
    pack(write_tree(tmp_path / "tree"), tmp_path / "releases" / release_name(installed_version()))
    assert files_in(folder_of_tests(tmp_path / "releases")) == TAKEN


def test_tests_that_have_changed_are_taken_anew(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    first = folder_of_tests(tree)
    assert folder_of_tests(tree) == first
    (tree / "tests/v1/core/test_scheduler.py").write_text("x = 1234\n")
    assert (folder_of_tests(tree) / "tests/v1/core/test_scheduler.py").read_text() == "x = 1234\n"


def test_no_such_thing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        folder_of_tests(tmp_path / "none")


def test_a_folder_with_neither_tests_nor_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither a vLLM source tree .* nor holds vllm-"):
        folder_of_tests(tmp_path)


def test_a_file_that_is_no_archive_is_refused_and_leaves_nothing(tmp_path: Path, build_root: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(InputError, match="not a source release") as caught:
        folder_of_tests(tmp_path / "x.tar.gz")
    assert "\n" not in str(caught.value)
    assert files_in(build_root) == set()


def test_an_archive_without_the_tests_is_refused(tmp_path: Path) -> None:
    release = pack(write_tree(tmp_path / "tree", {"vllm/__init__.py": ""}), tmp_path / "x.tar.gz")
    with pytest.raises(InputError, match=r"no tests/v1/core/test_scheduler\.py in it"):
        folder_of_tests(release)


def test_a_member_that_points_out_of_the_archive_is_not_unpacked(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    release = tmp_path / "x.tar.gz"
    with tarfile.open(release, "w:gz") as archive:
        archive.add(tree, arcname="vllm-1.0")
        archive.addfile(tarfile.TarInfo("vllm-1.0/tests/v1/../../../../escaped"))
    with pytest.raises(InputError, match="not a source release"):
        folder_of_tests(release)
    assert not [*tmp_path.rglob("escaped")]
