"""The form that starts a run of agents, and the plan that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.plural import counted
from assay.report.html.elements import element
from assay.report.html.page import Content
from assay.web.pages.agent_choice import agent_choice
from assay.web.pages.runs import choice
from assay.web.shell import View, crumbs, form
from assay.web.site import Site

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.experiment import Experiment


def suites_of(site: Site) -> dict[str, str]:
    """Suites that can be played: those of the package, and the files in the folder named at the start."""
    from assay.runs.choosing import known_suites

    files = sorted(site.suites.glob("*.yaml")) if site.suites.is_dir() else []
    return known_suites({path.name: path for path in files})


def start_view(site: Site, agents: Mapping[str, AgentSpec], suite: str = "") -> View:
    """The form; `suite` is the one that it offers first."""
    from assay.runs.choosing import MOST_REPETITIONS, MOST_SCENARIOS

    suites = _described(suites_of(site))

    def number(name: str, words: str, value: str, most: int) -> str:
        field = element("input", type="number", name=name, value=value, min=1, max=most)
        return element("label", words, field)

    fields = (
        element("label", "Suite", choice("suite", "Suite", suites, suite if suite in dict(suites) else "weather")),
        agent_choice("Agents", agents, list(agents)[:2]),
        number("limit", "At most this many scenarios, spread over all kinds", "10", MOST_SCENARIOS),
        number("repeat", "Repetitions of each; differences beyond noise need at least 2", "1", MOST_REPETITIONS),
        element(
            "label",
            "Name of the run (runs of one name have a history)",
            element("input", name="name", maxlength=200, placeholder="nightly"),
        ),
        element("button", "Start", type="submit", class_="primary", data_busy="Starting …"),
    )
    lead = element(
        "p", "Model and weather are assay's own stand-ins on this machine. The run is stored while it is played, and "
        "can be stopped and resumed."
    )  # fmt: skip
    return View(
        content=Content(title="Start a run", lead=lead, body=form("/runs/new", *fields, class_="stack")),
        place="runs",
        above=crumbs(("Runs", "/runs")),
        is_kept=False,
    )


def _described(suites: Mapping[str, str]) -> list[tuple[str, str]]:
    """Suites to choose from: those of the package with their size, files by their paths."""
    from assay.chat.suites import SUITES, load_suite

    def words(name: str) -> str:
        suite = load_suite(name)
        turns = sum(len(scenario.turns) for scenario in suite.scenarios)
        return f"{name}: {counted(len(suite.scenarios), 'scenario')}, {counted(turns, 'turn')}"

    return [(key, words(path) if path in SUITES else path) for key, path in suites.items()]


def planned(site: Site, given: Mapping[str, list[str]], known: Mapping[str, AgentSpec]) -> Experiment:
    """The experiment that a filled form describes."""
    from assay.runs.choosing import plan_by_names

    return plan_by_names(
        given.get("suite", [""])[0],
        given.get("agent", []),
        suites=suites_of(site),
        known=known,
        repeat=_number(given, "repeat"),
        limit=_number(given, "limit"),
    )


def _number(given: Mapping[str, list[str]], name: str) -> int:
    text = given.get(name, [""])[0]
    # Text that is no whole number is out of every range.
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
