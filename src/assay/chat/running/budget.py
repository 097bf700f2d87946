"""The budget of a run: what may be spent, what was spent, and what is reserved for conversations under way.

Money is reserved before a conversation starts: for each of its turns twice what the costliest turn of the agent cost so
far, and more for turns later than any that was played, because the history grows. Before an agent's first turn, the
limits of a turn decide. So the budget is not exceeded, however many conversations run at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.chat.agents import Limits
from assay.chat.prices import CURRENCY, ModelPrice
from assay.chat.scoring.answers import AnswerKey
from assay.errors import UsageError

# Input tokens of one model call for which money is reserved before any was seen: instructions, tools and a tool's
# result take one to two thousand.
_INPUT_OF_CALL = 4000
# A turn may cost this much more than the costliest so far.
_MARGIN = 2.0


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Why a budget stopped a run."""

    limit: float
    spent: float
    needed: float
    """What the next conversations might have cost."""

    def words(self) -> str:
        """As a sentence without a full stop."""
        return (
            f"the budget of {CURRENCY} {self.limit:g} stopped the run: {CURRENCY} {self.spent:.4f} was spent, and what "
            f"comes next may cost up to {CURRENCY} {self.needed:.4f}"
        )


class Budget:
    """Money that a run may spend, in US dollars."""

    def __init__(
        self, limit: float, *, spent: float = 0.0, price_of: Callable[[str], ModelPrice | None], limits: Limits
    ) -> None:
        """`price_of` gives the price of an agent's model once the agent is open."""
        self.limit = limit
        self.spent = spent
        self._price_of = price_of
        self._limits = limits
        self._reserved: dict[AnswerKey, float] = {}
        self._worst: dict[str, tuple[float, int]] = {}
        """By agent, what the costliest turn so far cost, and the place in its conversation of the latest."""

    @property
    def committed(self) -> float:
        """What was spent and what is reserved."""
        return self.spent + sum(self._reserved.values())

    def turns_cost(self, agent: str, first: int, end: int) -> float:
        """The most that turns `first` to `end` of a conversation are expected to cost."""
        if agent not in self._worst:
            return (end - first) * self._declared(agent)
        worst, latest = self._worst[agent]
        return sum(_MARGIN * worst * max(1.0, (at + 1) / (latest + 1)) for at in range(first, end))

    def _declared(self, agent: str) -> float:
        price, calls = self._price_of(agent), self._limits.model_calls
        if price is None:
            raise UsageError(
                f"the cost of '{agent}' is not known, so a budget cannot be kept",
                hint="State the price of its model in the file of agents, under prices, or leave --budget out",
            )
        return (calls * _INPUT_OF_CALL * price.input + calls * self._limits.max_tokens * price.output) / 1e6

    def reserve(self, trials: Iterable[tuple[AnswerKey, int]]) -> Shortfall | None:
        """Reserve for conversations, given by key and number of turns, all or none; what is missing, if anything is."""
        wanted = {key: self.turns_cost(key[0], 0, turns) for key, turns in trials}
        needed = sum(wanted.values())
        if self.committed + needed > self.limit:
            return Shortfall(self.limit, self.spent, needed)
        self._reserved |= wanted
        return None

    def release(self, key: AnswerKey) -> None:
        """End the reservation of a conversation that is over."""
        self._reserved.pop(key, None)

    def charge(self, key: AnswerKey, at: int, cost: float | None) -> None:
        """Count a turn that was played. A turn of unknown cost counts as much as is reserved for it."""
        if cost is None:
            cost = self.turns_cost(key[0], at, at + 1)
        else:
            self.learn(key[0], at, cost)
        self.spent += cost
        if key in self._reserved:
            self._reserved[key] = max(self._reserved[key] - cost, 0.0)

    def learn(self, agent: str, at: int, cost: float) -> None:
        """Reserve by what a turn of an agent cost, at a place in its conversation, and not by its limits any more."""
        worst, latest = self._worst.get(agent, (0.0, 0))
        self._worst[agent] = (max(cost, worst), max(at, latest))

    def ends(self, key: AnswerKey, at: int, turns: int) -> Shortfall | None:
        """Whether a conversation must end after turn `at`, because its turns cost more than was reserved.

        Its next turn is under way by then, so money for the one after that has to be there too.
        """
        if at + 2 >= turns:
            return None
        needed = self.turns_cost(key[0], at + 1, at + 3)
        return Shortfall(self.limit, self.spent, needed) if self.committed_besides(key) + needed > self.limit else None

    def committed_besides(self, key: AnswerKey) -> float:
        """What was spent, and what is reserved for other conversations."""
        return self.committed - self._reserved.get(key, 0.0)
