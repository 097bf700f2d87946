"""Requests to the HTTP API that schemathesis makes up from its OpenAPI document, fitting and not fitting it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.store import open_store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site
from tests.attacks import Attack, Outcomes
from tests.report.agent_scores import scores

_HERE = "http://127.0.0.1"


def api_requests(times: int, folder: Path) -> Outcomes:
    """So many requests of each operation: about what the store has, about anything, and wrong ones."""
    import schemathesis
    from schemathesis import GenerationMode

    from tests.web.conftest import AGENTS, experiment

    with open_store(folder / "runs.db") as store:
        runs = [experiment(store, scores(AGENTS, seed=seed, scenarios=2), "made up") for seed in (1, 2)]
        app = make_app(Site(store), Access())
        schema = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers={"host": "127.0.0.1"})
        real: dict[str, Any] = {"run": runs, "predicted": "example", "truth": "example"}
        for found in schema.get_all_operations():
            operation: Any = found.ok()  # type: ignore[union-attr]
            names = {parameter.name for parameter in operation.query}
            path: dict[str, Any] = {"path_parameters": {"run": runs[0]}} if "{run}" in operation.path else {}
            known: dict[str, Any] = {name: value for name, value in real.items() if name in names}
            if "predicted" in names:
                known["run"] = ""
            yield from _tried(operation.as_strategy(GenerationMode.POSITIVE, **path, query=known), times)
            if path or names:
                yield from _tried(operation.as_strategy(GenerationMode.POSITIVE), times)
            # Where nothing can be given, nothing can be given wrongly.
            if names:
                yield from _tried(operation.as_strategy(GenerationMode.NEGATIVE, **path), times)


def _tried(strategy: Any, times: int) -> Iterator[str | None]:
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.core.failures import FailureGroup

    outcomes: list[str | None] = []

    @settings(
        max_examples=times,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def ask(case: Any) -> None:
        try:
            case.call_and_validate(base_url=_HERE)
            outcomes.append(None)
        except (Exception, FailureGroup) as error:  # failed checks, or an error that reached the client
            outcomes.append(f"{case.method} {case.formatted_path}: {error}")

    ask()
    yield from outcomes


ATTACKS = [Attack("requests to the API, made up by schemathesis", api_requests, 1, 30, seconds=6)]
