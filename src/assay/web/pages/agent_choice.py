"""The choice of agents on the pages that start something with them: name, and the framework that it is built on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from assay.report.html.elements import EMPTY, Markup, element, isolated

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec


def agent_choice(legend: str, known: Mapping[str, AgentSpec], picked: Collection[str]) -> Markup:
    """A box for each agent; those of `picked` are chosen."""
    boxes = (
        element(
            "label",
            element("input", type="checkbox", name="agent", value=name, checked=name in picked),
            element("span", isolated(name), _built_on(spec)),
            class_="choice",
        )
        for name, spec in known.items()
    )
    return element("fieldset", element("legend", legend), *boxes, class_="agents")


def _built_on(spec: AgentSpec) -> Markup:
    """What a newcomer may know it by: its framework with the version, or where it comes from."""
    from importlib.metadata import PackageNotFoundError, version

    from assay.chat.agents import AGENTS

    if spec.agent is None:
        return element("small", isolated(spec.http or spec.function or spec.object or "")) if spec.name else EMPTY
    kind = AGENTS.get(spec.agent)
    try:
        built = f"{kind.title} {version(kind.distributions[0])}" if kind.distributions else kind.title
    except PackageNotFoundError:
        built = kind.title
    return element("small", built)
