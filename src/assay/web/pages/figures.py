"""Figures of runs as pages show them: a value with its interval, and a bar if the value is a share."""

from __future__ import annotations

from collections.abc import Sequence

from assay.report.html.elements import EMPTY, Markup, element, isolated
from assay.report.numbers import interval, number
from assay.runs.summaries import RunFigure

_MOST_SHOWN = 4


def figure_line(figure: RunFigure) -> Markup:
    """One figure: what it is, its bar, its value and interval."""
    name = isolated(figure.group if figure.is_by_agent else figure.title)
    label = element("span", name, class_="figure-name", title=figure.title)
    return element("div", label, figure_bar(figure), figure_value(figure), class_="figure-line")


def figure_value(figure: RunFigure) -> Markup:
    """The value with its interval."""
    if figure.value is None:
        return element("span", "–", class_="figure-value")
    unit = f" {figure.unit}" if figure.unit else ""
    ends = EMPTY
    if figure.low is not None and figure.high is not None:
        ends = " " + element("small", interval(figure.low, figure.high, figure.unit))
    return element("span", element("b", number(figure.value, figure.unit) + unit), ends, class_="figure-value")


def figure_bar(figure: RunFigure) -> Markup:
    """A bar with the interval as its whisker, if the value is a share."""
    if not is_share(figure) or figure.value is None:
        return element("span", class_="track none")
    fill = element("span", class_="fill", style=f"width:{_percent(figure.value)}%")
    whisker = EMPTY
    if figure.low is not None and figure.high is not None:
        low, high = _percent(figure.low), _percent(figure.high)
        whisker = element("span", class_="whisker", style=f"left:{low}%;width:{round(high - low, 2)}%")
    return element("span", fill, whisker, class_="track", aria_hidden="true")


def headline_figures(figures: Sequence[RunFigure]) -> Markup:
    """What a list shows of a run: its first figures, one below the other."""
    if not figures:
        return element("span", "–", class_="muted")
    # A line that says "and 1 more" would take as much room as the one.
    most = len(figures) if len(figures) == _MOST_SHOWN + 1 else _MOST_SHOWN
    more = len(figures) - most
    shown = [figure_line(figure) for figure in figures[:most]]
    titles = {figure.title for figure in figures}
    if figures[0].is_by_agent and len(titles) == 1:
        shown.insert(0, element("small", *titles, class_="muted"))
    if more > 0:
        shown.append(element("small", f"and {more} more", class_="muted"))
    return element("div", *shown, class_="figure-lines")


def is_share(figure: RunFigure) -> bool:
    """Whether the figure lies between 0 and 1 by its nature, as far as its values tell."""
    ends = [end for end in (figure.value, figure.low, figure.high) if end is not None]
    return figure.unit == "" and figure.better == "higher" and all(0 <= end <= 1 for end in ends)


def _percent(share: float) -> float:
    return round(100 * min(1.0, max(0.0, share)), 2)
