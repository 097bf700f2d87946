"""The verdict in words on the page about events: a card for each model, with its headline figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.events.actions.verdict import is_constant
from assay.events.evaluation import EventReport, ProtocolResult
from assay.report.findings import MARKS, MEANINGS
from assay.report.html.elements import EMPTY, Markup, element, isolated, join
from assay.report.numbers import interval, number

_TILES = {
    "f1": "F1, keys and buttons",
    "skill": "skill over the best baseline",
    "lag_ms": "ms of lag (+ late)",
    "pointer_r2": "R² of the pointer",
    "coverage": "of the truth's span covered",
}


def verdict_cards(reports: Mapping[str, EventReport], details: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Markup:
    """What each report's figures show, in words; `details` are those of its protocols, by model and name."""
    cards = []
    for name, report in reports.items():
        for key, known in details[name].items():
            if found := known.get("verdict"):
                heading = EMPTY if len(reports) == 1 else element("h3", isolated(name))
                card = heading + _findings(found) + _tiles(report.protocols[key])
                cards.append(element("div", card, class_="verdict"))
    return element("div", *cards, class_="verdicts" if len(cards) > 1 else None) if cards else EMPTY


def _findings(found: Sequence[Mapping[str, Any]]) -> Markup:
    main, *others = found
    items = [element("li", _mark(finding["tone"]), finding["text"], class_="finding") for finding in others]
    first = element("p", _mark(main["tone"]), main["text"], class_="sentence")
    return first + (element("ul", *items, class_="findings") if items else EMPTY)


def _mark(tone: str) -> Markup:
    """A mark with its own shape for each tone."""
    return element("span", MARKS[tone], class_=f"mark tone-{tone}", role="img", aria_label=MEANINGS[tone])


def _tiles(result: ProtocolResult) -> Markup:
    """The headline figures, with their intervals."""
    units = {metric.key: metric.unit for metric in result.metrics}
    tiles = []
    for key, words in _TILES.items():
        estimate = result.estimates.get(key)
        if estimate is None or estimate.value is None or (key == "lag_ms" and not is_constant(result.estimates)):
            continue
        ends = EMPTY
        if estimate.low is not None and estimate.high is not None:
            ends = element("small", interval(estimate.low, estimate.high, units[key]), class_="num")
        tiles.append(element("li", element("b", number(estimate.value, units[key])), " ", words, " ", ends))
    return element("ul", join(tiles), class_="tiles") if tiles else EMPTY
