"""Small timelines drawn as SVG: what happened and what was predicted, side by side.

Every outcome has a shape of its own besides its colour. Positions are numbers; all text is escaped like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from assay.report.html.elements import EMPTY, Markup, element, join

_WIDTH: Final = 360
_LEFT, _RIGHT = 84, 352
_LANE, _TRUE, _PREDICTED = 28, 8, 20
_LANES = 9
"""Keys that a timeline shows."""
_OUTLINE_HEIGHT, _MIDDLE = 72, 34
_NAME_LENGTH = 13

_Action = Mapping[str, Any]


def moment_timeline(moment: Mapping[str, Any]) -> Markup:
    """One window: a lane for each key, in it the truth above and the prediction below, with a mark for each action."""
    lanes = _lanes(moment)
    length, bottom = moment["length_ms"], 4 + _LANE * len(lanes)
    parts = [_seconds(moment["start_ms"], length, bottom)]
    for place, (key, sides) in enumerate(lanes.items()):
        top = 4 + _LANE * place
        parts.append(_svg("text", _shortened(key), x=_LEFT - 8, y=top + 18, class_="lane"))
        parts.append(_svg("line", x1=_LEFT, x2=_RIGHT, y1=top + _LANE - 1, y2=top + _LANE - 1, class_="rule"))
        for side, at in (("true", _TRUE), ("predicted", _PREDICTED)):
            parts += [_bar(start, end, length, top + at, side) for start, end in _holds(sides[side], length)]
    tops = {key: 4 + _LANE * place for place, key in enumerate(lanes)}
    parts += _links(moment, tops, length)
    for side, at in (("true", _TRUE), ("predicted", _PREDICTED)):
        for action in moment[side]:
            if action["key"] in tops:
                parts.append(_mark(action, _x(action["ms"], length), tops[action["key"]] + at, side))
    words = f"Timeline: {len(moment['true'])} true and {len(moment['predicted'])} predicted actions"
    return _drawing(parts, bottom + 18, words)


def hidden_keys(moment: Mapping[str, Any]) -> int:
    """How many keys of a window its timeline has no room for."""
    return len({action["key"] for side in ("true", "predicted") for action in moment[side]}) - len(_lanes(moment))


def episode_outline(episode: Mapping[str, Any]) -> Markup:
    """A whole episode: true actions above the line, predicted ones below, by slices of time."""
    outline = episode["outline"]
    sides = {"true": ("matched", "substituted", "missed"), "predicted": ("matched", "substituted", "extra")}
    totals = [sum(column) for side in sides for column in zip(*outline[side].values(), strict=True)]
    height = 27 / max(1, *totals)
    slices = len(outline["true"]["matched"])
    width = (_RIGHT - 8) / slices
    parts = []
    for side, outcomes in sides.items():
        up = side == "true"
        for place in range(slices):
            edge = float(_MIDDLE - 1 if up else _MIDDLE + 1)
            for outcome in outcomes:
                tall = outline[side][outcome][place] * height
                if tall:
                    top = edge - tall if up else edge
                    parts.append(_block(8 + place * width, top, width - 1.4, tall, outcome))
                    edge = edge - tall if up else edge + tall
    parts.append(_svg("line", x1=8, x2=_RIGHT, y1=_MIDDLE, y2=_MIDDLE, class_="axis"))
    for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
        words = f"{episode['seconds'] * share:.0f} s"
        parts.append(
            _svg("text", words, x=8 + (_RIGHT - 8) * share, y=_OUTLINE_HEIGHT, class_="tick", text_anchor=anchor)
        )
    label = f"Outline: {episode['matched']} actions matched, {episode['missed']} missed, {episode['extra']} extra"
    return _drawing(parts, _OUTLINE_HEIGHT + 4, label)


def outcome_legend() -> Markup:
    """What the marks mean."""
    meanings = (
        ("matched", "matched"),
        ("substituted", "substituted: another key or button at that time"),
        ("missed", "missed: nothing predicted"),
        ("extra", "inserted: nothing true"),
    )
    items = []
    for outcome, words in meanings:
        mark = element(
            "svg", _mark({"outcome": outcome}, 8, 8, "true"), viewbox="0 0 16 16", class_="icon", aria_hidden="true"
        )
        block = element("svg", _block(3, 2, 10, 12, outcome), viewbox="0 0 16 16", class_="icon", aria_hidden="true")
        items.append(element("li", mark, block, " ", words))
    return element("ul", *items, class_="outcomes")


# --- parts -----------------------------------------------------------------------------------------------------------


def _svg(tag: str, *content: str, **attributes: str | float) -> Markup:
    """An element of a drawing; numbers with one digit after the point."""
    plain = {key: value if isinstance(value, str) else f"{value:.1f}" for key, value in attributes.items()}
    return element(tag, *content, **plain)


def _drawing(parts: Sequence[Markup], height: float, label: str) -> Markup:
    # HTML's parser turns "viewbox" into SVG's "viewBox".
    return element(
        "svg", join(parts), viewbox=f"0 0 {_WIDTH} {height:.0f}", class_="timeline", role="img", aria_label=label
    )


def _x(ms: float, length: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * min(max(ms, -20), length + 20) / length


def _lanes(moment: Mapping[str, Any]) -> dict[str, dict[str, list[_Action]]]:
    """The actions of both sides by key: the keys with errors first, then those that come first."""
    lanes: dict[str, dict[str, list[_Action]]] = {}
    for side in ("true", "predicted"):
        for action in moment[side]:
            lanes.setdefault(action["key"], {"true": [], "predicted": []})[side].append(action)

    def wrong(key: str) -> bool:
        return any(action["outcome"] != "matched" for side in lanes[key].values() for action in side)

    kept = set(sorted(lanes, key=lambda key: not wrong(key))[:_LANES])
    return {key: sides for key, sides in lanes.items() if key in kept}


def _holds(actions: Sequence[_Action], length: float) -> list[tuple[float, float]]:
    """From press to release; a hold that began before the window or ends after it reaches its edge."""
    holds: list[tuple[float, float]] = []
    since: float | None = None
    for place, action in enumerate(sorted(actions, key=lambda one: one["ms"])):
        if action["press"] is None:
            continue
        if action["press"]:
            since = action["ms"] if since is None else since
        elif since is not None or place == 0:
            holds.append((since or 0.0, action["ms"]))
            since = None
    return holds if since is None else [*holds, (since, length)]


def _bar(start: float, end: float, length: float, y: float, side: str) -> Markup:
    left = _x(start, length)
    return _svg("rect", x=left, y=y - 3, width=max(1.5, _x(end, length) - left), height=6, class_=f"hold {side}")


def _links(moment: Mapping[str, Any], tops: Mapping[str, float], length: float) -> list[Markup]:
    """A line from each true action to the prediction that it is matched with or was taken for."""
    found = {(one["ms"], one["outcome"]): one["key"] for one in moment["predicted"] if one["partner_ms"] is not None}
    lines = []
    for action in moment["true"]:
        partner = action["partner_ms"]
        key = None if partner is None else found.get((partner, action["outcome"]))
        if action["outcome"] == "matched" and partner is not None:
            key = action["key"]
        if key in tops and action["key"] in tops and key is not None:
            ends = {"x1": _x(action["ms"], length), "y1": tops[action["key"]] + _TRUE}
            ends |= {"x2": _x(partner, length), "y2": tops[key] + _PREDICTED}
            lines.append(_svg("line", **ends, class_=f"link {action['outcome']}"))
    return lines


def _mark(action: _Action, x: float, y: float, side: str) -> Markup:
    """A disc, a ring, a triangle or a diamond."""
    outcome = action["outcome"]
    title = EMPTY
    if "label" in action:
        title = element("title", f"{side}: {action['label']}, {outcome}, {action['ms'] / 1000:.3f} s into the window")
    if outcome in ("matched", "missed"):
        return _svg("circle", title, cx=x, cy=y, r=3.4 if outcome == "matched" else 3.8, class_=f"outcome {outcome}")
    points = ((0, -5), (4.6, 3.6), (-4.6, 3.6)) if outcome == "extra" else ((0, -5), (4.6, 0), (0, 5), (-4.6, 0))
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in points)
    return _svg("polygon", title, points=corners, class_=f"outcome {outcome}")


def _block(x: float, y: float, width: float, height: float, outcome: str) -> Markup:
    """A piece of a bar: full, hollow, dashed, or half full."""
    # The edge is drawn inside, so that blocks of a bar do not overlap.
    place = {"x": x + 0.5, "y": y + 0.5, "width": max(0.2, width - 1), "height": max(0.2, height - 1)}
    return _svg("rect", **place, class_=f"block {outcome}")


def _seconds(start_ms: float, length: float, bottom: float) -> Markup:
    """The axis of time: a tick each half second."""
    ticks = []
    for ms in range(0, int(length) + 1, 500):
        x = _x(ms, length)
        ticks.append(_svg("line", x1=x, x2=x, y1=2, y2=bottom, class_="rule"))
        words = f"{(start_ms + ms) / 1000:.1f}" + (" s" if ms == length else "")
        anchor = "end" if ms == length else "middle"
        ticks.append(_svg("text", words, x=x, y=bottom + 13, class_="tick", text_anchor=anchor))
    return join(ticks)


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else f"{name[: _NAME_LENGTH - 1]}…"
