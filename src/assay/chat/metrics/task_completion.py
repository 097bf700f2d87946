"""task_completion: did the user get what was asked for?"""

from __future__ import annotations

from assay.chat.reading.text import Place
from assay.chat.scoring.context import Case
from assay.chat.scoring.metric import Finding, Metric, Rule

_SHORT_ERROR = 100
_TOO_SHORT = 20
_SUBSTANTIAL = 100


def _short_error(case: Case) -> Finding | None:
    return Finding(case.errors[:1]) if case.errors and len(case.response.text.strip()) < _SHORT_ERROR else None


def _too_short(case: Case) -> Finding | None:
    length = len(case.response.text.strip())
    return Finding(note=f"{length} characters") if length < _TOO_SHORT else None


def _nothing_told(case: Case) -> Finding | None:
    return Finding() if case.asks_data and not case.told else None


def _figures(case: Case) -> Finding | None:
    if case.figures:
        return Finding(case.figures[:1])
    response = case.response
    own = [at for at in response.numbers if at not in case.quoted and not response.is_question(at)]
    return Finding([Place(response.starts[at], response.ends[at], at, at, "") for at in own[:1]]) if own else None


def _advice(case: Case) -> Finding | None:
    return Finding(case.advice[:1]) if case.advice else None


def _substantial(case: Case) -> Finding | None:
    length = len(case.response.text.strip())
    return Finding(note=f"{length} characters") if length > _SUBSTANTIAL else None


def _error(case: Case) -> Finding | None:
    return Finding(case.errors[:1]) if case.errors else None


METRIC = Metric(
    name="task_completion",
    group="functional",
    base=0.5,
    asks="Did the user get what was asked for?",
    rules=(
        Rule("short_error", -0.3, "nothing but an error", when=_short_error, alone=True),
        Rule("too_short", -0.4, "too short to be an answer", when=_too_short, alone=True),
        Rule("nothing_told", -0.1, "what was asked about is not told", when=_nothing_told, alone=True),
        Rule("figures", +0.2, "gives figures", when=_figures),
        Rule("advice", +0.2, "gives advice", when=_advice),
        Rule("substantial", +0.1, "more than 100 characters", when=_substantial),
        Rule("error", -0.2, "reports an error", when=_error),
    ),
)
