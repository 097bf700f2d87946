"""Reads tables with wrong bytes in them; run by a test in a separate process, since a crash would end the process.

Prints how many were read and how many refused. Any error but assay's own goes through, with its traceback.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from assay.errors import SourceError
from assay.events.codecs import codec
from assay.events.sources import ReadOptions, read

KEY = "<EVENT_START><KEYBOARD><0><0><3><13><press><EVENT_END>"
EVENT = {"kind": "mouse", "ts": 5, "dx": 1, "dy": 2, "flags": 0, "data": 0}
ROWS = 40
SUFFIXES = (".parquet", ".arrow", ".arrows", ".feather")


def tables() -> Iterator[pa.Table]:
    """Events in every form: text of each layout, structs, columns."""
    names = pa.array(["a", "b"] * (ROWS // 2))
    texts = pa.array([KEY] * ROWS)
    yield pa.table({"text": texts, "episode": names.dictionary_encode(), "stratum": ["x"] * ROWS})
    yield pa.table({"text": texts.dictionary_encode(), "episode": names})
    yield pa.table({"text": texts.cast(pa.string_view()), "episode": [1] * ROWS})
    yield pa.table({"text": [KEY * 3] * ROWS, "episode": names})
    yield pa.table({"event": [EVENT] * ROWS})
    yield pa.table(
        {"kind": ["mouse"] * ROWS, "ts": range(ROWS), "dx": range(ROWS), "press": [True, None] * (ROWS // 2)}
    )


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=17)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path, chunksize=17)
    else:
        opener = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, opener(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=17)


def spoiled(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four bytes set to something else."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(changed))
        changed[at] = chance.choice((0, 0xFF, changed[at] ^ 1 << chance.randrange(8), chance.randrange(256)))
    return bytes(changed)


def main(folder: Path, seed: int, files: int) -> None:
    chance = random.Random(seed)
    whole = []
    for table in tables():
        for suffix in SUFFIXES:
            path = folder / f"whole{suffix}"
            write(table, path)
            whole.append((suffix, path.read_bytes()))
    found: Counter[str] = Counter()
    for _ in range(files):
        suffix, content = chance.choice(whole)
        path = folder / f"damaged{suffix}"
        path.write_bytes(spoiled(content, chance))
        try:
            for batch in read(path, ReadOptions(codec("hierarchical"))):
                batch.to_events()
            found["read"] += 1
        except SourceError:
            found["refused"] += 1
    print(found["read"], found["refused"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
