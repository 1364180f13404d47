"""Frozen lists of requests: the file format, its digest, and the seeded workload generators."""
