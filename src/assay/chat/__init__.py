"""Conversations: run agents through scenarios, and score what assistants say by fifteen metrics with evidence.

run(suite, agents, …)                      run agents, score every turn, compare them; store the run if asked
score(transcripts)                         score what other systems said
calibrate(scores, labels)                  how far a judge and the metrics agree with people
read_transcripts(path)                     transcripts from JSONL, OpenAI messages or OpenTelemetry spans
ChatbotEvaluator().evaluate_response(…)    score one answer
load_suite(name)                           scenarios to run agents through

Extension points: `Agent`, `AgentKind`, `Metric`, `Domain`. Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._lazy import lazy_names

if TYPE_CHECKING:
    from assay.chat.agents import AGENTS, Agent, AgentKind, Limits, Reply, Setup
    from assay.chat.domains import DOMAINS, Domain, Fact, Truth
    from assay.chat.evaluator import METRIC_NAMES, ChatbotEvaluator
    from assay.chat.formats import read_transcripts
    from assay.chat.judge import Judge
    from assay.chat.running.sinks import Progress
    from assay.chat.running.trials import Pace
    from assay.chat.scoring.answers import Answer, Record
    from assay.chat.scoring.calibration import Calibration, Label, calibrate
    from assay.chat.scoring.metric import METRICS, Entry, Evidence, Finding, Metric, Rule
    from assay.chat.scoring.scores import Scores, score
    from assay.chat.scoring.trajectory import Trajectory
    from assay.chat.suites import Suite, load_suite
    from assay.chat.transcript import ToolCall, Transcript, Turn
    from assay.runs.starting import run

_HOMES = {
    "AGENTS": "assay.chat.agents",
    "DOMAINS": "assay.chat.domains",
    "METRICS": "assay.chat.scoring.metric",
    "METRIC_NAMES": "assay.chat.evaluator",
    "Agent": "assay.chat.agents",
    "AgentKind": "assay.chat.agents",
    "Answer": "assay.chat.scoring.answers",
    "Calibration": "assay.chat.scoring.calibration",
    "ChatbotEvaluator": "assay.chat.evaluator",
    "Domain": "assay.chat.domains",
    "Entry": "assay.chat.scoring.metric",
    "Evidence": "assay.chat.scoring.metric",
    "Fact": "assay.chat.domains",
    "Finding": "assay.chat.scoring.metric",
    "Judge": "assay.chat.judge",
    "Label": "assay.chat.scoring.calibration",
    "Limits": "assay.chat.agents",
    "Metric": "assay.chat.scoring.metric",
    "Pace": "assay.chat.running.trials",
    "Progress": "assay.chat.running.runner",
    "Record": "assay.chat.scoring.answers",
    "Reply": "assay.chat.agents",
    "Rule": "assay.chat.scoring.metric",
    "Scores": "assay.chat.scoring.scores",
    "Setup": "assay.chat.agents",
    "Suite": "assay.chat.suites",
    "ToolCall": "assay.chat.transcript",
    "Trajectory": "assay.chat.scoring.trajectory",
    "Transcript": "assay.chat.transcript",
    "Truth": "assay.chat.domains",
    "Turn": "assay.chat.transcript",
    "calibrate": "assay.chat.scoring.calibration",
    "load_suite": "assay.chat.suites",
    "read_transcripts": "assay.chat.formats",
    "run": "assay.runs.starting",
    "score": "assay.chat.scoring.scores",
}

__all__ = [
    "AGENTS",
    "DOMAINS",
    "METRICS",
    "METRIC_NAMES",
    "Agent",
    "AgentKind",
    "Answer",
    "Calibration",
    "ChatbotEvaluator",
    "Domain",
    "Entry",
    "Evidence",
    "Fact",
    "Finding",
    "Judge",
    "Label",
    "Limits",
    "Metric",
    "Pace",
    "Progress",
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
    "calibrate",
    "load_suite",
    "read_transcripts",
    "run",
    "score",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES, extras={"run": "agents"})
