"""Creates and changes the tables, version by version. A released version is never edited: a change is a new version.

Every version is a list of statements that both SQLite and PostgreSQL accept; `{integer_key}` and `{bytes}` are types
that they name differently. All missing versions run in one transaction behind a lock, so two processes that open a
store at the same time give the same result as one.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from assay.errors import StoreError

# Tallies, turns and scores have no foreign keys: they are written and deleted in a transaction that locks their run,
# and PostgreSQL would take longer to check a million rows against their parents than to write them.
_FIRST = (
    """CREATE TABLE runs (
        number {integer_key},
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        created TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('open', 'complete')),
        command TEXT NOT NULL,
        settings TEXT NOT NULL,
        seed TEXT NOT NULL,
        versions TEXT NOT NULL,
        inputs TEXT NOT NULL,
        environment TEXT NOT NULL,
        group_names TEXT NOT NULL
    )""",
    """CREATE TABLE cases (
        run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        name TEXT NOT NULL,
        stratum TEXT NOT NULL,
        PRIMARY KEY (run, number),
        UNIQUE (run, name, stratum)
    )""",
    """CREATE TABLE tallies (
        run BIGINT NOT NULL,
        group_number INTEGER NOT NULL,
        case_number INTEGER NOT NULL,
        states {bytes} NOT NULL,
        PRIMARY KEY (run, group_number, case_number)
    )""",
    """CREATE TABLE turns (
        run BIGINT NOT NULL,
        number INTEGER NOT NULL,
        group_number INTEGER NOT NULL,
        case_number INTEGER NOT NULL,
        repetition INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        query TEXT NOT NULL,
        response TEXT NOT NULL,
        passed BOOLEAN NOT NULL,
        entries TEXT NOT NULL,
        PRIMARY KEY (run, number),
        UNIQUE (run, case_number, group_number, repetition, turn)
    )""",
    """CREATE TABLE scores (
        run BIGINT NOT NULL,
        turn_number INTEGER NOT NULL,
        metric TEXT NOT NULL,
        score DOUBLE PRECISION NOT NULL,
        measured BOOLEAN NOT NULL,
        PRIMARY KEY (run, turn_number, metric)
    )""",
    """CREATE TABLE artefacts (
        run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        name TEXT NOT NULL,
        media_type TEXT NOT NULL,
        content {bytes} NOT NULL,
        PRIMARY KEY (run, name)
    )""",
)

# Tags; an index that finds the newest run of a name; a count of cases, so that a list of runs need not count them.
_SECOND = (
    """CREATE TABLE tags (
        run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        tag TEXT NOT NULL,
        PRIMARY KEY (run, tag)
    )""",
    "CREATE INDEX runs_by_name ON runs (name, id)",
    "ALTER TABLE runs ADD COLUMN case_count INTEGER NOT NULL DEFAULT 0",
    "UPDATE runs SET case_count = (SELECT count(*) FROM cases WHERE cases.run = runs.number)",
)

# What was recorded while a turn was played: outcome, times, tool calls.
_THIRD = ("ALTER TABLE turns ADD COLUMN record TEXT NOT NULL DEFAULT 'null'",)

# A run states its kind: before, a key in the settings distinguished runs of agents from scored transcripts.
_FOURTH = (
    """UPDATE runs SET kind = 'experiment' WHERE kind = 'chat' AND settings LIKE '%"venue":%'""",
    """UPDATE runs SET settings = replace(settings, '"venue":', '"environment":') WHERE kind = 'experiment'""",
)

# The checks that an answer did not pass.
_FIFTH = ("ALTER TABLE turns ADD COLUMN failures TEXT NOT NULL DEFAULT '[]'",)

# The figures of a run as last shown, so that a list of runs need not compute them; and what reviewers said.
_SIXTH = (
    """CREATE TABLE summaries (
        run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        version TEXT NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (run)
    )""",
    """CREATE TABLE reviews (
        run BIGINT NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
        case_number INTEGER NOT NULL,
        group_number INTEGER NOT NULL,
        repetition INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        reviewer TEXT NOT NULL,
        passed BOOLEAN,
        score INTEGER,
        comment TEXT NOT NULL,
        created TEXT NOT NULL,
        PRIMARY KEY (run, case_number, group_number, repetition, turn, reviewer)
    )""",
)

# A digest of each complete run (see `checking`); empty for older runs. A version that rewrites rows must empty it.
_SEVENTH = ("ALTER TABLE runs ADD COLUMN digest TEXT NOT NULL DEFAULT ''",)

# Finished shards of evaluations that are not complete.
_EIGHTH = (
    """CREATE TABLE shards (
        key TEXT NOT NULL,
        created TEXT NOT NULL,
        content {bytes} NOT NULL,
        PRIMARY KEY (key)
    )""",
)

# The ground truth that an answer was compared with, for judges. Digests are of whole rows, so old ones do not hold.
_NINTH = ("ALTER TABLE turns ADD COLUMN truth TEXT NOT NULL DEFAULT 'null'", "UPDATE runs SET digest = ''")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _FIRST,
    _SECOND,
    _THIRD,
    _FOURTH,
    _FIFTH,
    _SIXTH,
    _SEVENTH,
    _EIGHTH,
    _NINTH,
)
"""Statements of each version, in order."""
SCHEMA_VERSION = len(MIGRATIONS)
"""The version of the schema that this assay reads and writes."""

_WORDS = {
    "sqlite": {"integer_key": "INTEGER PRIMARY KEY", "bytes": "BLOB"},
    "postgresql": {"integer_key": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "bytes": "BYTEA"},
}
_OURS = {"runs", "cases", "tallies", "turns", "scores", "artefacts", "tags", "summaries", "reviews", "shards"}
_LOCK = 0x61737361  # PostgreSQL's advisory locks are numbers; this one spells 'assa'


def found_version(connection: Connection) -> int:
    """The schema version of an open database; 0 if it is empty. Raises StoreError if it is not a store of runs."""
    tables = set(inspect(connection).get_table_names())
    if "assay_schema" in tables:
        version = connection.execute(text("SELECT max(version) FROM assay_schema")).scalar()
        if not isinstance(version, int):
            raise StoreError(
                "the schema of the store has no version", hint="Restore it from a backup, or choose another store"
            )
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"the store was written by a newer assay: its schema is {version}, newer than {SCHEMA_VERSION}",
                hint="Upgrade assay, or choose another store",
            )
        return version
    # A PostgreSQL database may be shared with other programs; a SQLite file belongs to one.
    if tables if connection.dialect.name == "sqlite" else tables & _OURS:
        raise StoreError(
            f"the database belongs to another program: it has {', '.join(sorted(tables)[:3])} and no schema of assay",
            hint="Choose another store",
        )
    return 0


def migrate(connection: Connection, *, to: int = SCHEMA_VERSION) -> None:
    """Bring the schema up to date, within the current writing transaction of `connection`."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    # Read again after locking: another process may have migrated first.
    version = found_version(connection)
    words = _WORDS[connection.dialect.name]
    if version == 0:
        connection.execute(text("CREATE TABLE assay_schema (version INTEGER NOT NULL)"))
        connection.execute(text("INSERT INTO assay_schema VALUES (0)"))
    for statements in MIGRATIONS[version:to]:
        for statement in statements:
            connection.execute(text(statement.format(**words)))
    if version < to:
        connection.execute(text("UPDATE assay_schema SET version = :version"), {"version": to})
