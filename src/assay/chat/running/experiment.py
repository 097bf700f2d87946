"""An experiment: suite, agents, environment and settings, before it is played. Everything that decides what happens.

Two experiments with equal settings give equal transcripts and scores. `playing` plays it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.chat.agents import AGENTS
from assay.chat.agents.function import FunctionAgent
from assay.chat.agents.own import own_agents_note
from assay.chat.agents.spec import AgentSpec, parse_agents
from assay.chat.baselines import BASELINES, free_names
from assay.chat.domains._own import domain_name, own_domain_digest
from assay.chat.evaluator import ChatbotEvaluator, chosen_metrics
from assay.chat.prices import ModelPrice
from assay.chat.running.environment import SCRIPTED, Environment, Used
from assay.chat.running.models import cells_of, takes_model
from assay.chat.running.trials import Pace
from assay.chat.scoring.answers import Answer, ordered_answers
from assay.chat.scoring.metric import Metric
from assay.chat.suites import Suite, load_suite
from assay.chat.world.cities import find_city
from assay.errors import UsageError
from assay.plural import counted

if TYPE_CHECKING:
    from assay.chat.experience import Experience

MAX_SEED = 2**32 - 1
Experiences = Mapping[str, "Experience"]
"""Developer experience by agent."""
AgentChoice = Iterable[str] | Mapping[str, "str | Callable[..., Any]"]
"""Agents by name, as `--agents` takes them, or a dictionary of names to agents, which may be functions."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which part of which suite."""

    suite: str = "weather"
    """The name of a suite, or the path of a file."""
    kinds: tuple[str, ...] | None = None
    scenarios: tuple[str, ...] | None = None
    """Ids, or patterns of ids."""
    limit: int | None = None

    def load(self) -> Suite:
        return load_suite(self.suite).select(kinds=self.kinds, ids=self.scenarios, limit=self.limit)


