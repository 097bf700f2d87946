"""The timeline of desktop events: what happened above what was predicted, to be panned, zoomed, shifted and measured.

The canvas is drawn by `static/timeline*.js`. Everything it shows of a window is below it as text and tables too, which
the server makes, here, at first and whenever the window changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, element, isolated, join
from assay.report.html.events.timeline import outcome_legend
from assay.report.html.page import Content, table
from assay.report.numbers import number
from assay.web.addresses import address, run_address
from assay.web.pages.timeline_window import window_part
from assay.web.shell import View, crumbs, form, hidden
from assay.web.site import Site
from assay.web.timeline.operations import described_episode

if TYPE_CHECKING:
    from assay.events.timeline.episode import ShiftedTimeline
    from assay.web.timeline.frames import EpisodeFrames
    from assay.web.timeline.opening import Chosen, OpenedRecordings
    from assay.web.timeline.recordings import Recording

_SCRIPTS = tuple(f"timeline{part}.js" for part in ("-tiles", "-marks", "-draw", "-overview", "-frames", ""))
_SPEEDS = (0.1, 0.25, 0.5, 1, 2, 4)
_MOST_SHIFT_MS = 500
BASELINES = {
    "idle": "Baseline: idle",
    "repeat_last": "Baseline: repeat last",
    "majority": "Baseline: majority",
    "random": "Baseline: random",
}
"""The trivial baselines as tabs call them."""
_KEYS = (
    ("W, S", "zoom in and out"),
    ("A, D", "go back and forth in time"),
    ("F", "fit the whole episode"),
    ("E, Q", "next and previous error, of the chosen key if there is one"),
    ("1 – 8", "the worst moments"),
    (", and .", "shift the prediction by 5 ms"),
    ("B", "show the figures of the part in view; Esc clears the selection"),
    ("↑ and ↓", "keys further up and down"),
    ("/", "find a key"),
    ("Space", "play and pause"),
    ("J, L", "the frame before and after, where the recording has frames"),
    ("?", "this help"),
)


def choose_view(site: Site) -> View:
    """The recordings that can be opened."""
    found = site.timelines.recordings
    listed = found.listed()
    body = [_choice(listed)] if listed else [_nothing(bool(found.folders))]
    if found.left_out:
        body.append(element("p", f"Only the first {len(listed):,} recordings are listed.", class_="note"))
    example = element("a", "Open the example", href=_example_address(), class_="button")
    words = element("p", "A synthetic recording and a model that is right but 80 ms late: shift it until F1 peaks.")
    body.append(element("div", example, words, class_="demo"))
    lead = element("p", "What happened above what was predicted, key by key: pan, zoom, shift, and measure any window.")
    return View(content=Content(title="Timeline", lead=lead, body=join(body)), place="timeline", is_kept=False)


def timeline_view(
    opened: OpenedRecordings,
    chosen: Chosen,
    matched: ShiftedTimeline,
    window: tuple[int, int] | None,
    frames: EpisodeFrames | None = None,
    *,
    at_us: int | None = None,
    called: str = "",
) -> View:
    """One episode; `at_us` is where the cursor stands, and `called` the name of the run that it belongs to."""
    shift_us = matched.shift_ns // 1000
    known = described_episode(opened, matched.episode)
    span_us = known["span_us"]
    begin, end = window or (0, span_us)
    named = _named(chosen)
    data = known | {"query": {**named, "episode": matched.episode.name}, "shift_us": shift_us, "window": window}
    data |= {"at": at_us, "has_frames": frames is not None and frames.are_shown}
    facts = (
        f"{counted(known['true_events'], 'true event')}, {counted(known['predicted_events'], 'predicted event')}, "
        f"{span_us / 1e6:,.1f} s. Matched within {number(known['tolerance_ms'], 'ms')} ms under assay@1."
    )
    predicted = BASELINES.get(chosen.baseline, opened.predicted)
    lead = element("p", isolated(predicted), " against ", isolated(opened.truth), ". ", facts)
    body = join(
        [
            *(element("p", note, class_="note") for note in known["notes"]),
            _episodes(opened, matched.episode.name, named),
            _sides(chosen, matched, window),
            _tools(known, shift_us),
            _canvas(matched.episode.name, frames),
            outcome_legend(),
            _help(),
            element("div", window_part(matched, begin, end, named), data_timeline="window"),
        ]
    )
    above = crumbs(("Runs", "/runs"), (called or chosen.run, run_address(chosen.run))) if chosen.run else EMPTY
    above = above or crumbs(("Timeline", "/timeline"))
    return View(
        content=Content(title=matched.episode.name or "Timeline", lead=lead, body=body, data={"assay-timeline": data}),
        place="timeline",
        above=above,
        wide=True,
        modules=_SCRIPTS,
    )


# --- choosing ---------------------------------------------------------------------------------------------------------


def _example_address() -> str:
    from assay.web.timeline.opening import EXAMPLE

    return address("/timeline", predicted=EXAMPLE, truth=EXAMPLE)


def _choice(listed: Sequence[Recording]) -> Markup:
    from assay.events.align import CLOCKS
    from assay.events.codecs import NAMES

    def options(chosen: int) -> list[Markup]:
        return [
            element(
                "option",
                f"{one.name} ({counted(one.files, 'file') + ', ' if one.files > 1 else ''}{_size(one.size)})",
                value=one.id,
                selected=at == chosen,
            )
            for at, one in enumerate(listed)
        ]

    predicted, truth = _likely([one.name.lower() for one in listed])
    fields = [
        element("label", "Predicted ", element("select", *options(predicted), name="predicted")),
        element("label", "Truth ", element("select", *options(truth), name="truth")),
        element(
            "label",
            "Encoding, for token text ",
            element("select", *(element("option", name, value=name) for name in NAMES), name="encoding"),
        ),
        element(
            "label",
            "Clock ",
            element("select", *(element("option", name, value=name) for name in CLOCKS), name="clock"),
        ),
        element(
            "label",
            "Tolerance in ms ",
            element("input", name="tolerance", type="number", min=1, max=60000, value=50, required=True),
        ),
        element("button", "Open", type="submit", class_="primary"),
    ]
    return form("/timeline", *fields, method="get", class_="stack")


def _likely(names: Sequence[str]) -> tuple[int, int]:
    """Which of the recordings are probably the predicted and the true one, by their names."""

    def first(words: tuple[str, ...], other: int | None) -> int | None:
        return next((at for at, name in enumerate(names) if at != other and any(one in name for one in words)), None)

    truth = first(("truth", "true", "gold"), None)
    predicted = first(("predict", "pred", "model", "guess"), truth)
    if truth is None:
        truth = next((at for at in range(len(names)) if at != predicted), 0)
    if predicted is None:
        predicted = next((at for at in range(len(names)) if at != truth), 0)
    return predicted, truth


def _nothing(has_folders: bool) -> Markup:
    if has_folders:
        return element("p", "The served folders have no readable recordings.", class_="note")
    command = element("pre", "assay serve --folder path/to/recordings")
    return element("p", "No folder of recordings is served. Name one when the server starts:") + command


def _size(n: int) -> str:
    return f"{n / 1e6:,.1f} MB" if n >= 1e5 else f"{n / 1e3:,.1f} kB"


# --- the application --------------------------------------------------------------------------------------------------


def _named(chosen: Chosen) -> dict[str, str]:
    """What of an address names the recordings; settings as they are by default are left out."""
    baseline = {"baseline": chosen.baseline} if chosen.baseline else {}
    if chosen.run:
        return {"run": chosen.run, **baseline}
    named = {"predicted": chosen.predicted, "truth": chosen.truth, **baseline}
    if chosen.encoding != "hierarchical":
        named["encoding"] = chosen.encoding
    if chosen.clock != "auto":
        named["clock"] = chosen.clock
    if chosen.tolerance_ms != 50:
        named["tolerance"] = str(chosen.tolerance_ms)
    return named


def _episodes(opened: OpenedRecordings, current: str, named: dict[str, str]) -> Markup:
    if len(opened.pairs) < 2:
        return EMPTY
    options = (
        element("option", pair.episode.name, value=pair.episode.name, selected=pair.episode.name == current)
        for pair in opened.pairs
    )
    choice = element("select", *options, name="episode", data_timeline="episode")
    return form(
        "/timeline",
        *(hidden(name, value) for name, value in named.items()),
        element("label", f"Episode of {len(opened.pairs):,} ", choice),
        element("button", "Open", type="submit"),
        method="get",
        class_="filters",
    )


def _sides(chosen: Chosen, matched: ShiftedTimeline, window: tuple[int, int] | None) -> Markup:
    """The prediction and the trivial baselines, each with the same window of the same episode."""
    begin, end = window or (None, None)
    links = []
    for name, words in {"": "The prediction", **BASELINES}.items():
        named = _named(replace(chosen, baseline=name))
        to = address("/timeline", **named, episode=matched.episode.name, **{"from": begin, "to": end})
        links.append(element("a", words, href=to, aria_current="page" if name == chosen.baseline else None))
    return element("nav", *links, class_="tabs", aria_label="What is compared with the truth", data_timeline="sides")


def _tools(known: dict[str, Any], shift_us: int) -> Markup:
    def button(words: str, act: str, key: str, label: str) -> Markup:
        return element("button", words, type="button", data_act=act, aria_label=label, title=f"{label} ({key})")

    moving = element(
        "div",
        button("Fit", "fit", "F", "Fit the whole episode"),
        button("−", "out", "S", "Zoom out"),
        button("+", "in", "W", "Zoom in"),
        button("←", "back", "A", "Go back"),
        button("→", "forth", "D", "Go forth"),
        button("▶", "play", "Space", "Play"),
        element(
            "select",
            *(element("option", f"{speed:g}×", value=f"{speed:g}", selected=speed == 1) for speed in _SPEEDS),
            data_timeline="speed",
            aria_label="Speed of playback",
        ),
        class_="tl-group",
    )
    errors = element(
        "div",
        button("‹ error", "previous", "Q", "Previous error"),
        button("error ›", "next", "E", "Next error"),
        element(
            "select",
            element("option", "Worst moments", value=""),
            data_timeline="worst",
            aria_label="Go to one of the worst moments",
        ),
        class_="tl-group",
    )
    finding = element(
        "div",
        element("input", type="search", data_timeline="find", placeholder="find a key  /", aria_label="Find a key"),
        button("Select", "brush", "B", "Show the figures of the part in view"),
        button("?", "help", "?", "Help"),
        class_="tl-group",
    )
    bar = element("div", moving, errors, finding, class_="tl-bar", role="toolbar", aria_label="Timeline")
    return bar + _shift(known, shift_us)


def _shift(known: dict[str, Any], shift_us: int) -> Markup:
    lag = known["lag_ms"]
    most = max(_MOST_SHIFT_MS, abs(shift_us) // 1000)
    curve = element("canvas", data_timeline="curve", role="img", aria_label=_curve_words(known))
    slider = element(
        "input", type="range", min=-most, max=most, step=1, value=shift_us // 1000, id="tl-shift", data_timeline="shift"
    )
    best = EMPTY
    if lag is not None:
        best = element(
            "button", f"Peak at {number(lag, 'ms')} ms", type="button", data_act="peak", data_lag=round(lag * 1000)
        )
    return element(
        "div",
        element("label", "Prediction earlier by", for_="tl-shift"),
        element("div", curve, slider, class_="tl-slider"),
        element("output", data_timeline="shift-words", for_="tl-shift", class_="tl-now"),
        best,
        element("button", "No shift", type="button", data_act="unshift"),
        class_="tl-shift",
    )


def _curve_words(known: dict[str, Any]) -> str:
    curve = [(f1, shift) for shift, f1 in known["f1_by_shift"] if f1 is not None]
    if not curve:
        return "There is nothing to match at any shift"
    f1, shift = max(curve)
    return f"F1 against the shift: at most {f1:.3f}, with the prediction {shift:g} ms earlier"


def _canvas(name: str, frames: EpisodeFrames | None) -> Markup:
    overview = element(
        "canvas",
        data_timeline="overview",
        role="img",
        aria_label="Density of errors over the whole episode, and what is shown below",
    )
    main = element(
        "canvas",
        data_timeline="main",
        tabindex=0,
        role="application",
        aria_label=f"Timeline of {name or 'the recording'}. Press ? for its keys; the tables below say the same.",
    )
    status = element("p", role="status", data_timeline="status", class_="tl-status")
    stage = element("div", overview, main, status, class_="tl-stage")
    if frames is None:
        return stage
    if not frames.are_shown:
        return stage + element("p", frames.sentence, ".", class_="muted tl-status")
    picture = element("canvas", data_timeline="frame", role="img", aria_label="Frame of the recording at the cursor")
    caption = element("figcaption", frames.sentence, data_timeline="frame-words")
    return element("div", stage, element("figure", picture, caption, class_="tl-frame"), class_="tl-with-frames")


def _help() -> Markup:
    rows = [[element("kbd", keys), words] for keys, words in _KEYS]
    mouse = element(
        "p",
        "The wheel zooms at the pointer, dragging pans, dragging with Shift or along the axis chooses a window whose "
        "figures appear below. A click on a key's name chooses the key. Two fingers zoom.",
    )
    silent = element(
        "label", element("input", type="checkbox", data_timeline="keys", checked=True), " keys are listened to"
    )
    shown = table(["key", "what it does"], rows, numeric=(), label="Keys")
    return element(
        "details", element("summary", "Keys and mouse"), mouse, shown, silent, data_timeline="help", class_="tl-help"
    )
