"""Parquet and Arrow IPC (files, Feather, streams): a row is one event or one episode.

Only the columns that are needed are read, a record batch at a time. The format is recognised by the file's first bytes,
whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.errors import SourceError, missing_extra
from assay.events.sources import ReadOptions
from assay.events.sources._files import local_path, open_binary, size
from assay.events.sources._rows import BATCH_BYTES, PREFIX_ROWS
from assay.events.sources._tables import Table, arrow_errors, checked, read_table
from assay.events.stream import EventStream

if TYPE_CHECKING:
    import pyarrow as pa

# The end of an Arrow stream: a continuation mark and a length of 0.
_END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"
# Bytes read ahead of each column; without it, a whole column chunk is loaded at once.
_BUFFER = 1 << 20
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
                table = _open(address, stack)
                present = table.schema.names
            yield from read_table(table, present, address, size(address), reading)


SOURCE = ArrowTables()


def _open(address: str, stack: ExitStack) -> Table:
    with open_binary(address) as file:
        head = file.read(8)
    if not head:
        raise SourceError("the file is empty", where=address, hint="Even a table without rows has a schema")
    if head.startswith(b"PAR1"):
        return _Parquet(address, stack)
    if head.startswith(b"FEA1"):
        raise SourceError("this is Feather version 1", where=address, hint="Write it again with pyarrow.feather")
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return _Ipc(address, stack, is_stream=not head.startswith(b"ARROW1"))
    raise SourceError(
        "this is neither a Parquet nor an Arrow file", where=address, hint="Check the file and its suffix"
    )


class _Parquet:
    unfinished = False

    def __init__(self, address: str, stack: ExitStack) -> None:
        import pyarrow.parquet as pq

        def opened(labels: list[str]) -> Any:
            path = local_path(address)
            source = path if path is not None else stack.enter_context(open_binary(address))
            options = {"pre_buffer": False, "buffer_size": _BUFFER, "read_dictionary": labels}
            file = pq.ParquetFile(source, **options, **_THRIFT)
            return stack.enter_context(file)

        self._opened = opened
        self._file = opened([])
        self.schema = self._file.schema_arrow

    def batches(self, names: list[str], rows: int, labels: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        texts = [name for name in labels if _is_text(self.schema.field(name).type)]
        file = self._opened(texts) if texts else self._file
        return map(checked, file.iter_batches(batch_size=rows, columns=names, use_threads=False))

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
