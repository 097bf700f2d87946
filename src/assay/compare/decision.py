"""The decision: for three priorities which agent leads, by what, how surely, and what one gives up with it.

Where nothing separates the agents, what would: how many scenarios, or which other tests. The lead, its interval and the
share of resamples are those of the overall at the priority's weights, paired by scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from assay.chat.scoring.scores import Scores
from assay.compare.overall import Overall, overall_of
from assay.compare.scenario_table import ScenarioTable, Shortcoming
from assay.compare.standing import TIE, contributions
from assay.compare.weights import EXPERIENCE_GROUP, OPERATIONS, PRESETS, PRIORITIES

if TYPE_CHECKING:
    from assay.chat.load.results import AgentLoad

Sureness = Literal["sure", "once", "open", "tie"]
"""How sure a lead is: more than the scenarios explain; by what was measured once; not decided; none at all."""

_MOST_CRITERIA = 3
# A smaller difference of means rounds to 0.00.
_LEAST_GIVEN_UP = 0.005
# A smaller lead rounds to 0.000.
_LEAST_LEAD = 0.0005
# Nobody writes so many times the scenarios to learn which of two agents is ahead: they tie.
_MOST_TIMES = 20


@dataclass(frozen=True, slots=True)
class PriorityAnswer:
    """Which agent leads if this counts."""

    priority: str
    leaders: tuple[str, ...]
    """The first agent, or all that tie for first."""
    second: str | None
    """The next after those; None if there is none."""
    sureness: Sureness
    lead: float | None
    """How far the first is ahead of the next; None if it ties with it."""
    by_scenarios: float | None
    """The part of the lead that scenarios vary, with the ends of its interval; they are None with one scenario."""
    low: float | None
    high: float | None
    once: float
    """The part of the lead that was measured once."""
    once_by: tuple[tuple[str, float], ...]
    """What the criteria that were measured once add to the lead, the largest first."""
    first_in: float | None
    """Share of the resamples in which it comes first; None if scenarios do not vary it."""
    made_by: tuple[tuple[str, float], ...]
    """What the criteria add to the lead, the largest first."""
    gives_up: tuple[Shortcoming, ...]
    """Where another agent is better than the leader, beyond what the scenarios explain."""
    needed: tuple[int, int] | None
    """How many scenarios of the same kind would decide: the ends of a range. None if no number would, or if it is
    decided."""
    apart: float | None = None
    """How far the first is ahead of the last that it ties with; None if nobody ties. 0 if they are exactly equal.
    """

    def to_json(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self) | {
            "leaders": list(self.leaders),
            "made_by": [{"criterion": name, "adds": part} for name, part in self.made_by],
            "once_by": [{"criterion": name, "adds": part} for name, part in self.once_by],
            "gives_up": [asdict(one) for one in self.gives_up],
            "needed": None if self.needed is None else list(self.needed),
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer for each priority, and what else could be tested."""

    answers: tuple[PriorityAnswer, ...]
    agents: tuple[str, ...]
    scenarios: int
    level: float
    untested: tuple[str, ...]
    """Criteria of operations that were not measured."""
    has_experience: bool = True
    """Whether developer experience was measured for all agents."""

    @property
    def is_open(self) -> bool:
        """Whether a priority has no sure answer."""
        return any(answer.sureness in ("open", "tie") for answer in self.answers)

    def to_json(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "priorities": {answer.priority: answer.to_json() for answer in self.answers},
            "agents": list(self.agents),
            "scenarios": self.scenarios,
            "level": self.level,
            "not_tested": list(self.untested),
            "has_developer_experience": self.has_experience,
        }


def decide(
    scores: Scores, *, loads: Sequence[AgentLoad] = (), level: float = 0.95, reps: int = 1000
) -> Decision | None:
    """The decision between the agents of some scores; None if fewer than two have a scored turn.

    `loads` are load tests of the same agents.
    """
    return decision_of(ScenarioTable.of(scores, loads), seed=scores.seed, level=level, reps=reps)


def decision_of(table: ScenarioTable, *, seed: int, level: float = 0.95, reps: int = 1000) -> Decision | None:
    """The decision between the agents of a table, as `decide` gives it."""
    if len(table.agents) < 2 or not table.means.criteria:
        return None
    measured = {criterion.name for criterion in table.means.criteria}
    found = {name: overall_of(table, PRESETS[name], level=level, reps=reps, seed=seed) for name in PRIORITIES}
    return Decision(
        tuple(_answer(name, one, table) for name, one in found.items() if one.standing.winners),
        table.agents,
        len(table.sums),
        level,
        tuple(name for name in OPERATIONS if name not in measured),
        any(criterion.group == EXPERIENCE_GROUP for criterion in table.means.criteria),
    )


def _answer(priority: str, found: Overall, table: ScenarioTable) -> PriorityAnswer:
    standing, chance = found.standing, found.uncertainty
    tied, needed = _tied(found, table)
    is_tie = len(tied) > 1
    leader, second = tied[0], standing.order[len(tied)] if len(standing.order) > len(tied) else None
    part = chance.by_scenarios
    made = contributions(found.means, found.weights, leader, second) if second is not None else []
    single = {criterion.name for criterion in found.means.criteria if criterion.once}
    return PriorityAnswer(
        priority,
        tied,
        second,
        "tie" if is_tie else _sureness(found),
        None if is_tie else standing.lead,
        None if part is None else part.value,
        None if part is None else part.low,
        None if part is None else part.high,
        chance.once,
        () if is_tie else tuple((name, adds) for name, adds in made if name in single and abs(adds) > TIE),
        None if is_tie else chance.first.get(leader),
        () if is_tie else tuple((name, adds) for name, adds in made if adds > TIE)[:_MOST_CRITERIA],
        () if is_tie else _given_up(table, leader, found),
        needed if is_tie else chance.needed,
        standing.values[leader] - standing.values[tied[-1]] if is_tie else None,
    )


def _tied(found: Overall, table: ScenarioTable) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """The first agent and those that nothing separates from it, with how many scenarios would.

    Agents tie if their overalls are equal, and also if the lead may be chance and is too small to be shown, or takes
    many times the scenarios to be sure of.
    """
    standing = found.standing
    tied, needed = list(standing.winners), None
    for other in standing.order[len(tied) :] if len(table.sums) > 1 else ():
        lead = table.lead(found.weights, tied[0], other, level=found.level)
        is_long = lead.needed is not None and lead.needed[0] > _MOST_TIMES * len(table.sums)
        if not lead.is_open or not (lead.value < _LEAST_LEAD or is_long):
            break
        tied.append(other)
        needed = lead.needed
    return tuple(tied), needed


def _sureness(found: Overall) -> Sureness:
    part, once = found.uncertainty.by_scenarios, found.uncertainty.once
    if part is None:
        return "tie"
    if part.low is None or part.high is None:
        return "open"
    if part.low > 0 and part.low + once > 0:
        return "sure"
    return "once" if once > TIE and part.low + once > 0 else "open"


def _given_up(table: ScenarioTable, leader: str, found: Overall) -> tuple[Shortcoming, ...]:
    """The largest shortcomings of the leader, those that count at other priorities too."""
    known = [one for one in table.behind(leader, level=found.level) if one.by >= _LEAST_GIVEN_UP]
    return tuple(known[:_MOST_CRITERIA])