@dataclass(frozen=True, slots=True)
class PaceOptions:
    """A pace with some settings left to the suite."""

    jobs: int | None = None
    """None for 1, or for one conversation at a time of each agent if the suite has quirks: its times do not count."""
    concurrency: int = 1
    turn_timeout: float | None = None
    """None for the suite's own, else the default."""
    cores: int | None = None
    """Cores of a cluster, all of which are used; None on one machine."""

    def for_suite(self, suite: Suite, agents: int) -> Pace:
        """The pace at which a suite is played."""
        timeout = self.turn_timeout or suite.turn_timeout or Pace().turn_timeout
        jobs = self.jobs or self.cores or (max(agents, 1) if suite.has_quirks else 1)
        concurrency = self.concurrency
        if self.cores is not None:
            concurrency = max(concurrency, jobs // max(agents, 1))
        return Pace(jobs=jobs, concurrency=concurrency, turn_timeout=timeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What is played, by which agents, and with which services."""

    suite: Suite
    agents: tuple[AgentSpec | FunctionAgent, ...]
    """Each runs in a separate process, except functions of this process, which cannot be sent to another."""
    environment: Environment = field(default_factory=Environment)
    repeat: int = 1
    """How many trials each agent has at each scenario."""
    seed: int = 42
    selection: Selection = field(default_factory=Selection)
    pace: Pace = field(default_factory=Pace)
    metrics: tuple[str | Metric, ...] | None = None
    """Metrics to score with; None for all."""
    baselines: bool = True
    """Whether the baselines are played too, each scenario once, and so that they take no time from the agents."""
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    """What tokens cost, by the name of a model; those that are unknown are left out."""
    budget: float | None = None
    """US dollars that the run may spend; None for no limit."""

    def __post_init__(self) -> None:
        if not self.agents:
            raise UsageError("no agent was named", hint=f"Name some of: {', '.join(AGENTS.names())}")
        if self.repeat < 1:
            raise UsageError(f"repeat must be at least 1, got {self.repeat}")
        if not 0 <= self.seed <= MAX_SEED:
            raise UsageError(f"seed must be between 0 and {MAX_SEED}, got {self.seed}")
        if self.budget is not None:
            self._check_budget(self.budget)

    def _check_budget(self, budget: float) -> None:
        if not 0 < budget < float("inf"):
            raise UsageError(f"a budget must be above 0, got {budget:g}", hint="Give US dollars, such as 2.50")
        user = self.environment.user_model
        if user is not None and user not in self.prices:
            raise UsageError(
                f"no price is known for the model '{user}' that plays the users",
                hint="State it in a file of agents, under prices, or leave --budget out",
            )
        for agent in self.agent_names:
            if agent not in self.agent_prices:
                model = self.models.get(agent)
                if model == SCRIPTED:
                    raise UsageError(
                        "the scripted model costs nothing, so there is nothing to limit",
                        hint=f"Name a real model with --model, state a price for {SCRIPTED}, or leave --budget out",
                    )
                raise UsageError(
                    f"the cost of '{agent}' is not known: "
                    + ("it does not name its model" if model is None else f"no price is known for the model '{model}'"),
                    hint="State prices and models in a file of agents, or leave --budget out",
                )

    def check_playable(self) -> None:
        """Raise UsageError if no agent can play any scenario, as far as that is known before agents are built.

        What a function at `module:function` uses is known once its module is imported.
        """
        self._check_cities()
        reasons: Counter[str] = Counter()
        for agent in self.agents:
            if isinstance(agent, AgentSpec) and agent.function is not None:
                return
            kind = agent.kind()
            for scenario in self.suite.scenarios:
                reason = self.environment.unplayable(Used.by(kind), scenario)
                if reason is None:
                    return
                reasons[reason] += 1
        first, *others = (reason for reason, _ in reasons.most_common())
        more = f", and {counted(len(others), 'other reason')}" if others else ""
        agents = ", ".join(self.agent_names)
        raise UsageError(
            f"nothing can be played: no scenario of '{self.suite.name}' is for {agents}, because {first}{more}",
            hint="Choose another suite, or agents that come with assay: assay chat agents lists them",
        )

    def _check_cities(self) -> None:
        """Raise UsageError if the embedded weather does not have a city that answers are compared with."""
        if not self.environment.is_made_up or len(self._unchecked) == len(self.agents):
            return
        for scenario in self.suite.scenarios:
            for turn in scenario.turns:
                if turn.weather is not None and find_city(turn.weather.city) is None:
                    raise UsageError(
                        f"the embedded weather has no city called '{turn.weather.city:.60}', "
                        f"which the scenario '{scenario.id}' needs",
                        hint="Name another city, write a truth in its place, or use --weather openweather",
                    )

    @property
    def models(self) -> dict[str, str]:
        """The model that each agent calls, as far as that is known."""
        usual = self.environment.model or SCRIPTED
        named = {agent.name: agent.model for agent in self.agents if isinstance(agent, AgentSpec)}
        return {
            agent.name: model
            for agent in self.agents
            if (model := named.get(agent.name) or (usual if takes_model(agent) else None)) is not None
        }

    @property
    def agent_prices(self) -> dict[str, ModelPrice]:
        """The price of each agent's model, as far as that is known."""
        return {agent: self.prices[model] for agent, model in self.models.items() if model in self.prices}

    @property
    def turns(self) -> dict[str, int]:
        """How many turns each scenario has."""
        return {scenario.id: len(scenario.turns) for scenario in self.suite.scenarios}

    @property
    def trials(self) -> int:
        """How many conversations there are: agents × scenarios × repetitions."""
        return len(self.agents) * len(self.suite.scenarios) * self.repeat

    @property
    def agent_names(self) -> list[str]:
        return [agent.name for agent in self.agents]

    @property
    def baseline_names(self) -> list[str]:
        """Names of the baselines in results; empty if they are not played."""
        return free_names(BASELINES, self.agent_names) if self.baselines else []

    @property
    def used_by_baselines(self) -> Used:
        """The services that baselines count as using: those of the agents that they are compared with.

        No agent with tools of its own knows the made-up weather, so none is checked against it. If all are such agents,
        a baseline that was checked would make any text look skilled.
        """
        if len(self._unchecked) < len(self.agents):
            return Used(uses_setup=True, uses_model=True)
        return Used(uses_setup=False, uses_model=any(Used.by(agent.kind()).uses_model for agent in self.agents))

    @property
    def _unchecked(self) -> list[str]:
        """Agents with tools of their own, which are not checked against the made-up weather that the suite is about."""
        if not self.environment.is_made_up or not self.suite.has_made_up_truth:
            return []
        return [agent.name for agent in self.agents if not Used.by(agent.kind()).uses_setup]

    @property
    def notes(self) -> list[str]:
        """What readers need to know before the numbers."""
        objects = {
            agent.name: agent.framework
            for agent in self.agents
            if isinstance(agent, AgentSpec) and agent.framework is not None
        }
        own = [own_agents_note(objects)] if objects else []
        own += [note for agent in self.agents if (note := _version_note(agent)) is not None]
        if self._unchecked:
            own.append(_unchecked_note(self._unchecked))
        own += self._price_notes()
        common = self._service_notes()
        models = list(dict.fromkeys(cell.model for cell in cells_of(self.agents).values()))
        if models:  # in place of the one model
            each = f"The models are {', '.join(models)}, at {self.environment.model_url}: agents are played with each."
            common = [each, *common[1:]]
        if self.pace.jobs == 1:
            return [*common, *own]
        parallel = (
            f"Up to {self.pace.jobs} conversations ran at a time, so every agent's times are longer than in a run with "
            "one at a time."
        )
        return [*common, *own, parallel]

    def _service_notes(self) -> list[str]:
        """What the model and the weather are, as far as any agent or truth depends on them."""
        notes = self.environment.notes
        if not self.suite.is_about_weather:
            notes = [note for note in notes if note != self.environment.weather_note]
        own = [agent for agent in self.agents if not isinstance(agent, AgentSpec) or agent.function or agent.http]
        if len(own) < len(self.agents):
            return notes
        return notes[1:] if self.suite.has_made_up_truth else []

    def _price_notes(self) -> list[str]:
        """Where costs come from, if any are known."""
        notes = []
        used = dict.fromkeys(self.models.values())
        known = [f"{model} {self.prices[model].words()}" for model in used if model in self.prices]
        if known:
            missing = [model for model in used if model not in self.prices and model != SCRIPTED]
            without = f" No price is known for {', '.join(missing)}." if missing else ""
            notes.append(f"Costs are by tokens: {'; '.join(known)}.{without}")
        return notes

    @property
    def chosen_metrics(self) -> tuple[Metric, ...]:
        """The metrics that score the turns."""
        return chosen_metrics(self.metrics)

    def evaluator(self) -> ChatbotEvaluator:
        """What scores the turns."""
        suite = self.suite
        return ChatbotEvaluator(domain=suite.domain, language=suite.language, names=suite.names, metrics=self.metrics)

    def to_json(self) -> dict[str, Any]:
        """What a stored run keeps, from which the experiment can be resumed."""
        chosen = self.selection
        specs = [agent for agent in self.agents if isinstance(agent, AgentSpec)]
        if len(specs) < len(self.agents):
            raise UsageError(
                "a run with a function of this process cannot be stored and resumed",
                hint="Name the function as module:function, or run without a store",
            )
        return {
            "suite": {
                "name": self.suite.name,
                "version": self.suite.version,
                "digest": self.suite.digest,
                "source": chosen.suite,
                "kinds": None if chosen.kinds is None else list(chosen.kinds),
                "chosen": None if chosen.scenarios is None else list(chosen.scenarios),
                "limit": chosen.limit,
                "scenarios": [scenario.id for scenario in self.suite.scenarios],
                **_own_domain(self.suite.domain),
            },
            "agents": [spec.to_json() for spec in specs],
            "environment": self.environment.to_json(),
            "repeat": self.repeat,
            "pace": asdict(self.pace),
            "baselines": self.baseline_names,
            "prices": {model: price.model_dump() for model, price in self.prices.items()},
            "budget": self.budget,
        }

    @classmethod
    def from_json(
        cls,
        settings: Mapping[str, Any],
        *,
        seed: int,
        metrics: Sequence[str] | None = None,
        domain: str | Path | None = None,
    ) -> Experiment:
        """The experiment of a stored run; raises UsageError if its suite or its own domain has changed since then."""
        stored = settings["suite"]
        selection = Selection(stored["source"], _tuple(stored["kinds"]), _tuple(stored["chosen"]), stored["limit"])
        _check_domain(stored, None if domain is None else domain_name(domain))
        suite = selection.load()
        if suite.digest != stored["digest"]:
            raise UsageError(
                f"the suite '{stored['source']}' has changed since the run was started",
                hint="Restore the suite as it was, or start another run",
            )
        return cls(
            suite=suite,
            agents=tuple(AgentSpec.from_json(spec) for spec in settings["agents"]),
            environment=Environment.from_json(settings["environment"]),
            repeat=settings["repeat"],
            seed=seed,
            selection=selection,
            pace=Pace(**settings["pace"]),
            metrics=None if metrics is None else tuple(metrics),
            baselines=bool(settings.get("baselines")),
            prices={model: ModelPrice.model_validate(price) for model, price in settings.get("prices", {}).items()},
            budget=settings.get("budget"),
        )

    def in_order(self, answers: Iterable[Answer]) -> tuple[list[Answer], list[Answer]]:
        """Answers of agents and of baselines, in the order of the suite, whatever order they were played in."""
        scenarios = [scenario.id for scenario in self.suite.scenarios]
        return ordered_answers(answers, scenarios=scenarios, agents=self.agent_names, baselines=self.baseline_names)


def _unchecked_note(agents: Sequence[str]) -> str:
    """The note on agents whose answers about the weather may be false without failing a trial."""
    each = "have tools of their own and" if len(agents) > 1 else "has tools of its own and"
    return (
        f"{', '.join(agents)} {each} cannot know this weather, so whether an answer about it is true is not checked: "
        "even a constant text passes many trials, and the share of trials passed says little. To check answers, use "
        "--weather openweather, or a suite that states its truths."
    )


def _own_domain(name: str) -> dict[str, str]:
    """What is stored of a domain of the user's own: not its path, which another machine need not have."""
    digest = own_domain_digest(name)
    return {} if digest is None else {"domain": name, "domain_digest": digest}


def _check_domain(stored: Mapping[str, Any], given: str | None) -> None:
    """Raises UsageError unless a run with a domain of the user's own was given the same one again, and only that."""
    name = stored.get("domain")
    if given is not None and given != name:
        about = "an installed domain" if name is None else f"'{name}'"
        raise UsageError(
            f"the run is about {about}, and the domain that was given is '{given}'",
            hint="Leave --domain out" if name is None else f"Give the folder of '{name}'",
        )
    if name is None:
        return
    digest = own_domain_digest(name)
    if digest is None:
        raise UsageError(
            f"the run is about '{name}', a domain that was given as a folder",
            hint=f"Give its folder again, with --domain ./{name}",
        )
    if digest != stored["domain_digest"]:
        raise UsageError(
            f"the domain '{name}' has changed since the run was started",
            hint="Restore its folder as it was, or start another run",
        )


def _version_note(agent: AgentSpec | FunctionAgent) -> str | None:
    if isinstance(agent, FunctionAgent) or agent.version is None:
        return None
    from assay.chat.running.versions import version_note

    return version_note(agent)


def agents_of(agents: AgentChoice) -> tuple[AgentSpec | FunctionAgent, ...]:
    """Agents from names, or from a dictionary of names to agents."""
    if isinstance(agents, str):
        return tuple(parse_agents(agents))
    if not isinstance(agents, Mapping):
        return tuple(parse_agents(",".join(agents)))
    return tuple(
        parse_agents(f"{name}={agent}")[0] if isinstance(agent, str) else FunctionAgent(name, agent)
        for name, agent in agents.items()
    )


def suite_of(suite: str | Path | Suite, domain: str | Path | None = None) -> tuple[Suite, Selection]:
    """A suite by name, by path or already loaded, and where it came from. A domain that is given is the suite's."""
    name = None if domain is None else domain_name(domain)
    if isinstance(suite, Suite):
        loaded, selection = suite, Selection(suite.name)
    else:
        loaded, selection = load_suite(suite), Selection(str(suite))
    if name is not None and name != loaded.domain:
        raise UsageError(
            f"the suite '{loaded.name}' is about '{loaded.domain}', and the domain that was given is '{name}'",
            hint=f"Write domain: {name} in the suite, or leave --domain out",
        )
    return loaded, selection


def _tuple(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)
