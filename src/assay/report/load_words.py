"""What a load test says in words: the knee, isolation and leaks of each agent. Shared by terminal and page."""

from __future__ import annotations

from assay.chat.load.results import AgentLoad
from assay.plural import counted
from assay.report.numbers import number

_UNANSWERED = "– (no turn was answered)"


def memory_words(load: AgentLoad) -> str:
    """Memory of the process, idle and with the most users."""
    most = load.users[-1]
    peak = load.typical(most, "peak_mb")
    return f"{load.idle_bytes / 2**20:,.0f} MB idle, {peak or 0:,.0f} MB with {counted(most, 'user')}"


def error_words(kind: str, example: str) -> str:
    """A kind of error with an example, which may begin with the same kind."""
    return example if example.startswith(kind) else f"{kind}: {example}"


def knee_words(load: AgentLoad) -> str:
    """The number of users beyond which throughput stops growing."""
    if load.knee is not None:
        rate = load.typical(load.knee, "throughput")
        found = f"{counted(load.knee, 'user')}, at {rate:,.1f} turns/s" if rate is not None else str(load.knee)
        return f"{found}; unsure, the machine was busy" if load.knee_is_unsure else found
    if len(load.users) < 2:
        return "needs two steps"
    if len(load.answered) < 2:
        return _UNANSWERED
    return f"not reached with {counted(load.answered[-1], 'user')}"


def isolation_words(load: AgentLoad) -> str:
    """Whether a session ever saw what another session had said."""
    sessions = sum(step.sessions for step in load.steps if step.is_answered)
    if load.breach_count:
        places = sorted({str(breach["where"]) for step in load.steps for breach in step.breaches})
        return f"BROKEN: {counted(load.breach_count, 'canary', 'canaries')} in {', '.join(places)}"
    if not sessions:
        return _UNANSWERED
    asked, recalled = (sum(getattr(step, name) for step in load.steps) for name in ("asked", "recalled"))
    kept = f"kept in {counted(sessions, 'session')}"
    if not asked:
        return f"{kept}, none of which came to the question for its own words"
    return kept if recalled == asked else f"{kept}; own words recalled {recalled:,} of {asked:,} times"


def leak_words(load: AgentLoad) -> str:
    """What stays in memory after sessions are closed."""
    if load.steps and not load.answered:
        return _UNANSWERED
    if not load.closes:
        return "the agent has no end_session"
    leak = load.leak
    if leak is None or leak.value is None:
        return "not measured"
    closed = load.rounds[-1][0]
    if leak.low is None or leak.high is None:
        return f"{number(leak.value, 'kB')} kB per session"
    ends = f"{number(leak.value, 'kB')} kB per session [{number(leak.low, 'kB')}, {number(leak.high, 'kB')}]"
    return f"{ends} after {closed:,}" if leak.low > 0 else f"none shown after {closed:,}: {ends}"
