"""The rules of Claw Vegas: pure functions on integers; no I/O, no clock, no chance of their own."""
