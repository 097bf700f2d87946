"""The section on developer experience: measured and claimed values, with the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.report.experience import (
    MAX_VALUE_CHARACTERS,
    MeasuredExperience,
    missing_reason,
    unmeasured_keys,
    value_words,
)
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import table
from assay.report.text import shorten

# Agents in the order of the page, each with what was measured about it, if anything was.
_Measured = Sequence[tuple[str, MeasuredExperience | None]]


def experience_section(experience: Mapping[str, MeasuredExperience], agents: Sequence[str]) -> Markup:
    """The section; empty if nothing was measured."""
    measured = [(agent, experience.get(agent)) for agent in agents]
    if not any(one for _, one in measured):
        return EMPTY
    method = "Measured from each assistant's own source, its installation, and what an injected fault prints and logs."
    if any(one is not None and one.claimed for _, one in measured):
        method += (
            " Claimed values are those that the first version of these metrics assumed about two frameworks; ≠ marks "
            "claims that the measurement does not confirm."
        )
    figures = _figures(measured)
    return join(
        [
            element("p", method),
            _characteristics(measured),
            details("Everything measured, and how", figures) if figures else EMPTY,
        ]
    )


def _characteristics(measured: _Measured) -> Markup:
    """What the metrics read, with the claims."""
    found = [one for _, one in measured if one is not None]
    keys = dict.fromkeys(
        key for one in found for key in (*one.characteristics, *(one.claimed or {}), *unmeasured_keys(one))
    )
    rows: list[list[str]] = [
        [_title(key, found=found), *("–" if one is None else _with_claim(key, one) for _, one in measured)]
        for key in keys
    ]
    return _table("characteristic", measured, rows, "What the metrics read")


def _figures(measured: _Measured) -> Markup:
    """Every figure; one that consists of several is shown part by part."""
    found = [one for _, one in measured if one is not None]
    flat = {one.agent: _flattened(one.measured) for one in found}
    rows: list[list[str]] = [
        [
            _title(*key, found=found),
            *("–" if one is None else _figure(key, flat[one.agent], one) for _, one in measured),
        ]
        for key in dict.fromkeys(key for parts in flat.values() for key in parts)
    ]
    return _table("figure", measured, rows, "Everything measured")


def _table(first: str, measured: _Measured, rows: Sequence[Sequence[str]], label: str) -> Markup:
    if not rows:
        return EMPTY
    whole = table([first, *(isolated(agent) for agent, _ in measured)], rows, numeric=(), label=label)
    return element("div", whole, class_="measured")


def _flattened(measured: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for key, value in measured.items():
        if isinstance(value, Mapping) and value:
            found |= {(key, str(inner)): part for inner, part in value.items()}
        else:
            found[key,] = value
    return found


def _title(key: str, *inner: str, found: Sequence[MeasuredExperience]) -> Markup:
    methods = dict.fromkeys(one.method[key] for one in found if key in one.method)
    return join([": ".join((key, *inner)).replace("_", " "), *(element("small", method) for method in methods)])


def _value(value: Any) -> Markup:
    return isolated(value_words(value))


def _figure(key: tuple[str, ...], parts: Mapping[tuple[str, ...], Any], one: MeasuredExperience) -> Markup:
    return _value(parts.get(key)) + (EMPTY if key in parts else _why_missing(key[0], one))


def _with_claim(key: str, one: MeasuredExperience) -> Markup:
    text = _value(one.characteristics.get(key))
    if key not in one.characteristics:
        text += _why_missing(key, one)
    if not one.claimed or key not in one.claimed:
        return text
    agrees = one.claimed[key] == one.characteristics.get(key)
    mark = EMPTY if agrees else element("span", "≠", class_="warn") + " "
    return text + element("small", mark, "claimed ", _value(one.claimed[key]))


def _why_missing(key: str, one: MeasuredExperience) -> Markup:
    """Why a figure is missing, below the dash in its place."""
    reason = missing_reason(key, one)
    return element("small", isolated(shorten(reason, MAX_VALUE_CHARACTERS))) if reason else EMPTY
