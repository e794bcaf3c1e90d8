"""Bytes in, bytes out: WebSockets of agents and spectators."""
