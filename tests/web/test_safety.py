"""Who may send requests, from where, and how large; and what a browser may do with the response."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from assay.errors import UsageError
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.safety import MOST_BODY_BYTES, Access
from assay.web.server import access_for, url_of
from assay.web.site import Site

TOKEN = "correct horse battery"
_FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8321", 200),
        ("localhost:8321", 200),
        ("[::1]:8321", 200),
        ("127.0.0.1:8322", 421),  # another port is another server
        ("evil.example:8321", 421),  # a name that an attacker points to this machine
        ("127.0.0.1.evil.example:8321", 421),
        ("", 421),
        ("127.0.0.1:8321@evil", 421),
    ],
)
def test_a_page_on_loopback_answers_to_its_own_names_only(host: str, status: int, store: Store) -> None:
    client = TestClient(make_app(Site(store), Access(port=8321)), base_url="http://127.0.0.1:8321")
    assert client.get("/metrics", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "same-origin"}, 303),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://127.0.0.1"}, 403),
        ({"origin": "http://127.0.0.1"}, 303),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://["}, 403),
        ({"origin": "http://127.0.0.1@evil.example"}, 403),
        ({"x-assay": "1"}, 303),
        ({}, 403),
    ],
)
def test_a_change_must_come_from_our_own_pages(headers: dict[str, str], status: int, store: Store) -> None:
    client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1", follow_redirects=False)
    assert client.post("/runs/delete", data={}, headers=headers).status_code == status


def test_only_visitors_with_the_token_are_let_in_and_then_keep_a_cookie(store: Store) -> None:
    app = make_app(Site(store), Access("0.0.0.0", 80, TOKEN))
    client = TestClient(app, base_url="http://box.example", follow_redirects=False)
    assert client.get("/runs").status_code == 401
    assert client.get("/runs?token=wrong").status_code == 401
    assert client.get("/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    found = client.get("/runs", params={"token": TOKEN, "q": "a b"})
    assert (found.status_code, found.headers["location"]) == (303, "/runs?q=a+b")
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get("/runs").status_code == 200
    # The printed address, opened again: the token does not stay in the address.
    assert client.get("/runs", params={"token": TOKEN}).headers["location"] == "/runs"
    client.cookies.clear()
    client.cookies.set("assay-80", "guessed")
    assert client.get("/runs").status_code == 401
    assert (
        client.get("http://box.example//evil.example/", params={"token": TOKEN}).headers["location"] == "/evil.example/"
    )


def test_another_address_than_loopback_needs_a_token_that_cannot_be_guessed() -> None:
    assert access_for("127.0.0.1", 1, None).is_local
    with pytest.raises(UsageError, match="a token is needed"):
        access_for("0.0.0.0", 1, None)
    with pytest.raises(UsageError, match="too short"):
        access_for("0.0.0.0", 1, "1234")
    assert url_of(access_for("::1", 81, TOKEN)) == "http://[::1]:81/?token=correct+horse+battery"


@pytest.mark.parametrize("path", ["/runs", "/nothing", "/static/site.css", "/api/runs", "/runs/unknown"])
def test_every_answer_tells_browsers_to_run_and_fetch_nothing_else(path: str, client: TestClient) -> None:
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert "unsafe-eval" not in headers["content-security-policy"]
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"


def test_requests_have_a_size(client: TestClient) -> None:
    assert client.post("/runs/tag", data={"tag": "x" * MOST_BODY_BYTES}).status_code == 413
    # Without a stated length, and so read until it is too long.
    pieces = (b"tag=" + b"x" * 50_000 for _ in range(10))
    assert client.post("/runs/tag", content=pieces, headers=_FORM).status_code == 413
    assert client.get("/runs", params={"q": "x" * 40_000}).status_code == 414
    assert client.get("/runs", params={"q": "x" * 3000}).status_code == 400
    assert client.get("/runs", params={"page": "-1"}).status_code == 400


@pytest.mark.parametrize(
    "name", ["../app.py", "..%2fapp.py", "README.md", ".hidden.js", "site.css/x", "%2e%2e/shell.py"]
)
def test_only_scripts_and_styles_of_the_package_are_served(name: str, client: TestClient) -> None:
    assert client.get(f"/static/{name}").status_code == 404


def test_a_browser_gets_a_refusal_as_a_page_and_a_program_as_a_line(store: Store) -> None:
    client = TestClient(make_app(Site(store), Access("0.0.0.0", 80, TOKEN)), base_url="http://box.example")
    page = client.get("/runs", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "<h1>This page needs a token</h1>" in page.text
    assert "/static/" not in page.text, "it may load nothing"
    line = client.get("/runs")
    assert (line.status_code, line.headers["content-type"]) == (401, "text/plain; charset=utf-8")
