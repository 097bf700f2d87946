"""The section on the overall: which agent comes first, by how much and how certain that is, and weights that a reader
may change.

Everything is written out for the weights that the page opens with, so that it reads without scripts;
`static/overall.js` writes the same words again for other weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.chat.scoring.scores import Scores
from assay.compare.overall import Overall
from assay.compare.standing import CriterionMeans, Standing, WeightRange
from assay.compare.weights import MAX_WEIGHT, PRESETS, TURNS_ANSWERED, Weights
from assay.report.decision import percent
from assay.report.facts import failed_trials
from assay.report.html.elements import EMPTY, Markup, element, isolated, join
from assay.report.html.page import scrolling
from assay.report.overall import ahead_words, fixed, lead_words, signed_ends, signed_fixed
from assay.report.text import shorten
from assay.types import Estimate

_STEP = 0.25
_PASSED = (
    "the share of trials that pass. A failed turn has no scores, so only this share counts it; the page opens with "
    "weights at which it counts as much as a group of five metrics."
)
_ANSWERED = (
    "the shares of trials that pass and of turns that are answered. A failed turn has no scores, so only these shares "
    "count it; the page opens with weights at which each counts as much as a group of five metrics."
)


def overall_section(found: Overall, scores: Scores) -> Markup:
    """The section."""
    if not found.means.criteria:
        nothing = "Nothing was measured for every agent, so there is no overall score."
        return element("p", nothing, _without(found.means))
    failed = failed_trials(scores)
    explained = element(
        "p",
        "The overall score is the weighted mean of every metric that was measured for all agents, and of "
        f"{_ANSWERED if TURNS_ANSWERED in [one.name for one in found.means.criteria] else _PASSED}",
        _left_out(found.means),
        _without(found.means),
        _failed(failed),
        class_="muted",
    )
    return join(
        [
            element("p", sentence(found.standing), class_="sentence", role="status", data_overall="sentence"),
            element("p", lead_words(found.means, found.weights, found.standing), data_overall="made"),
            _chance(found),
            _table(found, failed),
            explained,
            _weights(found),
        ]
    )


def script_data(found: Overall, presets: Mapping[str, Overall]) -> dict[str, Any]:
    """What the page's script computes the overall from; intervals are known for the opening weights and the presets."""
    means = found.means
    return {
        "agents": list(means.agents),
        "groups": means.groups,
        "criteria": [{"name": criterion.name, "group": criterion.group} for criterion in means.criteria],
        "values": [list(means.values[agent]) for agent in means.agents],
        "weights": _listed(found.weights, means),
        "presets": {title: _listed(one.weights, means) for title, one in presets.items()},
        "opening": _intervals(found),
        "intervals": {title: _intervals(one) for title, one in presets.items()},
        "most": MAX_WEIGHT,
    }


def _intervals(found: Overall) -> dict[str, Any]:
    """What a page shows of the uncertainty under some weights: for each agent, and of the lead in words."""
    return {"rows": [_whisker(found, agent) for agent in found.means.agents], "chance": str(_chance_words(found))}


def _listed(weights: Weights, means: CriterionMeans) -> dict[str, list[float]]:
    return {
        "criteria": [weights.criteria.get(criterion.name, 1.0) for criterion in means.criteria],
        "groups": [weights.groups.get(group, 1.0) for group in means.groups],
    }


# --- words that the script writes too --------------------------------------------------------------------------------


def sentence(standing: Standing) -> Markup:
    """Which agent comes first."""
    if not standing.winners:
        return join(["Nothing counts: give something a weight above 0."])
    value = fixed(standing.values[standing.order[0]], 3)
    first = isolated(standing.order[0])
    if len(standing.winners) > 1:
        names = [isolated(agent) for agent in standing.winners]
        return join(names[:-1], ", ") + " and " + names[-1] + f" tie for first with {value}."
    if standing.lead is None:
        return first + f" has {value} overall."
    lead = f" comes first with {value}, {ahead_words(standing.lead)} of "
    return first + lead + isolated(standing.order[1]) + "."


