"""What a load test says in words: the knee, isolation and leaks of each agent. Shared by terminal and page."""

from __future__ import annotations

from assay.chat.load.results import AgentLoad
from assay.plural import counted
from assay.report.numbers import number


def knee_words(load: AgentLoad) -> str:
    """The number of users beyond which throughput stops growing."""
    if load.knee is not None:
        rate = load.typical(load.knee, "throughput")
        return f"{counted(load.knee, 'user')}, at {rate:.1f} turns/s" if rate is not None else str(load.knee)
    if len(load.users) < 2:
        return "needs two steps"
    return f"not reached with {load.users[-1]:,} users"


def isolation_words(load: AgentLoad) -> str:
    """Whether a session ever saw what another session had said."""
    sessions = sum(step.sessions for step in load.steps)
    if load.breach_count:
        places = sorted({str(breach["where"]) for step in load.steps for breach in step.breaches})
        return f"BROKEN: {counted(load.breach_count, 'canary', 'canaries')} in {', '.join(places)}"
    asked, recalled = (sum(getattr(step, name) for step in load.steps) for name in ("asked", "recalled"))
    kept = f"kept in {counted(sessions, 'session')}"
    return kept if recalled == asked else f"{kept}; own words recalled {recalled:,} of {asked:,} times"


def leak_words(load: AgentLoad) -> str:
    """What stays in memory after sessions are closed."""
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
