"""A table in this process: the way a match moves, and this hub's copy of it."""
