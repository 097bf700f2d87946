"""Tables of events as Arrow batches: what their rows mean, and their events, a batch at a time.

Token text goes from Arrow's buffers directly into the decoder, without a Python string for each row. Tables may come
from files or memory; other modules open them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, ColumnError, SourceError
from assay.events.sources import ReadOptions
from assay.events.sources._limits import BYTES_A_NAME, too_large
from assay.events.sources._logprobs import with_episode_logprobs, with_logprobs, with_numbers
from assay.events.sources._memory import text_of_ids
from assay.events.sources._rows import (
    BATCH_BYTES,
    EPISODE_ROWS,
    EVENT_START,
    FIELDS,
    NO_VALUE,
    PREFIX_ROWS,
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
from assay.events.sources._values import Values, as_bytes
from assay.events.stream import Episode, EventStream, concatenate

if TYPE_CHECKING:
    import pyarrow as pa

NO_END = "Arrow streams without an end mark, perhaps cut short"


class Table(Protocol):
    """Columns of rows, in a file or in memory."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def unfinished(self) -> bool:
        """Whether the file has no end mark."""

    def batches(self, names: list[str], rows: int, labels: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The rows; `labels` are those of the columns that have few distinct values and may come as dictionaries."""

    def bytes_a_row(self, names: list[str]) -> int | None: ...

    def position(self, rows: int, total: int | None) -> int: ...


@runtime_checkable
class _DecodesSlices(Protocol):
    """A codec that takes text in Arrow's memory layout."""

    def decode_slices(self, raw: NDArray[np.uint8], offsets: NDArray[np.int64]) -> EventStream: ...


def read_table(
    table: Table, present: list[str], address: str, total: int | None, reading: ReadOptions
) -> Iterator[EventStream]:
    """The events of a table with these columns, in order. `total` is its size in bytes, if known."""
    plan = _plan(table, present, address, reading)
    row = first = 1 if reading.part is None else 1 + reading.part[0]
    with arrow_errors(address):
        rows = min(reading.batch_rows, _rows_that_fit(table, plan.names))
    batches = table.batches(plan.names, rows, plan.labels)
    while True:
        with arrow_errors(address, row):
            batch = next(batches, None)
        if batch is None:
            break
        # The batches of an Arrow file are as long as they were written.
        for at in range(0, batch.num_rows, rows):
            piece = batch.slice(at, rows)
            with arrow_errors(address, row):
                stream = plan.stream(piece, row)
            yield stream
            row += piece.num_rows
        if reading.progress:
            reading.progress(table.position(row - 1, total), total)
    if table.unfinished or row == first:
        last = plan.nothing()
        if table.unfinished:
            last.notes[NO_END] += 1
        yield last


def _rows_that_fit(table: Table, names: list[str]) -> int:
    """How many rows are read at a time, so that memory stays bounded if rows are long."""
    each = table.bytes_a_row(names)
    return max(1, BATCH_BYTES // max(each or 1, 1))


@contextmanager
def arrow_errors(address: str, row: int | None = None) -> Iterator[None]:
    """Turns errors of Arrow into errors that say where they occurred."""
    where = address if row is None else f"{address}, at row {row}"
    try:
        yield
    except AssayError as error:
        error.where = error.where or where
        raise
    except Exception as error:  # damaged bytes end in errors of any kind
        first_line = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise SourceError(
            f"the file is damaged, cut short, or has the wrong suffix: {first_line}",
            where=where,
            hint="Create or download the file again",
        ) from error


def checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, if it is consistent: Arrow trusts offsets and indices, and a wrong one would crash the process.

    UTF-8 is not checked: a text that is not UTF-8 is one invalid event, not a damaged file.
    """
    batch.validate()
    for column in batch.columns:
        as_bytes(column).validate(full=True)
    return batch


# --- what rows mean --------------------------------------------------------------------------------------------------


def _plan(table: Table, present: list[str], address: str, reading: ReadOptions) -> _Plan:
    """What the rows of a file mean, judged by the columns present and its first rows."""
    form = form_of(present, reading)
    check_present(address, present, reading)
    if form is None:
        raise missing_columns(address, present, reading)
    wanted = {"text": ("text",), "ids": ("ids",), "event": ("event",), "columns": FIELDS}[form]
    columns = {
        ours: name for ours in (*wanted, "episode", "stratum", "logprob") if (name := column_of(ours, present, reading))
    }
    repeated = [name for name in columns.values() if present.count(name) > 1]
    if repeated:
        raise ColumnError(f"there is more than one column '{repeated[0]}'", where=address, hint="Rename one of them")
    plan = _Plan(form, "event", columns, address, reading)
    if form not in ("text", "ids"):
        return plan
    plan.check_text(table.schema)
    if reading.rows != "auto":
        return replace(plan, shape=reading.rows)
    with arrow_errors(address):
        starts = _first_starts(table, columns[form], plan)
    return replace(plan, shape=shape_of(starts, reading))


def _first_starts(table: Table, name: str, plan: _Plan) -> list[int]:
    """The number of <EVENT_START>s in each of the file's first texts that are not empty; fewer if they are long."""
    starts: list[int] = []
    left = min(PREFIX_ROWS, _rows_that_fit(table, [name]))
    for batch in table.batches([name], left):
        starts += _starts(plan.text(batch.slice(0, left)), plan.reading.max_memory)
        left -= min(left, batch.num_rows)
        if not left:
            break
    return starts


def _starts(texts: pa.Array, max_memory: int) -> list[int]:
    """The number of <EVENT_START>s in each text that is not empty."""
    flat = _flat(texts, max_memory)
    raw, offsets = _buffers(flat)
    filled = np.flatnonzero((np.diff(offsets) > 0) & ~nulls_of(flat)).tolist()
    return [_slice(raw, offsets, at).count(EVENT_START.encode()) for at in filled]


@dataclass(frozen=True)
class _Plan:
    """How the rows of one file become events; decided once, so that positions are consistent."""

    form: Form
    shape: Shape
    columns: dict[str, str]
    """Our names of the columns that are needed, to the file's names."""
    address: str
    reading: ReadOptions

    @property
    def names(self) -> list[str]:
        """The file's names of the columns that are needed, each once."""
        return list(dict.fromkeys(self.columns.values()))

    @property
    def labels(self) -> list[str]:
        """The file's names of the columns that name episodes and strata, and nothing else."""
        others = {name for ours, name in self.columns.items() if ours not in ("episode", "stratum")}
        return [name for name in self.names if name not in others]

    @property
    def _values(self) -> Values:
        return Values(self._wrong_type)

    def check_text(self, schema: pa.Schema) -> None:
        """Raise an error if the column of texts or ids has another type."""
        import pyarrow as pa

        kind = schema.field(self.columns[self.form]).type
        if self.form == "ids":
            if not (pa.types.is_nested(kind) and pa.types.is_integer(getattr(kind, "value_type", kind))):
                raise self._wrong_type("ids", kind, "lists of token ids")
            return
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        tests = ("is_string", "is_large_string", "is_binary", "is_large_binary", "is_string_view", "is_binary_view")
        if not any(getattr(pa.types, test)(inner) for test in (*tests, "is_null")):
            raise self._wrong_type("text", kind, "text")

    def _wrong_type(self, ours: str, kind: pa.DataType, needed: str) -> ColumnError:
        return ColumnError(
            f"the column '{self.columns.get(ours, ours)}' contains {kind}, not {needed}",
            where=self.address,
            hint=f"Name another with --column {ours}=NAME",
        )

    def nothing(self) -> EventStream:
        """A stream of no events."""
        return self.reading.codec.decode_each([]) if self.form in ("text", "ids") else EventStream.allocate(0)

    def text(self, batch: pa.RecordBatch) -> pa.Array:
        """The texts of a batch; token ids as their text."""
        import pyarrow as pa

        column = batch.column(self.columns[self.form])
        if self.form == "text":
            return column
        return pa.array([self._text_of(ids) for ids in column], pa.large_string())

    def _text_of(self, ids: pa.Scalar) -> str | None:
        if ids.values is not None and len(ids.values) * BYTES_A_NAME > self.reading.max_memory:
            raise too_large("a row of token ids", self.reading.max_memory, None)
        return None if ids.values is None else text_of_ids(ids.as_py(), self.reading)

    def stream(self, batch: pa.RecordBatch, row: int) -> EventStream:
        """The events of a batch of which the first is the file's row number `row`."""
        if self.shape == "episode":
            return self._episodes(batch, row)
        if self.form in ("text", "ids"):
            stream = self._texts(self.text(batch))
        elif self.form == "event":
            stream = self._values.structs(batch.column(self.columns["event"]))
        else:
            fields = {ours: batch.column(name) for ours, name in self.columns.items() if ours in FIELDS}
            stream = self._values.fields(fields, batch.num_rows, booleans_of(fields["kind"].is_null()))
        index, episodes = self._labels(batch)
        if index is not None:
            stream = replace(stream, episode=index, episodes=episodes)
            if self.reading.decision is not None:
                self.reading.decision.see_events(stream, self.address)
        return self._with_logprobs(stream, batch, row)

    def _with_logprobs(self, stream: EventStream, batch: pa.RecordBatch, row: int) -> EventStream:
        """The events of rows that are one event each, with their log-probabilities, if there is a column of them."""
        import pyarrow as pa

        if "logprob" not in self.columns:
            return stream
        column = batch.column(self.columns["logprob"])
        if not pa.types.is_floating(column.type):
            return with_logprobs(stream, column.to_pylist(), self.address, row)
        filled = column.cast(pa.float64()).fill_null(float("nan"))
        data = filled.buffers()[1]
        empty = data is None or not len(filled)
        numbers = np.zeros(0) if empty else np.frombuffer(data, np.float64, len(filled), 8 * filled.offset)
        return with_numbers(stream, numbers, self.address, row)

    def _texts(self, column: pa.Array) -> EventStream:
        """One event per text; a null is a row without text."""
        flat = _flat(column, self.reading.max_memory)
        raw, offsets = _buffers(flat)
        absent = nulls_of(flat)
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
        flat = _flat(self.text(batch), self.reading.max_memory)
        raw, offsets = _buffers(flat)
        index, episodes = self._labels(batch)
        parts: list[EventStream] = []
        logprobs = batch.column(self.columns["logprob"]).to_pylist() if "logprob" in self.columns else None
        for at, absent in enumerate(nulls_of(flat).tolist()):
            long = offsets[at + 1] - offsets[at] > limit_of("episode", self.reading)
            if absent or long:
                part = self.reading.codec.decode_each([""])
                spoil(part, [0])
                part.notes[NO_VALUE if absent else TOO_LONG] += 1
            else:
                part = self.reading.codec.decode(_slice(raw, offsets, at))
                if logprobs is not None:
                    part = with_episode_logprobs(part, logprobs[at], self.address, row + at)
            known = Episode() if index is None else episodes[index[at]]
            parts.append(part.of_episode(replace(known, name=known.name or row_name(row + at, self.reading))))
        if self.reading.decision is not None:
            self.reading.decision.see(part.episodes[0] for part in parts)
        stream = concatenate(parts)
        stream.notes[EPISODE_ROWS] += batch.num_rows
        return stream

    def _labels(self, batch: pa.RecordBatch) -> tuple[NDArray[np.int32] | None, tuple[Episode, ...]]:
        """For each row, the index of its episode among those of the batch; None if there is no column of episodes."""
        if not {"episode", "stratum"} & set(self.columns):
            return None, (Episode(),)
        names, name_of, name_at = self._encoded(batch, "episode")
        strata, stratum_of, stratum_at = self._encoded(batch, "stratum")
        # The rows where a pair begins are few, and looking them up is faster than doing so for all rows.
        changes = np.ones(batch.num_rows, np.bool_)
        changes[1:] = (name_at[1:] != name_at[:-1]) | (stratum_at[1:] != stratum_at[:-1])
        begins = np.flatnonzero(changes)
        pair_of = name_of[name_at[begins]] * len(strata) + stratum_of[stratum_at[begins]]
        pairs, index = np.unique(pair_of, return_inverse=True)
        episodes = tuple(Episode(names[pair // len(strata)], strata[pair % len(strata)]) for pair in pairs.tolist())
        rows = np.repeat(index.astype(np.int32), np.diff(begins, append=batch.num_rows))
        return rows, episodes or (Episode(),)

    def _encoded(self, batch: pa.RecordBatch, ours: str) -> tuple[list[str], NDArray[np.int64], NDArray[Any]]:
        """The distinct names in a column, which of them each entry of its dictionary is, and the entry of each row.

        A null is the empty name.
        """
        import pyarrow as pa

        if ours not in self.columns:
            return [""], np.zeros(1, np.int64), np.zeros(batch.num_rows, np.int8)
        column = batch.column(self.columns[ours])
        try:
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            names = encoded.dictionary
            if len(names) * BYTES_A_NAME > self.reading.max_memory:
                raise too_large(
                    f"the dictionary of the column '{self.columns[ours]:.80}'", self.reading.max_memory, None
                )
            listed = (names if pa.types.is_string(names.type) else names.cast(pa.large_string())).to_pylist()
        except pa.ArrowException as error:
            raise self._wrong_type(ours, column.type, "names") from error
        # A dictionary may contain a name twice.
        known = {"": 0}
        numbers = np.array([known.setdefault(name or "", len(known)) for name in [*listed, None]], np.int64)
        index = integers_of(encoded.indices)
        if encoded.indices.null_count:
            index = np.where(nulls_of(encoded.indices), len(listed), index)
        return list(known), numbers, index


# Arrow's own `to_numpy` and `fill_null` import pandas, if that is installed: a second of CPU time for nothing. Methods
# that compute, such as `is_null` and `cast`, import `pyarrow.compute`: a tenth of a second.


def nulls_of(array: pa.Array) -> NDArray[np.bool_]:
    """Where an array has no value, shape (n,)."""
    return booleans_of(array.is_null()) if array.null_count else np.zeros(len(array), np.bool_)


def booleans_of(array: pa.Array) -> NDArray[np.bool_]:
    """The values of an array of booleans without nulls, shape (n,)."""
    bits = array.buffers()[1]
    if bits is None or not len(array):
        return np.zeros(0, np.bool_)
    first, last = array.offset, array.offset + len(array)
    bytes_of = np.frombuffer(bits, np.uint8)[first // 8 : -(-last // 8)]
    return np.unpackbits(bytes_of, bitorder="little")[first % 8 :][: len(array)].view(np.bool_)


def integers_of(array: pa.Array) -> NDArray[Any]:
    """The values of an array of integers without nulls, not copied; shape (n,)."""
    kind = np.dtype(str(array.type))
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(0, kind)
    return np.frombuffer(data, kind, len(array), array.offset * kind.itemsize)


def _flat(column: pa.Array, max_memory: int) -> pa.Array:
    """The texts in the layout with offsets: dictionaries are looked up, views copied."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        _check_expansion(column, max_memory)
        return _flat(column.dictionary_decode(), max_memory)
    if pa.types.is_null(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def _check_expansion(column: pa.DictionaryArray, max_memory: int) -> None:
    """Raise SourceError if the texts that indices stand for do not fit in memory: one text may be named often."""
    import pyarrow.compute as pc

    inner = column.dictionary
    if not len(inner) or not len(column):
        return
    lengths = pc.fill_null(pc.binary_length(inner), 0)
    if int(pc.max(lengths).as_py()) * len(column) <= max_memory:
        return
    total = pc.sum(pc.cast(lengths, "int64").take(column.indices)).as_py() or 0
    if total > max_memory:
        raise too_large("a batch of rows whose texts are in a dictionary", max_memory, None)


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


def lengths_of(texts: pa.Array) -> NDArray[np.int64]:
    """How many bytes each text has, shape (n,)."""
    return np.diff(_buffers(texts)[1])


def _slice(raw: NDArray[np.uint8], offsets: NDArray[np.int64], at: int) -> bytes:
    return raw[offsets[at] : offsets[at + 1]].tobytes()
