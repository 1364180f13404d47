"""Settles scheduler questions for vLLM: build variants, freeze a trace, prove equal decisions, time, judge, report."""

__version__ = "0.1.0"
