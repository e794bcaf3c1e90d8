"""A real-time WebSocket hub for Claw Vegas."""
