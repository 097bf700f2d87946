"""Compare live: one message to several agents, their answers side by side, with times, scores and evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.chat.scoring.answers import Answer, Record
from assay.chat.scoring.metric import Entry
from assay.chat.world.faults import FAULTS
from assay.chat.world.quirks import QUIRKS
from assay.report.costs import money
from assay.report.html.conversation import STYLE, evidence, failed, response, tool_calls
from assay.report.html.elements import EMPTY, Markup, details, element, isolated, join
from assay.report.html.page import Content, long_text
from assay.store.reviews import HIGHEST_SCORE, LOWEST_SCORE, Review
from assay.web.live.talking import MOST_AGENTS, MOST_MESSAGE, LiveConversation, LiveTurn
from assay.web.pages.agent_choice import agent_choice
from assay.web.pages.runs import choice
from assay.web.pages.trace import sequence_diagram, waterfall
from assay.web.shell import View, form, hidden

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec

_EXAMPLES = (
    "What's the weather in Helsinki?",
    "Should I take an umbrella in Tokyo tomorrow?",
    "I hate the cold. Is Oslo or Lisbon better for me this weekend?",
)


def live_view(known: Mapping[str, AgentSpec], chosen: list[str], *, takes_addresses: bool = False) -> View:
    """The page on which a conversation begins."""
    picked = chosen or list(known)[:2]
    none = element(
        "p",
        "No agent is installed. Install one of the frameworks, e.g. ",
        element("code", 'pip install "assay-agents[google-adk]"'),
        ", or name your own: ",
        element("code", "assay serve --agents mine=my_bot:answer"),
        ".",
        class_="note",
    )
    fields = [
        agent_choice(f"Choose 1 to {MOST_AGENTS} agents", known, picked),
        element("button", "Start talking", type="submit", class_="primary"),
    ]
    starting = form("/live", *fields, class_="starting") if known else none
    lead = element("p", "Ask several agents the same question, and see their answers, times and scores side by side.")
    lead += element("p", "Model and weather are assay's own stand-ins on this machine, the same for all: what differs "
                    "is the framework. The conversation is stored as a run.", class_="muted")  # fmt: skip
    body = join([starting, _by_address(picked) if takes_addresses else EMPTY])
    return View(content=Content(title="Compare live", lead=lead, body=body), place="live", is_kept=False)


def _by_address(picked: list[str]) -> Markup:
    """A form for an agent that is reached by its address."""
    forms = [("openai", "OpenAI-compatible"), ("json", "JSON: message, session, user")]
    fields = [
        *(hidden("agent", name) for name in picked),
        element(
            "label",
            "Address ",
            element(
                "input", name="url", type="url", required=True, maxlength=500, placeholder="http://127.0.0.1:8000/v1"
            ),
        ),
        element(
            "label", "Name ", element("input", name="name", required=True, maxlength=64, placeholder="mine", size=12)
        ),
        element("label", "Speaks ", choice("form", "Form", forms, "openai")),
        element("button", "Add", type="submit"),
    ]
    note = element(
        "p",
        "Your messages are sent to this address. An agent that needs a key is named when the server starts: ",
        element("code", "assay serve --agents agents.yaml"),
        ".",
        class_="muted",
    )
    return element(
        "details",
        element("summary", "Add an agent by its address"),
        form("/live/agents", *fields, class_="stack"),
        note,
        class_="by-address",
    )


def conversation_page(conversation: LiveConversation) -> View:
    """A conversation in progress."""
    turns = (turn_block(conversation, at) for at in range(len(conversation.turns)))
    body = join(
        [
            STYLE,
            element("div", *turns, data_live="turns", data_conversation=conversation.id),
            _message_form(conversation),
        ]
    )
    names = join((element("b", isolated(name)) for name in conversation.agents), ", ")
    now = element("span", f"Their clock stands at {conversation.started:%Y-%m-%d %H:%M} UTC.", class_="muted")
    lead = element("p", names, ". ", now)
    return View(
        content=Content(
            title="Compare live",
            lead=lead,
            body=body,
            data={"assay-live": {"id": conversation.id, "agents": conversation.agents}},
        ),
        place="live",
        actions=_actions(conversation),
        wide=True,
        modules=("live.js", "steps.js", "evidence.js"),
    )


def _message_form(conversation: LiveConversation) -> Markup:
    """The box for a message, with a fault, a quirk or memory for the next turn."""
    faults = [("", "no fault"), *((name, f"{name}: {does}") for name, does in FAULTS.items())]
    quirks = [("", "no quirk"), *((name, f"{name}: {does}") for name, does in QUIRKS.items())]
    area = element(
        "textarea", name="message", rows=2, required=True, maxlength=MOST_MESSAGE, aria_label="Message",
        placeholder="Ask all of them …" if len(conversation.agents) > 1 else "Ask it …",
        data_live="message",
    )  # fmt: skip
    known = element(
        "input", name="known", maxlength=200, size=24, placeholder="hates the cold; or: nothing",
        title="Replaces what every agent remembers of the user",
    )  # fmt: skip
    examples = (element("button", words, type="button", class_="plain example") for words in _EXAMPLES)
    return element(
        "form",
        element("div", area, element("button", "Send", type="submit", class_="primary"), class_="box"),
        element(
            "details",
            element("summary", "Fault, quirk or memory for the next turn: ", element("b", "none", data_live="unusual")),
            element("label", "Fault of a service ", choice("fault", "Fault of a service", faults, "")),
            element("label", "Quirk of the model ", choice("quirk", "Quirk of the model", quirks, "")),
            element("label", "What agents know about the user ", known),
            class_="options",
        ),
        element("span", "", class_="muted", data_live="status", role="status"),
        element("div", *examples, class_="examples"),
        data_live="form",
        class_="talk",
    )


def _actions(conversation: LiveConversation) -> Markup:
    base = f"/live/{conversation.id}"
    keep = form(
        f"{base}/scenario",
        element(
            "label", "Name ", element("input", name="name", maxlength=60, required=True, placeholder="rain in Tokyo")
        ),
        element("button", "Keep", type="submit"),
    )
    menu = details("Keep as scenario", element("div", keep, class_="menu-items"), class_="menu")
    end = form(f"{base}/finish", element("button", "Finish", type="submit", title="Complete the run and open it"))
    new = element("a", "New", class_="button", href="/live", title="Start another conversation")
    # There is nothing to keep or to finish before the first message.
    said = element("div", menu, end, class_="actions", data_live="said", hidden=not conversation.turns)
    return element("div", said, new, class_="actions")


# --- turns ------------------------------------------------------------------------------------------------------------


def turn_block(conversation: LiveConversation, at: int) -> Markup:
    """A turn: the message, what is true, and a column for each agent."""
    turn = conversation.turns[at]
    columns = (
        element(
            "div",
            element("h3", isolated(agent)),
            element("div", column(conversation, at, agent), data_agent=agent),
            class_="agent",
        )
        for agent in conversation.agents
    )
    return element(
        "section",
        element("h2", turn.message, class_="asked", dir="auto"),
        element("div", truth_line(turn), class_="truth"),
        element("div", *columns, class_=f"beside of-{len(conversation.agents)}"),
        class_="live-turn",
        id=f"turn-{at + 1}",
    )


def truth_line(turn: LiveTurn) -> Markup:
    """What is true in a turn, and what was made to go wrong."""
    parts = []
    if turn.fault:
        parts.append(element("span", "fault: ", turn.fault, class_="badge warn"))
    if turn.quirk:
        parts.append(element("span", "the model misbehaves: ", turn.quirk, class_="badge warn"))
    if turn.city and isinstance(turn.truth, dict):
        now = turn.truth.get("current") or {}
        known = long_text(json.dumps(turn.truth, indent=1, ensure_ascii=False, default=str), label="True weather")
        words = f"True weather in {turn.city}: {_weather_words(now)}"
        parts.append(details(words, known, class_="why"))
    return join(parts, " ")


def _weather_words(now: Mapping[str, Any]) -> str:
    """The current weather in a line, with units."""
    degrees, speed = ("°F", "mph") if now.get("units") == "imperial" else ("°C", "m/s")
    said = (
        ("temperature", "{} " + degrees),
        ("feels_like", "feels like {} " + degrees),
        ("condition", "{}"),
        ("humidity", "humidity {} %"),
        ("wind_speed", "wind {} " + speed),
    )
    return ", ".join(words.format(_sign(now[key])) for key, words in said if now.get(key) is not None)


def _sign(value: Any) -> str:
    """A value as text, numbers with a true minus sign."""
    return str(value).replace("-", "\u2212") if isinstance(value, int | float) else str(value)


def column(conversation: LiveConversation, at: int, agent: str) -> Markup:
    """An agent's answer with everything that was measured; a placeholder until it is there."""
    turn = conversation.turns[at]
    answer = turn.answers.get(agent)
    if answer is None:
        is_asked = conversation.lock.locked() and at == len(conversation.turns) - 1
        words = "being asked: reload to see the answer" if is_asked else "no answer: the page was left before it came"
        return element("p", words, class_="muted")
    record = answer.record
    # Names of agents may have any letters; places in an address may not.
    anchor = f"turn-{at + 1}-{conversation.agents.index(agent) + 1}-evidence"
    return join(
        [
            _outcome(answer),
            response(answer, anchor=anchor),
            failed(answer),
            _measured(record, turn.costs.get(agent)) if record is not None else EMPTY,
            _bars(answer.entries),
            details("Evidence", evidence(answer.entries, anchor=anchor), class_="why") if answer.entries else EMPTY,
            tool_calls(record) if record is not None else EMPTY,
            _trace(record),
            _memory(turn.known.get(agent, {})),
            _opinion(answer, turn.opinions.get(agent)),
            details("Raw JSON", long_text(_raw(answer), label="Raw JSON"), class_="why"),
        ]
    )


