"""Hubs' parts without sockets, as the tests of the store have them."""

from tests.store.conftest import make_parts as make_parts
from tests.store.conftest import parts as parts
