"""Baselines are played in every run, separate from the agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.command import assay_command

from assay import chat, runs
from assay.chat.agents.function import FunctionAgent
from assay.chat.agents.spec import AgentSpec
from assay.chat.baselines import baselines_of, free_names
from assay.chat.domains import DOMAINS
from assay.chat.running.environment import Environment
from assay.chat.running.experiment import Experiment
from assay.errors import RunInterruptedError
from assay.runs.results import ExperimentResult

SUITE = """name: fares
version: 1
domain: shop
scenarios:
  - id: single
    kind: product
    turns:
      - user: How much is a single ticket?
        truth: {product: single ticket, price: 5.5}
  - id: day
    kind: product
    turns:
      - user: How much is a day ticket?
        truth: {product: day ticket, price: 12}
"""
BOT = """
def answer(message):
    return "A single ticket is €5.50." if "single" in message else "A day ticket is €21.00."
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fares")
    (made / "fares.yaml").write_text(SUITE, encoding="utf-8")
    (made / "bot.py").write_text(BOT, encoding="utf-8")
    return made


def bot(message: str) -> str:
    return "A single ticket is €5.50." if "single" in message else "A day ticket is €21.00."


@pytest.fixture(scope="module")
def result(folder: Path) -> ExperimentResult:
    return chat.run(folder / "fares.yaml", {"mine": bot}, repeat=2)


def test_baselines_are_played_and_scored(result: ExperimentResult) -> None:
    assert result.baselines is not None
    assert result.baselines.agents == ["stock", "echo"]
    assert len(result.baselines.answers) == 4  # each scenario once: they answer alike each time
    by_agent = {answer.agent: answer for answer in result.baselines.answers if answer.scenario == "day"}
    assert by_agent["echo"].response == "How much is a day ticket?"
    assert by_agent["stock"].response == DOMAINS.get("shop").stock_text("en")
    assert not any(answer.passed for answer in result.baselines.answers)
    assert all(answer.record is not None and answer.record.model_calls == 0 for answer in result.baselines.answers)


def test_baselines_are_not_among_the_agents(result: ExperimentResult) -> None:
    assert result.agents == ["mine"]
    assert list(result.tallies) == ["mine"]
    assert {answer.agent for answer in result.answers} == {"mine"}
    assert {row["agent"] for row in result.rows()} == {"mine"}


def test_skill_is_in_python_and_in_json(result: ExperimentResult) -> None:
    found = result.skill()
    assert found is not None
    assert found.skill["mine"].value == 0.5  # one of two scenarios passes, and no baseline passes any
    content = result.to_json()["baselines"]
    assert content["names"] == ["stock", "echo"]
    assert content["skill"]["mine"]["value"] == 0.5
    assert len(content["answers"]) == 4


ABOUT_WEATHER = [
    "current-helsinki", "forecast-oslo-tomorrow", "advice-london-umbrella", "repeats-rome", "ambiguity-no-place",
    "failure-timeout",
]  # fmt: skip


@pytest.mark.slow
def test_a_constant_text_has_no_skill_where_nobody_knows_the_weather() -> None:
    # An agent with tools of its own is not checked against the made-up weather, and so neither are its baselines.
    stock, _ = baselines_of(DOMAINS.get("weather"), "en").values()
    found = chat.run("weather", {"mine": lambda message: stock(message)}, scenarios=ABOUT_WEATHER)
    skill = found.skill()
    assert skill is not None
    assert found.baselines is not None
    assert skill.skill["mine"].value == 0
    by_agent = {
        name: [(one.scenario, one.turn, one.status, one.passed) for one in answers if one.agent == name]
        for name, answers in (("mine", found.answers), ("stock", found.baselines.answers))
    }
    assert by_agent["stock"] == by_agent["mine"]
    assert any(passed for *_, passed in by_agent["stock"])