def _outcome(answer: Answer) -> Markup:
    """Whether the answer passes, in the corner of its column."""
    if answer.record is not None and answer.record.status == "failed":
        return element("span", "! failed", class_="cell failed outcome-of")
    state, words = ("all", "✓ passes") if answer.passed else ("none", "✗ does not pass")
    return element("span", words, class_=f"cell {state} outcome-of", title="By what is true and what was asked for")


def _raw(answer: Answer) -> str:
    return json.dumps(answer.to_json(), indent=1, ensure_ascii=False, default=str)


def _trace(record: Record | None) -> Markup:
    return EMPTY if record is None else waterfall(record) + sequence_diagram(record)


def _measured(record: Record, cost: float | None) -> Markup:
    facts = [
        ("first text", record.first_text),
        ("total", record.wall),
        ("framework", record.overhead),
    ]
    items = [
        element("li", element("b", f"{1000 * seconds:,.0f}"), " ms ", words)
        for words, seconds in facts
        if seconds is not None
    ]
    if record.input_tokens is not None or record.output_tokens is not None:
        tokens = (record.input_tokens or 0) + (record.output_tokens or 0)
        items.append(element("li", element("b", f"{tokens:,}"), " tokens"))
    if cost is not None:
        items.append(element("li", element("b", money(cost)), " cost"))
    if record.tool_calls:
        n = len(record.tool_calls)
        items.append(element("li", element("b", str(n)), " tool call" if n == 1 else " tool calls"))
    return element("ul", *items, class_="measures")


