"""Raw files of a run folder in, tidy tables and verdicts out; needs no vLLM."""
