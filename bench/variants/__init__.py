"""Scheduler variants by SPEC, derived from the installed vLLM source at run time.

The submodules `list` and `dict` become attributes here once imported, so nothing in this file may use the
builtins of those names.
"""

from bench.variants.spec import Variant, load

__all__ = ["Variant", "load"]
