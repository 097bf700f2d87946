"""What happened during a turn: a waterfall of its spans, and the messages between user, agent, model and tools."""

from __future__ import annotations

from assay.chat.scoring.answers import Record, SpanLine
from assay.plural import counted
from assay.report.facts import PARTS
from assay.report.html.elements import EMPTY, Markup, details, element, join
from assay.report.text import shorten

_MILLISECONDS = 1000
_MOST_ROWS = 40
_WIDTH, _ROW, _TOP = 640, 26, 34
_PEOPLE = ("user", "agent", "model", "tools")


def waterfall(record: Record) -> Markup:
    """Where the time of a turn went: model, tools and the framework's own, then each span at its time."""
    if record.wall is None or not record.wall:
        return EMPTY
    times = {"model": record.model, "tools": record.tools, "framework": record.overhead}
    bars = []
    start = 0.0
    for part in PARTS:
        seconds = times[part]
        if seconds is not None:
            bars.append(_bar(part, start, seconds, record.wall, part))
            start += seconds
    if record.spans:
        bars += [
            _bar(span.name, span.start / _MILLISECONDS, span.length / _MILLISECONDS, record.wall, span_kind(span))
            for span in record.spans[:_MOST_ROWS]
        ]
    else:
        bars += [
            _bar(call.name, 0.0, call.duration, record.wall, "tools")
            for call in record.tool_calls[:_MOST_ROWS]
            if call.duration is not None
        ]
    facts = [f"{_ms(record.wall)} in all"]
    if record.first_text is not None:
        facts.append(f"first text after {_ms(record.first_text)}")
    if record.model_calls:
        facts.append(counted(record.model_calls, "model call"))
    if record.input_tokens is not None or record.output_tokens is not None:
        facts.append(f"{record.input_tokens or 0:,} tokens in, {record.output_tokens or 0:,} out")
    stepped = _stepped(element("div", *bars, class_="waterfall"), len(bars), "Trace")
    return details("Trace: " + ", ".join(facts), stepped, class_="why")


def sequence_diagram(record: Record) -> Markup:
    """Who asked whom, in order; empty if the spans were not kept."""
    steps: list[tuple[str, str, str]] = [("user", "agent", "message")]
    for span in record.spans:
        kind = span_kind(span)
        if kind == "model":
            steps += [("agent", "model", "what next?"), ("model", "agent", _ms(span.length / _MILLISECONDS))]
        elif kind == "tools":
            name = span.name.removeprefix("execute_tool ")
            failure = " failed" if span.failed else ""
            steps += [("agent", "tools", name), ("tools", "agent", _ms(span.length / _MILLISECONDS) + failure)]
    if len(steps) == 1:
        return EMPTY
    steps = steps[:_MOST_ROWS]
    steps.append(("agent", "user", "answer"))
    height = _TOP + _ROW * len(steps) + 12
    at = {name: _WIDTH * (2 * place + 1) / (2 * len(_PEOPLE)) for place, name in enumerate(_PEOPLE)}
    parts = []
    for name, x in at.items():
        parts.append(element("text", name, x=round(x), y=16, class_="who"))
        parts.append(element("line", x1=round(x), x2=round(x), y1=24, y2=height - 4, class_="life"))
    for number, (source, target, words) in enumerate(steps):
        y = _TOP + _ROW * number + 14
        left, right = at[source], at[target]
        tip = right - 6 if right > left else right + 6
        arrow = f"{round(right)},{y} {round(tip)},{y - 4} {round(tip)},{y + 4}"
        drawn_step = (
            element("line", x1=round(left), x2=round(right), y1=y, y2=y, class_=f"message to-{target}"),
            element("polygon", points=arrow, class_="tip"),
            element("text", shorten(words, 30), x=round((left + right) / 2), y=y - 4, class_="words"),
        )
        parts.append(element("g", *drawn_step, data_step=f"{source} to {target}: {shorten(words, 60)}"))
    said = "; ".join(f"{source} to {target}: {words}" for source, target, words in steps)
    drawn = element(
        "svg", join(parts), viewbox=f"0 0 {_WIDTH} {height}", class_="sequence", role="img", aria_label=shorten(said)
    )
    return details(f"Sequence: {counted(len(steps), 'message')}", _stepped(drawn, len(steps), "Sequence"), class_="why")


def _stepped(content: Markup, steps: int, label: str) -> Markup:
    """Content whose parts can be gone through one after the other, by buttons or keys; a script does it."""
    buttons = (
        element("button", sign, type="button", data_walk=way, aria_label=f"{words} of the {label.lower()}", title=key)
        for sign, way, words, key in (("‹", "back", "Previous step", "←"), ("›", "on", "Next step", "→"))
    )
    bar = element("div", *buttons, element("output", counted(steps, "step"), class_="muted"), class_="walk")
    return element("div", bar, content, class_="stepped", role="group", tabindex=0, aria_label=f"{label}, step by step")


def span_kind(span: SpanLine) -> str:
    """Whether a span is the model's, a tool's or the framework's own, by the names of the GenAI conventions."""
    if span.name.startswith(("chat ", "generate_content", "text_completion")):
        return "model"
    return "tools" if span.name.startswith("execute_tool") else "framework"


def _bar(name: str, start: float, seconds: float, wall: float, kind: str) -> Markup:
    left = 100 * min(1.0, max(0.0, start / wall))
    width = min(100 - left, 100 * min(1.0, seconds / wall))
    bar = element("i", class_=f"part-{kind}", style=f"margin-left:{left:.2f}%;width:{max(0.4, width):.2f}%")
    return element(
        "div",
        element("span", shorten(name, 60), title=shorten(name)),
        element("span", bar, class_="lane"),
        element("span", _ms(seconds), class_="num"),
        data_step=f"{shorten(name, 60)}: {_ms(seconds)}",
    )


def _ms(seconds: float) -> str:
    return f"{_MILLISECONDS * seconds:,.0f}\u00a0ms"
