"""The `dict` variant by dotted path, for `vllm serve --scheduler-cls bench.variants.dict.AsyncScheduler`."""

from bench.variants.spec import load

_variant = load("dict")
Scheduler = _variant.scheduler
AsyncScheduler = _variant.async_scheduler
