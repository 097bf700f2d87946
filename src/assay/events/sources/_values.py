"""Events from a column for each field, or from a column of structs: the rules of `EventStream.put` for batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.errors import ColumnError
from assay.events.sources._rows import MOVEMENT
from assay.events.stream import MAX_FLAGS, EventStream, Kind, Problem

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS = {b"keyboard": Kind.KEYBOARD, b"mouse": Kind.MOUSE, b"screen": Kind.SCREEN}
_INT64 = np.iinfo(np.int64)
_NUMBERS = ("dx", "dy", "flags", "data")


@dataclass(frozen=True)
class Values:
    """Reads columns of values."""

    wrong_type: Callable[[str, pa.DataType, str], ColumnError]
    """Makes the error for a column, by our name, of the wrong type."""

    def structs(self, column: pa.Array) -> EventStream:
        """One event per struct; a null is an invalid event."""
        import pyarrow as pa

        if not pa.types.is_struct(column.type):
            raise self.wrong_type("event", column.type, "structs with kind, ts, vk, press, dx, dy, flags, data")
        present = [field.name for field in column.type]
        fields = dict(zip(present, column.flatten(), strict=True))  # flattening passes the struct's nulls to its fields
        if not {"kind", "ts"} <= set(present):
            raise self.wrong_type("event", column.type, "structs with kind and ts")
        return self.fields(fields, len(column), column.is_null().to_numpy(zero_copy_only=False))

    def fields(self, fields: dict[str, pa.Array], n: int, absent: NDArray[np.bool_]) -> EventStream:
        """Events from a column per field, by the rules of `EventStream.put`; a null field is a missing one.

        A null movement (dx, dy) of a mouse event makes it invalid; null flags and data are zeros.
        """
        stream = EventStream.allocate(n)
        kind = self._kinds(fields["kind"])
        time, timed = self._numbers(fields["ts"], "ts")
        numbers = {
            name: self._numbers(fields.get(name), name, n, missing=None if name in MOVEMENT and name in fields else 0)
            for name in _NUMBERS
        }
        vk, has_vk = self._numbers(fields.get("vk"), "vk", n)
        press, has_press = self._flags(fields.get("press"), n)
        keyboard, mouse = kind == Kind.KEYBOARD, kind == Kind.MOUSE
        whole = np.all([known for _, known in numbers.values()], axis=0)
        fits = np.all([value == value.astype(np.int32) for value, _ in numbers.values()], axis=0)
        fits &= (numbers["flags"][0] >= 0) & (numbers["flags"][0] <= MAX_FLAGS)
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
        names = as_bytes(encoded.dictionary).to_pylist()
        kinds = [_KINDS.get(name, Kind.UNKNOWN) for name in names] + [Kind.UNKNOWN]
        table = np.array(kinds, np.int8)
        indices = encoded.indices.fill_null(len(table) - 1).to_numpy()
        return np.asarray(table[indices])

    def _flags(self, column: pa.Array | None, n: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """A column of booleans, and whether each row has one."""
        import pyarrow as pa

        if column is None or pa.types.is_null(column.type):
            return np.zeros(n, bool), np.zeros(n, bool)
        if not pa.types.is_boolean(column.type):
            raise self.wrong_type("press", column.type, "booleans")
        return column.fill_null(False).to_numpy(zero_copy_only=False), column.is_valid().to_numpy(zero_copy_only=False)

    def _numbers(
        self, column: pa.Array | None, ours: str, n: int = 0, missing: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """A column as integers, and whether each row has one. A null is `missing`, or no number if that is None.

        Integers in a column of floats count: tables with missing values are often written like that.
        """
        import pyarrow as pa

        if column is None or pa.types.is_null(column.type):
            rows = n if column is None else len(column)
            return np.zeros(rows, np.int64), np.full(rows, missing is not None)
        null = column.is_null().to_numpy(zero_copy_only=False)
        if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
            unit = pa.timestamp("ns") if pa.types.is_timestamp(column.type) else pa.duration("ns")
            column = column.cast(unit).cast(pa.int64())
        if pa.types.is_integer(column.type):
            whole = column.fill_null(0).to_numpy(zero_copy_only=False)
            # A number beyond 63 bits becomes the least integer, which is out of every allowed range.
            value = np.where(whole <= _INT64.max, whole, _INT64.min).astype(np.int64)
            known = np.ones(len(value), bool)
        elif pa.types.is_floating(column.type):
            real = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
            known = np.isfinite(real) & (np.floor(real) == real) & (np.abs(real) < 2.0**63)
            value = np.where(known, real, 0).astype(np.int64)
        else:
            raise self.wrong_type(ours, column.type, "whole numbers")
        return value, np.where(null, missing is not None, known)


def as_bytes(column: pa.Array) -> pa.Array:
    """A column of text as bytes, without copying; any other column is returned as it is."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, as_bytes(column.dictionary), safe=False)
    kinds = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return column.view(kinds[column.type]) if column.type in kinds else column
