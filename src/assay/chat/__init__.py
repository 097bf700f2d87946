"""Conversations: what was asked, what was answered, what is true, and fifteen metrics that say how well they agree.

Each name is imported when it is first touched.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.chat.agents import AGENTS, Agent, AgentKind, Limits, Reply, Setup
    from assay.chat.domains import DOMAINS, Domain, Fact, Truth
    from assay.chat.evaluator import METRIC_NAMES, ChatbotEvaluator
    from assay.chat.formats import read_transcripts
    from assay.chat.judge import Judge
    from assay.chat.running.experiment import run_suite
    from assay.chat.scoring.metric import METRICS, Entry, Evidence, Finding, Metric, Rule
    from assay.chat.scoring.record import Record
    from assay.chat.scoring.scores import Scores, score
    from assay.chat.scoring.trajectory import Trajectory
    from assay.chat.suites import Suite, load_suite
    from assay.chat.transcript import ToolCall, Transcript, Turn

_HOMES = {
    "AGENTS": "agents",
    "Agent": "agents",
    "AgentKind": "agents",
    "Limits": "agents",
    "Reply": "agents",
    "Setup": "agents",
    "METRIC_NAMES": "evaluator",
    "ChatbotEvaluator": "evaluator",
    "METRICS": "scoring.metric",
    "Entry": "scoring.metric",
    "Evidence": "scoring.metric",
    "Finding": "scoring.metric",
    "Metric": "scoring.metric",
    "Rule": "scoring.metric",
    "DOMAINS": "domains",
    "Domain": "domains",
    "Fact": "domains",
    "Truth": "domains",
    "Judge": "judge",
    "read_transcripts": "formats",
    "Record": "scoring.record",
    "Scores": "scoring.scores",
    "score": "scoring.scores",
    "Suite": "suites",
    "load_suite": "suites",
    "run_suite": "running.experiment",
    "ToolCall": "transcript",
    "Transcript": "transcript",
    "Turn": "transcript",
    "Trajectory": "scoring.trajectory",
}

__all__ = [
    "AGENTS",
    "DOMAINS",
    "METRICS",
    "METRIC_NAMES",
    "Agent",
    "AgentKind",
    "ChatbotEvaluator",
    "Domain",
    "Entry",
    "Evidence",
    "Fact",
    "Finding",
    "Judge",
    "Limits",
    "Metric",
    "Record",
    "Reply",
    "Rule",
    "Scores",
    "Setup",
    "Suite",
    "ToolCall",
    "Trajectory",
    "Transcript",
    "Truth",
    "Turn",
    "load_suite",
    "read_transcripts",
    "run_suite",
    "score",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"assay.chat.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'assay.chat' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
