"""The `list` variant by dotted path, for `vllm serve --scheduler-cls bench.variants.list.AsyncScheduler`."""

from bench.variants.spec import load

_variant = load("list")
Scheduler = _variant.scheduler
AsyncScheduler = _variant.async_scheduler
