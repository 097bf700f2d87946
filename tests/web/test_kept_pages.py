"""Pages are rendered once while nothing changes, and are never shown after something has changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient
from tests.report.agent_scores import scores
from tests.store import postgres
from tests.store.conftest import DATABASES, server  # noqa: F401 — the two databases
from tests.web.conftest import AGENTS, experiment

from assay.store import open_store
from assay.store.reviews import Review
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.kept_pages import KeptPages
from assay.web.recent import Recent
from assay.web.responses import address_of
from assay.web.safety import Access
from assay.web.site import Site

_RENAMED = "import sys; from assay.store import open_store; open_store(sys.argv[1]).rename(sys.argv[2], sys.argv[3])"


@pytest.fixture(params=DATABASES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    running: postgres.Server = request.getfixturevalue("server")
    return running.new_schema()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with open_store(address) as opened:
        yield opened


@pytest.fixture
def ids(store: Store) -> list[str]:
    return [experiment(store, scores(AGENTS, seed=seed, scenarios=3), f"run {seed}") for seed in (1, 2)]


@pytest.fixture
def site(store: Store) -> Site:
    return Site(store)


@pytest.fixture
def client(site: Site, ids: list[str]) -> Iterator[TestClient]:
    with TestClient(make_app(site, Access()), base_url="http://127.0.0.1") as made:
        made.headers["origin"] = "http://127.0.0.1"
        yield made


def _pages(ids: list[str]) -> list[str]:
    conversation = f"/runs/{ids[0]}/conversation?scenario=current-tokyo-00&agent={AGENTS[0]}"
    difference = f"/difference?run={ids[0]}&run={ids[1]}"
    own = [f"/runs/{ids[0]}{part}" for part in ("", "/report", "/settings")]
    return ["/runs", *own, difference, conversation, "/history?name=run+1", f"/review?run={ids[0]}"]


@pytest.mark.slow
def test_a_page_that_was_rendered_is_sent_again_as_it_is(
    client: TestClient, site: Site, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for page in _pages(ids):
        client.get(page)  # stores the summaries, and so changes the store
    first = {page: client.get(page) for page in _pages(ids)}
    assert {answer.status_code for answer in first.values()} == {200}
    monkeypatch.setattr("assay.web.app.page_response", lambda *given: pytest.fail("rendered again"))
    for page, answer in first.items():
        again = client.get(page)
        assert again.content == answer.content
        assert again.headers["content-security-policy"]
        assert again.headers["cache-control"] == "no-store"


@pytest.mark.slow
def test_a_change_by_another_process_is_on_the_next_page(client: TestClient, address: str, ids: list[str]) -> None:
    pages = [page for page in _pages(ids) if "history" not in page]
    for page in pages:
        client.get(page)
        assert "run 1" in client.get(page).text
    subprocess.run([sys.executable, "-c", _RENAMED, address, ids[0], "a new name"], check=True)
    for page in pages:
        assert "a new name" in client.get(page).text, page


def test_a_change_on_a_page_is_on_the_next_page(client: TestClient, ids: list[str]) -> None:
    assert "fresh" not in client.get("/runs").text
    client.post(f"/runs/{ids[0]}/tags", data={"add": "fresh"})
    assert "fresh" in client.get("/runs").text
    client.post("/runs/delete", data={"run": ids[0]})
    assert ids[0] not in client.get("/runs").text
    for page in _pages(ids)[1:6]:
        assert client.get(page).status_code == 404, page


def test_a_label_is_on_the_conversation_at_once(client: TestClient, store: Store, ids: list[str]) -> None:
    page = f"/runs/{ids[0]}/conversation?scenario=current-tokyo-00&agent={AGENTS[0]}"
    client.get(page)
    review = Review(
        agent=AGENTS[0], scenario="current-tokyo-00", repetition=0, turn=0, reviewer="ann", comment="odd", created="now"
    )
    store.review(ids[0], review)
    assert "odd" in client.get(page).text


def test_a_name_and_last_mean_the_run_that_they_mean_now(client: TestClient, store: Store, ids: list[str]) -> None:
    asked = "/api/difference?run=run+1&run=@last"
    before = client.get(asked).json()["comparisons"]
    newest = experiment(store, scores(AGENTS, seed=3, scenarios=3), "run 3")
    after = client.get(asked).json()["comparisons"]
    assert ids[1] in str(before)
    assert newest not in str(before)
    assert newest in str(after)


def test_names_that_look_alike_in_an_address_have_their_own_pages() -> None:
    # As a server gives it: without escapes. The client of the tests would resolve them twice.
    paths = ["/runs/a?b", "/runs/a%3Fb", "/runs/a%253Fb", "/runs/a#b", "/runs/a"]
    asked = [Request({"type": "http", "path": path, "headers": [], "query_string": b"b"}) for path in paths]
    assert [address_of(one) for one in asked[:2]] == ["/runs/a%3Fb?b", "/runs/a%253Fb?b"]
    assert len({address_of(one) for one in asked}) == len(paths)


def test_a_run_that_is_stopped_is_shown_so(client: TestClient, site: Site, store: Store) -> None:
    run_id = experiment(store, scores(AGENTS, seed=4, scenarios=2), "going on", finish=False)
    assert "Resume" in client.get(f"/runs/{run_id}").text
    site.started._failures[run_id] = "the agent left"
    assert "the agent left" in client.get(f"/runs/{run_id}").text


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 2), st.integers(0, 60))))
def test_kept_pages_stay_within_their_bytes_and_under_their_mark(steps: list[tuple[str, int, int]]) -> None:
    kept = KeptPages(100)
    rendered: dict[tuple[str, int], bytes] = {}
    for address, mark, size in steps:
        page = bytes([size]) * (size // 3)
        kept.keep(address, mark, page)
        if len(address) + len(page) <= 100 // 8:
            rendered[address, mark] = page
        assert kept._bytes == sum(len(one) + len(page) for one, page in kept._pages.items()) <= 100
        for one in "abcdef":
            for at in range(3):
                assert kept.find(one, at) in (None, rendered.get((one, at)))
            assert kept.find(one, None) is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 40))))
def test_recent_values_stay_within_their_weight(steps: list[tuple[str, int]]) -> None:
    recent: Recent[bytes] = Recent(100, len)
    for key, size in steps:
        recent.get(key, lambda size=size: bytes(size))  # type: ignore[misc]
        assert recent._weight == sum(map(len, recent._values.values())) <= 100
