"""The overall on the page: who comes first, by how much, how surely, and the weights that a reader may move.

Everything is written out here for the weights that the page opens with, so that it reads without scripts;
`static/overall.js` writes the same words again for other weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from assay.chat.scoring.scores import Scores
from assay.compare.overall import MOST, PRESETS, Means, Overall, Range, Standing, Weights, contributions
from assay.report.facts import counts
from assay.report.html.chat import name, short
from assay.report.html.page import escape
from assay.types import Estimate

_STEP = 0.25
_MOST_PARTS = 3
# What is less rounds to nothing.
_LEAST_SHOWN = 0.0005
_OUTCOME = (
    "What fails has no scores, so that only this share counts it; the page opens with weights at which it counts as "
    "much as five metrics, which is a group's worth."
)


def standing(found: Overall, scores: Scores) -> str:
    """The section."""
    if not found.means.criteria:
        return f"<p>Nothing was measured for every agent, so there is no overall.{_without(found.means)}</p>"
    failed = failures(scores)
    return (
        f'<p class="sentence" role="status" data-overall="sentence">{sentence(found.standing)}</p>'
        f'<p data-overall="made">{escape(made_of(found.means, found.weights, found.standing))}</p>'
        f"{_chance(found)}{_table(found, failed)}"
        '<p class="muted">The overall is the weighted mean of every metric that was measured for all agents, and of '
        f"the share of trials that pass. {_OUTCOME}{_left_out(found.means)}{_without(found.means)}{_failures(failed)}"
        f"</p>{_weights(found)}"
    )


def data_of(found: Overall) -> dict[str, Any]:
    """What the page's script computes from."""
    means = found.means
    return {
        "agents": list(means.agents),
        "groups": means.groups,
        "criteria": [{"name": criterion.name, "group": criterion.group} for criterion in means.criteria],
        "values": [list(means.values[agent]) for agent in means.agents],
        "weights": _listed(found.weights, means),
        "presets": {title: _listed(weights, means) for title, weights in PRESETS.items()},
        "most": MOST,
    }


def _listed(weights: Weights, means: Means) -> dict[str, list[float]]:
    return {
        "criteria": [weights.criteria.get(criterion.name, 1.0) for criterion in means.criteria],
        "groups": [weights.groups.get(group, 1.0) for group in means.groups],
    }


# --- words that the script writes too --------------------------------------------------------------------------------


def sentence(found: Standing) -> str:
    """Who comes first."""
    if not found.winners:
        return "Nothing counts: give something a weight above 0."
    value = shown(found.values[found.order[0]], 3)
    if len(found.winners) > 1:
        names = [name(agent) for agent in found.winners]
        return f"{', '.join(names[:-1])} and {names[-1]} tie for first with {value}."
    if found.lead is None:
        return f"{name(found.order[0])} has {value} overall."
    return f"{name(found.order[0])} comes first with {value}, {shown(found.lead, 3)} ahead of {name(found.order[1])}."


def made_of(means: Means, weights: Weights, found: Standing) -> str:
    """Which criteria the lead comes from, at most three of them, as text; nothing where there is no lead."""
    if len(found.winners) != 1 or found.lead is None:
        return ""
    parts = [
        (name, part) for name, part in contributions(means, weights, *found.order[:2]) if abs(part) >= _LEAST_SHOWN
    ]
    words = ", ".join(f"{name.replace('_', ' ')} {signed(part)}" for name, part in parts[:_MOST_PARTS])
    more = f" and {len(parts) - _MOST_PARTS} more" if len(parts) > _MOST_PARTS else ""
    return f"The lead comes from {words}{more}." if words else ""


def range_words(kept: Range | None) -> str:
    """With which weights the first stays first."""
    if kept is None:
        return "–"
    if kept.low == 0 and kept.high >= MOST:
        return "any weight" if math.isinf(kept.high) else f"any weight to {MOST:g}"
    if kept.low == kept.high:
        return f"only at {shown(kept.low, 2)}"
    low = "0" if kept.low == 0 else shown(kept.low, 2)
    if math.isinf(kept.high):
        words = f"{low} and more"
    else:
        words = f"{low} to {f'{MOST:g}' if kept.high >= MOST else shown(kept.high, 2)}"
    if kept.below is not None:
        words += f"; below {name(kept.below)}"
    if kept.above is not None and kept.high < MOST:
        words += f"; above {name(kept.above)}"
    return words


