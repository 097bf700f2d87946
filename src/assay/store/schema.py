"""The tables of the current schema, for building statements. `migrations` creates them.

The database numbers runs; we number cases and turns within their run. That keeps rows short and preserves the order in
which they were written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from assay.store.texts import json_text, kept_text, plain_text


class AnyText(TypeDecorator[str]):
    """Text of any kind. PostgreSQL rejects zero bytes and both databases reject lone surrogates, but a model may write
    both: such text is stored as JSON after an escape character.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else plain_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        return None if value is None else kept_text(value)


DAMAGED: Mapping[str, Any] = MappingProxyType({})
"""Stands for JSON that cannot be decoded, so that one damaged run does not hide the others."""


class Json(TypeDecorator[Any]):
    """A value as JSON text; the order of keys is preserved."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return json_text(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return DAMAGED


_metadata = MetaData()

runs = Table(
    "runs",
    _metadata,
    Column("number", Integer, primary_key=True),
    Column("id", AnyText),
    Column("kind", AnyText),
    Column("name", AnyText),
    Column("created", AnyText),
    Column("status", Text),
    Column("command", AnyText),
    Column("settings", Json),
    Column("seed", Text),
    Column("versions", Json),
    Column("inputs", Json),
    Column("environment", Json),
    Column("group_names", Json),
    Column("case_count", Integer),
    Column("digest", Text),
)
cases = Table(
    "cases",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", AnyText),
    Column("stratum", AnyText),
)
tallies = Table(
    "tallies",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("group_number", Integer, primary_key=True),
    Column("case_number", Integer, primary_key=True),
    Column("states", LargeBinary),
)
turns = Table(
    "turns",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("group_number", Integer),
    Column("case_number", Integer),
    Column("repetition", Integer),
    Column("turn", Integer),
    Column("query", AnyText),
    Column("response", AnyText),
    Column("passed", Boolean),
    Column("entries", Json),
    Column("record", Json),
    Column("failures", Json),
    Column("truth", Json),
)
scores = Table(
    "scores",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("turn_number", Integer, primary_key=True),
    Column("metric", AnyText, primary_key=True),
    Column("score", Float(53)),
    Column("measured", Boolean),
)
artefacts = Table(
    "artefacts",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("name", AnyText, primary_key=True),
    Column("media_type", AnyText),
    Column("content", LargeBinary),
)
tags = Table(
    "tags",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("tag", AnyText, primary_key=True),
)
summaries = Table(
    "summaries",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("version", Text),
    Column("content", Json),
)
reviews = Table(
    "reviews",
    _metadata,
    Column("run", Integer, primary_key=True),
    Column("case_number", Integer, primary_key=True),
    Column("group_number", Integer, primary_key=True),
    Column("repetition", Integer, primary_key=True),
    Column("turn", Integer, primary_key=True),
    Column("reviewer", AnyText, primary_key=True),
    Column("passed", Boolean),
    Column("score", Integer),
    Column("comment", AnyText),
    Column("created", Text),
)
shards = Table(
    "shards",
    _metadata,
    Column("key", Text, primary_key=True),
    Column("created", Text),
    Column("content", LargeBinary),
)
