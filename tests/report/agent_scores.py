"""Scores of several agents as a run would leave them: seeded, plausible, with faults and failures, or hostile.

Answers are written and scored by assay itself, so entries and evidence are real; only times and tokens are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.scoring.answering import answer_of
from assay.chat.scoring.answers import Answer, Record, Status
from assay.chat.scoring.metric import Entry, Metric
from assay.chat.scoring.scores import Scores
from assay.chat.transcript import ToolCall, Transcript, Turn

AGENTS = ("google-adk", "agent-framework", "openai-agents", "langgraph", "pydantic-ai")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror="document.title=\'taken\'">',
    "'; </style></title> ]]> <!-- ",
    "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "wordwithoutabreak" * 12,
    "\u2028\u2029\x00 &amp; [bold]markup[/bold]",
)
FAULTS = ("timeout", "server_error*1", "rate_limited*1", "malformed", "slow", "wrong_units", "empty_forecast")
CITIES = ("Helsinki", "Tokyo", "Cairo", "Lima", "Oslo", "Paris", "Quito", "Perth", "Accra", "Delhi")
CHARACTERISTICS: dict[str, dict[str, Any]] = {
    "google-adk": {"files": 5, "setup": "medium", "complexity": "medium", "tool_files": 2, "memory": "built-in"},
    "agent-framework": {"files": 4, "setup": "low", "complexity": "low", "tool_files": 1, "memory": "built-in"},
    "openai-agents": {"files": 3, "setup": "low", "complexity": "low", "tool_files": 1, "memory": "built-in"},
    "langgraph": {"files": 3, "setup": "medium", "complexity": "medium", "tool_files": 1, "memory": "built-in"},
    "pydantic-ai": {"files": 3, "setup": "low", "complexity": "low", "tool_files": 1, "memory": "manual"},
}


@dataclass(frozen=True)
class Experience:
    """What was measured of building with a framework, in the shape in which the page takes it."""

    agent: str
    measured: dict[str, Any]
    characteristics: dict[str, Any]
    claimed: dict[str, Any] | None
    method: dict[str, str]
    absent: dict[str, str] = field(default_factory=dict)


def experience(agents: Sequence[str] = AGENTS) -> dict[str, Experience]:
    """Of each agent; claims are known of the first two only."""
    found = {}
    for at, agent in enumerate(agents):
        known = CHARACTERISTICS[AGENTS[at % 5]] | {
            "errors": "framework",
            "logging": "basic",
            "documentation": "moderate",
        }
        found[agent] = Experience(
            agent,
            {
                "source files": 3 + at,
                "lines": 140 + 31 * at,
                "branches": 9 + at,
                "packages installed": 41 + 17 * at,
                "megabytes installed": 88.25 + 40 * at,
                "import time (s)": 0.62 + 0.4 * at,
                "fault": {"answered": at % 2 == 0, "named_in": {"log": at < 2, "stderr": at < 1}, "logs": []},
                "log of an injected fault": None if at == 4 else "WeatherError: the service does not answer in time",
            },
            known,
            dict(known) | {"files": 5, "memory": "manual"} if at < 2 else None,
            {
                "lines": "Lines of its own source that are neither blank nor comment.",
                "megabytes installed": "Files of every distribution it needs that assay itself does not.",
                "files": "Python files in the assistant's folder.",
                "memory": "Built-in where the framework's own class keeps the conversation.",
            },
        )
    return found


def scores(
    agents: Sequence[str] = AGENTS,
    *,
    scenarios: int = 70,
    repetitions: int = 3,
    seed: int = 7,
    hostile: bool = False,
) -> Scores:
    """Scores of the agents in that many scenarios; the agents differ in skill, speed and how they stand faults."""
    found: list[Answer] = []
    for number in range(scenarios):
        scenario = _Scenario(number, seed, hostile)
        for at, agent in enumerate(agents):
            for repetition in range(repetitions):
                found += scenario.played(agent, at, repetition)
    return Scores(tuple(found), _evaluator().metrics, seed)


@cache
def _evaluator() -> ChatbotEvaluator:
    return ChatbotEvaluator()


class _Scenario:
    """One scenario; everything random comes from its number, the agent and the repetition."""

    def __init__(self, number: int, seed: int, hostile: bool) -> None:
        rng = random.Random(f"{seed} {number}")
        kinds = ("current", "forecast", "advice", "context", "preferences", "ambiguity", "failure", "small talk")
        self.kind = kinds[number % len(kinds)]
        self.city = CITIES[rng.randrange(len(CITIES))]
        self.degrees = rng.randrange(-8, 31)
        self.hard = rng.random()
        self.fault = FAULTS[number // 8 % len(FAULTS)] if self.kind == "failure" else None
        self.name = f"{self.kind.replace(' ', '-')}-{self.city.casefold()}-{number:02d}"
        self.turns = 2 if self.kind in ("context", "preferences") else 1
        self.seed = seed
        self.spice = HOSTILE[number % len(HOSTILE)] if hostile else ""
        if hostile:
            self.name, self.kind = f"{self.spice} {self.name}", f"{self.kind} {self.spice}"
            self.fault = self.fault and f"{self.fault} {self.spice}"

    def played(self, agent: str, at: int, repetition: int) -> list[Answer]:
        rng = random.Random(f"{self.seed} {self.name} {at} {repetition}")
        skill = 0.97 - 0.03 * at - 0.35 * (self.hard > 0.8) * (at % 3) / 2
        answers: list[Answer] = []
        turns: list[Turn] = []
        for turn in range(self.turns):
            record = self._record(rng, at)
            ends = rng.random()
            if self.fault and ends < 0.12 * (1 + at):
                error = f"WeatherError: the service does not answer in time {self.spice}".strip()
                record = record.model_copy(update={"status": "failed", "reason": error, "first_text": None})
            elif at == 4 and self.kind.startswith("ambiguity") and self.hard > 0.7:
                record = Record(status="skipped", reason=f"the package is not installed {self.spice}", kind=self.kind)
            query = f"What is the weather in {self.city}{' tomorrow' if turn else ''}? {self.spice}".strip()
            if record.status != "scored":
                answers.append(
                    Answer(
                        agent=agent,
                        scenario=self.name,
                        repetition=repetition,
                        turn=turn,
                        query=query,
                        response="",
                        entries={},
                        passed=False,
                        record=record,
                    )
                )
                break
            said = self._said(rng, wrong=rng.random() > skill)
            turns.append(
                Turn(
                    user=query,
                    assistant=said,
                    truth={"current": {"city": self.city, "temperature": self.degrees, "condition": "light rain"}},
                    tool_calls=record.tool_calls,
                    response_time=(record.wall or 0.0) * 8,
                )
            )
            transcript = Transcript(
                agent=agent,
                scenario=self.name,
                repetition=repetition,
                turns=turns,
                preferences={"dislikes_cold": True} if self.turns > 1 else None,
                characteristics=CHARACTERISTICS[AGENTS[at % 5]]
                | {"errors": "framework", "logging": "basic", "documentation": "moderate"},
            )
            answers.append(answer_of(transcript, turn, _evaluator(), record=record))
        return answers

    def _said(self, rng: random.Random, *, wrong: bool) -> str:
        degrees = self.degrees + (rng.choice((-6, 5, 9)) if wrong else 0)
        advice = rng.choice(
            (
                "Take an umbrella, because it is going to be wet.",
                "I recommend a raincoat and boots, since the rain will last.",
                "Would you like to know about tomorrow?",
            )
        )
        return f"In {self.city} it is {degrees} °C with light rain. {advice} {self.spice}".strip()

    def _record(self, rng: random.Random, at: int) -> Record:
        model, tools = rng.lognormvariate(-3.2, 0.25), rng.lognormvariate(-4.6, 0.4) + (self.fault is not None) * 0.08
        overhead = rng.lognormvariate(-4.6 + 0.35 * at, 0.3)
        call = ToolCall(
            name="get_current_weather" + self.spice,
            arguments={"city": self.city, "note": self.spice} if self.spice else {"city": self.city},
            result={"temperature": self.degrees},
            error=f"timed out {self.spice}".strip() if self.fault and rng.random() < 0.5 else None,
            duration=tools,
        )
        calls = [call] * (1 if rng.random() < 0.9 else 2)
        tokens = (rng.randrange(700, 900) + 120 * at, rng.randrange(40, 90))
        return Record(
            kind=self.kind,
            fault=self.fault,
            tool_calls=calls,
            model_calls=len(calls) + 1,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            wall=model + tools + overhead,
            first_text=model * 0.8 + overhead,
            model=model,
            tools=tools,
            own_tool_calls=len(calls) - (at == 1 and rng.random() < 0.02),
            own_tokens=None if at == 3 else sum(tokens),
            attempts=2 if rng.random() < 0.01 else 1,
        )


def without_times(scored: Scores) -> Scores:
    """The same answers as if they had been read from a file: nothing is known of how they came about."""
    return Scores(tuple(replace(answer, record=None) for answer in scored.answers), scored.metrics, scored.seed)


METRIC = Metric("accuracy", "functional", 1.0, (), "Does it agree?")


def answer(
    agent: str,
    scenario: str,
    passed: bool = True,
    *,
    repetition: int = 0,
    turn: int = 0,
    status: Status = "scored",
    reason: str = "",
    score: float | None = 1.0,
    **record: object,
) -> Answer:
    """An answer with one score and a record of these fields."""
    entries = {}
    if status == "scored" and score is not None:
        entries["accuracy"] = Entry.make(METRIC, score, measured=True, details="", evidence=[])
    made = Record.model_validate({"status": status, "reason": reason, **record})
    return Answer(
        agent=agent,
        scenario=scenario,
        repetition=repetition,
        turn=turn,
        query="question",
        response="answer",
        entries=entries,
        passed=passed,
        record=made,
    )


def scored(*answers: Answer) -> Scores:
    """The scores of these answers."""
    return Scores(answers, (METRIC,))
