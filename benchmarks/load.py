"""Frameworks under load against the same assistant without one: CPU time of a turn with fifty users at once.

CPU time and not throughput: it is the agent's own, whatever else the machine does.
"""

from __future__ import annotations

from assay.chat import AGENTS
from assay.chat.load.plan import LoadPlan
from assay.runs.load_tests import load_test
from benchmarks.frameworks import PEER
from benchmarks.measuring import Result, at_most, show

USERS = (1, 50)
# A framework that takes this many times the CPU time of a plain loop deserves a closer look.
MOST = 8.0


def main() -> None:
    chosen = {PEER: "benchmarks.frameworks:LOOP", **{name: name for name in AGENTS.names()}}
    result = load_test(chosen, plan=LoadPlan(users=USERS, leak_sessions=0))
    peer, *others = result.loads
    users = USERS[-1]
    plain = peer.typical(users, "cpu_ms") or 0.0
    rows: list[Result] = []
    for load in others:
        cpu, rate = load.typical(users, "cpu_ms") or 0.0, load.typical(users, "throughput") or 0.0
        breaches = f", {load.breach_count} BREACHES" if load.breach_count else ""
        rows.append(
            at_most(
                f"{AGENTS.get(load.agent).title}, {users} users: CPU time of a turn; {rate:.0f} turns/s{breaches}",
                f"{cpu:.1f} ms",
                f"{plain:.1f} ms",
                cpu / plain,
                MOST,
            )
        )
    show("Load", rows)


if __name__ == "__main__":
    main()
