"""The `list_rebuild` variant by dotted path: `bench.variants.list_rebuild.Scheduler` and `.AsyncScheduler`."""

from bench.variants.spec import load

_variant = load("list_rebuild")
Scheduler = _variant.scheduler
AsyncScheduler = _variant.async_scheduler
