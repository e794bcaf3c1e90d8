"""Hubs' parts without sockets, as the tests of the store have them."""

from tests.store.conftest import make_parts, parts, valkey

__all__ = ["make_parts", "parts", "valkey"]