def _bars(entries: Mapping[str, Entry]) -> Markup:
    rows = []
    for name, entry in entries.items():
        words = name.replace("_", " ")
        if not entry.measured:
            continue
        bar = element("i", style=f"width:{100 * entry.score:.0f}%", class_=f"band-{entry.band}")
        rows.append(
            element(
                "div",
                _metric(name, words, has_evidence=bool(entry.evidence)),
                element("span", bar, class_="lane"),
                element("span", f"{entry.score:.2f}", class_="num"),
                title=f"{entry.band}: {entry.details}",
            )
        )
    left = [name.replace("_", " ") for name, entry in entries.items() if not entry.measured]
    note = details(f"{len(left)} not measured", element("p", ", ".join(left)), class_="why") if left else EMPTY
    return element("div", *rows, class_="waterfall bars") + note if rows else EMPTY


def _metric(name: str, words: str, *, has_evidence: bool) -> Markup:
    """The name of a metric; a button that marks its evidence in the answer, if it has some."""
    if not has_evidence:
        return element("span", words)
    return element(
        "button", words, type="button", class_="plain metric", data_metric=name, aria_pressed="false",
        title="Mark its evidence in the answer",
    )  # fmt: skip


def _memory(known: Mapping[str, Any]) -> Markup:
    if not known:
        return EMPTY
    chips = (element("span", _remembered(key, value), class_="chip") for key, value in known.items())
    return element("p", "remembers ", join(chips, " "), class_="memory")


def _remembered(key: str, value: Any) -> str:
    words = key.replace("_", " ")
    if isinstance(value, bool):
        return words if value else f"{words}: no"
    return f"{words}: {value}"


def _opinion(answer: Answer, said: Review | None) -> Markup:
    label = f"{answer.agent}, turn {answer.turn + 1}"
    passed, score = (None, None) if said is None else (said.passed, said.score)

    def button(sign: str, words: str, kind: str, value: str, pressed: bool) -> Markup:
        return element(
            "button", sign, type="button", class_="thumb", aria_pressed="true" if pressed else "false",
            aria_label=f"{words}: {label}", title=words, **{f"data_{kind}": value},
        )  # fmt: skip

    thumbs = [
        button("✓", "Good", "passed", "yes", passed is True),
        button("✗", "Not good", "passed", "no", passed is False),
    ]
    numbers = range(LOWEST_SCORE, HIGHEST_SCORE + 1)
    points = [button(str(n), f"{n} of {HIGHEST_SCORE}", "score", str(n), score == n) for n in numbers]
    comment = element(
        "input",
        placeholder="comment",
        maxlength=500,
        aria_label=f"Comment on {label}",
        value=said.comment if said else "",
    )
    return element(
        "div",
        element("span", *thumbs, class_="thumbs", role="group", aria_label=f"Good or not: {label}"),
        element("span", *points, class_="points", role="group", aria_label=f"Score from 1 to 5: {label}"),
        comment,
        class_="opinion",
        data_turn=answer.turn,
        data_by=answer.agent,
    )
