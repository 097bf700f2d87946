"""How long users wait for the first text if the model streams at the rate of a real one.

The scripted model sends its streams at once, so that runs are short; the first text then comes hardly before the last.
So after a run, each agent answers a few further questions with the model at a believable rate. They are measured apart
and count in no score and no other time.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from assay.chat.running.conversation import Job
from assay.chat.running.hosts.host import CrashedError, Host, RefusedError
from assay.chat.world.situation import Situation
from assay.plural import counted

if TYPE_CHECKING:
    from assay.chat.running.experiment import Experiment

STREAMED_SPEED = 100.0
"""Tokens a second, after a pause of 0.2 s for the prompt: the rate of a fast hosted model."""
FEWEST_SCENARIOS = 10
"""A shorter run would take much longer by it."""
_QUESTIONS = (
    "What's the weather in Paris right now?",
    "What's the weather in Rome right now?",
    "What's the weather in Oslo right now?",
)


@dataclass(frozen=True, slots=True)
class StreamedTimes:
    """Medians of one agent, in seconds."""

    speed: float
    """Tokens a second of the model."""
    turns: int
    first_text: float
    wall: float

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)


def is_measured(experiment: Experiment) -> bool:
    """Whether the times are measured: with the scripted model at its default rate, in a plain run about the weather."""
    of, suite = experiment.environment, experiment.suite
    return (
        of.model is None
        and of.is_made_up
        and of.measures_first_text
        and suite.domain == "weather"
        and len(suite.scenarios) >= FEWEST_SCENARIOS
        and not any(scenario.has_restarts or scenario.goes_on for scenario in suite.scenarios)
        and experiment.budget is None
    )


async def measure_streamed_times(agent: str, host: Host, timeout: float) -> StreamedTimes | None:
    """The times of one agent; None if a turn failed, or gave no text before its end."""
    session = f"{agent} first text"
    situations = tuple(
        Situation("first text", 0, at, session=session, speed=STREAMED_SPEED) for at in range(len(_QUESTIONS))
    )
    job = Job(agent, session, session, _QUESTIONS, situations, timeout)
    found: list[tuple[float, float]] = []
    try:
        async for played in host.play(job):
            record = played.record
            if record.status != "scored" or record.first_text is None or record.wall is None:
                return None
            found.append((record.first_text, record.wall))
    except (RefusedError, CrashedError):
        return None
    firsts, walls = zip(*found, strict=True)
    return StreamedTimes(STREAMED_SPEED, len(found), statistics.median(firsts), statistics.median(walls))


def streamed_note(found: Mapping[str, StreamedTimes]) -> list[str]:
    """What was measured, as a sentence for readers of the results; empty if nothing was."""
    if not found:
        return []
    one = next(iter(found.values()))
    listed = "; ".join(
        f"{agent} {1000 * times.first_text:,.0f} and {1000 * times.wall:,.0f} ms" for agent, times in found.items()
    )
    return [
        f"Time until the first text, and of the whole turn, if the model streams {one.speed:g} tokens per second "
        f"(medians of {counted(one.turns, 'further turn')}): {listed}."
    ]
