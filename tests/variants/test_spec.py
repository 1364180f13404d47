from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.errors import VariantError
from bench.variants import load
from bench.variants.spec import NAMED, BuiltVariant

IMPORT_BY_PATH = """
import importlib
for name in {names!r}:
    module = importlib.import_module("bench.variants." + name)
    assert module.AsyncScheduler.__mro__[1] is module.Scheduler, module.AsyncScheduler.__mro__
    print(name, module.Scheduler.__module__, module.AsyncScheduler.__module__)
"""


def test_every_named_variant_imports_by_dotted_path_in_a_fresh_process(tmp_path: Path) -> None:
    code = IMPORT_BY_PATH.format(names=list(NAMED))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in NAMED:
        built = f"bench.variants.built.{name}"
        assert f"{name} {built}.scheduler {built}.async_scheduler" in done.stdout


@pytest.mark.parametrize("name", sorted(NAMED))
def test_both_classes_of_a_variant_come_from_its_own_build(name: str) -> None:
    variant = load(name)
    assert variant.async_scheduler.__mro__[1] is variant.scheduler
    source = Path(sys.modules[variant.scheduler.__module__].__file__ or "")
    assert isinstance(variant, BuiltVariant)
    assert source.parent == variant.folder


def test_variants_differ_by_digest() -> None:
    assert load("list").digest != load("dict").digest
    assert len(load("dict").digest) == 64


def test_a_class_of_the_callers_serves_its_own_side_only() -> None:
    sync = load("class:bench.variants.built.dict.scheduler:Scheduler")
    assert sync.scheduler is load("dict").scheduler
    with pytest.raises(VariantError, match="silently turn async scheduling off"):
        _ = sync.async_scheduler
    ahead = load("class:bench.variants.built.dict.async_scheduler:AsyncScheduler")
    assert ahead.async_scheduler is load("dict").async_scheduler
    with pytest.raises(VariantError, match="asks for the synchronous one"):
        _ = ahead.scheduler


def test_a_side_that_cannot_be_had_is_refused_when_it_is_checked() -> None:
    for is_async in (False, True):
        load("dict").check(is_async=is_async)
    sync = load("class:bench.variants.built.dict.scheduler:Scheduler")
    sync.check(is_async=False)
    with pytest.raises(VariantError, match="is not an AsyncScheduler"):
        sync.check(is_async=True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dct", 'unknown variant "dct"; did you mean "dict"?'),
        ("", 'unknown variant ""'),
        ("class:", "expected class:MODULE:CLASS or patch:FILE"),
        ("class:os", "expected class:MODULE:CLASS"),
        ("class:no.such.module:Scheduler", "cannot be imported"),
        ("class:os.path:Scheduler", "has no scheduler class"),
        ("class:os.path:join", "has no scheduler class"),
        ("class:a;b:c", "expected class:MODULE:CLASS"),
        ("patch:", "expected class:MODULE:CLASS or patch:FILE"),
        ("patch:/no/such/file", "no such file"),
    ],
)
def test_a_wrong_spec_is_one_clear_line(spec: str, message: str) -> None:
    with pytest.raises(VariantError) as caught:
        load(spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
