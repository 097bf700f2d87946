"""Values that satisfy a JSON schema: arguments of tools of which nothing else is known, and structured answers.

The same schema and text give the same value. The text stands in the first string that may be any text; other strings
have the name of their property.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

# A schema may refer to itself. Below this depth, or after this many values, lists stay empty and what may be null is.
_DEEPEST, _MOST_VALUES = 6, 200
# Nothing satisfies a schema that requires itself.
_BOTTOM = 40
_MOST_ITEMS = 20
# How many references and variants may stand in place of one another.
_MOST_STEPS = 12
_FORMATS = {
    "date-time": "2026-01-15T09:00:00Z",
    "date": "2026-01-15",
    "time": "09:00:00Z",
    "duration": "PT1H",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000001",
}
# What a number is if the schema sets no bounds.
_PLAIN_NUMBER = 1


def filled(schema: Mapping[str, Any], text: str) -> Any:
    """A value for a schema, with a text in its first string that may be any text."""
    filler = _Filler(schema, text)
    value = filler.value(schema, "", 0)
    if filler.text is not None and isinstance(value, dict):
        filler.place_text(schema, value)
    return value


def completed(schema: Mapping[str, Any], given: Mapping[str, Any], text: str) -> dict[str, Any]:
    """An object with what is given, and values for whatever else a schema requires, also inside what is given."""
    found: dict[str, Any] = _Filler(schema, text).completed(schema, given, 0)
    return found


class _Filler:
    """Fills one schema. `text` is None once it has been used."""

    def __init__(self, root: Mapping[str, Any], text: str) -> None:
        self.root = root
        self.text: str | None = text
        self._made = 0

    def value(self, given: Any, name: str, depth: int) -> Any:
        """A value for a part of the schema, which is the property `name`."""
        self._made += 1
        if depth > _BOTTOM:
            return None
        schema = self._resolved(given, depth)
        if "const" in schema:
            return schema["const"]
        if isinstance(options := schema.get("enum"), list) and options:
            return next((option for option in options if option is not None), None)
        kind = _kind(schema)
        if "default" in schema and kind not in ("string", "object", ""):
            return schema["default"]
        match kind:
            case "object":
                return self.completed(schema, {}, depth)
            case "array":
                return self._items(schema, name, depth)
            case "integer" | "number":
                return _number(schema, is_whole=kind == "integer")
            case "boolean":
                return True
            case "null":
                return None
        return self._string(schema, name)

    def completed(self, given: Any, known: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """An object of what is known and of what else is required."""
        schema = self._resolved(given, depth)
        properties = _properties(schema)
        found: dict[str, Any] = {}
        for name in dict.fromkeys((*_required(schema), *known)):
            if name not in known:
                found[name] = self.value(properties.get(name, {}), name, depth + 1)
            elif name in properties:
                found[name] = self._with_missing(properties[name], known[name], depth + 1)
            else:
                found[name] = known[name]
        return found

    def _with_missing(self, given: Any, known: Any, depth: int) -> Any:
        """What is known of a part, with whatever else it requires."""
        schema = self._resolved(given, 0)
        if isinstance(known, Mapping) and _kind(schema) == "object":
            return self.completed(schema, known, depth)
        if isinstance(known, list) and isinstance(schema.get("items"), Mapping):
            return [self._with_missing(schema["items"], one, depth + 1) for one in known]
        return known

    def place_text(self, given: Any, value: dict[str, Any]) -> None:
        """Put the text, which no required string has taken, into the first other property that is a string."""
        for name, part in _properties(self._resolved(given, 0)).items():
            schema = self._resolved(part, 0)
            if name not in value and _kind(schema) == "string" and not ({"enum", "const", "format"} & schema.keys()):
                value[name] = self._string(schema, name)
                return

    def _items(self, schema: Mapping[str, Any], name: str, depth: int) -> list[Any]:
        first = schema.get("prefixItems")
        if isinstance(first, list) and first:
            return [self.value(part, name, depth + 1) for part in first[:_MOST_ITEMS]]
        least = schema.get("minItems")
        least = least if isinstance(least, int) and not isinstance(least, bool) else 0
        most = schema.get("maxItems")
        number = least if self._is_deep(depth) else max(least, 1)
        number = min(number, most) if isinstance(most, int) else number
        return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(min(number, _MOST_ITEMS))]

    def _string(self, schema: Mapping[str, Any], name: str) -> str:
        form = schema.get("format")
        if isinstance(form, str) and form in _FORMATS:
            return _FORMATS[form]
        said, self.text = self.text, None
        text = said if said is not None else str(schema.get("default") or name.replace("_", " ") or "text")
        longest, shortest = schema.get("maxLength"), schema.get("minLength")
        if isinstance(shortest, int) and len(text) < shortest <= 10_000:
            text = text.ljust(shortest, ".")
        return text[:longest] if isinstance(longest, int) and longest >= 0 else text

    def _is_deep(self, depth: int) -> bool:
        return depth >= _DEEPEST or self._made > _MOST_VALUES

    def _resolved(self, given: Any, depth: int) -> Mapping[str, Any]:
        """The schema that a part stands for: what it refers to, a variant that is not null, its parts merged."""
        schema: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        for _ in range(_MOST_STEPS):
            if isinstance(schema.get("$ref"), str):
                schema = {**self._referred(schema["$ref"]), **_without(schema, "$ref")}
            elif variants := _variants(schema):
                is_null = self._is_deep(depth)
                chosen = next((one for one in variants if (one.get("type") == "null") is is_null), variants[0])
                schema = {**_without(schema, "anyOf", "oneOf"), **chosen}
            elif isinstance(parts := schema.get("allOf"), list):
                schema = self._merged(_without(schema, "allOf"), parts)
            else:
                break
        return schema

    def _merged(self, schema: Mapping[str, Any], parts: Sequence[Any]) -> Mapping[str, Any]:
        whole = dict(schema)
        for part in parts:
            found = part if isinstance(part, Mapping) else {}
            if isinstance(found.get("$ref"), str):
                found = {**self._referred(found["$ref"]), **_without(found, "$ref")}
            properties = {**_properties(whole), **_properties(found)}
            required = [*_required(whole), *_required(found)]
            whole = {**whole, **found}
            if properties:
                whole |= {"properties": properties, "required": required}
        return whole

    def _referred(self, reference: str) -> Mapping[str, Any]:
        """The part of the whole schema that `#/$defs/Name` refers to; one that is not there allows anything."""
        found: Any = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a schema's values; the first that is not null if there are several, '' if any will do."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    if _properties(schema):
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else ""


def _number(schema: Mapping[str, Any], *, is_whole: bool) -> float | int:
    """A number within the bounds of its schema: 1 if that is allowed, else the nearest to it."""
    step = _bound(schema, "multipleOf") or (1 if is_whole else 0)
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    gap = step or 0.5
    if above is not None and (low is None or above >= low):
        low = above + gap
    if below is not None and (high is None or below <= high):
        high = below - gap
        if not step and low is not None and high < low:  # a narrow range: its middle
            low = high = ((above if above is not None else low) + below) / 2
    found: float = _PLAIN_NUMBER
    found = max(found, low) if low is not None else found
    found = min(found, high) if high is not None else found
    if step:
        found = math.ceil(found / step) * step if high is None or math.ceil(found / step) * step <= high else found
    return int(found) if is_whole else float(found)


def _bound(schema: Mapping[str, Any], name: str) -> float | None:
    value = schema.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _variants(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = schema.get("anyOf") or schema.get("oneOf")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _without(schema: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in names}
