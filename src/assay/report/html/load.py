"""The HTML page of a load test: charts against users and sessions, tables of steps, isolation, leaks and errors."""

from __future__ import annotations

from typing import Any

from assay.chat.load.results import FIGURES, AgentLoad
from assay.plural import counted
from assay.report.html.elements import EMPTY, Markup, element, isolated, join, section
from assay.report.html.figures import Figures
from assay.report.html.page import Content, table
from assay.report.load_words import isolation_words, knee_words, leak_words, memory_words
from assay.runs.load_tests import LoadResult

_PERCENTILES = {"p50_ms": "median of a turn", "p95_ms": "95th percentile", "own_p50_ms": "median of the own share"}
_MOST_LISTED = 50
_DIGITS = {"throughput": 1, "cpu_ms": 1, "session_kb": 1, "error_share": 3}


def page(result: LoadResult) -> str:
    """The page of a load test."""
    return content(result).as_document()


def content(result: LoadResult) -> Content:
    """What the page shows."""
    figures = Figures()
    plan = result.plan
    users = f"{', '.join(map(str, plan.users))} {'user' if list(plan.users) == [1] else 'users'}"
    lead = (
        f"{', '.join(result.agents)}: {users} at once, {counted(plan.turns, 'turn')} in each "
        f"conversation, each step played {'once' if plan.repeat == 1 else f'{plan.repeat} times'}."
    )
    charts = element(
        "div",
        figures.add("load_throughput", rows=_throughput(result)),
        figures.add("memory_by_sessions", rows=_memory(result)),
        class_="figures",
    )
    # Its panels lie side by side, as wide as the page.
    waiting = figures.add("load_waiting", rows=_waiting(result))
    body = [
        section("Answer", _summary(result)),
        section("Against users", charts + waiting),
        *(section(f"Steps of {load.agent}", _steps(load)) for load in result.loads),
        section("Isolation", _isolation(result)),
        section("Errors", _errors(result)),
        section("How it was measured", _method(result)),
    ]
    return Content(
        title=f"{counted(len(result.agents), 'agent')} under load",
        lead=element("p", lead),
        body=join(body, "\n"),
        charts=figures.charts,
    )


def _summary(result: LoadResult) -> Markup:
    rows = []
    for load in result.loads:
        if load.steps:
            most = load.users[-1]
            rows.append(
                [
                    isolated(load.agent),
                    knee_words(load),
                    memory_words(load),
                    f"{_cell(load, most, 'session_kb')} kB",
                    isolation_words(load),
                    leak_words(load),
                ]
            )
        else:
            rows.append([isolated(load.agent), f"not measured: {load.failure}", "–", "–", "–", "–"])
    header = ["agent", "knee", "memory", "memory of a session", "isolation", "leak"]
    shown = table(header, rows, numeric=(), label="Knee, memory, isolation and leaks")
    cautions = join(element("p", words, class_="note") for words in result.cautions)
    return element("div", shown, class_="measured by-agent") + cautions


def _steps(load: AgentLoad) -> Markup:
    if not load.steps:
        return element("p", load.failure or "no step was played")
    rows = [
        [join([title, element("small", unit)]), *(_cell(load, users, name) for users in load.users)]
        for name, (title, unit, _) in FIGURES.items()
    ]
    shares = [max(step.services_busy for step in load.at(users)) for users in load.users]
    used = [max(step.agent_busy for step in load.at(users)) for users in load.users]
    busy = [
        ["agent's process, share of a core", *(f"{share:.0%}" for share in used)],
        ["embedded services, share of a core", *(f"{share:.0%}" for share in shares)],
    ]
    failure = element("p", load.failure, class_="note") if load.failure else EMPTY
    header = ["users at once", *(f"{users:,}" for users in load.users)]
    return table(header, [*rows, *busy], label=f"Steps of {load.agent}") + failure


def _isolation(result: LoadResult) -> Markup:
    explained = (
        "Each session states a name and a preference that no other session has and is asked for them later. Answers, "
        "arguments and results of tools, stored preferences and every request to the model are searched for words of "
        "other sessions."
    )
    rows = [
        [
            isolated(load.agent),
            f"{step.users:,}",
            str(breach["where"]),
            isolated(str(breach["session"])),
            isolated(str(breach["canary"])),
        ]
        for load in result.loads
        for step in load.steps
        for breach in step.breaches
    ]
    if not any(load.answered for load in result.loads):
        return element("p", explained) + element("p", "No turn was answered, so nothing is known about isolation.")
    if not rows:
        return element("p", explained) + element("p", "No session saw anything that another session had said.")
    more = len(rows) - _MOST_LISTED
    note = element("p", f"{more:,} more; the JSON has up to 100 of each step.", class_="note") if more > 0 else EMPTY
    header = ["agent", "users", "seen in", "by the session", "canary of another"]
    return element("p", explained) + table(header, rows[:_MOST_LISTED], numeric=(1,), label="Breaches") + note


def _errors(result: LoadResult) -> Markup:
    rows = [
        [isolated(load.agent), f"{step.users:,}", isolated(kind), f"{times:,}", isolated(step.examples.get(kind, ""))]
        for load in result.loads
        for step in load.steps
        for kind, times in step.errors.items()
    ]
    if not rows:
        return element("p", "Every turn was answered.")
    return table(["agent", "users", "kind", "turns", "for example"], rows, numeric=(1, 3), label="Errors by kind")


def _method(result: LoadResult) -> Markup:
    explained = (
        "The longest stall is the longest delay of a timer of the event loop. Memory of a session is the growth of the "
        "process while the sessions of a step are open, after garbage was collected. A leak is the slope of memory "
        "over rounds of sessions that were opened and closed, the first round left out."
    )
    return join(element("p", words) for words in (*result.conditions, explained))


def _throughput(result: LoadResult) -> list[dict[str, Any]]:
    return [
        {"model": load.agent, "users": users, "value": value, "knee": users == load.knee}
        for load in result.loads
        for users in load.users
        if (value := load.typical(users, "throughput")) is not None
    ]


def _waiting(result: LoadResult) -> list[dict[str, Any]]:
    return [
        {"model": load.agent, "users": users, "name": title, "value": value}
        for name, title in _PERCENTILES.items()
        for load in result.loads
        for users in load.users
        if (value := load.typical(users, name)) is not None and value > 0
    ]


def _memory(result: LoadResult) -> list[dict[str, Any]]:
    """Memory with all sessions of a step open, after garbage was collected; and before the first, with none."""
    return [
        {"model": load.agent, "users": sessions, "value": rss / 2**20}
        for load in result.loads
        if load.steps
        for sessions, rss in [(0, load.steps[0].rss_before), *((step.sessions, step.rss_open) for step in load.steps)]
    ]


def _cell(load: AgentLoad, users: int, name: str) -> str:
    value = load.typical(users, name)
    return "–" if value is None else f"{value:,.{_DIGITS.get(name, 0)}f}".replace("-", "\N{MINUS SIGN}")
