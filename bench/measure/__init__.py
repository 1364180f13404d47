"""Pairs of arms in lock-step, the host that they ran on, and the raw files they leave."""
