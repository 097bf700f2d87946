"""The page of agents in a real browser: the script computes what Python does, and nothing breaks on a phone."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.report.agent_pages import write
from tests.report.agent_scores import AGENTS, HOSTILE, experience, scores
from tests.report.browser import CHARTS, DARK, Browser, Page

from assay.chat.scoring.scores import Scores
from assay.compare.overall import Overall, overall
from assay.compare.standing import CriterionMeans, group_ranges, ranges, standing
from assay.compare.weights import DEFAULT_WEIGHTS, PRESETS, Weights
from assay.report.html.agents.standing import range_words, sentence
from assay.report.overall import fixed, lead_words

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=5)]

HOSTILE_AGENTS = tuple(f"{text} {agent}" for text, agent in zip(HOSTILE, AGENTS, strict=False))

# Does the steps one after the other, and after each notes what the page says.
_TRY = """((steps) => {
  const said = (selector) => [...document.querySelectorAll(selector)].map((one) => one.textContent);
  const look = () => ({
    sentence: document.querySelector('[data-overall="sentence"]').textContent,
    made: document.querySelector('[data-overall="made"]').textContent,
    order: [...document.querySelectorAll("[data-agent]")].map((row) => Number(row.dataset.agent)),
    values: said("[data-agent] .value"),
    ranks: said("[data-agent] .rank"),
    ends: said("[data-agent] .ends"),
    chance: document.querySelector('[data-overall="chance"]').textContent,
    criteria: said(".weight.criterion small"),
    groups: Object.fromEntries(
      [...document.querySelectorAll(".weight.group")].map(
        (row) => [row.dataset.group, row.lastElementChild.textContent]
      )
    ),
    weights: said(".weight.criterion output"),
    stale: document.querySelector("#overall").classList.contains("stale"),
    note: [...document.querySelectorAll(".stale-note")].some((note) => !note.hidden),
    pressed: [...document.querySelectorAll("[aria-pressed=true]")].map((one) => one.textContent),
    disabled: document.querySelectorAll("input:disabled, .presets button:disabled").length,
  });
  const seen = [look()];
  for (const step of steps) {
    if (step.press) document.querySelector(step.press).click();
    for (const [selector, value] of Object.entries(step.set ?? {})) {
      const input = document.querySelector(`${selector} input`);
      input.value = value;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }
    seen.push(look());
  }
  return seen;
})"""


def tried(page: Page, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the page says at first and after each step; the console must stay silent."""
    page.wait("document.documentElement.dataset.overall === 'done'")
    seen: list[dict[str, Any]] = page.value(f"{_TRY}({json.dumps(steps)})")
    assert page.console == []
    return seen


def expected(means: CriterionMeans, weights: Weights) -> dict[str, Any]:
    """What Python says at these weights."""
    now = standing(means, weights)
    order = now.order or means.agents
    own, of_groups = ranges(means, weights), group_ranges(means, weights)
    places = {criterion.name: range_words(own.get(criterion.name)) for criterion in means.criteria}
    shared = [group for group in means.groups if sum(one.group == group for one in means.criteria) > 1]
    # The page lists criteria by their groups.
    listed = [one.name for group in means.groups for one in means.criteria if one.group == group]
    return {
        "sentence": text(sentence(now)),
        "made": lead_words(means, weights, now),
        "order": [means.agents.index(agent) for agent in order],
        "values": [fixed(now.values[agent], 3) if now.values else "–" for agent in order],
        "ranks": [str(rank) if now.values else "–" for rank in range(1, len(order) + 1)],
        "criteria": [text(places[name]) for name in listed],
        "groups": {str(means.groups.index(group)): text(range_words(of_groups.get(group))) for group in shared},
        "weights": [f"{weights.criteria.get(name, 1.0):g}" for name in listed],
    }


def text(markup: str) -> str:
    return html.unescape(re.sub(r"</?bdi>", "", markup))


def moves(found: Overall) -> list[tuple[dict[str, Any], Weights]]:
    """Steps on the page, with the weights that they lead to."""
    means = found.means
    at = {criterion.name: place for place, criterion in enumerate(means.criteria)}
    names = ("implementation_effort", "accuracy", "trials_passed")
    effort, accuracy, passed = (f'[data-criterion="{at[name]}"]' for name in names)
    kept = PRESETS["nothing may go wrong"].groups
    building = f'[data-group="{means.groups.index("developer experience")}"]'
    moved = {"implementation_effort": 0, "accuracy": 4.75}
    nothing = {f'[data-criterion="{place}"]': 0 for place in at.values()}
    return [
        ({"set": {effort: 0}}, Weights(dict(DEFAULT_WEIGHTS.criteria) | {"implementation_effort": 0})),
        ({"set": {accuracy: 4.75}}, Weights(dict(DEFAULT_WEIGHTS.criteria) | moved)),
        ({"set": {building: 0.25}}, Weights(dict(DEFAULT_WEIGHTS.criteria) | moved, {"developer experience": 0.25})),
        ({"press": "[data-reset]"}, DEFAULT_WEIGHTS),
        *(({"press": f'[data-preset="{name}"]'}, weights) for name, weights in PRESETS.items()),
        ({"set": nothing}, Weights(dict.fromkeys(at, 0.0), kept)),
        ({"set": {passed: 5}}, Weights(dict.fromkeys(at, 0.0) | {"trials_passed": 5}, kept)),
    ]


@pytest.fixture(scope="module")
def plausible() -> Scores:
    return scores(scenarios=16, repetitions=2)


