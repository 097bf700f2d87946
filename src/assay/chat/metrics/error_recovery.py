"""error_recovery: where something went wrong, does the answer say so and help on?"""

from __future__ import annotations

from assay.chat.reading.text import Mention
from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule


def _nothing_wrong(case: Case) -> str | None:
    if case.errors or case.failed_calls or case.lacks_data:
        return None
    return "nothing went wrong"


def _helps(case: Case) -> list[Mention]:
    return case.said("alternatives") + case.said("fallback")


def _acknowledges(case: Case) -> list[Mention]:
    """Where it says that data is missing; 'couldn't' itself makes what follows denied, so denial is no objection."""
    return case.own(
        [mention for mention in case.response.all("missing") if not case.response.is_question(mention.first)]
    )


def _error_with_alternatives(case: Case) -> Finding | None:
    return Finding(case.said("alternatives")[:1]) if case.errors and case.said("alternatives") else None


def _acknowledged(case: Case) -> Finding | None:
    return Finding(_acknowledges(case)[:1]) if _acknowledges(case) else None


def _alternatives(case: Case) -> Finding | None:
    return Finding(case.said("alternatives")[:1]) if not case.errors and case.said("alternatives") else None


def _clarifies(case: Case) -> Finding | None:
    return Finding(case.clarifications[:1]) if case.clarifications else None


def _bare_error(case: Case) -> Finding | None:
    return Finding(case.errors[:1]) if case.errors and not _helps(case) and not case.clarifications else None


def _silence(case: Case) -> Finding | None:
    missing = bool(case.failed_calls) or case.lacks_data
    if not missing or case.errors or _acknowledges(case):
        return None
    return Finding(note=f"{case.failed_calls[0].name} failed" if case.failed_calls else "")


METRIC = Metric(
    name="error_recovery",
    group="behavioural",
    base=0.5,
    asks="Where something went wrong, does it say so and help on?",
    unmeasured=_nothing_wrong,
    rules=(
        Rule("error_with_alternatives", +0.3, "offers alternatives to what failed", when=_error_with_alternatives),
        Rule("acknowledged", +0.2, "says what is missing", when=_acknowledged),
        Rule("alternatives", +0.3, "offers alternatives to what is missing", when=_alternatives),
        Rule("clarifies", +0.2, "asks for what it needs", when=_clarifies),
        Rule("fallback", +0.2, "names a fallback", words="fallback"),
        Rule("bare_error", -0.2, "an error and nothing to go on with", when=_bare_error),
        Rule("silence", -0.2, "does not say that data is missing", when=_silence),
    ),
)
