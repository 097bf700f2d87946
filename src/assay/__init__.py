"""assay: what an AI agent is made of.

assay.events     score streams of desktop events against the truth
assay.chat       run agents through scenarios, and score conversations
assay.logs       read the logs of other evaluation tools
assay.runs       start, resume, load and compare stored runs
assay.compare    two runs to verdicts, and gates on them
assay.report     tables, pages and exports
assay.stats      percentiles, interquartile means, bootstrap intervals

Each is imported when it is first used, so that `import assay` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from assay import chat, compare, events, logs, report, runs, stats

__all__ = ["__version__", "chat", "compare", "events", "logs", "report", "runs", "stats"]

__getattr__, _names = lazy_names(
    __name__, dict.fromkeys(("chat", "compare", "events", "logs", "report", "runs", "stats"), "")
)


def __dir__() -> list[str]:
    return sorted(__all__)
