"""Timelines over HTTP: which recordings can be opened, by whom, and what a reader is told of a window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.report.browser import DARK, Browser
from tests.web.recordings import write_long_episode, write_recording
from tests.web.test_browser import Tab, opened
from tests.web.test_pages import shown

from assay.chat.world.serving import LoopbackServer
from assay.events import synthetic
from assay.events.align import CLOCKS
from assay.events.codecs import NAMES
from assay.events.evaluation import evaluate
from assay.events.stream import Episode, EventStream
from assay.runs.loading import record
from assay.store import open_store
from assay.store.store import Store
from assay.web.app import make_app
from assay.web.safety import Access
from assay.web.site import Site

EXAMPLE = {"predicted": "example", "truth": "example"}
HOSTILE = "<img src=x onerror=alert(1)>"
LOADED = "document.documentElement.dataset.timeline === 'done'"


def _truth() -> EventStream:
    stream = synthetic.recording(episodes=2, seconds=20.0, seed=2)
    return replace(stream, episodes=(Episode("first"), Episode(HOSTILE)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings with two episodes, one of them with a hostile name; a file and a link that must not be opened."""
    outside = tmp_path_factory.mktemp("outside")
    made = tmp_path_factory.mktemp("recordings")
    truth = _truth()
    write_recording(truth, made / "truth.parquet")
    write_recording(synthetic.prediction(truth, synthetic.LATE, seed=2), made / "late.parquet")
    write_recording(truth, outside / "secret.parquet")
    (made / "link.parquet").symlink_to(outside / "secret.parquet")
    (made / "notes.md").write_text("not a recording")
    return made


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Store]:
    """A store with one run that was made from the recordings and one from memory."""
    with open_store(tmp_path_factory.mktemp("store") / "runs.db") as store:
        paths = (str(folder / "late.parquet"), str(folder / "truth.parquet"))
        record(
            evaluate(*paths, protocols=("assay",), reps=10, settings={"tolerance_ms": 40.0}), store=store, name="late"
        )
        stream = synthetic.recording(episodes=1, seconds=5.0)
        record(evaluate(stream, stream, protocols=("assay",), reps=10), store=store, name="memory")
        yield store


