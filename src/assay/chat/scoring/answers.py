"""One answer: what was asked and said, how it scored, and what was measured while the turn was played.

This is the one form of a finished turn: the runner makes it, the store keeps its JSON, reports show it. A turn ends
scored, skipped with a reason, or failed with its error; only a scored turn has numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from assay.chat.scoring.metric import Entry, Evidence
from assay.chat.scoring.outcomes.interruptions import ConsentRecord, HangUpRecord
from assay.chat.scoring.outcomes.robustness import Breakdown, QuirkOutcome
from assay.chat.transcript import ToolCall
from assay.json_safe import json_safe

Status = Literal["scored", "skipped", "failed"]
LONG_CONVERSATION = 20
"""Turns from which on a conversation says something about growth; kept here because agents' processes need it too."""
AnswerKey = tuple[str, str, int]
"""Which conversation an answer belongs to: agent, scenario, repetition."""
AnswerPlace = tuple[str, str, int, int]
"""Which answer: agent, scenario, repetition, turn."""


class SpanLine(BaseModel):
    """One span of a turn, as reports show it. Times are milliseconds."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    name: str
    start: float
    """From the start of the turn."""
    length: float
    failed: str | None = None
    """The error, if it failed."""


class Record(BaseModel):
    """What was measured while a turn was played: how it ended, where its time went, which tools it called.

    Times are seconds.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    status: Status = "scored"
    reason: str = ""
    """Why it was skipped, or the error it failed with."""
    kind: str = ""
    """The scenario's kind: 'current', 'forecast', 'failure' and so on."""
    fault: str | None = None
    """What was made to go wrong."""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    """By the spans, in the order of their start."""
    model_calls: int = 0
    """By the spans; 0 also if there are none, see `known_model_calls`."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Input tokens that the model's provider read from its cache; None if that was not reported."""
    cost: float | None = None
    """US dollars for its tokens, by the prices of the run; None if price or tokens are unknown."""
    user_input_tokens: int | None = None
    """Tokens in that a model took to play the user; None if no model did, or if its endpoint did not report them."""
    user_output_tokens: int | None = None
    """The same, tokens out."""
    user_cost: float | None = None
    """US dollars for these, by the prices of the run; not part of `cost`, which is the agent's."""
    wall: float | None = None
    """From the message to the end of the answer."""
    first_text: float | None = None
    """From the message to the first piece of text."""
    model: float | None = None
    """Time in which at least one model call was in progress."""
    tools: float | None = None
    """Time in which at least one tool was running and no model call was in progress."""
    own_tool_calls: int | None = None
    """How many tool calls the framework itself counted; a check on the spans."""
    own_tokens: int | None = None
    """How many tokens, in and out, the framework itself counted."""
    wire_tokens: int | None = None
    """How many tokens, in and out, the model's responses themselves report; None if one does not, or is not watched."""
    wire_output_tokens: int | None = None
    """Of these, tokens out."""
    broken_streams: int = 0
    """Responses of the model whose stream ended without an end mark."""
    dropped_spans: int = 0
    """Spans that were too many to keep; anything but 0 makes calls, tokens and times a lower bound."""
    attempts: int = 1
    """How often the conversation was started; more than once if something failed that was not the agent's fault."""

    tools_offered: list[str] | None = None
    """The tools that an agent with tools of its own offered to the model; None if that was not watched."""
    not_applicable: list[str] = Field(default_factory=list)
    """Expectations of the scenario that are not checked of an agent with tools of its own, each with the reason."""
    beyond_model: bool = False
    """Whether the scripted model, which speaks about the weather, said that it cannot help with this."""
    undisturbed: str | None = None
    """The model's answer to an agent of the user's own in a turn with a quirk, before the quirk changed it."""
    structured_answer: bool = False
    """Whether it stands inside a structured output."""
    changed_answer: str | None = None
    """What was sent in its place, such as the beginning of it; None if it was sent whole."""
    memory: int | None = None
    """Resident bytes of the agent's process after the turn, in long conversations."""
    user_messages: int | None = None
    """Messages of the user in the last request to the model, in conversations whose process is killed."""
    hang_up: HangUpRecord | None = None
    """What happened after the user hung up in this turn."""
    consent: ConsentRecord | None = None
    """Whether the user's decision on a tool was kept."""
    history_flaws: list[str] | None = None
    """What is wrong with the history that the model was sent; None if it was not watched."""
    keeps_interrupted: bool | None = None
    """Whether the message of a turn in which the user hung up was in that history; None if there was none."""
    quirk: str | None = None
    """How the model, its endpoint or a tool misbehaved."""
    quirk_occurred: bool | None = None
    """Whether it did: a model that makes no call cannot misspell one. None if that was not watched."""
    meant_calls: list[ToolCall] | None = None
    """The calls that the scripted model meant to make, if the quirk altered their arguments; None if it altered none.

    An argument with the value that its tool gives it by default is left out.
    """
    outcome: QuirkOutcome | None = None
    """What came of the quirk."""
    breakdown: Breakdown | None = None
    """How a failed turn ended; None if it has an answer, or if that is not known."""
    did: list[str] = Field(default_factory=list)
    """What the framework did about the quirk, in words."""
    requests: int | None = None
    """Requests to the model on the wire; None if they were not watched."""
    spans: list[SpanLine] = Field(default_factory=list)
    """Its spans, in conversations with a quirk."""
    log: list[str] = Field(default_factory=list)
    """What the agent's process logged meanwhile, in conversations with a quirk: warnings and errors."""

    @property
    def cost_with_user(self) -> float | None:
        """US dollars for the turn, with a model that plays its user, if one does."""
        return self.cost if self.cost is None or self.user_cost is None else self.cost + self.user_cost

    @property
    def knows_tool_calls(self) -> bool:
        """Whether spans or the agent itself say which tools were called; an endpoint may report none of its calls."""
        return self.model is not None or self.own_tool_calls is not None

    @property
    def known_model_calls(self) -> int | None:
        """How often the model was called; None if there are no spans, as of an endpoint or a function."""
        return None if self.model is None and not self.model_calls else self.model_calls

    @property
    def overhead(self) -> float | None:
        """The rest of the wall time, which is the framework's own; None if the spans do not show it."""
        if self.wall is None or self.model is None or self.tools is None:
            return None
        return max(0.0, self.wall - self.model - self.tools)

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON, with the overhead that follows from them; what is not known is None."""
        return self.model_dump(mode="json") | {"overhead": self.overhead, "model_calls": self.known_model_calls}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The record that `to_json` wrote; fields that were left out have their defaults."""
        given = {name: value for name, value in data.items() if name != "overhead"}
        return cls.model_validate(given | {"model_calls": given.get("model_calls") or 0})


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that an answer does not pass."""

    check: str
    """The check: `accuracy >= 0.9`, `says "%"`, `nothing is wrong`."""
    says: str
    """Why it failed, as a sentence without a full stop."""
    words: str = ""
    """The words of the answer that failed it; empty if something is missing."""

    def __str__(self) -> str:
        quoted = f" (“{self.words}”)" if self.words and self.words not in self.says else ""
        return f"{self.check}: {self.says}{quoted}"

    def __reduce__(self) -> tuple[type[FailedCheck], tuple[str, str, str]]:
        # Pickled as a call: the way of frozen dataclasses with slots takes ten times as long.
        return FailedCheck, (self.check, self.says, self.words)

    def to_json(self) -> dict[str, str]:
        """Every field, ready for JSON."""
        return {"check": self.check, "says": self.says, "words": self.words}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer with its scores. A turn that was skipped or failed has no scores, and its record says why."""

    agent: str
    scenario: str
    repetition: int
    turn: int
    query: str
    response: str
    entries: Mapping[str, Entry]
    passed: bool
    """Whether it meets the scenario's checks, or, if it has none, the default rule."""
    failures: tuple[FailedCheck, ...] = ()
    """The checks that it does not pass; empty if it passes or was not scored."""
    record: Record | None = None
    """What was measured while the turn was played; None if the answer was read from a file."""
    truth: Any = None
    """The ground truth that it was compared with; None if there is none, or if it was stored without."""

    @property
    def key(self) -> AnswerKey:
        return self.agent, self.scenario, self.repetition

    @property
    def place(self) -> AnswerPlace:
        return self.agent, self.scenario, self.repetition, self.turn

    @property
    def status(self) -> Status:
        return "scored" if self.record is None else self.record.status

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        fields = self.to_row()
        if self.record is not None:
            fields["record"] = self.record.to_json()
        return fields

    def to_row(self) -> dict[str, Any]:
        """The same for a store: fields of the record that have their defaults are left out."""
        fields = {
            "agent": self.agent,
            "scenario": self.scenario,
            "repetition": self.repetition,
            "turn": self.turn,
            "query": self.query,
            "response": self.response,
            "passed": self.passed,
            "failures": [failed.to_json() for failed in self.failures],
            "metrics": self.entries,
        }
        if self.record is not None:
            fields["record"] = self.record.model_dump(mode="json", exclude_defaults=True)
        if self.truth is not None:
            fields["truth"] = _plain(self.truth)
        return fields

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The answer that `to_json` or `to_row` wrote."""
        record = data.get("record")
        return cls(
            agent=data["agent"],
            scenario=data["scenario"],
            repetition=data["repetition"],
            turn=data["turn"],
            query=data["query"],
            response=data["response"],
            entries={name: _entry(entry) for name, entry in data["metrics"].items()},
            passed=data["passed"],
            failures=tuple(FailedCheck(**failed) for failed in data.get("failures", ())),
            record=None if record is None else Record.from_json(record),
            truth=data.get("truth"),
        )


def ordered_answers(
    answers: Iterable[Answer], *, scenarios: Sequence[str], agents: Sequence[str], baselines: Sequence[str] = ()
) -> tuple[list[Answer], list[Answer]]:
    """Answers of agents and of baselines, in the order in which the suite lists scenarios and the experiment agents.

    They are played in random order, so this is the one order in which they are shown. Those of a scenario or an agent
    that is not listed come last.
    """
    at_scenario = {name: at for at, name in enumerate(scenarios)}
    at_agent = {name: at for at, name in enumerate((*agents, *baselines))}

    def place(one: Answer) -> tuple[int, int, int, int]:
        scenario, agent = at_scenario.get(one.scenario, len(at_scenario)), at_agent.get(one.agent, len(at_agent))
        return scenario, one.repetition, agent, one.turn

    ordered = sorted(answers, key=place)
    of_baselines = set(baselines)
    return (
        [answer for answer in ordered if answer.agent not in of_baselines],
        [answer for answer in ordered if answer.agent in of_baselines],
    )


def _plain(truth: Any) -> Any:
    """The truth as JSON has it. From Python it may have dates, and from a file NaN, which no store can keep."""
    try:
        return json.loads(json.dumps(truth, default=str, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return json_safe(truth)


def _entry(stored: Mapping[str, Any]) -> Entry:
    return Entry(dict(stored) | {"evidence": [Evidence(line) for line in stored["evidence"]]})
