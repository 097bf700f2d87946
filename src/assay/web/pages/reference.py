"""Metrics and protocols: what each measures, its rules and points, its version; generated from the code itself."""

from __future__ import annotations

from functools import cache
from inspect import getmodule

from assay.plural import counted
from assay.report.html.conversation import STYLE
from assay.report.html.elements import EMPTY, Markup, element, join, section
from assay.report.html.page import Content, table
from assay.web.shell import View

_BETTER = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best", "none": ""}


@cache
def reference_view() -> View:
    """The page."""
    answers, events = _answers(), _events()
    contents = (
        ("Metrics of an answer", "#answers"),
        ("Protocols for desktop events", "#events"),
        ("HTTP API", "/api"),
    )
    links = (element("li", element("a", title, href=to)) for title, to in contents)
    nav = element("nav", element("ul", *links), class_="contents", aria_label="Contents")
    body = join(
        [
            STYLE,
            nav,
            section("Metrics of an answer", answers, anchor="answers"),
            section("Protocols for desktop events", events, anchor="events"),
        ]
    )
    lead = element("p", "What every number means, from the definitions that compute it.")
    return View(content=Content(title="Metrics and protocols", lead=lead, body=body), place="reference")


def _answers() -> Markup:
    from assay.chat.scoring.metric import BANDS, METRICS, signed_points

    bands = ", ".join(f"below {limit:g} {name}" for limit, name in BANDS)
    parts = [
        element(
            "p",
            "A score is a base plus the points of the rules that apply, kept between 0 and 1. "
            f"Its band: {bands}, and excellent from there on. Open a metric to see its rules.",
        )
    ]
    for name in METRICS.names():
        metric = METRICS.get(name)
        rows: list[list[str]] = [
            [
                join([element("code", rule.id), element("small", "decides alone") if rule.alone else EMPTY]),
                rule.says,
                element("span", signed_points(rule.points), class_="good" if rule.points > 0 else "bad"),
            ]
            for rule in metric.rules
        ]
        facts = f"{metric.group} · base {metric.base:g} · {metric.neutral:g} if not measured · {metric.version}"
        head = _head(metric.name, metric.asks)
        shown = table(["rule", "what the answer or its context shows", "points"], rows, numeric=(2,), label=name)
        parts.append(
            element("details", head, element("p", facts, class_="muted"), shown, class_="answer", id=f"metric-{name}")
        )
    return join(parts)


def _events() -> Markup:
    from assay.events.protocols import PROTOCOLS, every_protocol

    parts = [
        element("p", "A protocol is a way to compare predicted events with true ones. Open one to see its figures.")
    ]
    for name in every_protocol():
        protocol = PROTOCOLS.get(name)
        rows: list[list[str]] = [
            [element("code", one.key), one.title, one.unit, _BETTER[one.better], one.undefined]
            for one in protocol.metrics
            if one.listed
        ]
        label = f"{protocol.name}@{protocol.version}"
        head = _head(label, f"{_purpose(protocol)} {counted(len(rows), 'figure')}.".strip())
        shown = table(["key", "figure", "unit", "direction", "undefined if"], rows, numeric=(), label=label)
        parts.append(element("details", head, shown, class_="answer", id=f"protocol-{name}"))
    return join(parts)


def _head(name: str, words: str) -> Markup:
    return element("summary", element("code", name), " ", element("span", words, class_="muted"), class_="named")


def _purpose(protocol: object) -> str:
    """What a protocol compares: the first sentence of its module, without its name."""
    said = (getmodule(type(protocol)) or protocol).__doc__ or ""
    first = said.strip().partition("\n")[0].partition(": ")[2]
    return first[:1].upper() + first[1:]
