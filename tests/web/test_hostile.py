"""Whatever text is in a run, every page shows it as text: nothing of it becomes a tag, an attribute or a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.report.agent_scores import scores
from tests.report.html.test_hostile import ATTACK, attacked
from tests.web.conftest import experiment

from assay.chat.scoring.scores import Scores
from assay.store import open_store
from assay.store.reviews import Review
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site

WORDS = ATTACK.replace("{field}", "name")


class Tags(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.handlers: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]


def fill(store: Store) -> None:
    """Store runs in which every text ends in an attack."""
    plain = scores(("one", "two"), seed=1, scenarios=2, repetitions=2)
    for _ in range(2):
        answers = tuple(attacked(answer, "Answer") for answer in plain.answers)
        made = Scores(answers, plain.metrics, plain.seed)
        run = experiment(store, made, WORDS, tags=(WORDS,))
    first = made.answers[0]
    store.review(
        run,
        Review(
            agent=first.agent,
            scenario=first.scenario,
            repetition=first.repetition,
            turn=first.turn,
            reviewer=WORDS,
            passed=False,
            comment=WORDS,
        ),
    )
    experiment(store, replace(made, answers=made.answers[:1]), f"open {WORDS}", finish=False)


def pages_of(hostile: Store) -> list[tuple[str, dict[str, object]]]:
    """The addresses of all pages about these runs, with the attack in every parameter."""
    runs = [entry.run.id for entry in hostile.list() if entry.complete]
    answer = hostile.answers(runs[0])[0]
    cell = {"scenario": answer["scenario"], "agent": answer["agent"]}
    sides = [f"{run}:{answer['agent']}" for run in runs]
    return [
        ("/runs", {}),
        ("/runs", {"q": WORDS, "kind": WORDS, "tag": WORDS, "name": WORDS}),
        (f"/runs/{runs[0]}", {}),
        (f"/runs/{runs[0]}/report", {}),
        (f"/runs/{runs[0]}/settings", {}),
        (f"/runs/{runs[0]}/conversation", dict(cell)),
        (f"/runs/{hostile.list()[0].run.id}", {}),
        ("/difference", {"run": sides}),
        ("/difference/case", {"run": sides, "case": answer["scenario"]}),
        ("/history", {"name": WORDS}),
        ("/runs/delete", {"run": runs}),
        (f"/runs/{WORDS}", {}),
        ("/nowhere" + WORDS, {}),
    ]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("hostile") / "runs.db") as store:
        fill(store)
        yield store


def test_no_page_takes_text_for_html(hostile: Store) -> None:
    client = TestClient(make_app(Site(hostile), Access()), base_url="http://127.0.0.1")
    for path, query in pages_of(hostile):
        page = client.get(path, params=query).text  # type: ignore[arg-type]
        seen = Tags(re.sub(r'(<script type="application/json"[^>]*>).*?</script>', "", page, flags=re.DOTALL))
        assert "x-injected" not in seen.found, path
        assert not seen.handlers, path
        assert all(link.startswith(("/", "#", "data:")) for link in seen.links), path
        assert not re.search(r"<x-injected", page), path


@pytest.mark.parametrize("half", [chr(0xD800), chr(0xDCFF)], ids=["escape", "byte"])
def test_half_a_character_in_names_breaks_no_page(half: str, tmp_path: Path) -> None:
    # An escape in JSON, or a byte on the command line that is not UTF-8.
    with open_store(tmp_path / "runs.db") as store:
        made = scores(("one", f"two {half}"), seed=1, scenarios=2, repetitions=1)
        answers = tuple(replace(one, scenario=one.scenario + half) for one in made.answers)
        runs = [experiment(store, replace(made, answers=answers), f"n{half}", tags=(f"t{half}",)) for _ in range(2)]
        client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1")
        for page in (
            "/runs",
            f"/runs/{runs[0]}",
            f"/runs/{runs[0]}/report",
            f"/difference?run={runs[0]}&run={runs[1]}",
        ):
            assert client.get(page).status_code == 200, page


_INVALID: tuple[object, ...] = (
    [{"name": "one", "agent": "not-installed"}, {"name": "two"}],
    ["one", "two"],
    {"one": 1},
    [{}],
    None,
)


@pytest.mark.parametrize("agents", _INVALID, ids=["of another package", "names", "a table", "nameless", "none"])
def test_agents_of_a_stored_run_that_are_not_valid_break_no_page(agents: object, tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        made = scores(("one", "two"), seed=1, scenarios=3, repetitions=2)
        right = store.load(experiment(store, made, "right"))
        run = replace(right, id="changed", name="changed", settings={**right.settings, "agents": agents})
        store.save(run, answers=store.answers(right.id))
        client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1")
        scenario = made.answers[0].scenario
        is_read = agents is _INVALID[0]
        for path, status in (
            ("/runs", 200),
            ("/history?name=changed", 200),
            ("/runs/changed/settings", 200),
            ("/difference?run=changed:one&run=changed:two", 200),
            ("/difference?run=changed", 200 if is_read else 400),
            ("/runs/changed", 200 if is_read else 400),
            ("/runs/changed/report", 200 if is_read else 400),
            ("/review?run=changed", 200 if is_read else 400),
            (f"/runs/changed/conversation?scenario={scenario}&agent=one", 200 if is_read else 400),
            ("/api/runs/changed", 200),
            ("/api/runs/changed/progress", 200),
        ):
            response = client.get(path)
            assert response.status_code == status, path
            if status == 400:
                assert "The agents of run changed cannot be read" in response.text, path
