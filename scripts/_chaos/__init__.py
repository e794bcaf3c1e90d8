"""Break hubs while bots play on them, and check that nothing is lost, repeated or counted twice."""
