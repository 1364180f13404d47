"""The `seed_patch` variant by dotted path: `bench.variants.seed_patch.Scheduler` and `.AsyncScheduler`."""

from bench.variants.spec import load

_variant = load("seed_patch")
Scheduler = _variant.scheduler
AsyncScheduler = _variant.async_scheduler
