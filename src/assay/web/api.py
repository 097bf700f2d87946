"""The data of the pages as JSON, described by an OpenAPI document generated from the same table as the routes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from assay import __version__
from assay.errors import AssayError, UsageError
from assay.json_safe import json_safe
from assay.runs.background import progress_of
from assay.runs.summaries import RunFigure
from assay.store.searching import ListedRun
from assay.web.operations import ANYTHING, COUNT, TEXT, Operation, list_of, object_with
from assay.web.pages.runs import MOST_COMPARED
from assay.web.requests import STATES, query_number, query_text, query_texts, search_of
from assay.web.site import Site
from assay.web.timeline.operations import TIMELINE_OPERATIONS

_MOST_AT_ONCE = 200


def _runs(site: Site, request: Request) -> dict[str, Any]:
    """A page of the list."""
    wanted = search_of(request)
    limit = query_number(request, "limit", 25, low=1, high=_MOST_AT_ONCE)
    found = site.store.search(wanted, limit=limit, offset=query_number(request, "offset", 0))
    summaries = site.summaries([run.id for run in found.runs if run.complete])
    listed = [
        asdict(run)
        | {"headlines": [asdict(figure) for figure in summaries[run.id].headlines] if run.id in summaries else []}
        for run in found.runs
    ]
    return {"total": found.total, "runs": listed}


def _one_run(site: Site, request: Request) -> dict[str, Any]:
    """The header of a run with its figures."""
    from assay.report.runs import header

    entry = site.store.describe(request.path_params["run"])
    figures: Sequence[RunFigure] = ()
    if entry.complete:
        summary = site.summaries([entry.run.id]).get(entry.run.id)
        figures = summary.figures if summary else ()
    return header(entry) | {"figures": [asdict(figure) for figure in figures]}


def _answers(site: Site, request: Request) -> dict[str, Any]:
    """Answers of one scenario, with scores, evidence and records."""
    from assay.chat.scoring.answers import Answer

    run_id = site.store.describe(request.path_params["run"]).run.id
    scenario = query_text(request, "scenario")
    if not scenario:
        raise UsageError("name a scenario", hint="Add ?scenario=… to the address")
    rows = site.store.conversation(run_id, scenario, query_text(request, "agent") or None)
    return {"answers": [Answer.from_json(row).to_json() for row in rows]}


def _progress(site: Site, request: Request) -> dict[str, Any]:
    """How far a run has come."""
    entry = site.store.describe(request.path_params["run"])
    done, total = progress_of(site.store, entry.run.id)
    is_in_progress = not entry.complete and site.is_in_progress(entry.run.id)
    return {"complete": entry.complete, "in_progress": is_in_progress, "done": done, "total": total}


def _export(site: Site, request: Request) -> dict[str, Any]:
    """Everything about a run."""
    from assay.report.runs import to_json

    entry = site.store.describe(request.path_params["run"])
    return to_json(entry, site.store.load(entry.run.id), site.store.answers(entry.run.id))


def _difference(site: Site, request: Request) -> dict[str, Any]:
    """Runs or agents against the first one."""
    return {"comparisons": [comparison.to_json() for comparison in _compared(site, _references(request))]}


def _verdict(site: Site, request: Request) -> dict[str, Any]:
    """Two runs in a sentence for each agent they share."""
    from assay.web.pages.history import verdict_of

    before, after, *others = [*_references(request), ""]
    if not after or any(others):
        raise UsageError("a verdict needs two runs")
    return verdict_of(site, before, after, query_text(request, "figure"))


def _metrics(site: Site, request: Request) -> dict[str, Any]:
    """Metrics of answers with their rules."""
    from assay.chat.scoring.metric import METRICS

    found = (METRICS.get(name) for name in METRICS.names())
    return {
        "metrics": [
            {
                "name": metric.name,
                "group": metric.group,
                "asks": metric.asks,
                "base": metric.base,
                "version": metric.version,
                "rules": [{"id": rule.id, "points": rule.points, "says": rule.says} for rule in metric.rules],
            }
            for metric in found
        ]
    }


def _compared(site: Site, references: Sequence[str]) -> Sequence[Any]:
    return site.comparisons([site.side(reference) for reference in references])


def _references(request: Request) -> list[str]:
    found = query_texts(request, "run")
    if not 1 <= len(found) <= MOST_COMPARED:
        raise UsageError(f"name 1 to {MOST_COMPARED} runs", hint="Add run=… for each to the address")
    return found


_RUNS_QUERY = {"q": TEXT, "kind": TEXT, "name": TEXT, "tag": TEXT, "state": {"enum": list(STATES)}} | {
    "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_AT_ONCE},
    "offset": {**COUNT, "maximum": 10**9},
}
_NAME = {**TEXT, "minLength": 1}
_REFERENCES = {"run": {"type": "array", "items": _NAME, "minItems": 1, "maxItems": MOST_COMPARED, "uniqueItems": True}}
_TWO_REFERENCES = {"run": {**_REFERENCES["run"], "minItems": 2, "maxItems": 2}}
OPERATIONS = (
    Operation(
        "/api/runs",
        "Runs, newest first, with their headline figures",
        _runs,
        _RUNS_QUERY,
        object_with(total=COUNT, runs=list_of({"$ref": "#/components/schemas/ListedRun"})),
    ),
    Operation("/api/runs/{run}", "One run with its settings and figures", _one_run, {}, ANYTHING),
    Operation(
        "/api/runs/{run}/answers",
        "The answers of a scenario, with scores, evidence and records",
        _answers,
        {"scenario": _NAME, "agent": TEXT},
        object_with(answers=list_of(ANYTHING)),
        required=("scenario",),
    ),
    Operation(
        "/api/runs/{run}/progress",
        "How many trials of a run are stored, how many are planned, and whether it is being played",
        _progress,
        {},
        object_with(complete={"type": "boolean"}, in_progress={"type": "boolean"}, done=COUNT, total=COUNT),
    ),
    Operation("/api/runs/{run}/export", "Everything about a complete run", _export, {}, ANYTHING),
    Operation(
        "/api/difference",
        "Runs, or agents of runs as RUN:AGENT, compared with the first one",
        _difference,
        _REFERENCES,
        object_with(comparisons=list_of(ANYTHING)),
        required=("run",),
    ),
    Operation(
        "/api/verdict",
        "Two runs compared, in a sentence for each agent they share",
        _verdict,
        {**_TWO_REFERENCES, "figure": TEXT},
        object_with(
            sentences=list_of({"type": "string"}),
            calls=list_of(object_with(of={"type": "string"}, call={"type": "string"})),
        ),
        required=("run",),
    ),
    Operation(
        "/api/metrics", "Metrics of answers with their rules", _metrics, {}, object_with(metrics=list_of(ANYTHING))
    ),
    *TIMELINE_OPERATIONS,
)
"""All operations."""


def openapi() -> dict[str, Any]:
    """The OpenAPI document of the operations."""
    from pydantic import TypeAdapter

    error = {"content": {"application/json": {"schema": object_with(error={"type": "string"})}}}
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        parameters: list[dict[str, Any]] = []
        if "{run}" in one.path:
            parameters.append(
                {"name": "run", "in": "path", "required": True, "schema": {"type": "string"}}
                | {"description": "An id or the beginning of one, a name, or @last.", "example": "@last"}
            )
        parameters += [
            {"name": name, "in": "query", "schema": dict(schema), "required": name in one.required}
            for name, schema in one.query.items()
        ]
        paths[one.path] = {
            "get": {
                "summary": one.summary,
                "operationId": one.handle.__name__.lstrip("_"),
                "parameters": parameters,
                "responses": {
                    "200": {"description": one.summary, "content": {"application/json": {"schema": dict(one.answer)}}},
                    "400": {"description": "The request is wrong; the error says why"} | error,
                    "404": {"description": "There is no such run, recording, episode or window"} | error,
                },
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "assay", "version": __version__},
        "paths": paths,
        "components": {"schemas": {"ListedRun": TypeAdapter(ListedRun).json_schema()}},
    }


def json_response(data: Any, status: int = 200) -> Response:
    """Data as JSON; NaN and infinities become null, and half a surrogate pair its escape."""
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        text = json.dumps(json_safe(data), ensure_ascii=False, default=str)
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type="application/json")


def error_json(error: AssayError, status: int) -> Response:
    """An error meant for users, as JSON."""
    return json_response({"error": str(error)}, status)
