"""The baseline's rewrite: nothing is changed, but every use of `self.running` must be known here too.

The baseline takes the same path as every other variant, since a class loaded another way is another
experiment.
"""

from __future__ import annotations

import libcst as cst
from libcst.metadata import MetadataWrapper

from bench.variants.uses import find_uses


def rewrite(text: str, file: str) -> str:
    """`text` as it is; raises VariantError at a use of `self.running` that is not known."""
    find_uses(MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True), file)
    return text
