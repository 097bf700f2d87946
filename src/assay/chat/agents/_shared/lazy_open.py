"""Opens a bundled assistant. Its framework is imported only then; raises MissingExtraError if it is not installed."""

from __future__ import annotations

import importlib
from contextlib import AbstractAsyncContextManager

from assay.chat.agents import Agent, Setup
from assay.errors import missing_extra


def open_bundled_assistant(
    folder: str, setup: Setup, *, package: str, framework: str
) -> AbstractAsyncContextManager[Agent]:
    """Open the assistant in the package `folder`, which needs the distribution `package`.

    The extra that installs the framework has the name of the agent.
    """
    try:
        assistant = importlib.import_module(f"{folder}.{'shop' if setup.has_shop else 'assistant'}")
    except ModuleNotFoundError as error:
        extra = folder.rpartition(".")[2].replace("_", "-")
        raise missing_extra(package, extra, f"run the assistant in {framework}") from error
    found: AbstractAsyncContextManager[Agent] = assistant.open_assistant(setup)
    return found
