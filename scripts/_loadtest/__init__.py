"""Load hubs with bots and spectators and say how they bear it: what `scripts/loadtest` runs."""
