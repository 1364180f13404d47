"""Figures of a run, one module each; the only place for matplotlib."""