def test_baselines_use_what_the_agents_use() -> None:
    weather, shop = chat.load_suite("weather"), chat.load_suite("shop")
    own, bundled = FunctionAgent("mine", bot), AgentSpec(name="pydantic-ai", agent="pydantic-ai")
    adk = AgentSpec(name="ours", object="my_pkg:agent", framework="adk")
    made_up, real = Environment(), Environment(weather="openweather")
    rows: list[tuple[chat.Suite, list[AgentSpec | FunctionAgent], Environment, bool, bool]] = [
        (weather, [own], made_up, False, False),  # the suite's own weather, which nobody knows
        (weather, [own, adk], made_up, False, True),
        (weather, [own, bundled], made_up, True, True),
        (weather, [own], real, True, True),
        (shop, [own], made_up, True, True),
    ]
    for suite, agents, environment, setup, model in rows:
        used = Experiment(suite=suite, agents=tuple(agents), environment=environment).used_by_baselines
        assert (used.uses_setup, used.uses_model) == (setup, model), (suite.name, agents)


def test_they_can_be_left_out(folder: Path) -> None:
    found = chat.run(folder / "fares.yaml", {"mine": bot}, baselines=False)
    assert found.baselines is None
    assert found.skill() is None
    assert found.to_json()["baselines"] is None


def test_an_agent_keeps_its_name(folder: Path) -> None:
    found = chat.run(folder / "fares.yaml", {"echo": bot}, limit=1)
    assert found.agents == ["echo"]
    assert found.baselines is not None
    assert found.baselines.agents == ["stock", "echo-baseline"]
    assert free_names(["a", "b"], ["a", "a-baseline"]) == ["a-baseline-baseline", "b"]


@pytest.mark.slow
def test_a_stored_run_has_them_again(folder: Path) -> None:
    store = folder / "runs.db"
    words: list[Any] = ["chat", "run", "--suite", "fares.yaml", "--agents", "mine=bot:answer", "--store", store]
    more = ["--no-experience", "--name", "fares", "--junit", "out.xml", "--markdown", "out.md"]
    done = assay_command(*words, *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Skill over baselines" in done.stdout
    assert "nothing is wrong: a figure is wrong: off by 9 € (true: 12 €) (“€21.00”)" in " ".join(done.stdout.split())
    loaded = runs.load("fares", store=store)
    assert isinstance(loaded, ExperimentResult)
    assert loaded.agents == ["mine"]
    assert loaded.baselines is not None
    assert [one.agent for one in loaded.baselines.answers] == ["stock", "echo", "stock", "echo"]
    skill = loaded.skill()
    assert skill is not None
    assert skill.skill["mine"].value == 0.5
    assert [failed.words for answer in loaded.answers for failed in answer.failures] == ["€21.00"]
    # A run of one agent cannot be compared within itself, baselines or not.
    done = assay_command("compare", "fares", "--store", store, cwd=folder)
    assert "the run 'fares' has one agent, 'mine', and nothing to compare it with" in done.stderr
    for name in ("out.xml", "out.md"):
        assert assay_command("runs", "export", "fares", f"again-{name}", "--store", store, cwd=folder).returncode == 0
        assert (folder / f"again-{name}").read_text("utf-8") == (folder / name).read_text("utf-8")


@pytest.mark.slow
def test_a_run_that_was_interrupted_before_its_baselines_plays_them_when_resumed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = folder / "interrupted.db"
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))

    async def stopped(*_: object) -> None:
        import asyncio

        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr("assay.chat.running.playing.Playing._play_baselines", stopped)
        with pytest.raises(RunInterruptedError):
            chat.run("fares.yaml", ["mine=bot:answer"], store=store, name="late")
    found = chat.run(resume="late", store=store)
    assert found.baselines is not None
    assert len(found.baselines.answers) == 4
    assert len(found.answers) == 2


def test_a_domain_without_its_own_text_has_a_general_one() -> None:
    texts = {name: baselines_of(DOMAINS.get(name), "en")["stock"]("?") for name in DOMAINS.names()}
    assert all(len(text) > 100 for text in texts.values())
    assert "°C" in texts["weather"]
    assert "€" in texts["shop"]
