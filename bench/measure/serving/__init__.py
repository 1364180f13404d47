"""The `serve` tier: servers that never outlive the run, a client that replays by clock, and pairs of replays."""
