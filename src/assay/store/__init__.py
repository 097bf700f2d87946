"""The store of runs: a SQLite file by default, PostgreSQL by address, with the same code.

Tallies are stored, and estimates are recomputed from them. The parts: `schema` defines the tables, `migrations` creates
and changes them, `encoding` writes a tally as bytes, `database` opens connections and explains their errors, `store` is
the store itself, `references` finds the run that a user names, `searching` lists runs, `contents` reads and writes what
a run contains, `reviews` what people say about answers, `shards` keeps those of unfinished evaluations, and `checking`
verifies digests. Without a database are `ids` of new runs, `texts` and `encoded`, which make rows, and `process`, a
store in a process of its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import StoreError, missing_extra

if TYPE_CHECKING:
    from assay.store.store import Store

VARIABLE = "ASSAY_STORE"
"""Environment variable that names the store to use if none is given."""


def open_store(address: str | os.PathLike[str] | None = None, *, create: bool = True) -> Store:
    """The store at a path, at `sqlite:///path` or at `postgresql://…`; an older one is migrated.

    Without an address it is the one in ASSAY_STORE, else `assay.db` in the platform's data folder. A file
    that does not exist is created; with `create=False`, a file that was named and does not exist is an error instead.

    Example:
        >>> with open_store("example.db") as store:
        ...     store.list()
        []

    """
    try:
        import sqlalchemy  # noqa: F401 — imported here so that its absence is reported in our words
    except ImportError as error:
        raise missing_extra("sqlalchemy", "store", "keep runs") from error
    from assay.store.store import Store

    if address and not create:
        _check_file(os.fspath(address))
    return Store(os.fspath(address) if address else default_address())


def _check_file(address: str) -> None:
    """Raise StoreError if the address is that of a file which does not exist."""
    if "://" in address and not address.startswith("sqlite:///"):
        return
    path = Path(address.removeprefix("sqlite:///")).expanduser()
    if not path.exists():
        raise StoreError("there is no store here", where=str(path), hint="Check the path, or leave --store out")


def default_address() -> str:
    """The address of the store that is used if none is given."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    try:
        from platformdirs import user_data_path
    except ImportError as error:
        raise missing_extra("platformdirs", "store", "find the folder for runs") from error
    return str(user_data_path("assay", appauthor=False) / "assay.db")