def range_words(kept: WeightRange | None) -> Markup:
    """The weights with which the first agent stays first."""
    if kept is None:
        return join(["–"])
    if kept.low == 0 and kept.high >= MAX_WEIGHT:
        return join(["any weight" if math.isinf(kept.high) else f"any weight up to {MAX_WEIGHT:g}"])
    if kept.low == kept.high:
        return join([f"only at {fixed(kept.low, 2)}"])
    low = "0" if kept.low == 0 else fixed(kept.low, 2)
    if math.isinf(kept.high):
        words = join([f"{low} and more"])
    else:
        words = join([f"{low} to {f'{MAX_WEIGHT:g}' if kept.high >= MAX_WEIGHT else fixed(kept.high, 2)}"])
    if kept.below is not None:
        words += "; below " + isolated(kept.below)
    if kept.above is not None and kept.high < MAX_WEIGHT:
        words += "; above " + isolated(kept.above)
    return words


def weight_words(weight: float) -> str:
    """A weight as the script writes it."""
    return f"{weight:.4f}".rstrip("0").rstrip(".")


# --- parts -----------------------------------------------------------------------------------------------------------


def _left_out(means: CriterionMeans) -> Markup:
    if not means.left_out:
        return EMPTY
    items = (element("code", metric) + f" ({why})" for metric, why in means.left_out.items())
    return " Left out: " + join(items, "; ") + "."


def _without(means: CriterionMeans) -> Markup:
    if not means.without:
        return EMPTY
    items = (isolated(agent) + " (" + isolated(shorten(why)) + ")" for agent, why in means.without.items())
    return " Not in the overall score, because no turn was scored: " + join(items, "; ") + "."


def _failed(failed: Mapping[str, int]) -> Markup:
    items = join((isolated(agent) + f" {n:,}" for agent, n in failed.items() if n), ", ")
    return " Trials that failed: " + items + "." if items else EMPTY


def _chance(found: Overall) -> Markup:
    words = _chance_words(found)
    stale = element("strong", "For the weights the page opened with: ", class_="stale-note", hidden=True)
    said = element("span", words, data_overall="chance")
    return element("p", stale, said, class_="chance", hidden=not words)


def _chance_words(found: Overall) -> Markup:
    """How certain the lead is; empty if nothing is known of it."""
    lead, first, once = found.uncertainty.by_scenarios, found.uncertainty.first, found.uncertainty.once
    if lead is None or lead.low is None or lead.high is None:
        return EMPTY
    verdict = (
        "that is more than the choice of scenarios explains"
        if lead.low > 0
        else "it contains 0, so the lead may be chance"
    )
    ends = signed_ends(lead.low, lead.high)
    whole = f"the lead has a {100 * found.level:g} % interval of {ends}: {verdict}."
    if once:
        whole = (
            f"{signed_fixed(once)} of the lead was measured once and has no interval; the scenarios add "
            f"{signed_fixed(lead.value or 0.0)}, {100 * found.level:g} % interval {ends}."
        )
    share = EMPTY
    if first:
        share = join(
            [
                f" In {found.reps:,} resamples of the {lead.n_units:,} scenarios, the same ones for every agent, ",
                isolated(found.standing.order[0]),
                f" comes first in {percent(first[found.standing.order[0]])}.",
            ]
        )
    return join([whole, share])


def _table(found: Overall, failed: Mapping[str, int]) -> Markup:
    order = found.standing.order or found.means.agents
    head = (
        element("th", "agent", scope="col"),
        element("th", "overall", scope="col", class_="num"),
        element("th", f"{100 * found.level:g} % interval", scope="col", class_="num stale-able"),
        element("th", "first in", scope="col", class_="num stale-able"),
    )
    rows = (_row(found, rank, agent, failed[agent]) for rank, agent in enumerate(order, 1))
    whole = element(
        "table",
        element("thead", element("tr", *head)),
        element("tbody", *rows, data_overall="rows"),
        class_="standing",
    )
    return scrolling(whole, label="Overall")


