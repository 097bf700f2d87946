"""assay: what an AI agent is made of.

`assay.stats` has the statistics, `assay.events` scores streams of desktop events, `assay.chat` scores conversations,
`assay.report` shows the results.
Each is imported when it is first touched, so that `import assay` costs next to nothing.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_PARTS = ("chat", "events", "report", "stats")

if TYPE_CHECKING:
    from assay import chat, events, report, stats

__all__ = ["__version__", "chat", "events", "report", "stats"]


def __getattr__(name: str) -> ModuleType:
    if name in _PARTS:
        return importlib.import_module(f"assay.{name}")
    raise AttributeError(f"module 'assay' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
