"""The form that starts a run of agents, and the plan that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.errors import UsageError, unknown_name
from assay.report.html.elements import element, isolated
from assay.report.html.page import Content
from assay.web.pages.runs import choice
from assay.web.shell import View, crumbs, form
from assay.web.site import Site

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.experiment import Experiment

_MOST_REPETITIONS = 20
_MOST_SCENARIOS = 1000


def suites_of(site: Site) -> dict[str, str]:
    """Suites that can be played: those of the package, and the files in the folder named at the start."""
    from assay.chat.suites import SUITES

    files = sorted(site.suites.glob("*.yaml")) if site.suites.is_dir() else []
    return {name: name for name in SUITES} | {f"file:{path.name}": str(path) for path in files}


def start_view(site: Site, agents: list[str]) -> View:
    """The form."""
    boxes = (
        element(
            "label",
            element("input", type="checkbox", name="agent", value=name, checked=at < 2),
            " ",
            isolated(name),
            class_="chip",
        )
        for at, name in enumerate(agents)
    )
    suites = [(key, path) for key, path in suites_of(site).items()]

    def number(name: str, words: str, value: str, most: int) -> str:
        field = element("input", type="number", name=name, value=value, min=1, max=most)
        return element("label", words, field)

    fields = (
        element("label", "Suite", choice("suite", "Suite", suites, "weather")),
        element("fieldset", element("legend", "Agents"), *boxes, class_="agents"),
        number("limit", "Scenarios, spread over all kinds", "10", _MOST_SCENARIOS),
        number("repeat", "Repetitions of each", "1", _MOST_REPETITIONS),
        element("label", "Name of the run", element("input", name="name", maxlength=200)),
        element("button", "Start", type="submit", class_="primary"),
    )
    lead = element(
        "p", "Model and weather are assay's own stand-ins on this machine. The run is stored while it is played, and "
        "can be stopped and resumed."
    )  # fmt: skip
    return View(
        content=Content(title="Start a run", lead=lead, body=form("/runs/new", *fields, class_="stack")),
        place="runs",
        above=crumbs(("Runs", "/runs")),
    )


def planned(site: Site, given: Mapping[str, list[str]], known: Mapping[str, AgentSpec]) -> Experiment:
    """The experiment that a filled form describes."""
    from assay.runs.planning import plan_experiment

    chosen = list(dict.fromkeys(given.get("agent", [])))
    for name in chosen:
        if name not in known:
            raise unknown_name("agent", name, known)
    if not chosen:
        raise UsageError("no agent was chosen", hint="Choose at least one")
    suites = suites_of(site)
    suite = given.get("suite", [""])[0]
    if suite not in suites:
        raise unknown_name("suite", suite, suites)
    repeat = _number(given, "repeat", _MOST_REPETITIONS)
    limit = _number(given, "limit", _MOST_SCENARIOS)
    plan = plan_experiment(suites[suite], ["google-adk"], repeat=repeat, limit=limit)
    agents = tuple(known[name] for name in chosen)
    return replace(plan, agents=agents)


def _number(given: Mapping[str, list[str]], name: str, most: int) -> int:
    text = given.get(name, [""])[0]
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= most):
        raise UsageError(f"'{name}' must be a whole number between 1 and {most:,}")
    return int(text)
