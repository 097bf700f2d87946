"""Whether a figure of an answer is supported by a number in tool results of any JSON shape.

A number's kind is read from its unit if it has one ("15 °C"), else from the names of the fields around it
(`wind.speed`); a number of unknown kind may support a figure of any kind.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.chat.domains import leaves
from assay.chat.reading.lexicon import QuantityKind
from assay.chat.reading.quantities import Quantity
from assay.chat.reading.text import Reader

_NAME = re.compile(r"[a-z]+|\d+[a-z]+", re.IGNORECASE)
_KELVIN = 273.15
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class _Number:
    value: float
    kind: str | None
    """The kind of quantity, if known."""
    converted: bool
    """Whether the value is already in the unit of its kind."""


class Sources:
    """The numbers in some results."""

    def __init__(self, results: Iterable[object], reader: Reader) -> None:
        self._kinds = reader.lexicon.kinds
        bare: dict[str | None, list[float]] = {}
        exact: dict[str, list[float]] = {}
        for result in results:
            for number in self._numbers(result, reader):
                if number.converted and number.kind is not None:
                    exact.setdefault(number.kind, []).append(number.value)
                else:
                    bare.setdefault(number.kind, []).append(number.value)
        self._bare = {kind: sorted(values) for kind, values in bare.items()}
        self._exact = {kind: sorted(values) for kind, values in exact.items()}

    def support(self, figure: Quantity) -> bool:
        """Whether a source contains the figure, within the kind's tolerance or the rounding it was written with."""
        kind = self._kinds[figure.kind]
        unit = figure.unit
        rounding = 0.5 * 10.0**-figure.decimals
        tolerance = max(kind.support, rounding * unit.times / unit.over)
        if _within(self._exact.get(figure.kind, ()), figure.low - tolerance, figure.high + tolerance):
            return True
        written = (figure.written[0], figure.written[1])
        for values in (self._bare.get(figure.kind, ()), self._bare.get(None, ())):
            # A bare number may be in the answer's unit or in the kind's unit.
            if _within(values, figure.low - tolerance, figure.high + tolerance) or _within(
                values, written[0] - tolerance * unit.over / unit.times, written[1] + tolerance * unit.over / unit.times
            ):
                return True
            if any(_within(values, low, high) for low, high in _other_forms(kind, figure, tolerance)):
                return True
        return False

    def _numbers(self, result: object, reader: Reader) -> Iterator[_Number]:
        for path, value in leaves(result):
            if isinstance(value, bool) or value is None:
                continue
            if isinstance(value, (int, float)):
                if math.isfinite(value):
                    yield _Number(float(value), self._kind_of(path), converted=False)
            elif isinstance(value, str):
                yield from self._numbers_in_text(value, path, reader)

    def _numbers_in_text(self, text: str, path: tuple[str, ...], reader: Reader) -> Iterator[_Number]:
        reading = reader.read(text)
        covered: set[int] = set()
        for quantity in reading.quantities:
            covered.update(range(quantity.first, quantity.last + 1))
            for value in {quantity.low, quantity.high}:
                if math.isfinite(value):
                    yield _Number(value, quantity.kind, converted=True)
        for at in reading.numbers:
            if at not in covered:
                try:
                    yield _Number(float(reading.tokens[at].raw.replace(",", "")), self._kind_of(path), converted=False)
                except ValueError:
                    continue

    def _kind_of(self, path: tuple[str, ...]) -> str | None:
        """The kind that the innermost meaningful field name stands for."""
        for name in reversed(path):
            words = [word.lower() for word in _NAME.findall(name)]
            for kind in self._kinds.values():
                if any(word in kind.keys for word in words):
                    return kind.name
        return None


def _other_forms(kind: QuantityKind, figure: Quantity, tolerance: float) -> Iterator[tuple[float, float]]:
    """Ranges of bare numbers with the same meaning in another form: kelvin, or a fraction of 1."""
    if kind.kelvin_above is not None:
        yield figure.low + _KELVIN - tolerance, figure.high + _KELVIN + tolerance
    if kind.fraction and figure.high <= 100:
        yield (figure.low - tolerance) / 100, (figure.high + tolerance) / 100


def _within(values: list[float] | tuple[()], low: float, high: float) -> bool:
    """Whether one of the ascending `values` lies between."""
    at = bisect_left(values, low - _EPSILON)
    return at < len(values) and values[at] <= high + _EPSILON
