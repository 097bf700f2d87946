"""Plans experiments: from names, files and options to everything that decides what is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.chat.agents.function import FunctionAgent
from assay.chat.agents.spec import AgentSpec, stated_prices
from assay.chat.prices import ModelPrice, prices_of
from assay.chat.running.environment import SCRIPTED, Environment
from assay.chat.running.experiment import AgentChoice, Experiment, PaceOptions, agents_of, suite_of
from assay.chat.running.models import ModelChoice, chosen_models, crossed
from assay.chat.running.trials import Pace
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.chat.scoring.metric import Metric
    from assay.chat.suites import Suite

PriceChoice = Mapping[str, "ModelPrice | Mapping[str, float]"]
"""Prices by the name of a model: `{"a": {"input": 0.25, "output": 2.0}}`."""


def plan_experiment(
    suite: str | Path | Suite = "weather",
    agents: AgentChoice = (),
    *,
    repeat: int = 1,
    seed: int = 42,
    model: ModelChoice = None,
    model_url: str | None = None,
    weather: str = "embedded",
    skill: str = "1",
    model_speed: float | None = None,
    metrics: Sequence[str | Metric] | None = None,
    kinds: Sequence[str] | None = None,
    scenarios: Sequence[str] | None = None,
    limit: int | None = None,
    pace: Pace | PaceOptions | None = None,
    baselines: bool = True,
    prices: PriceChoice | None = None,
    budget: float | None = None,
    user_model: str | None = None,
    user_model_url: str | None = None,
    domain: str | Path | None = None,
) -> Experiment:
    """The experiment that `run` would play; the arguments are the same.

    Example:
        >>> plan_experiment("weather", ["google-adk", "langgraph"], limit=5, repeat=2).trials
        20

    """
    loaded, selection = suite_of(suite, domain)
    selection = replace(
        selection,
        kinds=None if kinds is None else tuple(kinds),
        scenarios=None if scenarios is None else tuple(scenarios),
        limit=limit,
    )
    models = chosen_models(model)
    chosen = loaded.select(kinds=selection.kinds, ids=selection.scenarios, limit=limit)
    specs = crossed(agents_of(agents), models)
    pace = pace if isinstance(pace, Pace) else (pace or PaceOptions()).for_suite(chosen, len(specs))
    environment = Environment.chosen(
        seed=seed,
        skill=skill,
        model_speed=model_speed,
        model=models[0] if models else None,
        model_url=model_url,
        weather=weather,
        user_model=user_model,
        user_model_url=user_model_url,
    )
    if user_model is not None and all(scenario.persona is None for scenario in chosen.scenarios):
        raise UsageError(
            "--user-model plays simulated users, and no chosen scenario has one",
            hint="Use a suite with personas, such as personas or shop, or leave it out",
        )
    _check_models(specs, environment)
    if chosen.turn_timeout is not None:
        # A call that never ends must be timed out within the turn, and so must its retry.
        third = pace.turn_timeout / 3
        limits = replace(environment.limits, model_timeout=third, tool_timeout=third)
        environment = replace(environment, limits=limits)
    stated = {**(stated_prices(agents) if isinstance(agents, str) else {}), **_stated(prices or {})}
    named = [one.model for one in specs if isinstance(one, AgentSpec) and one.model]
    # The price list, which takes a while to load, does not have the scripted model.
    usual = [environment.model or SCRIPTED] if environment.model or SCRIPTED in stated else []
    called = [*usual, *named]
    return Experiment(
        suite=chosen,
        agents=specs,
        environment=environment,
        prices=prices_of(called, stated, url=environment.model_url if environment.model else "")
        | prices_of([user_model] if user_model else [], stated, url=environment.user_model_url),
        budget=budget,
        repeat=repeat,
        seed=seed,
        selection=selection,
        pace=pace,
        metrics=None if metrics is None else tuple(metrics),
        # Quirks cannot reach the baselines, which call neither model nor tools.
        baselines=baselines and chosen.is_about_quality,
    )


def _check_models(agents: Iterable[AgentSpec | FunctionAgent], environment: Environment) -> None:
    """A model that an agent names is called at the address of the run's model, so the run has to have one."""
    for agent in agents:
        if not isinstance(agent, AgentSpec) or agent.model is None or environment.model is not None:
            continue
        if agent.agent is not None or agent.object is not None:
            raise UsageError(
                f"'{agent.name}' names the model '{agent.model}', but the run uses the scripted model",
                hint="Give --model with the model of all other agents",
            )


def _stated(prices: PriceChoice) -> dict[str, ModelPrice]:
    """Prices that Python code states; raises UsageError."""
    from pydantic import ValidationError

    found = {}
    for model, price in prices.items():
        try:
            found[model] = price if isinstance(price, ModelPrice) else ModelPrice.model_validate(dict(price))
        except ValidationError as error:
            first = error.errors()[0]
            part = ".".join(map(str, first["loc"]))
            raise UsageError(
                f"the price of the model '{model}' is wrong: {part}: {first['msg']}",
                hint="Write input, output and, if it differs, cached, in US dollars for a million tokens",
            ) from None
    return found
