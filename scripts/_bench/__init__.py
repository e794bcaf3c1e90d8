"""Measure the hub beside its floors: what `scripts/bench` runs."""
