"""What crosses the wire between a Claw Vegas hub and its clients; imports nothing of the hub."""
