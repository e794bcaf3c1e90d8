"""House bots: ordinary clients of the protocol."""
