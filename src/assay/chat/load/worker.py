"""The agent under load, in a separate process: `python -m assay.chat.load.worker`, which reads and writes JSON lines.

The first line says what to build and what to play. Then it warms up, looks for what stays in memory after sessions
are closed, plays the steps, reports each, and ends. Every conversation of a step is a task of one event loop, as in a
server that is written with the framework.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from assay.chat.agents import Reply, Setup
from assay.chat.load.canaries import RECALL, Canaries, canaries_in
from assay.chat.load.meters import PeakMemory, StallMeter, settled_bytes
from assay.chat.load.plan import LoadPlan, PlannedStep
from assay.chat.load.results import EMPTY_ANSWER
from assay.chat.running.hosts.worker import OpenAgent, Tell, refusal_of
from assay.chat.running.processes.pipe import connect, end_with_parent
from assay.chat.running.reception import describe_error
from assay.chat.world.situation import Situation
from assay.redaction import hide

if TYPE_CHECKING:
    from assay.chat.formats.otel import TurnTrace
    from assay.chat.running.tracing import TurnSpans

# Sessions before anything is measured: they open connections, fill caches, and import what a framework imports late.
_WARM_UP = 5
_LEAK_ROUNDS = 8
_LEAK_TURNS = 2
_LEAK_USERS = 10
_MOST_BREACHES = 100
_SECONDS_BETWEEN_REPORTS = 1.0


async def _serve(lines: asyncio.StreamReader, tell: Tell) -> None:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.running.tracing import Tracing

    # Before any framework is imported, here or in the user's own module: most use the provider that is set by then.
    tracing = Tracing()
    first = json.loads(await lines.readline())
    try:
        kind = AgentSpec.from_json(first["agent"]).loaded()
        setup = Setup.from_json(first["setup"])
        hide(setup.model_key, setup.weather_key)
        opened = OpenAgent(kind, _without_cache(setup), tracing)
        await opened.__aenter__()
    except Exception as error:
        tell(refusal_of(error))
        return
    plan = LoadPlan.from_json(first["plan"])
    try:
        warm = await _Step(opened, plan, PlannedStep(1, -1, _WARM_UP), tell).play()
        if not _is_answered(warm):
            tell({"refused": _unanswered(warm)})
            return
        tell({"ready": True, "closes": hasattr(opened.agent, "end_session"), "rss": settled_bytes()})
        # Before the steps: memory that a large step has freed would keep falling and hide what stays.
        if plan.leak_sessions and hasattr(opened.agent, "end_session"):
            tell({"leaks": await _leaks(opened, plan, tell)})
        for step in plan.steps():
            tell({"begins": {"users": step.users, "repetition": step.repetition}})
            tell({"step": await _Step(opened, plan, step, tell).play()})
        tell({"done": True})
    finally:
        await opened.__aexit__(None, None, None)


def _without_cache(setup: Setup) -> Setup:
    """The setup with a weather client that keeps no responses: they would be counted as memory of the agent."""
    from assay.chat.world.weather import WeatherClient

    client = WeatherClient(
        setup.weather_url,
        setup.weather_key,
        timeout=setup.weather_timeout,
        retries=setup.weather_retries,
        backoff=setup.weather_backoff,
        cache_seconds=0,
        embedded=setup.embedded_weather,
    )
    return setup.with_clients(weather=client)


async def _leaks(opened: OpenAgent, plan: LoadPlan, tell: Tell) -> dict[str, Any]:
    """Memory and live Python objects after each round of sessions that were opened and closed."""
    each = -(-plan.leak_sessions // (_LEAK_ROUNDS * _LEAK_USERS))
    rounds = []
    closed = 0
    for number in range(_LEAK_ROUNDS):
        step = PlannedStep(_LEAK_USERS, number, each)
        if not _is_answered(await _Step(opened, plan, step, tell, turns=_LEAK_TURNS, name="leak").play()):
            return {"rounds": []}  # sessions in which nothing was said hold nothing
        closed += step.conversations
        rounds.append({"closed": closed, "rss": settled_bytes(), "blocks": sys.getallocatedblocks()})
    return {"rounds": rounds}


class _Step:
    """The conversations of one step, and what is measured about them."""

    def __init__(
        self,
        opened: OpenAgent,
        plan: LoadPlan,
        step: PlannedStep,
        tell: Tell,
        *,
        turns: int | None = None,
        name: str = "load",
    ) -> None:
        self._opened, self._plan, self._step, self._tell = opened, plan, step, tell
        self._turns = turns or plan.turns
        self._name = name
        self._walls: list[float] = []
        self._own: list[float] = []
        self._errors: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._breaches: list[dict[str, Any]] = []
        self._breach_count = 0
        self._asked = self._recalled = 0
        self._opened_sessions: list[str] = []
        self._finished = 0
        self._reported = 0.0

    async def play(self) -> dict[str, Any]:
        """Play all conversations, close their sessions, and give the measurements."""
        before = settled_bytes()
        with PeakMemory() as peak, StallMeter().running() as stall:
            started, cpu = time.perf_counter(), time.process_time()
            users = [asyncio.create_task(self._user(number)) for number in range(self._step.users)]
            _, late = await asyncio.wait(users, timeout=self._plan.step_timeout)
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
            for task in late:
                task.cancel()
            await asyncio.gather(*users, return_exceptions=True)
        open_bytes = settled_bytes()
        await self._close()
        return {
            "users": self._step.users,
            "repetition": self._step.repetition,
            "conversations": self._step.conversations,
            "finished": self._finished,
            "planned_turns": self._step.conversations * self._turns,
            "seconds": seconds,
            "cpu_seconds": cpu,
            "walls": [round(1000 * wall, 3) for wall in self._walls],
            "own": [round(1000 * own, 3) for own in self._own],
            "stall": stall.longest,
            "errors": dict(self._errors),
            "examples": self._examples,
            "breaches": self._breaches,
            "breach_count": self._breach_count,
            "asked": self._asked,
            "recalled": self._recalled,
            "rss": {"before": before, "peak": peak.highest, "open": open_bytes, "closed": settled_bytes()},
            "sessions": len(self._opened_sessions),
        }

    async def _user(self, number: int) -> None:
        for session in self._step.sessions_of(number):
            session = session.replace("load", self._name, 1)
            self._opened_sessions.append(session)
            await self._conversation(session)
            self._finished += 1
            self._report()

    def _report(self) -> None:
        """Report progress now and then."""
        if (now := time.monotonic()) - self._reported > _SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self._tell({"progress": self._finished, "of": self._step.conversations, "users": self._step.users})

    async def _conversation(self, session: str) -> None:
        """One conversation; it ends with the first turn that fails."""
        told = Canaries.of(self._plan.seed, session)
        user = f"user-{session}"
        for at, message in enumerate(told.messages(self._turns)):
            text, trace, error = await self._turn(session, user, message, at)
            if error is None and not text.strip():
                self._count(EMPTY_ANSWER, f"no text for: {message}")
            elif error is not None:
                self._count(type(error).__name__, describe_error(error))
            self._search(session, at, told, text, trace)
            if error is not None:
                return
            if message == RECALL:
                self._asked += 1
                self._recalled += told.words <= canaries_in(text)
        known = json.dumps(self._opened.preferences.read(user))
        self._breach(session, self._turns - 1, "memory", told.foreign_in(known))

    async def _turn(
        self, session: str, user: str, message: str, at: int
    ) -> tuple[str, TurnTrace, Exception | SystemExit | None]:
        pieces: list[str] = []
        reply: Reply | None = None
        error: Exception | SystemExit | None = None
        situation = Situation("load", 0, at, None, None, session)
        watched: TurnSpans
        watching: AbstractContextManager[TurnSpans] = self._opened.tracing.turn("load", session)
        with situation.attached(), watching as watched:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(self._plan.turn_timeout):
                    async for part in self._opened.agent.answer(session=session, user=user, message=message):
                        if isinstance(part, Reply):
                            reply = part
                        else:
                            pieces.append(part)
            except (Exception, SystemExit) as failure:  # an agent that calls sys.exit has failed a turn
                error = failure
            wall = time.perf_counter() - started
        trace = watched.read()
        if error is None:
            self._walls.append(wall)
            if _has_times(trace):
                self._own.append(wall - trace.model_seconds - trace.tool_seconds)
        return reply.text if reply is not None else "".join(pieces), trace, error

    def _search(self, session: str, at: int, told: Canaries, text: str, trace: TurnTrace) -> None:
        """Look for canaries of other sessions in the answer, and in arguments and results of tools."""
        self._breach(session, at, "text", told.foreign_in(text))
        for call in trace.tool_calls:
            self._breach(session, at, "tool arguments", told.foreign_in(json.dumps(call.arguments, default=str)))
            self._breach(session, at, "tool result", told.foreign_in(json.dumps(call.result, default=str)))

    def _breach(self, session: str, at: int, where: str, found: Iterable[str]) -> None:
        for canary in sorted(found):
            self._breach_count += 1
            if len(self._breaches) < _MOST_BREACHES:
                self._breaches.append({"session": session, "turn": at, "where": where, "canary": canary})

    def _count(self, kind: str, example: str) -> None:
        self._errors[kind] += 1
        self._examples.setdefault(kind, example[:500])

    async def _close(self) -> None:
        """Close every session that was opened, in the framework's own way, and delete what is known about its user."""
        ending = getattr(self._opened.agent, "end_session", None)
        for session in self._opened_sessions:
            self._opened.preferences.forget(f"user-{session}")
            if ending is not None:
                try:
                    await ending(session=session, user=f"user-{session}")
                except Exception as error:
                    self._count(f"{type(error).__name__} at the end of a session", describe_error(error))


def _is_answered(step: Mapping[str, Any]) -> bool:
    """Whether any turn of a step was answered with a text."""
    return bool(len(step["walls"]) > step["errors"].get(EMPTY_ANSWER, 0))


def _unanswered(warm: Mapping[str, Any]) -> str:
    """Why an agent that answered nothing before the first step is not measured."""
    example = next(iter(warm["examples"].values()), "no turn ended in time")
    return f"not measured, because none of the first {_WARM_UP} conversations was answered: {example}"


def _has_times(trace: TurnTrace) -> bool:
    """Whether the spans say when the model or a tool was running."""
    return bool(trace.model_calls or trace.tool_calls) or any(span.waits for span in trace.spans)


async def _main() -> None:
    await _serve(*await connect())


if __name__ == "__main__":
    end_with_parent()
    asyncio.run(_main())