def shown(value: float, digits: int) -> str:
    """A number as the script's `toFixed` writes it: halves are rounded up, exactly."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def signed(value: float) -> str:
    """A difference with its sign."""
    text = shown(abs(value), 3)
    return text if not float(text) else f"{'−' if value < 0 else '+'}{text}"


# --- parts -----------------------------------------------------------------------------------------------------------


def _left_out(means: Means) -> str:
    if not means.left_out:
        return ""
    items = "; ".join(f"<code>{escape(metric)}</code> ({escape(why)})" for metric, why in means.left_out.items())
    return f" Left out: {items}."


def _without(means: Means) -> str:
    if not means.without:
        return ""
    items = "; ".join(f"{name(agent)} (<bdi>{escape(short(why))}</bdi>)" for agent, why in means.without.items())
    return f" Without a scored turn and not in the overall: {items}."


def failures(scores: Scores) -> dict[str, int]:
    """How many trials of each agent failed: they have no scores, which could make it look better than it is."""
    return {
        agent: counts(answer for answer in scores.answers if answer.agent == agent).failed for agent in scores.agents
    }


def _failures(failed: Mapping[str, int]) -> str:
    items = ", ".join(f"{name(agent)} {n:,}" for agent, n in failed.items() if n)
    return f" Trials that failed: {items}." if items else ""


def _chance(found: Overall) -> str:
    lead, first = found.uncertainty.lead, found.uncertainty.first
    stale = '<strong class="stale-note" hidden>For the weights the page opened with: </strong>'
    if lead is None or lead.low is None or lead.high is None or not first:
        return ""
    ends = f"[{signed(lead.low)}, {signed(lead.high)}]"
    verdict = (
        "that is more than the choice of scenarios explains"
        if lead.low > 0
        else "it holds 0, so the lead may be chance"
    )
    return (
        f'<p class="chance" data-overall="chance">{stale}the lead has a {100 * found.level:g} % interval of {ends}: '
        f"{verdict}. In {found.reps:,} resamples of the {lead.n_units:,} scenarios, the same ones for every agent, "
        f"{name(found.standing.order[0])} comes first in {_percent(first[found.standing.order[0]])}.</p>"
    )


def _percent(share: float) -> str:
    """A share that is not quite 0 or 1 does not look as if it were."""
    if 0 < share < 0.01:
        return "&lt;1 %"
    return "&gt;99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def _table(found: Overall, failed: Mapping[str, int]) -> str:
    order = found.standing.order or found.means.agents
    rows = "".join(_row(found, rank, agent, failed[agent]) for rank, agent in enumerate(order, 1))
    head = (
        '<th scope="col">agent</th><th scope="col" class="num">overall</th>'
        f'<th scope="col" class="num stale-able">{100 * found.level:g} % interval</th>'
        '<th scope="col" class="num stale-able">first in</th>'
    )
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Overall">\n<table class="standing">\n'
        f'<thead><tr>{head}</tr></thead>\n<tbody data-overall="rows">\n{rows}</tbody>\n</table>\n</div>\n'
    )


def _row(found: Overall, rank: int, agent: str, failed: int) -> str:
    value = found.standing.values.get(agent)
    estimate = found.uncertainty.values.get(agent, Estimate(None))
    whisker, ends = "", "–"
    if estimate.low is not None and estimate.high is not None:
        left, width = 100 * estimate.low, 100 * (estimate.high - estimate.low)
        whisker = f'<i class="whisker stale-able" style="left:{left:.2f}%;width:{width:.2f}%"></i>'
        ends = f"[{estimate.low:.3f}, {estimate.high:.3f}]"
    share = found.uncertainty.first.get(agent)
    at = found.means.agents.index(agent)
    place = "–" if value is None else str(rank)
    beside = f' <span class="bad">{failed:,} failed</span>' if failed else ""
    return (
        f'<tr data-agent="{at}"><th scope="row"><span class="rank">{place}</span> {name(agent)}{beside}'
        f'<span class="track"><span class="fill" style="width:{100 * (value or 0.0):.2f}%"></span>{whisker}</span></th>'
        f'<td class="num value">{"–" if value is None else shown(value, 3)}</td><td class="num stale-able">{ends}</td>'
        f'<td class="num stale-able">{"–" if share is None else _percent(share)}</td></tr>\n'
    )


def _weights(found: Overall) -> str:
    means = found.means
    presets = "".join(
        f'<button type="button" data-preset="{escape(title)}" disabled>{escape(title)}</button>' for title in PRESETS
    )
    groups = "".join(_group(found, group, at) for at, group in enumerate(means.groups))
    return (
        '<h3 id="weights">What counts how much</h3>'
        "<p>Move a weight and the overall follows. The bar below it, and the words beside it, are the weights with "
        "which the same agent stays first while the others are as set. A group's weight multiplies those in it.</p>"
        '<noscript><p class="nothing">Moving them needs JavaScript; what is shown holds for these.</p></noscript>'
        f'<div class="presets" role="group" aria-label="Presets">{presets}'
        '<button type="button" data-reset disabled>reset</button></div>'
        f'<div class="weights" data-overall="weights">{groups}</div>'
    )


def _group(found: Overall, group: str, at: int) -> str:
    members = [(place, one) for place, one in enumerate(found.means.criteria) if one.group == group]
    whole = ""
    if len(members) > 1:
        weight = found.weights.groups.get(group, 1.0)
        whole = _slider(f"g{at}", "the whole group", "", weight, found.group_ranges.get(group), group=at)
    rows = "".join(
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
    return f"<fieldset><legend>{escape(group)}</legend>{whole}{rows}</fieldset>"


def _slider(key: str, label: str, asks: str, weight: float, kept: Range | None, **place: int) -> str:
    ((kind, at),) = place.items()
    low, high = (0.0, 0.0) if kept is None else (min(kept.low, MOST), min(kept.high, MOST))
    band = f"left:{100 * low / MOST:.2f}%;width:{100 * (high - low) / MOST:.2f}%"
    hint = f' title="{escape(asks)}"' if asks else ""
    return (
        f'<div class="weight {kind}" data-{kind}="{at}"><label for="w-{key}"{hint}>{escape(label)}</label>'
        f'<span class="slide"><input type="range" id="w-{key}" min="0" max="{MOST:g}" step="{_STEP}" '
        f'value="{weight:g}" aria-describedby="r-{key}" autocomplete="off" disabled>'
        f'<span class="band"><i style="{band}"></i></span></span>'
        f'<output for="w-{key}">{weight_words(weight)}</output>'
        f'<small id="r-{key}">{range_words(kept)}</small></div>'
    )


def weight_words(weight: float) -> str:
    """A weight as the script writes it."""
    return f"{weight:.4f}".rstrip("0").rstrip(".")
