"""The `list_twice` variant by dotted path: `bench.variants.list_twice.Scheduler` and `.AsyncScheduler`."""

from bench.variants.spec import load

_variant = load("list_twice")
Scheduler = _variant.scheduler
AsyncScheduler = _variant.async_scheduler
