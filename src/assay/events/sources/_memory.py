"""Sources in memory: tables of Arrow, pandas, polars and datasets, NumPy arrays, lists of rows.

None of these packages is imported unless one of its objects was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import SourceError, UsageError, missing_extra
from assay.events.sources._rows import EVENT_START, PREFIX_ROWS, shape_of
from assay.events.stream import Episode, EventStream, concatenate

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.events.sources import ReadOptions


def arrow_table(source: object) -> pa.Table | None:
    """`source` as an Arrow table if it supports the Arrow interface or is a `datasets.Dataset`, otherwise None."""
    speaks_arrow = hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")
    is_dataset = hasattr(source, "with_format") and hasattr(source, "column_names") and hasattr(source, "__len__")
    is_frame = hasattr(source, "columns") and hasattr(source, "iloc")
    if not (speaks_arrow or is_dataset or is_frame):
        return None
    if isinstance(source, Mapping):  # a `datasets.DatasetDict`
        splits = ", ".join(f"'{name}'" for name in source)
        raise UsageError(f"a {type(source).__name__} has several tables: {splits}", hint="Give one of them")
    try:
        import pyarrow as pa
    except ImportError as error:
        raise missing_extra("pyarrow", "events", f"read a {type(source).__name__}") from error
    try:
        if is_frame:
            return pa.Table.from_pandas(source, preserve_index=False)
        if is_dataset and not speaks_arrow:
            found: Any = source
            return pa.table(found.with_format("arrow")[:])
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SourceError(
            f"the {type(source).__name__} cannot be turned into an Arrow table: {first_line}",
            hint="Give each column values of one type",
        ) from error


@dataclass
class InMemory:
    """An Arrow table in the form that `read_table` takes."""

    table: pa.Table
    unfinished: bool = False

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def batches(self, names: list[str], rows: int, labels: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        from assay.events.sources._tables import checked

        return map(checked, self.table.select(names).to_batches(max_chunksize=rows))

    def bytes_a_row(self, names: list[str]) -> int | None:
        return self.table.select(names).nbytes // self.table.num_rows if self.table.num_rows else None

    def position(self, rows: int, total: int | None) -> int:
        return rows


def read_arrow(table: pa.Table, source: object, reading: ReadOptions) -> Iterator[EventStream]:
    """The events of a table in memory."""
    from assay.events.sources._tables import read_table

    return read_table(InMemory(table), table.schema.names, f"the {type(source).__name__}", table.num_rows, reading)


def read_list(rows: Sequence[Any], reading: ReadOptions) -> Iterator[EventStream]:
    """The events of a list: of texts, of rows as in JSON Lines, of events, or of token ids."""
    first = next((row for row in rows if row is not None), "")
    kinds: tuple[tuple[Any, str], ...] = (
        (str, "a string"),
        (Mapping, "a dictionary"),
        ((list, tuple, np.ndarray), "a list of token ids"),
    )
    kind, name = next((found for found in kinds if isinstance(first, found[0])), kinds[0])
    for at, row in enumerate(rows):
        if not isinstance(row, kind) and not (row is None and kind is not str):
            raise UsageError(
                f"element {at} of the list is a {type(row).__name__}, not {name}",
                hint="Give one kind of element only: texts, dictionaries, or token ids",
            )
    if kind is str:
        return _read_texts([str(row) for row in rows], reading)
    if kind is Mapping:
        return _read_mappings(rows, reading)
    # A sequence of ids may be one event or, as models generate them, many: decided as for a file.
    texts = [text_of_ids(row, reading) if row is not None else "" for row in rows]
    shape = shape_of([text.count(EVENT_START) for text in texts[:PREFIX_ROWS] if text], reading)
    return _read_texts(texts, replace(reading, rows=shape))


def read_array(array: np.ndarray[Any, Any], reading: ReadOptions) -> Iterator[EventStream]:
    """The events of a NumPy array: texts, token ids of shape (tokens,) or (sequences, tokens), or a structured one."""
    if array.dtype.names:
        import pyarrow as pa

        columns = {name: pa.array(array[name].reshape(-1)) for name in array.dtype.names}
        return read_arrow(pa.table(columns), array, reading)
    if np.issubdtype(array.dtype, np.integer):
        sequences = np.atleast_2d(array)
        if sequences.ndim != 2:
            raise UsageError(f"invalid shape {array.shape} of token ids", hint="Give (tokens,) or (sequences, tokens)")
        return read_list(list(sequences), reading)
    if array.dtype.kind in "UTO":
        return read_list(array.reshape(-1).tolist(), reading)
    raise UsageError(
        f"events cannot be read from an array of {array.dtype}", hint="Give texts, or token ids and a tokenizer"
    )


def _read_texts(texts: list[str], reading: ReadOptions) -> Iterator[EventStream]:
    # A list of texts is one event each unless `rows` says otherwise; 'auto' has nothing to decide.
    shape = "event" if reading.rows == "auto" else shape_of([], reading)
    starts = range(0, len(texts), reading.batch_rows) or range(1)
    for at in starts:
        batch = texts[at : at + reading.batch_rows]
        if shape == "event":
            yield reading.codec.decode_each(batch)
            continue
        parts = [reading.codec.decode(text).of_episode(Episode(f"row {row}")) for row, text in enumerate(batch, at + 1)]
        yield concatenate(parts) if parts else reading.codec.decode_each([])


def _read_mappings(rows: Sequence[Mapping[str, Any] | None], reading: ReadOptions) -> Iterator[EventStream]:
    from assay.events.sources._mappings import read_mappings

    return read_mappings([dict(row) if row is not None else {} for row in rows], "the list", reading)


def are_ids(value: object) -> bool:
    """Whether this is a list of whole numbers."""
    return isinstance(value, list) and all(type(number) is int for number in value)


def text_of_ids(ids: Any, reading: ReadOptions) -> str:
    """The text of token ids; ids of −100 are left out, unknown ids have no text."""
    if reading.tokenizer is None:
        raise UsageError("token ids need a tokenizer", hint="Give one with --tokenizer PATH (in Python: tokenizer=…)")
    tokens = reading.tokenizer.tokens
    return "".join([tokens.get(int(number), "") for number in ids if number is not None and number != -100])
