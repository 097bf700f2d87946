"""Values that satisfy JSON schemas, as pydantic writes them and as others do."""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

from assay.chat.world.scripted.schemas import completed, filled

TEXT = "It is sunny in Oslo, 12 °C."


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Leg(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Literal["leg"]
    colour: Colour
    origin: str
    metres: float = Field(gt=0.2, lt=0.4)


class Node(BaseModel):
    name: str
    parent: Node | None
    children: list[Node]


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    day: date
    at: datetime
    id: UUID
    answer: str
    short: str = Field(max_length=3, min_length=2)
    legs: list[Leg] = Field(min_length=2)
    pair: tuple[int, str]
    maybe: int | None
    either: int | str
    risk: int = Field(ge=3, le=10)
    even: int = Field(multiple_of=4, gt=4)
    table: dict[str, int]
    is_done: bool
    tree: Node
    optional: str = "default"


def test_every_kind_of_field_is_filled() -> None:
    value = filled(Everything.model_json_schema(), TEXT)
    read = Everything.model_validate(value)
    assert read.answer == TEXT
    assert (read.legs[0].origin, read.risk, read.even, read.is_done) == ("origin", 3, 8, True)
    assert read.optional == "default"
    assert value == filled(Everything.model_json_schema(), TEXT)


def test_a_schema_that_refers_to_itself_ends() -> None:
    fields: dict[str, Any] = {f"part_{at}": (Node, ...) for at in range(20)}
    many = create_model("Many", **fields)
    assert many.model_validate(filled(many.model_json_schema(), TEXT))
    endless = {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"]}}}
    assert filled(endless, TEXT)
    assert filled({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, TEXT) is not None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, TEXT),
        ({"type": "object", "properties": {"note": {"type": "string"}}}, {"note": TEXT}),
        ({"properties": {"n": {"type": ["null", "integer"]}}, "required": ["n"]}, {"n": 1}),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, TEXT),
        ({"allOf": [{"properties": {"a": {"const": 7}}, "required": ["a"]}]}, {"a": 7}),
        ({"type": "number", "maximum": -2}, -2.0),
        ({"type": "array", "maxItems": 0, "items": {}}, []),
        ({"type": "integer", "default": 9}, 9),
        ({"properties": "odd", "required": "odd", "type": "object"}, {}),
    ],
)
def test_schemas_of_others(schema: dict[str, Any], value: Any) -> None:
    assert filled(schema, TEXT) == value


def test_what_is_given_is_kept_and_completed() -> None:
    schema = Everything.model_json_schema()
    found = completed(schema, {"answer": "mine", "legs": [{"origin": "Oslo"}], "unknown": 1}, TEXT)
    assert (found["answer"], found["unknown"]) == ("mine", 1)
    assert found["legs"] == [{"origin": "Oslo", "kind": "leg", "colour": "red", "metres": pytest.approx(0.3)}]
