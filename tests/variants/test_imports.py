from __future__ import annotations

import libcst as cst
import pytest

from bench.errors import VariantError
from bench.variants.imports import with_module, without_import


def test_a_name_is_taken_away_and_its_line_stays() -> None:
    module = cst.parse_module("from a import x, y\nfrom b import x\n")
    assert without_import(module, "x").code == "from a import y\nfrom b import x\n"


def test_a_module_is_imported_in_its_place() -> None:
    module = cst.parse_module('"""Doc."""\n\nimport ast\nimport time\nfrom b import c\n')
    assert (
        with_module(module, "itertools").code
        == '"""Doc."""\n\nimport ast\nimport itertools\nimport time\nfrom b import c\n'
    )


def test_a_module_that_comes_first_takes_over_the_blank_line() -> None:
    module = cst.parse_module("from __future__ import x\n\nimport time\n")
    assert with_module(module, "itertools").code == "from __future__ import x\n\nimport itertools\nimport time\n"


@pytest.mark.parametrize("text", ["import itertools\n", "import time\nimport itertools\n", "import a, itertools\n"])
def test_a_module_that_is_imported_is_not_imported_again(text: str) -> None:
    assert with_module(cst.parse_module(text), "itertools").code == text


def test_no_place_for_an_import_is_an_error() -> None:
    with pytest.raises(VariantError, match="no plain import that `import itertools` could stand before"):
        with_module(cst.parse_module("from a import b\n"), "itertools")
