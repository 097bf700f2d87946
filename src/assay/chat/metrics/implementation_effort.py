"""implementation_effort: how easy was it to build the assistant? Higher is easier."""

from __future__ import annotations

from collections.abc import Callable

from assay.chat.metrics._characteristics import characteristics, source, unknown
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule

# Five files are many, four are few.
_FEW_FILES = 4


def _files(*, few: bool) -> Callable[[ScoringContext], Finding | None]:
    def files(context: ScoringContext) -> Finding | None:
        number = characteristics(context)["files"]
        return Finding(note=str(number)) if (number <= _FEW_FILES) is few else None

    return files


def is_level(name: str, level: str) -> Callable[[ScoringContext], Finding | None]:
    """A predicate: whether the characteristic `name` is `level`."""
    return lambda context: Finding() if characteristics(context).get(name) == level else None


METRIC = Metric(
    name="implementation_effort",
    group="developer experience",
    by_words=False,
    base=0.5,
    asks="How easy was it to build?",
    unmeasured=unknown("files", "setup", "complexity"),
    rules=(
        Rule("few_files", +0.2, "four files or fewer", when=_files(few=True)),
        Rule("many_files", -0.2, "five files or more", when=_files(few=False)),
        Rule("low_setup", +0.15, "little to set up", when=is_level("setup", "low")),
        Rule("medium_setup", -0.15, "a moderate amount to set up", when=is_level("setup", "medium")),
        Rule("high_setup", -0.2, "much to set up", when=is_level("setup", "high")),
        Rule("low_complexity", +0.15, "simple code", when=is_level("complexity", "low")),
        Rule("medium_complexity", -0.15, "code of medium complexity", when=is_level("complexity", "medium")),
        Rule("high_complexity", -0.2, "complex code", when=is_level("complexity", "high")),
    ),
    remark=source,
)
