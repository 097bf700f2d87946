"""How an assistant that ships is opened: its framework is imported only then, and is told of where it is absent."""

from __future__ import annotations

import importlib
from contextlib import AbstractAsyncContextManager

from assay.chat.agents import Agent, Setup
from assay.errors import missing_extra


def opened(folder: str, setup: Setup, *, package: str, framework: str) -> AbstractAsyncContextManager[Agent]:
    """The assistant of a folder, which needs `package`; the extra that installs it is called as the agent is."""
    try:
        assistant = importlib.import_module(f"{folder}.assistant")
    except ModuleNotFoundError as error:
        extra = folder.rpartition(".")[2].replace("_", "-")
        raise missing_extra(package, extra, f"run the assistant in {framework}") from error
    found: AbstractAsyncContextManager[Agent] = assistant.open_assistant(setup)
    return found