def _whisker(found: Overall, agent: str) -> dict[str, str]:
    """The interval of an agent's overall and how often it comes first, as they are written."""
    estimate = found.uncertainty.values.get(agent, Estimate(None))
    left, width, ends = "0%", "0%", "–"
    if estimate.low is not None and estimate.high is not None:
        left, width = f"{100 * estimate.low:.2f}%", f"{100 * (estimate.high - estimate.low):.2f}%"
        ends = f"[{estimate.low:.3f}, {estimate.high:.3f}]"
    share = found.uncertainty.first.get(agent)
    return {"left": left, "width": width, "ends": ends, "share": "–" if share is None else percent(share)}


def _row(found: Overall, rank: int, agent: str, failed: int) -> Markup:
    value = found.standing.values.get(agent)
    known = _whisker(found, agent)
    ends = f"left:{known['left']};width:{known['width']}"
    whisker = element("i", class_="whisker stale-able", style=ends, hidden=known["width"] == "0%")
    fill = element("span", class_="fill", style=f"width:{100 * (value or 0.0):.2f}%")
    name = element(
        "th",
        element("span", "–" if value is None else str(rank), class_="rank"),
        *(" ", isolated(agent)),
        " " + element("span", f"{failed:,} failed", class_="bad") if failed else EMPTY,
        element("span", fill, whisker, class_="track"),
        scope="row",
    )
    cells = (
        element("td", "–" if value is None else fixed(value, 3), class_="num value"),
        element("td", known["ends"], class_="num stale-able ends"),
        element("td", known["share"], class_="num stale-able share"),
    )
    return element("tr", name, *cells, data_agent=found.means.agents.index(agent)) + "\n"


def _weights(found: Overall) -> Markup:
    presets = [element("button", title, type="button", data_preset=title, disabled=True) for title in PRESETS]
    reset = element("button", "reset", type="button", data_reset=True, disabled=True)
    groups = (_group(found, group, at) for at, group in enumerate(found.means.groups))
    explained = (
        "Change a weight and the overall score changes with it. The bar below it and the text beside it show the "
        "weights at which the same agent stays first if the others stay as set. A group's weight multiplies the "
        "weights in it."
    )
    without_script = "Changing the weights needs JavaScript; the results shown are for these."
    return join(
        [
            element("h3", "Weights", id="weights"),
            element("p", explained),
            element("noscript", element("p", without_script, class_="nothing")),
            element("div", *presets, reset, class_="presets", role="group", aria_label="Presets"),
            element("div", *groups, class_="weights", data_overall="weights"),
        ]
    )


def _group(found: Overall, group: str, at: int) -> Markup:
    members = [(place, one) for place, one in enumerate(found.means.criteria) if one.group == group]
    whole = EMPTY
    if len(members) > 1:
        weight = found.weights.groups.get(group, 1.0)
        whole = _slider(f"g{at}", "the whole group", "", weight, found.group_ranges.get(group), group=at)
    rows = (
        _slider(
            f"c{place}",
            one.name.replace("_", " "),
            one.asks,
            found.weights.criteria.get(one.name, 1.0),
            found.ranges.get(one.name),
            criterion=place,
        )
        for place, one in members
    )
    return element("fieldset", element("legend", group), whole, *rows)


def _slider(key: str, label: str, asks: str, weight: float, kept: WeightRange | None, **place: int) -> Markup:
    ((kind, at),) = place.items()
    low, high = (0.0, 0.0) if kept is None else (min(kept.low, MAX_WEIGHT), min(kept.high, MAX_WEIGHT))
    band = f"left:{100 * low / MAX_WEIGHT:.2f}%;width:{100 * (high - low) / MAX_WEIGHT:.2f}%"
    slider = element(
        "input",
        type="range",
        id=f"w-{key}",
        min="0",
        max=f"{MAX_WEIGHT:g}",
        step=str(_STEP),
        value=f"{weight:g}",
        aria_describedby=f"r-{key}",
        autocomplete="off",
        disabled=True,
    )
    return element(
        "div",
        element("label", label, for_=f"w-{key}", title=asks or None),
        element("span", slider, element("span", element("i", style=band), class_="band"), class_="slide"),
        element("output", weight_words(weight), for_=f"w-{key}"),
        element("small", range_words(kept), id=f"r-{key}"),
        class_=f"weight {kind}",
        **{f"data_{kind}": at},
    )
