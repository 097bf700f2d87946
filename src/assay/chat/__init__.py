"""Conversations: what was asked, what was answered, what is true, and fifteen metrics that say how well they agree.

Each name is imported when it is first touched.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.chat.agent import AGENTS, Agent, AgentKind, Limits, Reply, Setup
    from assay.chat.domain import DOMAINS, Domain, Fact, Truth
    from assay.chat.evaluator import METRIC_NAMES, ChatbotEvaluator
    from assay.chat.judge import Judge
    from assay.chat.metric import METRICS, Entry, Evidence, Finding, Metric, Rule
    from assay.chat.readers import read_transcripts
    from assay.chat.record import Record
    from assay.chat.scoring import Scores, score
    from assay.chat.suite import Suite, load_suite
    from assay.chat.trajectory import Call, Trajectory
    from assay.chat.transcript import ToolCall, Transcript, Turn
    from assay.chat.trial import run_suite

_HOMES = {
    "AGENTS": "agent",
    "Agent": "agent",
    "AgentKind": "agent",
    "Limits": "agent",
    "Reply": "agent",
    "Setup": "agent",
    "METRIC_NAMES": "evaluator",
    "ChatbotEvaluator": "evaluator",
    "METRICS": "metric",
    "Entry": "metric",
    "Evidence": "metric",
    "Finding": "metric",
    "Metric": "metric",
    "Rule": "metric",
    "DOMAINS": "domain",
    "Domain": "domain",
    "Fact": "domain",
    "Truth": "domain",
    "Judge": "judge",
    "read_transcripts": "readers",
    "Record": "record",
    "Scores": "scoring",
    "score": "scoring",
    "Suite": "suite",
    "load_suite": "suite",
    "run_suite": "trial",
    "ToolCall": "transcript",
    "Transcript": "transcript",
    "Turn": "transcript",
    "Call": "trajectory",
    "Trajectory": "trajectory",
}

__all__ = [
    "AGENTS",
    "DOMAINS",
    "METRICS",
    "METRIC_NAMES",
    "Agent",
    "AgentKind",
    "Call",
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
