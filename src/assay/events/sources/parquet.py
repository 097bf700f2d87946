"""Parquet and Arrow IPC (files, Feather, streams): a row is one event or one episode.

Only the columns that are needed are read, a record batch at a time. The format is recognised by the file's first bytes,
whatever its name.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ColumnError, SourceError, missing_extra
from assay.events.codecs import codec
from assay.events.sources import ReadOptions
from assay.events.sources._bodies import check_bodies
from assay.events.sources._files import local_path, open_binary, size
from assay.events.sources._pages import Limits, Page, row_groups, rows_that_fit
from assay.events.sources._rows import BATCH_BYTES, PREFIX_ROWS, column_of
from assay.events.sources._tables import Table, arrow_errors, checked, integers_of, lengths_of, nulls_of, read_table
from assay.events.stream import EventStream

if TYPE_CHECKING:
    import pyarrow as pa

# The end of an Arrow stream: a continuation mark and a length of 0.
_END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"
# Bytes read ahead of each column; without it, a whole column chunk is loaded at once.
_BUFFER = 1 << 20
# Texts of a dictionary this short fit in any batch, however often each is named.
_MOST_ROWS = 1 << 16
# Rows whose episodes are looked at together.
_INDEXED_ROWS = 1 << 20
# Lengths that the footer may claim.
_THRIFT = {"thrift_string_size_limit": 64 << 20, "thrift_container_size_limit": 1 << 20}


@dataclass(frozen=True)
class ArrowTables:
    """Parquet and Arrow IPC."""

    suffixes: tuple[str, ...] = (".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc")

    def batches(self, address: str, reading: ReadOptions) -> Iterator[EventStream]:
        """The events of the file."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise missing_extra("pyarrow", "events", "read Parquet and Arrow files") from error
        with ExitStack() as stack:
            stack.callback(pa.default_memory_pool().release_unused)
            with arrow_errors(address):
                table = _open(address, stack, reading)
                present = table.schema.names
            yield from read_table(table, present, address, size(address), reading)


SOURCE = ArrowTables()


def _open(address: str, stack: ExitStack, reading: ReadOptions) -> Table:
    with open_binary(address) as file:
        head = file.read(8)
    if not head:
        raise SourceError("the file is empty", where=address, hint="Even a table without rows has a schema")
    if head.startswith(b"PAR1"):
        return _Parquet(address, stack, reading)
    if head.startswith(b"FEA1"):
        raise SourceError("this is Feather version 1", where=address, hint="Write it again with pyarrow.feather")
    if reading.part is not None:
        raise SourceError("only a Parquet file can be read in part", where=address, hint="Give the whole file")
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        with open_binary(address) as file:
            check_bodies(file, file.seek(0, os.SEEK_END), reading.max_memory)
        return _Ipc(address, stack, is_stream=not head.startswith(b"ARROW1"))
    raise SourceError(
        "this is neither a Parquet nor an Arrow file", where=address, hint="Check the file and its suffix"
    )


def every_batch(path: str, rows: int, max_memory: int) -> Iterator[pa.RecordBatch]:
    """All columns of a Parquet file, at most so many rows at a time, and fewer if more do not fit in memory."""
    with ExitStack() as stack:
        table = _Parquet(path, stack, ReadOptions(codec("json"), max_memory=max_memory))
        if len(set(table.schema.names)) < len(table.schema.names):
            raise ColumnError("two columns have the same name", where=path, hint="Rename one of them")
        yield from table.batches(table.schema.names, rows)


