"""Watch a hub's tables in a terminal: a spectator on the client library."""
