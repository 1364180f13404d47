"""vLLM's own scheduler tests, run on two variants: what passes on one must pass on the other.

The tests are never copied into this project: they come from a vLLM tree or source release that the caller names.
"""