@pytest.fixture(scope="module")
def linked(plausible: Scores, tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Page]:
    """The page, opened by a link to one of its scenarios."""
    path = write(plausible, tmp_path_factory.mktemp("page") / "page.html")
    with browser.page(f"{path.as_uri()}#s3-a2", done=CHARTS) as page:
        yield page


def test_a_link_opens_its_target(linked: Page) -> None:
    assert linked.value("document.getElementById('s3-a2').closest('details').open") is True
    assert linked.value("document.querySelectorAll('details.scenario[open]').length") == 1
    assert linked.console == []


def test_the_script_computes_what_python_does(plausible: Scores, linked: Page) -> None:
    found = overall(plausible)
    steps = moves(found)
    seen = tried(linked, [step for step, _ in steps])
    wanted = [DEFAULT_WEIGHTS, *(weights for _, weights in steps)]
    for saw, weights in zip(seen, wanted, strict=True):
        for field, value in expected(found.means, weights).items():
            assert saw[field] == value, (field, weights)
        assert saw["disabled"] == 0
    # The moves change the winner; otherwise this would say little.
    assert len({saw["order"][0] for saw in seen}) > 1
    assert len({saw["sentence"] for saw in seen}) >= 6
    # Intervals follow the presets; for weights of one's own they are those at first, and say so.
    assert [saw["stale"] for saw in seen] == [saw["note"] for saw in seen]
    known = (DEFAULT_WEIGHTS, *PRESETS.values())
    assert [saw["stale"] for saw in seen] == [weights not in known for weights in wanted]
    pressed = [(saw, weights) for saw, weights in zip(seen, wanted, strict=True) if weights in known]
    assert len(pressed) > 2
    for saw, weights in pressed:
        told = overall(plausible, weights)
        values = [told.uncertainty.values[told.means.agents[at]] for at in saw["order"]]
        assert saw["ends"] == [f"[{one.low:.3f}, {one.high:.3f}]" for one in values]
        lead = told.uncertainty.by_scenarios
        assert lead is not None
        assert f"{abs(lead.low or 0):.3f}" in saw["chance"]
    assert seen[0]["pressed"] == ["outcome as a group"]
    assert seen[1]["pressed"] == []


def test_a_tie_is_one_in_the_script_too(plausible: Scores, tmp_path: Path, browser: Browser) -> None:
    alike = [answer for answer in plausible.answers if answer.agent == "google-adk"]
    twins = (*alike, *(replace(answer, agent="twin") for answer in alike))
    given = Scores(twins, plausible.metrics, plausible.seed)
    found = overall(given)
    assert found.standing.winners == ("google-adk", "twin")
    with browser.page(write(given, tmp_path / "page.html").as_uri()) as page:
        seen = tried(page, [{"set": {'[data-criterion="1"]': 3}}])
    weights = Weights(dict(DEFAULT_WEIGHTS.criteria) | {found.means.criteria[1].name: 3})
    for saw, set_ in zip(seen, (DEFAULT_WEIGHTS, weights), strict=True):
        for field, value in expected(found.means, set_).items():
            assert saw[field] == value, field
    assert "tie for first" in seen[1]["sentence"]


def test_hostile_text_runs_nowhere_and_fits_a_phone(tmp_path: Path, browser: Browser) -> None:
    given = scores(HOSTILE_AGENTS, scenarios=12, repetitions=2, hostile=True)
    page = write(given, tmp_path / "page.html", experience=experience(HOSTILE_AGENTS), notes=HOSTILE, suite=HOSTILE[4])
    with browser.page(page.as_uri(), scheme=DARK, done=CHARTS) as opened:
        dom = opened.dom
        opened.resize(390)
        seen = tried(opened, [{"set": {'[data-criterion="9"]': 0}}])
        opened.wait("document.documentElement.scrollWidth === 390")
        assert opened.console == []
    means = overall(given).means
    assert (
        seen[1]["sentence"]
        == expected(means, Weights(dict(DEFAULT_WEIGHTS.criteria) | {means.criteria[9].name: 0}))["sentence"]
    )
    assert "<title>5 agents side by side</title>" in dom
    assert re.search(r'<html[^>]* data-charts="done"', dom)
    assert "data-error" not in re.sub(r"<script\b.*?</script>", "", dom, flags=re.DOTALL)


# Types words into the field as a reader would, and waits for what is found.
_SEARCH = """(() => {
  const field = document.querySelector("[data-finder] input");
  if (field.value !== "helsinki") {
    field.value = "helsinki";
    field.dispatchEvent(new Event("input"));
  }
  return document.querySelector("[data-finder] output").textContent.includes(" of ");
})()"""


def test_all_answers_can_be_reached_and_searched(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.report.html.agents.answers.MOST_ANSWERS", 5)
    played = scores(scenarios=6, repetitions=2)
    path = write(played, tmp_path / "page.html")
    assert path.read_text("utf-8").count('<p class="place">') <= 5
    dom, said = browser.opened(path, done=_SEARCH)
    assert not said
    assert dom.count('<p class="place">') == len(played.answers)
    assert "data-part" not in dom.partition("<script")[0]
    about = {
        one.scenario for one in played.answers if "helsinki" in f"{one.scenario} {one.query} {one.response}".lower()
    }
    assert 0 < len(about) < 6
    hidden = re.findall(r'<details class="answer scenario"[^>]*hidden=""[^>]*><summary><bdi>([^<]+)', dom)
    assert set(hidden) == {one.scenario for one in played.answers} - about
