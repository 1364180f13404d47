"""Scheduler variants by SPEC, derived from the installed vLLM source at run time."""
