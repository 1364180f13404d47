"""The only place that imports vLLM: its version adapter, the tiers, and the step probe."""
