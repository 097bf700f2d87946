"""Whatever an agent hands over can be written as JSON, and what JSON can hold stays as it is."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from assay.json_safe import DEEPEST, json_safe, whole_text

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
anything = st.recursive(
    st.none()
    | st.floats()
    | st.binary()
    | st.text(st.characters())
    | st.complex_numbers()
    | st.datetimes()
    | st.uuids(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.none() | st.booleans() | st.floats() | st.binary() | st.tuples(st.integers()), inner)
        | st.sets(st.floats() | st.text())
        | st.tuples(inner)
    ),
)


@given(plain)
@pytest.mark.slow
def test_values_that_json_supports_are_unchanged(value: Any) -> None:
    assert json_safe(value) == value


@given(anything)
@pytest.mark.slow
def test_whatever_is_given_can_be_written(value: Any) -> None:
    text = json.dumps(json_safe(value), allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == json_safe(json_safe(value))


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: float
    y: object


class Model(BaseModel):
    rain: float


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (math.nan, "NaN"),
        ([math.inf, -math.inf], ["Infinity", "-Infinity"]),
        (b"caf\xc3\xa9 \xff", "café \ufffd"),
        ({3, 1, 2}, [1, 2, 3]),
        (
            {2: "a", None: "b", True: "c", (1, 2): "d", math.nan: "e"},
            dict(zip(["2", "null", "true", "[1, 2]", "NaN"], "abcde", strict=True)),
        ),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        (np.float64("nan"), "NaN"),
        (np.arange(3), [0, 1, 2]),
        (np.int64(7), 7),
        (Decimal("1.50"), "1.50"),
        (datetime(2026, 1, 15, 9, tzinfo=UTC), "2026-01-15T09:00:00+00:00"),
        (Colour.RED, "red"),
        (Point(math.nan, {1}), {"x": "NaN", "y": [1]}),
        (Model(rain=math.inf), {"rain": "Infinity"}),
        (Hostile(), "(Hostile)"),
        pytest.param(10**5000, "(an integer of about 5000 digits)", id="long integer"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_each_kind_of_value(value: Any, safe: Any) -> None:
    assert json_safe(value) == safe


def test_what_contains_itself_is_cut_off() -> None:
    circle: list[Any] = [1]
    circle.append({"again": circle})
    assert json_safe(circle) == [1, {"again": "(contains itself)"}]


def test_the_same_thing_twice_is_not_a_cycle() -> None:
    twice = {"a": 1}
    assert json_safe([twice, twice]) == [twice, twice]


@pytest.mark.slow
def test_what_is_nested_too_deeply_is_cut_off() -> None:
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    safe = json_safe(deep)
    assert json.dumps(safe).count("[") == DEEPEST
    assert f"deeper than {DEEPEST} levels" in json.dumps(safe)


def test_halves_of_pairs_are_replaced() -> None:
    assert whole_text("x\udc00") == "x\ufffd"
