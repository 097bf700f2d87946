"""Whether a store has changed: a mark that differs after every committed change, whichever process made it.

What was read after a mark was taken is current as long as the mark stays the same. This module knows nothing about
runs.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from itertools import count
from typing import Any

from assay.store.store import Store

Mark = tuple[int, Any]
"""Compared for equality only."""
_connections = count(1)


class StoreWatch:
    """Asks a store for its mark over a connection of its own, which never writes.

    SQLite counts for each connection the commits of all others (`PRAGMA data_version`). In PostgreSQL the current
    snapshot says which transactions have ended: two equal ones see the same rows, whatever the isolation level.
    Transactions of other databases of the server change it too; that costs a reader time, never correctness.
    """

    def __init__(self, store: Store) -> None:
        self._database = store._database
        self.is_instant = self._database.path is not None
        """Whether asking takes microseconds, and does not wait for a server."""
        self._connection: Any = None
        self._number = 0
        self._lock = threading.Lock()

    def mark(self) -> Mark | None:
        """The mark of the store as it is now; None if it cannot be told, so that nothing is taken for current."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._opened()
                    # Counts of different connections say nothing about each other.
                    self._number = next(_connections)
                return self._number, self._connection.execute(self._question).fetchall()[0][0]
            except Exception as error:
                if not type(error).__module__.startswith(("sqlite3", "psycopg", "sqlalchemy")):
                    raise
                self._close()
                return None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._close()

    @property
    def _question(self) -> str:
        return "PRAGMA data_version" if self.is_instant else "SELECT pg_current_snapshot()::text"

    def _opened(self) -> Any:
        lent = self._database.lent_connection()
        if isinstance(lent, sqlite3.Connection):
            # Without a write-ahead log a writer can keep readers waiting, and pages are answered in between.
            lent.execute("PRAGMA busy_timeout = 0")
        else:
            lent.autocommit = True
        return lent

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it is given up in any case
                connection.close()
