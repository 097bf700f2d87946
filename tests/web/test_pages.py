"""The pages over a store: what they show, where they link to, and what they change."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.report.agent_scores import scores
from tests.web.conftest import AGENTS, experiment

from assay.runs.loading import record
from assay.store import open_store
from assay.store.store import Store
from assay.web.api import OPERATIONS
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site
from assay.web.text_difference import word_difference

MOST_BYTES = 300_000


def shown(page: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_list_shows_every_run_with_its_figures(client: TestClient, ids: dict[str, str]) -> None:
    page = client.get("/runs").text
    assert all(run_id in page for run_id in ids.values())
    assert "unfinished: " in page
    assert re.search(r"langgraph 0\.\d{3} \[0\.\d{3}, [01]\.\d{3}\]", shown(page))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=night", {"before", "nightly"}),
        ("q=NIGHT+ci", {"before", "nightly"}),
        ("q=100%25", set()),  # a wildcard is a letter like any other
        ("kind=chat", {"read from a file"}),
        ("tag=ci", {"before", "nightly"}),
        ("state=open", {"going on"}),
        ("name=nightly", {"before", "nightly"}),
    ],
)
def test_the_list_is_searched_by_words_kind_tag_and_state(
    query: str, found: set[str], client: TestClient, ids: dict[str, str]
) -> None:
    page = client.get(f"/runs?{query}").text
    assert {name for name, run_id in ids.items() if f"/runs/{run_id}" in page} == found


def test_pages_of_the_list_are_cut_by_the_server(client: TestClient, ids: dict[str, str]) -> None:
    first, second = (client.get(f"/api/runs?limit=2&offset={at}").json() for at in (0, 2))
    assert first["total"] == second["total"] == 4
    listed = [run["id"] for run in (*first["runs"], *second["runs"])]
    assert listed == sorted(set(ids.values()), reverse=True)


def test_a_run_links_every_cell_to_its_conversation(client: TestClient, ids: dict[str, str]) -> None:
    page = client.get(f"/runs/{ids['nightly']}").text
    cells = re.findall(r'<a class="cell [a-z]+" href="([^"]+)"', page)
    assert len(cells) == len(AGENTS) * len({answer.scenario for answer in scores(AGENTS, seed=2, scenarios=10).answers})
    conversation = client.get(cells[0].replace("&amp;", "&")).text
    assert "Scores and evidence" in conversation
    assert "Raw JSON" in conversation
    assert "Trace: " in conversation


def test_every_page_is_light_and_has_no_inline_script(client: TestClient, ids: dict[str, str]) -> None:
    run = ids["nightly"]
    paths = ["/runs", f"/runs/{run}", f"/runs/{run}/settings", "/metrics", "/api", "/history?name=nightly"]
    paths += [
        f"/runs/{run}/report",
        f"/difference?run={ids['before']}&run={run}",
        "/difference",
        f"/runs/{ids['going on']}",
    ]
    paths += [f"/runs/delete?run={run}"]
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200, path
        without_charts = re.sub(r'<script type="application/json".*?</script>', "", answer.text, flags=re.DOTALL)
        assert len(without_charts.encode()) < MOST_BYTES, path
        assert not re.search(r"<script(?! src=)", without_charts), path
        assert "<h1>" in answer.text, path


def test_every_view_is_saved_as_one_file(client: TestClient, ids: dict[str, str], store: Store) -> None:
    run, scenario = ids["nightly"], store.answers(ids["nightly"])[0]["scenario"]
    for path in (
        "/runs?q=nightly",
        f"/runs/{run}",
        f"/runs/{run}/settings",
        f"/runs/{run}/conversation?scenario={scenario}&agent=langgraph",
        f"/difference?run={ids['before']}&run={run}",
        "/history?name=nightly",
        f"/review?run={run}",
        "/timeline?predicted=example&truth=example&from=0&to=2000000",
        "/metrics",
    ):
        here = client.get(path).text
        [link] = re.findall(r'href="([^"]+)" download data-save', here)
        saved = client.get(link.replace("&amp;", "&"))
        assert saved.headers["content-disposition"].startswith('attachment; filename="assay-'), path
        assert not re.search(r'(?:src|href|action)="/', saved.text), path
        assert "<form" not in saved.text, path
        [title] = re.findall("<h1>(.*?)</h1>", here)
        assert f"<h1>{title}</h1>" in saved.text, path
    assert "data-save" not in client.get("/runs/new").text


def test_a_difference_gives_verdicts_changes_and_a_diff_of_words(client: TestClient, ids: dict[str, str]) -> None:
    page = client.get("/difference", params={"run": [f"{ids['before']}:langgraph", f"{ids['nightly']}:langgraph"]}).text
    assert "inconclusive" in page
    cases = re.findall(r'href="(/difference/case[^"]+)"', page)
    assert cases
    case = client.get(cases[0].replace("&amp;", "&")).text
    assert "Turn 1" in case
    assert "<del>" in case or "<ins>" in case


def test_words_that_changed_are_marked() -> None:
    left, right = word_difference("It is 21 °C <b>now</b>.", "It is 23 °C now.")
    assert left == "It is <del>21</del> °C <del>&lt;b&gt;</del>now<del>&lt;/b&gt;</del>."
    assert right == "It is <ins>23</ins> °C now."


def test_history_has_a_point_for_each_complete_run(client: TestClient, ids: dict[str, str]) -> None:
    page = client.get("/history?name=nightly").text
    assert page.count('"at":1') == page.count('"at":2') == len(AGENTS)
    verdict = client.get("/api/verdict", params={"run": [ids["before"], ids["nightly"]]}).json()
    assert len(verdict["sentences"]) == len(AGENTS)
    assert verdict["calls"] == []
    # The call of the figure that is shown, of each agent.
    asked = re.findall(r'data-verdict="([^"]+)"', page)
    found = client.get(asked[0].replace("&amp;", "&")).json()["calls"]
    assert [one["of"] for one in found] == list(AGENTS)
    assert {one["call"] for one in found} <= {"better", "worse", "same", "inconclusive"}


def test_a_run_opens_with_how_many_trials_pass(client: TestClient, store: Store, ids: dict[str, str]) -> None:
    words = shown(client.get(f"/runs/{ids['nightly']}").text)
    opening = words[words.index("Overview") : words.index("Figures")]
    passed = store.outcomes(ids["nightly"])
    for agent in AGENTS:
        trials: dict[tuple[str, int], bool] = {}
        for row in passed:
            if row["agent"] == agent:
                key = (row["scenario"], row["repetition"])
                trials[key] = trials.get(key, True) and row["passed"]
        assert re.search(rf"{agent} .*{sum(trials.values())} of {len(trials)} trials", opening), opening
    assert re.search(r"They differ in (none|\d+) of 10 scenarios", opening)
    alone = shown(client.get(f"/runs/{ids['read from a file']}").text)
    assert "agents differ" not in alone


def test_a_long_conversation_is_cut_by_the_server_and_leads_to_what_does_not_pass(tmp_path: Path) -> None:
    one = scores(AGENTS[:1], seed=1, scenarios=1, repetitions=1)
    turns = tuple(replace(one.answers[0], turn=turn, passed=turn != 23) for turn in range(25))
    with open_store(tmp_path / "runs.db") as store:
        run_id = experiment(store, replace(one, answers=turns), "long")
        client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1")
        asked = {"scenario": turns[0].scenario, "agent": AGENTS[0]}
        pages = [client.get(f"/runs/{run_id}/conversation", params={**asked, "page": page}).text for page in (1, 3, 99)]
        assert [page.count("<article") for page in pages] == [10, 5, 5]
        assert "Turns 1 to 10 of 25" in shown(pages[0])
        to = re.search(r'1 turn does not pass: <a href="([^"]+)">24</a>', pages[0])
        assert to is not None
        address, _, anchor = to[1].replace("&amp;", "&").partition("#")
        assert f'id="{anchor}"' in client.get(address).text
        sides = {"run": [f"{run_id}:{AGENTS[0]}"] * 2 + [run_id], "case": turns[0].scenario}
        beside = [client.get("/difference/case", params={**sides, "page": page}).text for page in (1, 2)]
        assert ["Turn 1 " in shown(page) for page in beside] == [True, False]


def test_several_candidates_are_shown_at_a_glance(client: TestClient, ids: dict[str, str]) -> None:
    sides = [f"{ids[name]}:{agent}" for name in ("before", "nightly") for agent in AGENTS][:3]
    page = client.get("/difference", params={"run": sides}).text
    glance = page[page.index("At a glance") : page.index("<h2>Verdicts</h2>")]
    first = re.search(r"<tr><th[^>]*>trials passed</th>(.*?)</tr>", glance)
    assert first is not None
    assert len(re.findall("<td", first[1])) == 3, "the baseline and two candidates"
    assert re.search("inconclusive|same|better|worse", first[1])


def test_the_page_about_the_api_has_every_operation(client: TestClient) -> None:
    page = client.get("/api").text
    assert all(f"<code>{one.path}</code>" in page for one in OPERATIONS)


def test_the_metrics_page_has_every_rule(client: TestClient) -> None:
    from assay.chat.scoring.metric import METRICS

    page = client.get("/metrics").text
    for name in METRICS.names():
        assert all(f"<code>{rule.id}</code>" in page for rule in METRICS.get(name).rules)


def test_a_run_is_tagged_renamed_and_deleted(tmp_path_factory: pytest.TempPathFactory) -> None:
    with open_store(tmp_path_factory.mktemp("changes") / "runs.db") as store:
        run = experiment(store, scores(AGENTS[:1], seed=5, scenarios=3), "old name")
        client = TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1")
        client.headers["origin"] = "http://127.0.0.1"
        client.post(f"/runs/{run}/name", data={"name": "new name"})
        client.post(f"/runs/{run}/tags", data={"add": "kept"})
        client.post("/runs/tag", data={"run": run, "tag": "second"})
        client.post(f"/runs/{run}/tags", data={"remove": "kept"})
        found = store.describe(run).run
        assert (found.name, found.tags) == ("new name", ("second",))
        assert client.post(f"/runs/{run}/name", data={"name": "@last"}).status_code == 400
        asked = client.get("/runs/delete", params={"run": run}).text
        assert "cannot be undone" in asked
        assert "There are no runs" in client.post("/runs/delete", data={"run": run}).text
        assert "Load the demo" in client.get("/runs").text


def test_errors_are_a_sentence_and_a_status(client: TestClient, ids: dict[str, str]) -> None:
    assert client.get("/runs/unknown").status_code == 404
    assert "there is no run 'unknown'" in client.get("/api/runs/unknown").json()["error"]
    unfinished = client.get(f"/runs/{ids['going on']}/report")
    assert (unfinished.status_code, "is unfinished" in unfinished.text) == (400, True)
    assert client.get("/nowhere").status_code == 404
    missing = client.get(f"/runs/{ids['nightly']}/conversation?scenario={quote('<b>')}")
    assert missing.status_code == 400
    assert "<b>" not in missing.text


def test_the_api_is_described(client: TestClient, ids: dict[str, str], store: Store) -> None:
    described = client.get("/api/openapi.json").json()
    for path in described["paths"]:
        query: dict[str, str | list[str]] = {"run": [ids["before"], ids["nightly"]]} if "{run}" not in path else {}
        if path.startswith("/api/timeline/"):
            query = {"predicted": "example", "truth": "example"}
        if path.endswith("/answers"):
            query = {"scenario": store.answers(ids["nightly"])[0]["scenario"]}
        answer = client.get(path.replace("{run}", ids["nightly"]), params=query)
        assert answer.status_code == 200, path
        schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert set(schema.get("required", ())) <= set(answer.json()), path


def test_a_line_of_evidence_has_an_address(client: TestClient, ids: dict[str, str]) -> None:
    page = client.get(f"/runs/{ids['nightly']}").text
    cell = re.findall(r'<a class="cell [a-z]+" href="([^"]+)"', page)[0].replace("&amp;", "&")
    conversation = client.get(cell).text
    lines = re.findall(r'id="(turn-1-evidence-[0-9]+)"', conversation)
    assert lines
    assert {link.removeprefix("#") for link in re.findall(r'<sup><a href="(#[^"]+)"', conversation)} <= set(lines)


def test_what_did_not_change_is_told_once_and_repetitions_are_counted(client: TestClient, ids: dict[str, str]) -> None:
    words = shown(client.get(f"/difference?run={ids['nightly']}&run={ids['nightly']}:{AGENTS[0]}").text)
    assert "With one repetition" not in words, "each scenario was played more than once"
    both = shown(client.get(f"/difference?run={ids['before']}&run={ids['nightly']}").text)
    assert "nightly: 2 runs compared" in both
    assert both.count("What changed") == 1
    paged = client.get(f"/difference?run={ids['before']}&run={ids['nightly']}&page=2").text
    assert "/difference/case" not in paged.split('id="changes"')[1].split("</section>")[0]


def test_the_predicted_recording_is_guessed_by_its_name() -> None:
    from assay.web.pages.timeline import _likely

    assert _likely(["a/game.mcap", "a/prediction.mcap"]) == (1, 0)
    assert _likely(["late.parquet", "truth.parquet"]) == (0, 1)
    assert _likely(["one"]) == (0, 0)


def test_what_has_no_history_yet_does_not_link_to_one(client: TestClient, ids: dict[str, str]) -> None:
    assert "/history" not in client.get("/runs?state=open").text
    assert "/history" not in client.get(f"/runs/{ids['going on']}").text
    assert "/history" in client.get(f"/runs/{ids['nightly']}").text


def test_a_run_of_events_that_a_program_gave_has_no_timeline(tmp_path: Path) -> None:
    from assay import events

    truth = events.synthetic.recording(episodes=2, seconds=1, seed=1)
    with open_store(tmp_path / "runs.db") as store:
        run_id = record(events.evaluate(truth, truth), store=store, name="given")
        with TestClient(make_app(Site(store), Access()), base_url="http://127.0.0.1") as client:
            page = client.get(f"/runs/{run_id}").text
            assert "Whole report" in page
            assert f"/timeline?run={run_id}" not in page
            # One run is nothing to compare.
            assert "needs two finished runs" in client.get("/difference").text


def test_a_kept_scenario_is_offered_first(client: TestClient) -> None:
    page = client.get("/runs/new?suite=robustness").text
    assert re.search(r'value="robustness" selected', page)
    assert re.search(r'value="weather" selected', client.get("/runs/new?suite=nonsense").text)