class _Parquet:
    unfinished = False

    def __init__(self, address: str, stack: ExitStack, reading: ReadOptions) -> None:
        import pyarrow.parquet as pq

        self._limits = Limits(
            min(BATCH_BYTES, reading.max_memory // 4), reading.max_memory, expansion=reading.max_expansion
        )
        self._rows_of: dict[tuple[int, str, bool], int | None] = {}
        self._raw = stack.enter_context(open_binary(address))
        # The pages of a remote file would be downloaded twice, so only its footer is checked.
        self._is_local = local_path(address) is not None
        self._groups = row_groups(self._read_at, self._raw.seek(0, os.SEEK_END), reading.max_memory)

        def opened(labels: list[str]) -> Any:
            path = local_path(address)
            source = path if path is not None else stack.enter_context(open_binary(address))
            options = {"pre_buffer": False, "buffer_size": _BUFFER, "read_dictionary": labels}
            file = pq.ParquetFile(source, **options, **_THRIFT)
            return stack.enter_context(file)

        self._opened = functools.cache(opened)
        self._file = self._opened(())
        self._part = reading.part
        self.schema = self._file.schema_arrow

    def _read_at(self, at: int, length: int) -> bytes:
        self._raw.seek(at)
        return self._raw.read(length)

    def batches(self, names: list[str], rows: int, labels: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        texts = tuple(name for name in labels if _is_text(self.schema.field(name).type))
        file = self._opened(texts)
        first, last = self._part or (0, 1 << 62)
        ends = list(itertools.accumulate(group.rows for group in self._groups))
        numbers = [at for at, end in enumerate(ends) if end - self._groups[at].rows < last and end > first]
        row = ends[numbers[0]] - self._groups[numbers[0]].rows if numbers else 0
        # The first row group by itself: who needs only the first rows does not wait for the pages of all to be checked.
        for some in (numbers[:1], numbers[1:]):
            for fitting, group in itertools.groupby(
                some, lambda at: min(rows, self._fitting(at, names, texts)) if self._is_local else rows
            ):
                for batch in file.iter_batches(fitting, row_groups=list(group), columns=names, use_threads=False):
                    begin, end = max(first - row, 0), min(last - row, batch.num_rows)
                    row += batch.num_rows
                    if begin < end or self._part is None:
                        yield checked(batch.slice(begin, end - begin) if end - begin < batch.num_rows else batch)

    def _fitting(self, group: int, names: list[str], labels: Sequence[str]) -> int:
        """How many rows of a row group can be decoded at a time: a power of 4, so that most groups have the same."""
        found = [self._fitting_column(group, name, name in labels) for name in names]
        least = min([one for one in found if one is not None], default=1 << 40)
        return int(4 ** (least.bit_length() // 2)) if least < 1 << 40 else least

    def _fitting_column(self, group: int, name: str, is_label: bool) -> int | None:
        key = group, name, is_label
        if key not in self._rows_of:
            chunks = [one for one in self._groups[group].chunks if one.column == name]
            longest = None if is_label else lambda page: self._longest(group, name, page)
            found = [rows_that_fit(self._read_at, one, self._limits, longest) for one in chunks]
            self._rows_of[key] = min([one for one in found if one is not None], default=None)
        return self._rows_of[key]

    def _longest(self, group: int, name: str, page: Page) -> int:
        """The length of the longest text of a dictionary; that of the whole dictionary if it is short or nested."""
        if page.size * _MOST_ROWS <= self._limits.batch or not _is_text(self.schema.field(name).type):
            return page.size
        first = next(self._opened((name,)).iter_batches(1, row_groups=[group], columns=[name], use_threads=False), None)
        texts = checked(first).column(0).dictionary if first is not None else []
        whole = len(texts) and len(texts) >= page.values
        return max(int(lengths_of(texts).max()), 1) if whole else page.size

    def bytes_a_row(self, names: list[str]) -> int | None:
        # The metadata of single columns are not used: pyarrow crashes the process if they are damaged.
        metadata = self._file.metadata
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        sizes = [group.total_byte_size / group.num_rows for group in groups if group.num_rows > 0]
        if not sizes:
            return None
        rows = min(PREFIX_ROWS, max(1, BATCH_BYTES // max(int(sizes[0]), 1)))
        first = next((batch for batch in self.batches(names, rows) if batch.num_rows), None)
        if first is None:
            return None
        # If later rows are longer than the first ones, the needed columns probably are too.
        growth = sum(sizes) / len(sizes) / max(sizes[0], 1)
        return int(first.nbytes / first.num_rows * max(growth, 1))

    def position(self, rows: int, total: int | None) -> int:
        return rows * (total or 0) // max(int(self._file.metadata.num_rows), 1)


def episode_runs(address: str, reading: ReadOptions) -> list[tuple[str, int]] | None:
    """Episodes by name with their number of rows, in the order of the file; None if it does not name them.

    Only the column of episodes is read. A name may come again after others.
    """
    import pyarrow as pa

    with ExitStack() as stack, arrow_errors(address):
        with open_binary(address) as file:
            if not file.read(4).startswith(b"PAR1"):
                return None
        table = _Parquet(address, stack, reading)
        name = column_of("episode", table.schema.names, reading)
        if name is None:
            return None
        runs: list[tuple[str, int]] = []
        for batch in table.batches([name], _INDEXED_ROWS, [name]):
            column = batch.column(0)
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            names = [known or "" for known in encoded.dictionary.cast(pa.large_string()).to_pylist()]
            index = np.where(nulls_of(encoded.indices), len(names), integers_of(encoded.indices))
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            for at, rows in zip(index[starts].tolist(), np.diff(starts, append=len(index)).tolist(), strict=True):
                found = names[at] if at < len(names) else ""
                if runs and runs[-1][0] == found:
                    runs[-1] = (found, runs[-1][1] + rows)
                else:
                    runs.append((found, rows))
        return runs


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class _Ipc:
    def __init__(self, address: str, stack: ExitStack, *, is_stream: bool) -> None:
        import pyarrow as pa

        path = local_path(address)
        opened = pa.memory_map(path) if path is not None else pa.PythonFile(open_binary(address), mode="r")
        self._file = stack.enter_context(opened)
        self._is_stream = is_stream
        self._share = 0.0
        self.schema = self._reader(None).schema
        self.unfinished = is_stream and not _ends_with_mark(address)

    def _reader(self, names: list[str] | None) -> Any:
        """A new reader from the beginning of the file; one at a time, since all share the file's position."""
        import pyarrow as pa

        self._file.seek(0)
        # Selecting columns makes Arrow copy data that it would otherwise map, so it is done only if it saves memory.
        fields = None
        if names is not None and set(names) != set(self.schema.names):
            fields = [self.schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        return (pa.ipc.open_stream if self._is_stream else pa.ipc.open_file)(self._file, options=options)

    def batches(self, names: list[str], rows: int, labels: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        reader = self._reader(names)
        if self._is_stream:
            yield from map(checked, reader)
            return
        for at in range(reader.num_record_batches):
            self._share = (at + 1) / reader.num_record_batches
            yield checked(reader.get_batch(at))

    def bytes_a_row(self, names: list[str]) -> int | None:
        first = next((batch for batch in self.batches(names, 1) if batch.num_rows), None)
        return first.nbytes // first.num_rows if first is not None else None

    def position(self, rows: int, total: int | None) -> int:
        return int(self._file.tell() if self._is_stream else self._share * (total or 0))


def _ends_with_mark(address: str) -> bool:
    length = size(address)
    if length is None:
        return True
    with open_binary(address) as file:
        file.seek(max(0, length - len(_END_MARK)))
        return file.read() == _END_MARK
