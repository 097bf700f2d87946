"""The section of `assay@1`: curves with baselines, then for each model its keys, worst moments and pointer paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.events.evaluation import ProtocolResult
from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.events.paths import path_legend, pointer_path
from assay.report.html.events.timeline import episode_outline, hidden_keys, moment_timeline, outcome_legend
from assay.report.html.figures import Figures
from assay.report.html.page import scrolling, table
from assay.report.numbers import number

_MOMENTS, _EPISODES = 6, 6
_Details = Mapping[str, Any]
_KEY_COLUMNS = ("key", "n", "precision", "recall", "F1", "hold IoU", "most confused with")


MomentAddress = Callable[[str, int], str]
"""Takes an episode, and the start of a moment in milliseconds after the first true action; gives an address."""


def action_section(
    results: Mapping[str, ProtocolResult],
    known: Mapping[str, _Details],
    figures: Figures,
    address: MomentAddress | None = None,
) -> Markup:
    """Charts with all models, then a part for each; `known` are the details of the results, by model.

    `address` says where a moment can be looked at more closely.
    """
    charts = _charts(results, known, figures)
    alone = len(known) == 1
    parts = []
    for model, found in known.items():
        part = (
            _keys(found) + _moments(found["moments"], address) + _episodes(found["episodes"]) + _paths(found["paths"])
        )
        parts.append(part if alone else details(f"{model}: keys, worst moments, paths of the pointer", part))
    return charts + join(parts)


def _charts(results: Mapping[str, ProtocolResult], known: Mapping[str, _Details], figures: Figures) -> Markup:
    first = next(iter(known.values()))
    curve = [{"model": model, **_point(row)} for model, found in known.items() for row in found["curve"]]
    lags = [
        {"model": model, "lag_ms": lag.value, "low_ms": lag.low, "high_ms": lag.high, "f1": after.value}
        for model, result in results.items()
        for lag, after in [(result.estimates["lag_ms"], result.estimates["f1_without_lag"])]
        if lag.value is not None
    ]
    shifts = [
        {"model": model, **row, "n": results[model].estimates["f1"].n}
        for model, found in known.items()
        for row in found["lag_curve"]
    ]
    settings = next(iter(results.values())).settings
    drawn = [
        figures.add(
            "f1_by_tolerance",
            rows=[row for row in curve if row["f1"] is not None],
            baselines=_baselines(first),
            marked_ms=settings["tolerance_ms"],
        ),
        figures.add("f1_by_shift", rows=shifts, lags=lags),
    ]
    outcomes = figures.add("action_outcomes", rows=_outcomes(known))
    return element("div", *drawn, class_="figures") + outcomes + _calibration(known, figures)


def _calibration(known: Mapping[str, _Details], figures: Figures) -> Markup:
    """The chart of models whose log-probabilities are known, and their losses by kind."""
    rows = [
        {"model": model, **{key: row[key] for key in ("confidence", "right", "n")}}
        for model, found in known.items()
        for row in found.get("calibration", ())
    ]
    drawn = figures.add("reliability", rows=rows) if rows else EMPTY
    losses = [
        [*([] if len(known) == 1 else [isolated(model)]), row["kind"], f"{row['n']:,}", number(row["nll"])]
        for model, found in known.items()
        for row in found.get("likelihood", ())
    ]
    if not losses:
        return drawn
    heads = [*([] if len(known) == 1 else ["model"]), "true events", "n", "negative log-likelihood"]
    return drawn + table(heads, losses, numeric=(len(heads) - 2, len(heads) - 1))


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("tolerance_ms", "f1", "low", "high", "n")}


def _baselines(known: _Details) -> list[dict[str, Any]]:
    """The baselines that do anything; the copied input only if it is the best baseline. All models share them."""
    shown = {"repeat_last", "majority", "random", known["best_baseline"]} - {"idle", None}
    return [
        {"name": name.replace("_", "-"), "tolerance_ms": row["tolerance_ms"], **row["baselines"][name]}
        for row in known["curve"]
        for name in sorted(shown)
        if row["baselines"][name]["f1"] is not None
    ]


def _outcomes(known: Mapping[str, _Details]) -> list[dict[str, Any]]:
    rows = []
    for model, found in known.items():
        for row in found["confusion"]["kinds"]:
            n = row["matched"] + row["substituted"] + row["deleted"]
            names = (("matched", "matched"), ("substituted", "substituted"), ("missed", "deleted"), ("inserted",) * 2)
            for outcome, key in names if n else ():
                count = row[key]
                rows.append(
                    {
                        "model": model,
                        "kind": row["kind"],
                        "outcome": outcome,
                        "count": count,
                        "share": count / n,
                        "n": n,
                    }
                )
    return rows


# --- keys ------------------------------------------------------------------------------------------------------------


def _keys(known: _Details) -> Markup:
    rows = known["keys"]
    if not rows:
        return EMPTY
    heads = (
        element("th", element("button", name, type="button"), scope="col", class_="num" if 0 < at < 6 else None)
        for at, name in enumerate(_KEY_COLUMNS)
    )
    body = (element("tr", *_key_cells(row)) for row in rows)
    whole = element("table", element("thead", element("tr", *heads)), element("tbody", *body), class_="sortable")
    region = element("div", scrolling(whole, label="Keys, buttons and scrolls"), class_="tall")
    note = "Presses and releases together, the most common first; a click on a column's head sorts by it."
    return element("h3", "Key by key") + element("p", note, class_="muted") + region + _confusions(known)


def _key_cells(row: Mapping[str, Any]) -> list[Markup]:
    confused = row["confused_with"]
    times = f"{row['confused_times'] / row['n']:.0%}, {counted(row['confused_times'], 'time')}" if confused else ""
    return [
        element("th", row["key"], scope="row", data_value=row["key"]),
        element("td", f"{row['n']:,}", class_="num", data_value=row["n"]),
        *(_share(row[name], bar=name == "f1") for name in ("precision", "recall", "f1", "hold_iou")),
        element("td", confused or "–", element("small", times) if confused else EMPTY, data_value=confused or ""),
    ]


def _share(value: float | None, *, bar: bool = False) -> Markup:
    """A share as a cell, with a bar of that length."""
    if value is None:
        return element("td", "–", class_="num", data_value="")
    drawn = element("i", style=f"width: {100 * value:.0f}%") if bar else EMPTY
    content = element("span", drawn, class_="bar") if bar else EMPTY
    return element("td", number(value), content, class_="num", data_value=f"{value:.6f}")


def _confusions(known: _Details) -> Markup:
    pairs = known["confusion"]["keys"]
    if not pairs:
        return EMPTY
    rows = [[row["true"], row["predicted"], f"{row['times']:,}"] for row in pairs]
    note = element("p", "The same key twice is a press for a release.", class_="muted")
    return details(
        "Substitutions, the most common first", table(["true", "predicted", "times"], rows, numeric=(2,)) + note
    )


# --- moments, episodes, paths ----------------------------------------------------------------------------------------


def _moments(moments: Sequence[Mapping[str, Any]], address: MomentAddress | None) -> Markup:
    cards = []
    for moment in moments[:_MOMENTS]:
        start, end = moment["start_ms"] / 1000, (moment["start_ms"] + moment["length_ms"]) / 1000
        hidden = hidden_keys(moment)
        words = f"{start:.0f}–{end:.0f} s, {counted(moment['errors'], 'error')}"
        words += f"; {counted(hidden, 'more key')} not shown" if hidden else ""
        drawing = moment_timeline(moment)
        if address is not None:
            to = address(moment["episode"], moment["start_ms"])
            drawing += element("p", element("a", "Open in the timeline", href=to))
        cards.append(_card(moment, words, drawing))
    if not cards:
        return EMPTY
    how = (
        "The two seconds with the most errors. In each lane the truth is above and the prediction below; bars are held "
        "keys, lines join matches and substitutions."
    )
    return element("h3", "Worst moments") + element("p", how, class_="muted") + outcome_legend() + _grid(cards)


def _episodes(episodes: Sequence[Mapping[str, Any]]) -> Markup:
    worst = [episode for episode in episodes if episode["missed"] + episode["extra"]]
    cards = []
    for episode in worst[:_EPISODES]:
        words = (
            f"F1 {number(episode['f1'])}: {episode['missed']:,} of {episode['n']:,} missed, {episode['extra']:,} extra"
        )
        cards.append(_card(episode, words, episode_outline(episode)))
    if not cards:
        return EMPTY
    how = "The episodes with the most errors in keys and buttons: true actions above the line, predicted ones below."
    return element("h3", "Worst episodes") + element("p", how, class_="muted") + _grid(cards)


def _paths(paths: Sequence[Mapping[str, Any]]) -> Markup:
    cards = [
        _card(path, f"{path['role']}: {path['path_error_px']:,.0f} px apart on average", pointer_path(path))
        for path in sorted(paths, key=lambda path: path["role"])
        if len(path["points"]) > 1
    ]
    if not cards:
        return EMPTY
    how = "The pointer's whole way through an episode, both from the same start: errors add up along the way."
    return element("h3", "Paths of the pointer") + element("p", how, class_="muted") + path_legend() + _grid(cards)


def _card(where: Mapping[str, Any], words: str, drawing: Markup) -> Markup:
    name = isolated(where["episode"] or "episode without a name")
    return element("div", element("h4", name), element("p", words, class_="muted"), drawing, class_="card")


def _grid(cards: Sequence[Markup]) -> Markup:
    return element("div", *cards, class_="cards")
