"""The application: every address with the page or the data behind it, in one table."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from assay import report
from assay.errors import AssayError, MissingExtraError, NotFoundError, UnknownRunError, UsageError
from assay.redaction import redacted
from assay.report.html.elements import Markup, element
from assay.report.html.page import Content
from assay.web.addresses import run_address
from assay.web.api import OPERATIONS, error_json, json_response, openapi
from assay.web.live.hosting import LiveAgents
from assay.web.live.routes import Live
from assay.web.pages.runs import Listed, delete_view, runs_view
from assay.web.requests import field_of, form_of, query_number, query_page, query_text, query_texts, search_of
from assay.web.responses import address_of, is_shown, page_response, saved_response
from assay.web.safety import Access, Guard, too_long
from assay.web.shell import View, framed, static_file
from assay.web.site import Site

# A page that takes longer is abandoned; no page should take this long.
SECONDS_FOR_A_PAGE = 60.0
_A_MINUTE = "private, max-age=60"
_FOREVER = "public, max-age=31536000, immutable"
_logger = logging.getLogger("assay.web")

_Page = Callable[[Site, Request], View]
_Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(site: Site, access: Access) -> ASGIApp:
    """The whole application, guarded."""
    live = Live(site)
    routes = [
        Route("/", lambda request: RedirectResponse("/runs")),
        Route("/static/{name}", _static),
        *(Route(path, _page(site, page, is_kept=path not in _ABOUT_MORE)) for path, page in _PAGES.items()),
        *(Route(path, _change(site, change), methods=["POST"]) for path, change in _CHANGES.items()),
        Route("/runs/{run}/report.html", _thread(site, _saved)),
        Route("/timeline/window", _thread(site, _timeline_part)),
        Route("/timeline/frame", _thread(site, _timeline_frame)),
        *live.routes(),
        Route("/api/openapi.json", lambda request: json_response(openapi())),
        *(Route(one.path, _data(site, one.handle)) for one in OPERATIONS),
    ]

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        site.started.stop_all()
        site.close()
        await live.close()

    app = Starlette(
        lifespan=lifespan,
        routes=routes,
        exception_handlers={
            AssayError: _refuse,
            HTTPException: _refuse_http,
            ClientDisconnect: _cut_off,
            Exception: _fail,
            TimeoutError: _late,
        },
    )
    return Guard(app, access)


# --- pages ------------------------------------------------------------------------------------------------------------


def _runs(site: Site, request: Request) -> View:
    return runs_view(site, Listed(search_of(request), query_page(request)))


# Pages are imported when they are first asked for, so that the first one is up soon after the command.


def _run(site: Site, request: Request) -> View:
    from assay.web.pages.run import run_view

    return run_view(site, site.store.describe(request.path_params["run"]))


def _report(site: Site, request: Request) -> View:
    from assay.web.pages.run import report_view

    return report_view(site, _complete(site, request))


def _settings(site: Site, request: Request) -> View:
    from assay.web.pages.run import settings_view

    return settings_view(site.store.describe(request.path_params["run"]))


def _history(site: Site, request: Request) -> View:
    from assay.web.pages.history import history_view

    return history_view(site, query_text(request, "name"), query_text(request, "figure"))


def _reference(site: Site, request: Request) -> View:
    from assay.web.pages.reference import reference_view

    return reference_view()


def _api_reference(site: Site, request: Request) -> View:
    from assay.web.pages.api_reference import api_view

    return api_view()


def _conversation(site: Site, request: Request) -> View:
    from assay.web.pages.conversation import conversation_view

    entry = site.store.describe(request.path_params["run"])
    scenario, agent = query_text(request, "scenario"), query_text(request, "agent")
    return conversation_view(site, entry, scenario, agent, query_number(request, "repetition", 0), query_page(request))


def _difference(site: Site, request: Request) -> View:
    from assay.web.pages.difference import difference_view

    chosen = query_texts(request, "run")
    if query_text(request, "sort") == "age":
        chosen.sort()  # ids sort by creation time
    by, only = query_text(request, "by"), query_text(request, "only")
    return difference_view(site, chosen, by=by, only=only, page=query_page(request))


def _case(site: Site, request: Request) -> View:
    from assay.web.pages.difference import case_view

    case = query_text(request, "case")
    chosen, repetition = query_texts(request, "run"), query_number(request, "repetition", 0)
    return case_view(site, chosen, case, repetition, query_page(request))


def _review(site: Site, request: Request) -> View:
    from assay.web.pages.review import Queue, review_view

    asked = Queue(
        query_text(request, "run"),
        query_text(request, "order") or "lowest",
        query_number(request, "seed", 0, high=10**6),
        query_text(request, "reviewer")[:60].strip() or "me",
        query_number(request, "at", 0),
    )
    return review_view(site, asked)


def _start(site: Site, request: Request) -> View:
    from assay.web.pages.start import start_view

    return start_view(site, LiveAgents(site.agents).specs(), query_text(request, "suite"))


def _timeline(site: Site, request: Request) -> View:
    from assay.web.pages.timeline import choose_view, timeline_view
    from assay.web.timeline.operations import chosen_of, cursor_of, shift_of, shown_of

    chosen = chosen_of(request)
    if not (chosen.run or chosen.predicted or chosen.truth):
        return choose_view(site)
    opened = site.timelines.open(chosen)
    episode = query_text(request, "episode")
    matched = site.timelines.shifted(opened, episode, shift_of(request), chosen.baseline)
    frames = site.timelines.frames(opened, episode)
    called = site.store.describe(chosen.run).run.name if chosen.run else ""
    window, at_us = shown_of(request, matched), cursor_of(request)
    return timeline_view(opened, chosen, matched, window, frames, at_us=at_us, called=called)


def _timeline_part(site: Site, request: Request) -> Response:
    """The text and tables about a window, to be put into the page."""
    from assay.web.pages.timeline_window import window_part
    from assay.web.timeline.operations import shifted_of, window_of

    matched = shifted_of(site, request)
    named = {name: value for name, value in request.query_params.items() if name in _NAMING and value}
    return HTMLResponse(_bytes(str(window_part(matched, *window_of(request, matched.episode.span_ns), named))))


def _timeline_frame(site: Site, request: Request) -> Response:
    """What was on the screen at a time, as an image; or a sentence why there is none."""
    from assay.web.timeline.operations import frame_of

    try:
        found = frame_of(site, request)
    except AssayError as error:
        return error_json(error, 404 if isinstance(error, NotFoundError | MissingExtraError) else 400)
    headers = {"x-frame-from": str(found.from_us), "x-frame-to": str(found.to_us), "cache-control": _A_MINUTE}
    return Response(found.content, media_type=found.media_type, headers=headers)


_NAMING = ("predicted", "truth", "run", "encoding", "tolerance", "clock", "baseline")

_PAGES: dict[str, _Page] = {
    "/runs": _runs,
    "/runs/new": _start,
    "/runs/delete": lambda site, request: delete_view(site, query_texts(request, "run")),
    "/runs/{run}": _run,
    "/runs/{run}/report": _report,
    "/runs/{run}/settings": _settings,
    "/runs/{run}/conversation": _conversation,
    "/difference": _difference,
    "/difference/case": _case,
    "/history": _history,
    "/review": _review,
    "/timeline": _timeline,
    "/metrics": _reference,
    "/api": _api_reference,
}
# They show installed agents and files on the disk, whose changes nothing tells.
_ABOUT_MORE = frozenset({"/runs/new", "/timeline"})


def _complete(site: Site, request: Request) -> Any:
    entry = site.store.describe(request.path_params["run"])
    if not entry.complete:
        raise UsageError(f"run {entry.run.id} is unfinished", hint="Resume it first, or wait until it is complete")
    return entry


def _saved(site: Site, request: Request) -> Response:
    """The report as one file, to be saved: its own scripts run when it is opened from disk, but not here."""
    entry = _complete(site, request)
    page = report.page(site.result(entry.run.id))
    return saved_response(page, f"assay-{entry.run.id}.html")


def _page(site: Site, page: _Page, *, is_kept: bool) -> _Endpoint:
    """An endpoint that renders a page, or sends it as it was last rendered if nothing has changed since."""
    if not is_kept:
        return _thread(site, lambda given, request: page_response(page(given, request), request))

    async def endpoint(request: Request) -> Response:
        async with asyncio.timeout(SECONDS_FOR_A_PAGE):
            here, mark = address_of(request), await site.mark()
            found = site.kept.find(here, mark)
            if found is not None:
                return HTMLResponse(found)

            def render(given: Site, request: Request) -> Response:
                # Rendered for someone else while this request waited for a thread.
                found = given.kept.find(here, mark)
                if found is not None:
                    return HTMLResponse(found)
                response = page_response(page(given, request), request)
                if is_shown(response):
                    given.kept.keep(here, mark, bytes(response.body))
                return response

            return await _rendered(site, render, request)

    return endpoint


def _data(site: Site, handle: Callable[[Site, Request], Any]) -> _Endpoint:
    return _thread(site, lambda given, request: json_response(handle(given, request)))


def _thread(site: Site, make: Callable[[Site, Request], Response]) -> _Endpoint:
    """An endpoint that computes its response in a thread, within the time limit for a page."""

    async def endpoint(request: Request) -> Response:
        async with asyncio.timeout(SECONDS_FOR_A_PAGE):
            return await _rendered(site, make, request)

    return endpoint


async def _rendered(site: Site, make: Callable[[Site, Request], Response], request: Request) -> Response:
    def made() -> Response:
        with site.store.one_reading():
            return make(site, request)

    return await to_thread.run_sync(made, limiter=site.threads)


def _static(request: Request) -> Response:
    try:
        content, kind, _ = static_file(request.path_params["name"])
    except KeyError:
        raise HTTPException(404) from None
    return Response(content, media_type=kind, headers={"cache-control": _FOREVER})


# --- changes ----------------------------------------------------------------------------------------------------------


_Form = dict[str, list[str]]
_Act = Callable[[Site, Request, _Form], str]


def _delete(site: Site, request: Request, form: _Form) -> str:
    for run_id in form.get("run", []):
        site.store.delete(run_id)
    return "/runs"


def _tag_several(site: Site, request: Request, form: _Form) -> str:
    tag, chosen = field_of(form, "tag", most=80), form.get("run", [])
    if not chosen:
        raise UsageError("no run was chosen", hint="Choose some in the list")
    if not tag:
        raise UsageError("the tag is empty", hint="Write one beside the button")
    for run_id in chosen:
        site.store.tag(run_id, tag)
    return "/runs"


def _tag(site: Site, request: Request, form: _Form) -> str:
    run_id = site.store.describe(request.path_params["run"]).run.id
    add, remove = field_of(form, "add", most=80), form.get("remove", [])
    site.store.tag(run_id, *([add] if add else []), remove=remove)
    return run_address(run_id)


def _rename(site: Site, request: Request, form: _Form) -> str:
    run_id = site.store.describe(request.path_params["run"]).run.id
    site.store.rename(run_id, field_of(form, "name", most=200))
    return run_address(run_id)


def _label(site: Site, request: Request, form: _Form) -> str:
    from assay.web.pages.review import stored_label

    return stored_label(site, {name: field_of(form, name) for name in form})


def _demo(site: Site, request: Request, form: _Form) -> str:
    from assay.web.demo import store_demo

    store_demo(site.store)
    return "/runs"


def _new(site: Site, request: Request, form: _Form) -> str:
    from assay.web.pages.start import planned

    experiment = planned(site, form, LiveAgents(site.agents).specs())
    return run_address(site.started.start(experiment, name=field_of(form, "name", most=200)))


def _stop(site: Site, request: Request, form: _Form) -> str:
    run_id = site.store.describe(request.path_params["run"]).run.id
    site.started.stop(run_id)
    return run_address(run_id)


def _resume(site: Site, request: Request, form: _Form) -> str:
    return run_address(site.started.resume(site.store.describe(request.path_params["run"]).run.id))


_CHANGES: dict[str, _Act] = {
    "/runs/new": _new,
    "/runs/{run}/stop": _stop,
    "/runs/{run}/resume": _resume,
    "/runs/delete": _delete,
    "/runs/tag": _tag_several,
    "/runs/{run}/tags": _tag,
    "/runs/{run}/name": _rename,
    "/review/label": _label,
    "/demo": _demo,
}


def _change(site: Site, change: _Act) -> _Endpoint:
    async def endpoint(request: Request) -> Response:
        form = await form_of(request)
        async with asyncio.timeout(SECONDS_FOR_A_PAGE):
            to = await run_in_threadpool(change, site, request, form)
        # 303: reloading the page that follows does not send the change again.
        return RedirectResponse(to, 303)

    return endpoint


# --- errors -----------------------------------------------------------------------------------------------------------


def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    status = 404 if isinstance(error, UnknownRunError | NotFoundError) else 400
    if request.url.path.startswith("/api/"):
        return error_json(error, status)
    what = redacted(f"{error.where}: {error.what}" if error.where else error.what)
    return _error_page(what[:1].upper() + what[1:], redacted(error.hint or ""), status)


def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if request.url.path.startswith("/api/"):
        response = json_response({"error": error.detail}, error.status_code)
        response.headers.update(error.headers or {})
        return response
    if error.status_code == 404:
        return _error_page("There is no such page", "Check the address", 404)
    return _error_page(error.detail, "", error.status_code)


def _cut_off(request: Request, error: Exception) -> Response:
    """To a body that grew too long; a client that hung up does not read it."""
    return too_long(request)


def _late(request: Request, error: Exception) -> Response:
    what = f"This took longer than {SECONDS_FOR_A_PAGE:g} seconds and was abandoned"
    if request.url.path.startswith("/api/"):
        return json_response({"error": what}, 503)
    return _error_page(what, "Try again, or use the command line for very large runs", 503)


def _fail(request: Request, error: Exception) -> Response:
    _logger.error("%s failed: %s: %s", request.url.path, type(error).__name__, redacted(str(error)))
    return _error_page("Something went wrong on the server", "The terminal that runs assay serve says more", 500)


def _error_page(what: str, hint: str, status: int) -> Response:
    lead = element("p", hint, ".") if hint else Markup("")
    ways = (
        element("a", "All runs", class_="button primary", href="/runs"),
        element("a", "Compare live", class_="button", href="/live"),
    )
    content = Content(title=what, lead=lead, body=element("div", *ways, class_="actions ways"))
    return HTMLResponse(_bytes(framed(View(content=content))), status)


def _bytes(page: str) -> bytes:
    return page.encode("utf-8", "replace")
