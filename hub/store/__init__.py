"""The shared store: the only place that knows Redis."""
