"""Suites: the scenarios that agents are tested with, as YAML files. Here they are found and loaded."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from importlib.resources import files
from pathlib import Path
from typing import Any

from assay.chat.domains._own import domain_name
from assay.chat.suites.scenario import Scenario, ScenarioTurn, Suite
from assay.chat.yamlfile import Document, load_yaml, parse_yaml, validated
from assay.errors import UsageError, unknown_name

__all__ = ["SUITES", "Scenario", "ScenarioTurn", "Suite", "load_suite", "read_suite", "schema"]

_FOLDER = files("assay.chat.suites")
SUITES: tuple[str, ...] = tuple(
    sorted(entry.name.removesuffix(".yaml") for entry in _FOLDER.iterdir() if entry.name.endswith(".yaml"))
)
"""The suites that come with assay."""


def load_suite(name_or_path: str | Path, *, domain: str | Path | None = None) -> Suite:
    """Load a suite that comes with assay by name, or any other by its path; `domain` is the folder of your own domain.

    Example:
        >>> suite = load_suite("weather").select(kinds=["forecast"], limit=3)
        >>> len(suite.scenarios)
        3

    """
    if domain is not None:
        domain_name(domain)
    if isinstance(name_or_path, str):
        if name_or_path in SUITES:
            return _built_in(name_or_path)
        looks_like_path = name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path or "\\" in name_or_path
        if not looks_like_path and not Path(name_or_path).is_file():
            error = unknown_name("suite", name_or_path, SUITES)
            raise UsageError(error.what, hint=f"{error.hint}, or give the path of a YAML file")
    return read_suite(load_yaml(name_or_path))


@functools.cache
def _built_in(name: str) -> Suite:
    return read_suite(parse_yaml((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml"))


def read_suite(document: Document) -> Suite:
    """Validate a document and return its suite."""
    return validated(document, Suite)


def schema() -> dict[str, Any]:
    """The JSON Schema of a suite file, including short forms."""
    made = Suite.model_json_schema(by_alias=True)
    for name, described in _descriptions().items():
        of_class = made if name == Suite.__name__ else made["$defs"].get(name, {})
        for field, words in described.items():
            if field in of_class.get("properties", {}):
                stated = {"description": words, **of_class["properties"][field]}
                of_class["properties"][field] = dict(sorted(stated.items()))
    turn = made["$defs"]["ScenarioTurn"]
    turn["properties"]["calls"]["anyOf"].insert(0, {"const": "any"})
    weather = turn["properties"]["weather"]["anyOf"]
    weather.insert(0, {"type": "string", "pattern": r"\S"})
    turn["not"] = {
        "required": ["weather", "truth"],
        "properties": {"weather": {"not": {"type": "null"}}, "truth": {"not": {"type": "null"}}},
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "A suite of assay"}


def _descriptions() -> dict[str, dict[str, str]]:
    """The texts below the fields of each class of a suite's file.

    Read here and not by pydantic, which would read the source whenever a suite is loaded.
    """
    source = ast.parse((_FOLDER / "scenario.py").read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for node in source.body:
        if isinstance(node, ast.ClassDef):
            for field, below in itertools.pairwise(node.body):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(below, ast.Expr)
                    and isinstance(below.value, ast.Constant)
                ):
                    found.setdefault(node.name, {})[field.target.id] = inspect.cleandoc(str(below.value.value))
    return found
