"""The HTTP API in words: each operation with what it takes and what it gives, from the table that serves it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from assay.report.html.conversation import STYLE
from assay.report.html.elements import EMPTY, Markup, element, join, section
from assay.report.html.page import Content, long_text, table
from assay.web.api import OPERATIONS
from assay.web.operations import Operation
from assay.web.shell import View, crumbs

_EXAMPLES = (
    "curl 'http://127.0.0.1:8321/api/runs?q=nightly&limit=5'",
    "curl 'http://127.0.0.1:8321/api/difference?run=baseline&run=@last'",
    "curl -H 'Authorization: Bearer TOKEN' 'http://HOST:8321/api/runs'",
)


@cache
def api_view() -> View:
    """The page."""
    described = element("a", "OpenAPI document", href="/api/openapi.json")
    lead = element("p", "The data of these pages for programs, as JSON. It is read only. The ", described,
                   " describes it in full.")  # fmt: skip
    body = join(
        [
            STYLE,
            section("Examples", long_text("\n".join(_EXAMPLES), label="Examples")),
            section("Operations", join(map(_operation, OPERATIONS))),
        ]
    )
    above = crumbs(("Metrics and protocols", "/metrics"))
    return View(content=Content(title="HTTP API", lead=lead, body=body), place="reference", above=above)


def _operation(one: Operation) -> Markup:
    rows: list[list[str]] = [
        [element("code", name), _kind(schema), "required" if name in one.required else "optional"]
        for name, schema in one.query.items()
    ]
    if "{run}" in one.path:
        rows.insert(0, [element("code", "{run}"), "an id or the beginning of one, a name, or @last", "required"])
    taken = table(["parameter", "value", "needed"], rows, numeric=(), label=one.path) if rows else EMPTY
    gives = ", ".join(one.answer.get("properties", {}))
    words = element("span", one.summary, class_="muted")
    return element(
        "details",
        element("summary", element("code", one.path), " ", words, class_="named"),
        taken,
        element("p", "Gives: ", element("code", gives)) if gives else EMPTY,
        class_="answer",
    )


def _kind(schema: Mapping[str, Any]) -> str:
    """The values of a parameter in a few words."""
    if "enum" in schema:
        return " or ".join(str(value) or "nothing" for value in schema["enum"])
    if schema.get("type") == "array":
        least, most = schema.get("minItems"), schema.get("maxItems")
        return f"text, {least or 1} to {most} times" if most else "text, repeatable"
    if schema.get("type") == "integer":
        low, high = schema.get("minimum"), schema.get("maximum")
        return f"{low:,} to {high:,}" if low is not None and high is not None else "whole number"
    return {"string": "text", "number": "number", "boolean": "yes or no"}.get(str(schema.get("type")), "text")
