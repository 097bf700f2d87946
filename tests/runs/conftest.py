"""Runs are recorded in the same two databases that the store is tested with."""

from tests.store.conftest import address, server, store

__all__ = ["address", "server", "store"]
