"""Proof, step by step, that two variants decide alike."""
