"""Parquet and Arrow IPC (files, Feather, streams): a row is one event or one episode.

Only the columns that are needed are read, a record batch at a time. Token text goes from Arrow's own buffers into the
decoder, without a Python string for each row. The format is known by the file's first bytes, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.errors import ColumnError, SourceError, missing_extra
from assay.events.sources import Reading
from assay.events.sources._files import local_path, open_binary, size
from assay.events.sources._rows import (
    BATCH_BYTES,
    EPISODE_ROWS,
    FIELDS,
    NO_VALUE,
    PREFIX_ROWS,
    START,
    TOO_LONG,
    Form,
    Shape,
    check_present,
    column_of,
    form_of,
    limit_of,
    missing_columns,
    row_name,
    shape_of,
    spoil,
)
from assay.events.stream import Episode, EventStream, Kind, Problem, concatenate

if TYPE_CHECKING:
    import pyarrow as pa

NO_END = "Arrow streams without an end mark, perhaps cut short"

# What an Arrow stream ends with: a continuation mark and a length of 0.
_END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"
# Bytes read ahead of each column; without it, a whole column chunk is loaded at once.
_BUFFER = 1 << 20
_KINDS = {b"keyboard": Kind.KEYBOARD, b"mouse": Kind.MOUSE, b"screen": Kind.SCREEN}
_INT64 = np.iinfo(np.int64)
_NUMBERS = ("dx", "dy", "flags", "data")


@runtime_checkable
class _DecodesSlices(Protocol):
    """A codec that takes text in the form that Arrow keeps it in."""

    def decode_slices(self, raw: NDArray[np.uint8], offsets: NDArray[np.int64]) -> EventStream: ...


@dataclass(frozen=True)
class ArrowTables:
    """Parquet and Arrow IPC."""

    suffixes: tuple[str, ...] = (".parquet", ".pq", ".arrow", ".arrows", ".feather", ".ipc")

    def batches(self, address: str, reading: Reading) -> Iterator[EventStream]:
        """The events of the file."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise missing_extra("pyarrow", "events", "read Parquet and Arrow files") from error
        with ExitStack() as stack:
            stack.callback(pa.default_memory_pool().release_unused)
            with _told(address):
                table = _open(address, stack)
                present = table.schema.names
            plan = _plan(table, present, address, reading)
            yield from _batches(table, plan, address, reading)


SOURCE = ArrowTables()


def _batches(table: _Table, plan: _Plan, address: str, reading: Reading) -> Iterator[EventStream]:
    row, total = 1, size(address)
    with _told(address):
        rows = min(reading.batch_rows, _rows_that_fit(table, plan.names))
    batches = table.batches(plan.names, rows)
    while True:
        with _told(address, row):
            batch = next(batches, None)
        if batch is None:
            break
        # The batches of an Arrow file are as long as they were written.
        for at in range(0, batch.num_rows, rows):
            piece = batch.slice(at, rows)
            with _told(address, row):
                stream = plan.stream(piece, row)
            yield stream
            row += piece.num_rows
        if reading.progress:
            reading.progress(table.position(row - 1, total), total)
    if table.unfinished or row == 1:
        last = plan.nothing()
        if table.unfinished:
            last.notes[NO_END] += 1
        yield last


