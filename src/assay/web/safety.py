"""Guards every request: who may send it, from where, and how large it may be; and what a browser may do with the
response.

A page on loopback can be reached by any web site that a user visits, through the user's own browser. So the Host header
must name this machine (against DNS rebinding), a request that changes something must prove that it comes from our own
pages, and answers tell browsers to run and fetch nothing but what this server sends.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay import loopback
from assay.report.html.elements import EMPTY, element
from assay.report.html.page import document

MOST_BODY_BYTES = 256 * 1024
MOST_QUERY_BYTES = 32 * 1024
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_CHANGES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_YEAR = 365 * 24 * 3600

# Styles cannot be listed: the charts set style attributes on what they draw. They cannot run or fetch anything.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


@dataclass(frozen=True)
class Access:
    """Who may use the server."""

    host: str = "127.0.0.1"
    """The address that it listens on."""
    port: int = 0
    """Its port; 0 accepts any, for tests without a socket."""
    token: str | None = None
    """The token that a visitor must give; None if everyone on this machine may look."""
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_this_machine(self.host)

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers share cookies between ports, so the port is part of it."""
        return f"assay-{self.port}"

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server.

        A server that others can reach has names that it cannot know, and needs none: its cookie is sent only to the
        name under which the token was given.
        """
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        if not self.is_local:
            return True
        if self.port and int(found[2] or 80) != self.port:
            return False
        return found[1].lower() in _LOOPBACK_NAMES

    def accepts_token(self, given: str) -> bool:
        """Whether the token is right; takes equally long for every wrong one."""
        return self.token is not None and secrets.compare_digest(_digest(given), _digest(self.token))

    def accepts_session(self, given: str) -> bool:
        """Whether the cookie is one that this server set."""
        return secrets.compare_digest(_digest(given), _digest(self._session))

    def grant(self, response: Response) -> None:
        """Set the cookie that spares a visitor the token."""
        response.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", max_age=_YEAR, path="/")


class Guard:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [pair for pair in _HEADERS if pair[0] not in known]
                if b"cache-control" not in known:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        refused = self._refusal(Request(scope))
        if refused is not None:
            await refused(scope, receive, sending)
            return
        await self._app(scope, _limited(receive), sending)

    def _refusal(self, request: Request) -> Response | None:
        headers = request.headers
        if not self._access.knows_host(headers.get("host", "")):
            return _no(request, 421, "This server does not answer to that host name. Open the address that it printed.")
        is_api = request.url.path.startswith("/api/")
        if is_api and request.method in _CHANGES:
            return _no(request, 405, "The API changes nothing.", {"allow": "GET, HEAD"})
        if len(request.url.query) > MOST_QUERY_BYTES:
            what = f"The address is too long. What follows its '?' may have at most {MOST_QUERY_BYTES:,} bytes."
            return JSONResponse({"error": what}, 400) if is_api else _no(request, 414, what)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
            return too_long(request)
        if request.method in _CHANGES and not is_same_origin(headers):
            what = "The change was refused. It must come from a page of this server, or have the header X-Assay: 1."
            return _no(request, 403, what)
        return self._unknown_visitor(request)

    def _unknown_visitor(self, request: Request) -> Response | None:
        access = self._access
        if access.token is None:
            return None
        given = request.query_params.get("token", "")
        if given and access.accepts_token(given):
            # Sent on without the token, so that it stays out of bookmarks, screenshots and links.
            kept = [pair for pair in parse_qsl(request.url.query, keep_blank_values=True) if pair[0] != "token"]
            to = "/" + request.url.path.lstrip("/")
            response = RedirectResponse(f"{to}?{urlencode(kept)}" if kept else to, 303)
            access.grant(response)
            return response
        if access.accepts_session(_cookie(request.headers.get("cookie", ""), access.cookie)):
            return None
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and access.accepts_token(bearer.strip()):
            return None
        return _no(
            request, 401, "This page needs a token. Open the address that assay serve printed: it has the token."
        )


def too_long(request: Request) -> Response:
    """The response to a body that is too long."""
    return _no(request, 413, f"The request is too long. It may have at most {MOST_BODY_BYTES:,} bytes.")


def is_this_machine(host: str) -> bool:
    """Whether an address is of this machine only; other names than localhost are not resolved."""
    return host == "localhost" or loopback.is_loopback(host.strip("[]"))


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this server, or from a program.

    Browsers state where a request comes from in headers that no script can set. A program, which sends neither, sets a
    header that a page of another site could not send without asking first.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin")
    if origin is not None:
        return origin in (f"http://{headers.get('host')}", f"https://{headers.get('host')}")
    return headers.get("x-assay") == "1"


def _limited(receive: Receive) -> Receive:
    """Receives as `receive` does, but ends the connection if the body grows beyond the limit."""
    total = 0

    async def receiving() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        return {"type": "http.disconnect"} if total > MOST_BODY_BYTES else message

    return receiving


def _cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _digest(text: str) -> bytes:
    """Equal lengths, so that a comparison does not reveal the length either."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _no(request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal: a page for a browser, which may load nothing else from here, and a line for a program."""
    if "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(sentence + "\n", status, headers)
    what, _, more = sentence.partition(". ")
    # Whoever may look at pages is shown the way back to them.
    back = element("p", element("a", "All runs", href="/runs")) if status in (403, 413, 414) else EMPTY
    page = document(title=what.removesuffix("."), lead=element("p", more) if more else EMPTY, body=back)
    return HTMLResponse(page, status, headers)
