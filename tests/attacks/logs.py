"""Logs of other tools that become far larger than they are: archives, JSON, tables."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from assay.errors import AssayError
from assay.events.sources._limits import MAX_MEMORY_VARIABLE
from assay.logs import read_logs
from tests.attacks import Attack, Outcomes

_LIMIT = 1 << 20


def _archive(*samples: str) -> bytes:
    """An Inspect log with these samples."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", '{"version": 2, "eval": {"model": "m", "task": "t"}}')
        for at, sample in enumerate(samples):
            archive.writestr(f"samples/{at}.json", sample)
    return made.getvalue()


def _bombs() -> Iterator[tuple[str, bytes]]:
    """Files that take several times the limit if they are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    scores = '"scores": {"a": {"value": "C"}}'
    yield "values.eval", _archive('{"id": 1, "x": [' + "[]," * 20_000 + "[]], " + scores + "}")
    yield "text.eval", _archive('{"id": 1, "input": "' + "a" * _LIMIT + '", ' + scores + "}")
    yield "deep.eval", _archive("[" * 200_000)
    yield "many.eval", _archive(*(f'{{"id": {at}, "input": "{"q" * 9000}", {scores}}}' for at in range(400)))
    yield "scores.eval", _archive(json.dumps({"id": 1, "scores": {"!" * at: {"value": 1} for at in range(1, 6000)}}))
    yield "values.json", b'{"results": {"version": 3, "results": [' + b"{}," * 20_000 + b"{}]}}"
    yield "line.jsonl", b'{"case": "a", "score": 1}\n{"case": "' + b"b" * _LIMIT
    yield "line.csv", b"case,score\na,1\n" + b"b" * _LIMIT
    tables = {
        "rows": pa.table({"case": ["a"] * 9_000, "score": [1] * 9_000}),
        "dictionary": pa.table({"case": ["x" * 100_000] * 300, "score": [1] * 300}),
        "lists": pa.table({"case": ["a"], "score": [1], "x": [[0] * 1_000_000]}),
    }
    for name, table in tables.items():
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="zstd")
        yield f"{name}.parquet", sink.getvalue()


def bombs_in_logs(times: int, folder: Path) -> Outcomes:
    """Each is refused in a sentence that says what is too large."""
    with patch.dict(os.environ, {MAX_MEMORY_VARIABLE: str(_LIMIT >> 20)}):
        for name, content in _bombs():
            (folder / name).write_bytes(content)
            try:
                found = read_logs(folder / name)
            except AssayError as error:
                held = "larger than" in str(error) or "more than" in str(error)
                yield None if held else f"{name} has another error: {error}"
            except Exception as error:
                yield f"{name} ended in {type(error).__name__}"
            else:
                yield f"{name} was read: {len(found.answers)} answers"


ATTACKS = [Attack("bombs in logs of other tools", bombs_in_logs, 1, 1, seconds=0.7)]