def _rows_that_fit(table: _Table, names: list[str]) -> int:
    """Rows that can be held at a time, so that memory stays bounded where rows are long."""
    each = table.bytes_a_row(names)
    return max(1, BATCH_BYTES // max(each or 1, 1))


@contextmanager
def _told(address: str, row: int | None = None) -> Iterator[None]:
    """Errors of Arrow as errors that say where they were met."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, EOFError, MemoryError, UnicodeDecodeError) as error:
        where = address if row is None else f"{address}, at row {row}"
        first_line = (str(error) or type(error).__name__).splitlines()[0]
        raise SourceError(
            f"the file is damaged, cut short, or not what its name says: {first_line}",
            where=where,
            hint="Make or fetch the file again",
        ) from error


# --- the two file formats ---------------------------------------------------------------------------------------------


class _Table(Protocol):
    """A file with columns."""

    schema: pa.Schema
    unfinished: bool
    """The end of the file is not marked as its end."""

    def batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]: ...

    def bytes_a_row(self, names: list[str]) -> int | None: ...

    def position(self, rows: int, total: int | None) -> int: ...


def _open(address: str, stack: ExitStack) -> _Table:
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
        "this is neither a Parquet nor an Arrow file", where=address, hint="Check the file, or name it by what it is"
    )


class _Parquet:
    unfinished = False

    def __init__(self, address: str, stack: ExitStack) -> None:
        import pyarrow.parquet as pq

        path = local_path(address)
        source = path if path is not None else stack.enter_context(open_binary(address))
        self._file = stack.enter_context(pq.ParquetFile(source, pre_buffer=False, buffer_size=_BUFFER))
        self.schema = self._file.schema_arrow

    def batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        return map(_checked, self._file.iter_batches(batch_size=rows, columns=names))

    def bytes_a_row(self, names: list[str]) -> int | None:
        # What the metadata tell of a single column is not asked for: pyarrow ends the process where they are damaged.
        metadata = self._file.metadata
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        sizes = [group.total_byte_size / group.num_rows for group in groups if group.num_rows > 0]
        if not sizes:
            return None
        rows = min(PREFIX_ROWS, max(1, BATCH_BYTES // max(int(sizes[0]), 1)))
        first = next((batch for batch in self.batches(names, rows) if batch.num_rows), None)
        if first is None:
            return None
        # Where later rows are longer than the first ones, so are probably the columns that are needed.
        growth = sum(sizes) / len(sizes) / max(sizes[0], 1)
        return int(first.nbytes / first.num_rows * max(growth, 1))

    def position(self, rows: int, total: int | None) -> int:
        return rows * (total or 0) // max(int(self._file.metadata.num_rows), 1)


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
        """A new reader from the file's beginning; one at a time, since all share the file's position."""
        import pyarrow as pa

        self._file.seek(0)
        # A choice of columns makes Arrow copy what it would otherwise only map, so it is made only where it saves.
        fields = None
        if names is not None and set(names) != set(self.schema.names):
            fields = [self.schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        return (pa.ipc.open_stream if self._is_stream else pa.ipc.open_file)(self._file, options=options)

    def batches(self, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        reader = self._reader(names)
        if self._is_stream:
            yield from map(_checked, reader)
            return
        for at in range(reader.num_record_batches):
            self._share = (at + 1) / reader.num_record_batches
            yield _checked(reader.get_batch(at))

    def bytes_a_row(self, names: list[str]) -> int | None:
        first = next((batch for batch in self.batches(names, 1) if batch.num_rows), None)
        return first.nbytes // first.num_rows if first is not None else None

    def position(self, rows: int, total: int | None) -> int:
        return int(self._file.tell() if self._is_stream else self._share * (total or 0))


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, if it holds together: Arrow trusts offsets and indices, and one that lies would end the process.

    That a text is UTF-8 is not asked for: one that is not is one invalid event, not a spoiled file.
    """
    batch.validate()
    for column in batch.columns:
        _as_bytes(column).validate(full=True)
    return batch


def _as_bytes(column: pa.Array) -> pa.Array:
    """A column of text as the bytes it is made of, without a copy; any other column as it is."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _as_bytes(column.dictionary), safe=False)
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return column.view(kinds[column.type]) if column.type in kinds else column


def _ends_with_mark(address: str) -> bool:
    length = size(address)
    if length is None:
        return True
    with open_binary(address) as file:
        file.seek(max(0, length - len(_END_MARK)))
        return file.read() == _END_MARK


# --- from rows to events ----------------------------------------------------------------------------------------------


def _plan(table: _Table, present: list[str], address: str, reading: Reading) -> _Plan:
    """What the rows of a file mean, judged by the columns present and its first rows."""
    form = form_of(present, reading)
    check_present(address, present, reading)
    if form is None:
        raise missing_columns(address, present, reading)
    wanted = {"text": ("text",), "event": ("event",), "columns": FIELDS}[form]
    columns = {ours: name for ours in (*wanted, "episode", "stratum") if (name := column_of(ours, present, reading))}
    repeated = [name for name in columns.values() if present.count(name) > 1]
    if repeated:
        raise ColumnError(f"there is more than one column '{repeated[0]}'", where=address, hint="Rename one of them")
    plan = _Plan(form, "event", columns, address, reading)
    if form != "text":
        return plan
    plan.check_text(table.schema)
    if reading.rows != "auto":
        return replace(plan, shape=reading.rows)
    with _told(address):
        starts = _first_starts(table, columns["text"])
    return replace(plan, shape=shape_of(starts, reading))


def _first_starts(table: _Table, name: str) -> list[int]:
    """The number of <EVENT_START>s in each of the file's first texts that are not empty; fewer if they are long."""
    starts: list[int] = []
    left = min(PREFIX_ROWS, _rows_that_fit(table, [name]))
    for batch in table.batches([name], left):
        starts += _starts(batch.column(0).slice(0, left))
        left -= min(left, batch.num_rows)
        if not left:
            break
    return starts


def _starts(texts: pa.Array) -> list[int]:
    """The number of <EVENT_START>s in each text that is not empty."""
    import pyarrow.compute as pc

    flat = _flat(texts)
    counts = pc.count_substring(flat, START).to_numpy(zero_copy_only=False)
    filled = pc.fill_null(pc.greater(pc.binary_length(flat), 0), False).to_numpy(zero_copy_only=False)
    return [int(count) for count in counts[filled]]


@dataclass(frozen=True)
class _Plan:
    """How the rows of one file become events; decided once, so that positions mean the same throughout."""

    form: Form
    shape: Shape
    columns: dict[str, str]
    """Our names of the columns that are needed, to the file's names."""
    address: str
    reading: Reading

    @property
    def names(self) -> list[str]:
        """The file's names of the columns that are needed, each once."""
        return list(dict.fromkeys(self.columns.values()))

    def check_text(self, schema: pa.Schema) -> None:
        """Refuse a text column that holds something else."""
        import pyarrow as pa

        kind = schema.field(self.columns["text"]).type
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        tests = ("is_string", "is_large_string", "is_binary", "is_large_binary", "is_string_view", "is_binary_view")
        if not any(getattr(pa.types, test)(inner) for test in (*tests, "is_null")):
            raise self._wrong_type("text", kind, "text")

    def _wrong_type(self, ours: str, kind: pa.DataType, needed: str) -> ColumnError:
        return ColumnError(
            f"the column '{self.columns.get(ours, ours)}' holds {kind}, not {needed}",
            where=self.address,
            hint=f"Name another with --column {ours}=NAME",
        )

    def nothing(self) -> EventStream:
        """A stream of no events."""
        return self.reading.codec.decode_each([]) if self.form == "text" else EventStream.allocate(0)

    def stream(self, batch: pa.RecordBatch, row: int) -> EventStream:
        """The events of a batch of which the first is the file's row number `row`."""
        if self.shape == "episode":
            return self._episodes(batch, row)
        if self.form == "text":
            stream = self._texts(batch.column(self.columns["text"]))
        elif self.form == "event":
            stream = self._structs(batch.column(self.columns["event"]))
        else:
            fields = {ours: batch.column(name) for ours, name in self.columns.items() if ours in FIELDS}
            stream = self._fields(fields, batch.num_rows, fields["kind"].is_null().to_numpy(zero_copy_only=False))
        index, episodes = self._labels(batch)
        return stream if index is None else replace(stream, episode=index, episodes=episodes)

    def _texts(self, column: pa.Array) -> EventStream:
        """One event per text; a null is a row without text."""
        flat = _flat(column)
        raw, offsets = _buffers(flat)
        absent = flat.is_null().to_numpy(zero_copy_only=False)
        long = ~absent & (np.diff(offsets) > limit_of("event", self.reading))
        if isinstance(self.reading.codec, _DecodesSlices):
            stream = self.reading.codec.decode_slices(raw, offsets)
        else:
            texts = [_slice(raw, offsets, at) if fine else b"" for at, fine in enumerate((~absent & ~long).tolist())]
            stream = self.reading.codec.decode_each(texts)
        for where, note in ((absent, NO_VALUE), (long, TOO_LONG)):
            if where.any():
                spoil(stream, where)
                stream.notes[note] += int(where.sum())
        return stream

    def _episodes(self, batch: pa.RecordBatch, row: int) -> EventStream:
        """All events of each text; a row without text is one invalid event."""
        flat = _flat(batch.column(self.columns["text"]))
        raw, offsets = _buffers(flat)
        index, episodes = self._labels(batch)
        parts = []
        for at, absent in enumerate(flat.is_null().to_pylist()):
            long = offsets[at + 1] - offsets[at] > limit_of("episode", self.reading)
            if absent or long:
                part = self.reading.codec.decode_each([""])
                spoil(part, [0])
                part.notes[NO_VALUE if absent else TOO_LONG] += 1
            else:
                part = self.reading.codec.decode(_slice(raw, offsets, at))
            known = Episode() if index is None else episodes[index[at]]
            parts.append(part.of_episode(replace(known, name=known.name or row_name(row + at, self.reading))))
        stream = concatenate(parts)
        stream.notes[EPISODE_ROWS] += batch.num_rows
        return stream

    def _labels(self, batch: pa.RecordBatch) -> tuple[NDArray[np.int32] | None, tuple[Episode, ...]]:
        """For each row, the index of its episode among those of the batch; None where no column names any."""
        if not {"episode", "stratum"} & set(self.columns):
            return None, (Episode(),)
        names, name_of = self._encoded(batch, "episode")
        strata, stratum_of = self._encoded(batch, "stratum")
        pairs, index = np.unique(name_of * len(strata) + stratum_of, return_inverse=True)
        episodes = tuple(Episode(names[pair // len(strata)], strata[pair % len(strata)]) for pair in pairs.tolist())
        return index.astype(np.int32), episodes or (Episode(),)

    def _encoded(self, batch: pa.RecordBatch, ours: str) -> tuple[list[str], NDArray[np.int64]]:
        """The distinct names in a column, and for each row which one it has; a null is the empty name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if ours not in self.columns:
            return [""], np.zeros(batch.num_rows, np.int64)
        column = batch.column(self.columns[ours])
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        try:
            encoded = pc.fill_null(column.cast(pa.large_string()), "").dictionary_encode()
        except pa.ArrowException as error:
            raise self._wrong_type(ours, column.type, "names") from error
        return encoded.dictionary.to_pylist() or [""], encoded.indices.to_numpy().astype(np.int64)

    def _structs(self, column: pa.Array) -> EventStream:
        """One event per struct; a null is an invalid event."""
        import pyarrow as pa

        if not pa.types.is_struct(column.type):
            raise self._wrong_type("event", column.type, "structs with kind, ts, vk, press, dx, dy, flags, data")
        present = [field.name for field in column.type]
        fields = dict(zip(present, column.flatten(), strict=True))  # flattening hands the struct's nulls down
        if not {"kind", "ts"} <= set(present):
            raise self._wrong_type("event", column.type, "structs with kind and ts")
        return self._fields(fields, len(column), column.is_null().to_numpy(zero_copy_only=False))

    def _fields(self, fields: dict[str, pa.Array], n: int, absent: NDArray[np.bool_]) -> EventStream:
        """Events from a column per field, by the rules of `EventStream.put`; a null field is a missing one."""
        stream = EventStream.allocate(n)
        kind = self._kinds(fields["kind"])
        time, timed = self._numbers(fields["ts"], "ts")
        numbers = {name: self._numbers(fields.get(name), name, n, missing=0) for name in _NUMBERS}
        vk, has_vk = self._numbers(fields.get("vk"), "vk", n)
        press, has_press = self._flags(fields.get("press"), n)
        keyboard, mouse = kind == Kind.KEYBOARD, kind == Kind.MOUSE
        whole = np.all([known for _, known in numbers.values()], axis=0)
        fits = np.all([value == value.astype(np.int32) for value, _ in numbers.values()], axis=0)
        faults = [
            (absent, Problem.BAD_ROW),
            (kind == Kind.UNKNOWN, Problem.UNKNOWN_TYPE),
            (~timed | (time < 0), Problem.BAD_TIME),
            ((keyboard & ~(has_vk & has_press)) | (mouse & ~whole), Problem.BAD_ROW),
            ((keyboard & ((vk < 0) | (vk > 255))) | (mouse & ~fits), Problem.OUT_OF_RANGE),
        ]
        stream.problem[:] = np.select([where for where, _ in faults], [problem for _, problem in faults], 0)
        stream.kind[:] = np.where(absent, Kind.UNKNOWN, kind)
        fine = stream.problem == 0
        stream.time_ns[:] = np.where(fine, time, 0)
        stream.vk[:] = np.where(fine & keyboard, vk, 0)
        stream.press[:] = press & fine & keyboard
        for name, (value, _) in numbers.items():
            getattr(stream, name)[:] = np.where(fine & mouse, value, 0)
        return stream

    def _kinds(self, column: pa.Array) -> NDArray[np.int8]:
        import pyarrow as pa

        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        names = _as_bytes(encoded.dictionary).to_pylist()
        kinds = [_KINDS.get(name, Kind.UNKNOWN) for name in names] + [Kind.UNKNOWN]
        table = np.array(kinds, np.int8)
        indices = encoded.indices.fill_null(len(table) - 1).to_numpy()
        return np.asarray(table[indices])

    def _flags(self, column: pa.Array | None, n: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """A column of booleans, and where it has one."""
        import pyarrow as pa

        if column is None or pa.types.is_null(column.type):
            return np.zeros(n, bool), np.zeros(n, bool)
        if not pa.types.is_boolean(column.type):
            raise self._wrong_type("press", column.type, "booleans")
        return column.fill_null(False).to_numpy(zero_copy_only=False), column.is_valid().to_numpy(zero_copy_only=False)

    def _numbers(
        self, column: pa.Array | None, ours: str, n: int = 0, missing: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """A column as whole numbers, and where it has one. A null is `missing`, or no number where that is None.

        Whole numbers in a column of floats count: tables with gaps are often written so.
        """
        import pyarrow as pa

        if column is None or pa.types.is_null(column.type):
            rows = n if column is None else len(column)
            return np.zeros(rows, np.int64), np.full(rows, missing is not None)
        null = column.is_null().to_numpy(zero_copy_only=False)
        if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            unit = pa.timestamp("ns") if pa.types.is_timestamp(column.type) else pa.duration("ns")
            with _told(self.address):
                column = column.cast(unit).cast(pa.int64())
        if pa.types.is_integer(column.type):
            whole = column.fill_null(0).to_numpy(zero_copy_only=False)
            # A number beyond 63 bits becomes the least one, which is out of every range that is asked for.
            value = np.where(whole <= _INT64.max, whole, _INT64.min).astype(np.int64)
            known = np.ones(len(value), bool)
        elif pa.types.is_floating(column.type):
            real = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
            known = np.isfinite(real) & (np.floor(real) == real) & (np.abs(real) < 2.0**63)
            value = np.where(known, real, 0).astype(np.int64)
        else:
            raise self._wrong_type(ours, column.type, "whole numbers")
        return value, np.where(null, missing is not None, known)


def _flat(column: pa.Array) -> pa.Array:
    """The texts in the form that has offsets: dictionaries are looked up, views copied."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return _flat(column.dictionary_decode())
    if pa.types.is_null(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def _buffers(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all texts, shape (bytes,), and where each begins, shape (n + 1,). A slice begins in the middle."""
    import pyarrow as pa

    _, offsets, raw = texts.buffers()
    is_large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    if offsets is None or not len(texts):
        return np.zeros(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    every = np.frombuffer(offsets, np.int64 if is_large else np.int32, texts.offset + len(texts) + 1)
    own = every[texts.offset :].astype(np.int64)
    return (np.frombuffer(raw, np.uint8) if raw is not None else np.zeros(0, np.uint8)), own


def _slice(raw: NDArray[np.uint8], offsets: NDArray[np.int64], at: int) -> bytes:
    return raw[offsets[at] : offsets[at + 1]].tobytes()
