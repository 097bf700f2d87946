"""debuggability: when something fails, how clear is it what and where?"""

from __future__ import annotations

from assay.chat.metrics._characteristics import source, unknown
from assay.chat.metrics.implementation_effort import is_level
from assay.chat.scoring.context import ScoringContext
from assay.chat.scoring.metric import Finding, Metric, Rule


def _descriptive_error(context: ScoringContext) -> Finding | None:
    """An error in the answer that names its cause in the same sentence."""
    causes = {context.response.sentence(cause.first): cause for cause in context.response.all("causes")}
    for error in context.errors:
        cause = causes.get(context.response.sentence(error.first))
        if cause is not None:
            return Finding([error, cause])
    return None


METRIC = Metric(
    name="debuggability",
    group="developer experience",
    by_words=False,
    base=0.5,
    asks="When something fails, how clear is it what and where?",
    unmeasured=unknown("errors", "logging", "documentation"),
    rules=(
        Rule("framework_errors", +0.2, "the framework handles errors", when=is_level("errors", "framework")),
        Rule(
            "manual_errors", -0.1, "errors are handled in the assistant's own code", when=is_level("errors", "manual")
        ),
        Rule("framework_logging", +0.2, "the framework logs", when=is_level("logging", "framework")),
        Rule("basic_logging", -0.1, "logging is basic", when=is_level("logging", "basic")),
        Rule("documented", +0.1, "comprehensive documentation", when=is_level("documentation", "comprehensive")),
        Rule("partly_documented", +0.05, "moderate documentation", when=is_level("documentation", "moderate")),
        Rule("descriptive_error", +0.1, "an error says what caused it", when=_descriptive_error),
    ),
    remark=source,
)
