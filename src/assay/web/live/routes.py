"""The addresses of live conversations: start one, send a message and receive the answers as events, rate, keep, end."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from assay.errors import AssayError, UsageError
from assay.json_safe import whole_text
from assay.redaction import redacted
from assay.report.html.elements import element
from assay.report.html.page import Content
from assay.store.reviews import Review
from assay.web.addresses import address, run_address
from assay.web.api import json_response
from assay.web.live.hosting import LiveAgents
from assay.web.requests import field_of, form_of, query_texts
from assay.web.responses import page_response
from assay.web.shell import View, crumbs, framed
from assay.web.site import Site

_LONGEST_COMMENT = 500
_LONGEST_NAME = 60
_LONGEST_ADDRESS = 500
_logger = logging.getLogger("assay.web")


class Live:
    """The live conversations of a site. Nothing is loaded before the first one."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._agents = LiveAgents(site.agents, prices=site.prices, takes_addresses=site.takes_addresses)
        self._talk: Any = None

    def routes(self) -> list[Route]:
        """Every address."""
        return [
            Route("/live", self._choose, methods=["GET"]),
            Route("/live", self._start, methods=["POST"]),
            Route("/live/agents", self._add_agent, methods=["POST"]),
            Route("/live/{id}", self._show, methods=["GET"]),
            Route("/live/{id}/say", self._say, methods=["POST"]),
            Route("/live/{id}/review", self._review, methods=["POST"]),
            Route("/live/{id}/scenario", self._keep_scenario, methods=["POST"]),
            Route("/live/{id}/finish", self._finish, methods=["POST"]),
            Route("/runs/{run}/finish", self._finish_stored, methods=["POST"]),
        ]

    async def close(self) -> None:
        """Finish the runs of conversations that were not finished, and close the agents."""
        if self._talk is not None:
            from assay.web.live.keeping import finish_run

            for conversation in self._talk.unfinished():
                try:
                    await run_in_threadpool(finish_run, self._site.store, conversation)
                except AssayError:
                    continue  # the store fails; the run stays unfinished, with its answers
        await self._agents.close()

    async def _talking(self) -> Any:
        if self._talk is None:

            def make() -> Any:
                from assay.web.live.talking import LiveTalk

                return LiveTalk(self._agents)

            self._talk = await run_in_threadpool(make)
        return self._talk

    async def _choose(self, request: Request) -> Response:
        def make() -> str:
            from assay.web.pages.live import live_view

            chosen = query_texts(request, "agent")
            return framed(live_view(self._agents.specs(), chosen, takes_addresses=self._agents.takes_addresses))

        return _html(await run_in_threadpool(make))

    async def _add_agent(self, request: Request) -> Response:
        """Add an agent by its address; the guard has seen that the form was sent from a page of this server."""
        form = await form_of(request)
        given = (field_of(form, name, most=_LONGEST_ADDRESS) for name in ("name", "url", "form"))
        name = await run_in_threadpool(self._agents.add, *given)
        return RedirectResponse(address("/live", agent=[*form.get("agent", []), name]), 303)

    async def _start(self, request: Request) -> Response:
        form = await form_of(request)
        conversation = (await self._talking()).start(form.get("agent", []))
        self._agents.prepare(conversation.agents)
        return RedirectResponse(f"/live/{conversation.id}", 303)

    async def _show(self, request: Request) -> Response:
        from assay.web.pages.live import conversation_page

        conversation = (await self._talking()).find(request.path_params["id"])
        return page_response(conversation_page(conversation), request)

    async def _say(self, request: Request) -> Response:
        try:
            given = await _json(request)
            talk = await self._talking()
            conversation = talk.find(request.path_params["id"])
            known = await run_in_threadpool(_known, _text(given, "known"))
            message, fault, quirk = (_text(given, name) for name in ("message", "fault", "quirk"))
            said = talk.say(conversation, message, fault, known, quirk)
            first = await anext(said)
        except AssayError as error:
            return json_response({"error": str(error)}, 400)
        return StreamingResponse(self._told(conversation, said, first), media_type="text/event-stream")

    async def _told(self, conversation: Any, said: AsyncGenerator[Any], first: Any) -> AsyncIterator[bytes]:
        """The events of a turn as the page reads them. Closing the page cancels the turn."""
        from assay.web.live.keeping import store_turn
        from assay.web.pages.live import column, truth_line

        try:
            at = len(conversation.turns) - 1
            yield _event(*first)
            async for kind, data in said:
                at = len(conversation.turns) - 1
                if kind != "answer":
                    yield _event(kind, data)
                    continue
                shown = await run_in_threadpool(column, conversation, at, data["agent"])
                yield _event("answer", {"agent": data["agent"], "html": str(shown)})
            yield _event("truth", {"html": str(truth_line(conversation.turns[at]))})
            run = await run_in_threadpool(store_turn, self._site.store, conversation)
            yield _event("stored", {"run": run})
        except AssayError as error:
            yield _event("error", {"error": redacted(str(error))})
        except Exception as error:
            _logger.error("a turn failed: %s: %s", type(error).__name__, redacted(str(error)))
            yield _event("error", {"error": "Something went wrong on the server; its terminal says more"})
        finally:
            await said.aclose()

    async def _review(self, request: Request) -> Response:
        try:
            given = await _json(request)
            conversation = (await self._talking()).find(request.path_params["id"])
            if not conversation.run:
                raise UsageError("there is no answer yet")
            passed, score, turn = given.get("passed"), given.get("score"), given.get("turn")
            if not (passed is None or isinstance(passed, bool)) or not (score is None or type(score) is int):
                raise UsageError("a review says whether an answer is good, or how good from 1 to 5")
            if type(turn) is not int or not 0 <= turn < len(conversation.turns):
                raise UsageError("there is no such turn")
            review = Review(
                agent=_text(given, "agent"),
                scenario=conversation.id,
                repetition=0,
                turn=turn,
                reviewer=_text(given, "reviewer")[:_LONGEST_NAME] or "me",
                passed=passed,
                score=score,
                comment=_text(given, "comment")[:_LONGEST_COMMENT],
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            await run_in_threadpool(self._site.store.review, conversation.run, review)
            conversation.turns[turn].opinions[review.agent] = review
        except AssayError as error:
            return json_response({"error": str(error)}, 400)
        return json_response({"stored": True})

    async def _keep_scenario(self, request: Request) -> Response:
        from assay.web.live.keeping import keep_scenario

        form = await form_of(request)
        conversation = (await self._talking()).find(request.path_params["id"])
        name = field_of(form, "name", most=_LONGEST_NAME)
        path = await run_in_threadpool(keep_scenario, self._site.suites, conversation, name)
        command = f"assay chat run --suite {path}"
        start = element(
            "a",
            "Play it with other agents",
            class_="button primary",
            href=address("/runs/new", suite=f"file:{path.name}"),
        )
        back = element("a", "Back to the conversation", class_="button", href=f"/live/{conversation.id}")
        body = element("p", "It can be played again with any agent, here or by the command ", element("code", command))
        body += element("div", start, back, class_="actions")
        lead = element("p", "Written to ", element("code", str(path)), ".")
        content = Content(title="Kept as a scenario", lead=lead, body=body)
        above = crumbs(("Compare live", "/live"))
        return _html(framed(View(content=content, place="live", above=above)))

    async def _finish(self, request: Request) -> Response:
        from assay.web.live.keeping import finish_run

        talk = await self._talking()
        conversation = talk.find(request.path_params["id"])
        run = await run_in_threadpool(finish_run, self._site.store, conversation)
        talk.forget(conversation)
        return RedirectResponse(run_address(run), 303)

    async def _finish_stored(self, request: Request) -> Response:
        """Complete the run of a conversation: one that goes on here, or one whose server ended."""
        from assay.web.live.keeping import finish_run, finish_stored_run

        store = self._site.store
        run_id = (await run_in_threadpool(store.describe, request.path_params["run"])).run.id
        talking = [] if self._talk is None else [one for one in self._talk.unfinished() if one.run == run_id]
        for conversation in talking:
            await run_in_threadpool(finish_run, store, conversation)
            self._talk.forget(conversation)
        if not talking:
            await run_in_threadpool(finish_stored_run, store, run_id)
        return RedirectResponse(run_address(run_id), 303)


def _known(sentence: str) -> dict[str, Any] | None:
    from assay.web.live.talking import known_from

    return known_from(sentence)


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


async def _json(request: Request) -> dict[str, Any]:
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise UsageError("the request is not JSON") from error
    if not isinstance(given, dict):
        raise UsageError("the request is not a JSON object")
    return given


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise UsageError(f"'{name}' must be text")
    return whole_text(value)


def _html(page: str) -> Response:
    return HTMLResponse(page.encode("utf-8", "replace"))
