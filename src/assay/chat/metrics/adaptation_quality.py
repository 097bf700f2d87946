"""adaptation_quality: is the answer shaped by what the user is known to prefer?"""

from __future__ import annotations

from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule


def _no_preferences(case: Case) -> str | None:
    return None if case.preferences else "no preference of the user is known"


def _adapts(case: Case) -> list[Finding]:
    """One finding for each aspect whose preference is answered; those without an aspect count as one.

    A preference that needs an aspect counts only where that aspect holds.
    """
    found: dict[str | None, Finding] = {}
    for name in sorted(case.preferences):
        aspect = case.domain.preferences[name].get("aspect")
        said = case.said(f"adapts.{name}")
        if said and aspect not in found and (aspect is None or case.has_aspect(aspect)):
            found[aspect] = Finding(said[:1], note=name.replace("_", " "))
    return list(found.values())


METRIC = Metric(
    name="adaptation_quality",
    group="functional",
    base=0.5,
    asks="Is it shaped by what the user prefers?",
    unmeasured=_no_preferences,
    rules=(
        Rule("adapts", +0.15, "adapts to a preference", when=_adapts),
        Rule("awareness", +0.1, "says that it knows the preference", words="awareness"),
    ),
)
