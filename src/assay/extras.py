"""Which extra of assay installs a module, so that an installation without it says what to install."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from assay.errors import MissingExtraError, missing_extra

MODULES: Mapping[str, tuple[str, ...]] = {
    "chat": ("py3langid", "Stemmer"),
    "store": ("sqlalchemy", "platformdirs"),
    "agents": ("httpx", "openai", "opentelemetry", "packaging", "yaml", "starlette", "tzdata", "uvicorn"),
    "events": ("numba", "pyarrow", "fsspec", "mcap", "zstandard"),
    "postgres": ("psycopg",),
    "ray": ("ray",),
    "web": ("python_multipart",),
    "video": ("av",),
    "mcp": ("mcp",),
    "google-adk": ("google.adk",),
    "agent-framework": ("agent_framework", "agent_framework_openai"),
    "openai-agents": ("agents",),
    "langgraph": ("langgraph", "langchain", "langchain_openai"),
    "pydantic-ai": ("pydantic_ai",),
    "train": ("torch", "torchmetrics", "transformers", "accelerate"),
}
"""The modules that each extra installs, beside those of the extras that it contains."""


def explained(error: ModuleNotFoundError, *, extra: str = "", purpose: str = "do this") -> MissingExtraError | None:
    """The error in words if an extra installs the module that is missing; None if none does.

    `extra` is the one that installs everything that is needed, if it is known to be more than this module.
    """
    name = error.name or ""
    for known, modules in MODULES.items():
        if any(f"{name}.".startswith(f"{module}.") for module in modules):
            return missing_extra(name.partition(".")[0], extra or known, purpose)
    return None


def has_extras(*extras: str) -> bool:
    """Whether every module of these extras is installed."""
    return all(_is_found(module) for extra in extras for module in MODULES[extra])


def check_extras(*extras: str, of: str, purpose: str) -> None:
    """Raise MissingExtraError if a module of these extras is missing; `of` is the extra that installs them all."""
    for extra in extras:
        for module in MODULES[extra]:
            if not _is_found(module):
                raise missing_extra(module, of, purpose)


def _is_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
