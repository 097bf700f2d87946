"""The form that starts a run of agents, and the plan that it describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.report.html.elements import element, isolated
from assay.report.html.page import Content
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


def start_view(site: Site, agents: list[str], suite: str = "") -> View:
    """The form; `suite` is the one that it offers first."""
    from assay.runs.choosing import MOST_REPETITIONS, MOST_SCENARIOS

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
        element("label", "Suite", choice("suite", "Suite", suites, suite if suite in dict(suites) else "weather")),
        element("fieldset", element("legend", "Agents"), *boxes, class_="agents"),
        number("limit", "Scenarios, spread over all kinds", "10", MOST_SCENARIOS),
        number("repeat", "Repetitions of each", "1", MOST_REPETITIONS),
        element("label", "Name of the run", element("input", name="name", maxlength=200)),
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