@pytest.fixture(scope="module")
def reader(kept: Store, folder: Path) -> Iterator[TestClient]:
    site = Site(kept, folders=[folder])
    with TestClient(make_app(site, Access()), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture(scope="module")
def named(reader: TestClient) -> dict[str, str]:
    """What an address has to say of the two recordings."""
    listed = reader.get("/api/timeline/recordings").json()["recordings"]
    ids = {one["name"].rpartition("/")[2]: one["id"] for one in listed}
    assert set(ids) == {"late.parquet", "truth.parquet", ""}  # and the folder as a whole
    return {"predicted": ids["late.parquet"], "truth": ids["truth.parquet"]}


def ask(client: TestClient, what: str, **query: Any) -> Any:
    answer = client.get(f"/api/timeline/{what}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_recordings_of_the_folder_can_be_chosen(reader: TestClient, named: dict[str, str], folder: Path) -> None:
    page = reader.get("/timeline").text
    assert all(f'value="{one}"' in page for one in named.values())
    assert "secret" not in page
    assert "link.parquet" not in page
    assert str(folder.parent) not in page


@pytest.mark.parametrize(
    "predicted", ["/etc/passwd", "../outside/secret.parquet", "late.parquet", "0123456789abcdef", "example"]
)
def test_a_client_cannot_name_a_path(predicted: str, reader: TestClient, named: dict[str, str]) -> None:
    answer = reader.get("/api/timeline/episode", params={**named, "predicted": predicted})
    assert answer.status_code == 404
    assert "no such recording" in answer.json()["error"]


def test_a_folder_with_a_link_out_of_it_is_not_opened(reader: TestClient, named: dict[str, str]) -> None:
    listed = ask(reader, "recordings")["recordings"]
    whole = next(one["id"] for one in listed if one["name"].endswith("/"))
    answer = reader.get("/api/timeline/episode", params={"predicted": whole, "truth": named["truth"]})
    assert (answer.status_code, "leads out" in answer.text) == (400, True)


def test_the_document_of_the_api_names_every_encoding_and_clock(reader: TestClient) -> None:
    paths = reader.get("/api/openapi.json").json()["paths"]
    known = {one["name"]: one["schema"] for one in paths["/api/timeline/episode"]["get"]["parameters"]}
    assert (tuple(known["encoding"]["enum"]), tuple(known["clock"]["enum"])) == (NAMES, CLOCKS)


def test_an_episode_is_opened_by_name(reader: TestClient, named: dict[str, str]) -> None:
    assert [one["name"] for one in ask(reader, "episodes", **named)["episodes"]] == ["first", HOSTILE]
    found = ask(reader, "episode", **named, episode=HOSTILE)
    assert (found["episode"], found["lag_ms"], found["tolerance_ms"]) == (HOSTILE, 80.0, 50.0)
    page = reader.get("/timeline", params={**named, "episode": HOSTILE}).text
    assert HOSTILE not in page
    assert reader.get("/timeline", params={**named, "episode": "third"}).status_code == 404


def test_a_run_leads_to_its_recordings(reader: TestClient, kept: Store, named: dict[str, str]) -> None:
    runs = {entry.run.name: entry.run.id for entry in kept.list()}
    assert f"/timeline?run={runs['late']}" in reader.get(f"/runs/{runs['late']}").text
    found = ask(reader, "episode", run=runs["late"])
    assert (found["tolerance_ms"], found["notes"]) == (40.0, []), "with the run's own settings"
    refused = reader.get("/timeline", params={"run": runs["memory"]})
    assert refused.status_code == 404
    assert "--folder" in refused.text


def test_a_worst_moment_of_the_report_leads_to_its_window(reader: TestClient, kept: Store) -> None:
    run = next(entry.run.id for entry in kept.list() if entry.run.name == "late")
    page = reader.get(f"/runs/{run}/report").text
    link = re.findall(r'href="(/timeline[?][^"]+moment=[^"]+)"', page)[0].replace("&amp;", "&")
    [start] = re.findall(r"moment=([0-9]+)", link)
    [errors] = re.findall(rf"{int(start) // 1000}–{int(start) // 1000 + 2} s, ([0-9]+) errors", page)[:1]
    moment = shown(reader.get(link).text)
    counts = {name: int(re.findall(rf"{name} ([0-9]+) ", moment)[0]) for name in ("missed", "inserted", "substituted")}
    assert sum(counts.values()) == int(errors)


def test_a_recording_that_changed_since_the_run_is_told(reader: TestClient, kept: Store, folder: Path) -> None:
    run = next(entry.run.id for entry in kept.list() if entry.run.name == "late")
    path = folder / "late.parquet"
    before = path.read_bytes()
    try:
        write_recording(synthetic.prediction(_truth(), synthetic.GOOD, seed=9), path)
        notes = ask(reader, "episode", run=run, episode="first")["notes"]
        assert any("predicted recording has changed" in note for note in notes)
    finally:
        path.write_bytes(before)


def test_a_window_is_told_in_words_and_tables(reader: TestClient) -> None:
    page = reader.get("/timeline", params={**EXAMPLE, "from": 0, "to": 5_000_000, "shift": 80_000})
    figures = ask(reader, "window", **EXAMPLE, to=5_000_000, shift=80_000)["figures"]
    words = shown(page.text)
    assert "Figures from 0.000 s to 5.000 s" in words
    assert f"F1 {figures['f1']:.3f}" in words
    assert len(page.content) < 100_000
    part = reader.get("/timeline/window", params={**EXAMPLE, "from": 0, "to": 5_000_000, "shift": 80_000})
    assert part.text in page.text


@pytest.mark.parametrize(
    ("what", "query", "status"),
    [
        ("window", {"from": 5, "to": 5}, 404),
        ("tile", {"level": 32}, 400),
        ("tile", {"level": 31, "at": 10**12}, 404),
        ("whole", {"shift": 10**9}, 400),
        ("error", {"after": "soon"}, 400),
        ("episode", {"clock": "sun"}, 400),
        ("episode", {"clock": "frames"}, 404),  # of which the example has none
        ("episode", {"encoding": "none"}, 400),
        ("episode", {"tolerance": 0}, 400),
        ("episode", {"episode": "none"}, 404),
        ("episode", {"episode": ["a", "b"]}, 400),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    what: str, query: dict[str, Any], status: int, reader: TestClient
) -> None:
    answer = reader.get(f"/api/timeline/{what}", params={**EXAMPLE, **query})
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.browser
@pytest.mark.slow(seconds=6)
def test_a_reader_finds_the_lag_of_a_million_events(browser: Browser, kept: Store, tmp_path: Path) -> None:
    write_long_episode(tmp_path, events=1_000_000)
    site = Site(kept, folders=[tmp_path])
    ids = {one.name.rpartition("/")[2]: one.id for one in site.timelines.recordings.listed()}
    address = f"/timeline?predicted={ids['late.parquet']}&truth={ids['truth.parquet']}"
    with LoopbackServer(make_app(site, Access())) as server, opened(browser, server.url) as tab:
        tab.open(address, width=390, scheme=DARK, done=LOADED)
        assert tab.value("document.documentElement.scrollWidth") == 390
        tab.open(address, done=LOADED)
        # While the slider moves, the lanes never go blank: what was matched last stays drawn.
        assert tab.value(_DRAGGED, wait=True) == 0
        tab.wait(LOADED)
        _press(tab, "w", "w", "d", "d", "s")
        # The address follows once the keys are quiet, which a busy machine takes its time for.
        tab.wait("new URLSearchParams(location.search).get('to') - 0 < 7.2e9")
        # The slider is moved; F1 is best where the lag is.
        found = {shift: _f1_at(tab, shift) for shift in (0, 40, 80, 120)}
        assert max(found, key=lambda shift: found[shift]) == 80
        assert found[80] > 0.9 > 0.1 > found[0]
        # The next error is gone to, and the address leads there again.
        _press(tab, "e")
        tab.wait("(({searchParams: it}) => it.get('to') - it.get('from') < 5e6)(new URL(location))")
        there = tab.value("location.pathname + location.search")
        assert "shift=120000" in there
        tab.open(there, done=LOADED)
        begin, end = (tab.value(f"new URLSearchParams(location.search).get('{name}') / 1e6") for name in ("from", "to"))
        heading = tab.value("document.querySelector('[data-timeline=window] h2').textContent")
        assert heading == f"Figures from {begin:,.3f} s to {end:,.3f} s"
        # A key is searched, and the help opened, by keyboard alone.
        _press(tab, "/")
        assert tab.value("document.activeElement.dataset.timeline") == "find"
        find = "document.querySelector('[data-timeline=find]')"
        tab.value(f"{find}.value = 'w'; {find}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        main = "document.querySelector('canvas[data-timeline=main]')"
        tab.wait(f"{main}.clientHeight < 400")
        ratio = tab.value(f"{main}.height / {main}.clientHeight / devicePixelRatio")
        assert ratio == 1, "the drawing of a single key is not stretched"
        tab.value(f"{find}.value = ''; {find}.dispatchEvent(new Event('input', {{bubbles: true}}))")
        tab.value("document.activeElement.blur()")
        _press(tab, "?")
        assert tab.value("document.querySelector('[data-timeline=help]').open")
        _press(tab, "b")
        tab.wait("document.querySelector('[data-timeline=status]').textContent.startsWith('Chosen')")
        assert tab.console == []
        assert {one for one in tab.requests if not one.startswith((server.url, "data:"))} == set()


# How many of twenty frames show nothing in the lanes while the slider moves by 2 ms in each.
_DRAGGED = """(async () => {
  const [main, slider] = ["main", "shift"].map((one) => document.querySelector(`[data-timeline=${one}]`));
  const copy = document.createElement("canvas"), to = copy.getContext("2d", { willReadFrequently: true });
  copy.width = 200; copy.height = 60;
  let blank = 0;
  for (let at = 0; at < 20; at++) {
    slider.value = 2 * at; slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);
    to.clearRect(0, 0, 200, 60);
    to.drawImage(main, 120, 100, main.width - 120, main.height - 100, 0, 0, 200, 60);
    const pixels = to.getImageData(0, 0, 200, 60).data;
    let coloured = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      const [red, green, blue] = pixels.subarray(i, i + 3);
      if (Math.max(red, green, blue) - Math.min(red, green, blue) > 40) coloured++;
    }
    if (coloured < 100) blank++;
  }
  return blank;
})()"""


def _press(tab: Tab, *keys: str) -> None:
    for one in keys:
        tab.value(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{one}', bubbles: true}}))")
        tab.wait(LOADED)
    tab.wait("new URLSearchParams(location.search).has('to')")


def _f1_at(tab: Tab, shift: int) -> float:
    slider, words = (f"document.querySelector('[data-timeline={name}]')" for name in ("shift", "shift-words"))
    tab.value(f"{slider}.value = {shift}; {slider}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    tab.wait(f"{words}.textContent.startsWith('{shift} ms  ·')")
    return float(tab.value(f"{words}.textContent.split('F1 ')[1]"))


@pytest.mark.parametrize("baseline", ["idle", "repeat_last", "majority", "random"])
def test_a_baseline_in_place_of_the_prediction_has_the_f1_of_the_report(
    baseline: str, reader: TestClient, named: dict[str, str], folder: Path
) -> None:
    report = evaluate(
        str(folder / "late.parquet"), str(folder / "truth.parquet"), protocols=("assay",), reps=10, seed=42
    ).flat("assay")
    counts = [
        ask(reader, "whole", **named, episode=episode, baseline=baseline)["figures"] for episode in ("first", HOSTILE)
    ]
    matched = sum(2 * one["matched"] for one in counts)
    total = sum(one["true"] + one["predicted"] for one in counts)
    assert matched / total == pytest.approx(report[f"{baseline}_f1"])
    page = reader.get("/timeline", params={**named, "baseline": baseline}).text
    assert f'baseline={baseline}&amp;episode=first" aria-current="page"' in page
