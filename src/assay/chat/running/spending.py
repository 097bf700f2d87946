"""What the turns of a run cost, and whether its budget, if it has one, covers what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay.chat.prices import ModelPrice
from assay.chat.running.budget import Budget, Shortfall
from assay.chat.running.conversation import PlayedTurn
from assay.chat.running.trials import Trial
from assay.chat.scoring.answers import AnswerKey, Record


class OutOfBudgetError(Exception):
    """A conversation must not go on. It is played again once others need less than was reserved for them; if there are
    none, the shortfall says why the run ends.
    """


class Spending:
    """The costs of one run."""

    def __init__(
        self,
        prices: Mapping[str, ModelPrice],
        budget: Budget | None = None,
        *,
        user_price: ModelPrice | None = None,
        has_user_model: bool = False,
    ) -> None:
        """`prices` are those of the agents' models, by agent; `user_price` is that of a model that plays the users."""
        self._prices = prices
        self._budget = budget
        self._user_price = user_price
        self._has_user_model = has_user_model
        self._reserved_blocks: set[tuple[str, int]] = set()
        self._postponed: set[AnswerKey] = set()
        """Conversations that were broken off while others held money that they may not need."""
        self.shortfall: Shortfall | None = None
        """Why the rest of the run is not played; None if it is."""

    @property
    def is_limited(self) -> bool:
        """Whether there is a budget."""
        return self._budget is not None

    def covers(self, trial: Trial, waiting: Iterable[Trial], *, is_idle: bool) -> bool:
        """Whether the budget covers a trial. A scenario is reserved for all agents at once, so that all play the same.

        Money that conversations under way do not use may cover it later; if there are none, it is never covered.
        """
        block = (trial.scenario.id, trial.repetition)
        is_postponed = trial.key in self._postponed
        if self._budget is None or (block in self._reserved_blocks and not is_postponed):
            return True
        if self.shortfall is not None or (is_postponed and not is_idle):
            return False
        trials = [one for one in waiting if (one.scenario.id, one.repetition) == block]
        trials = [trial] if is_postponed else trials
        shortfall = self._budget.reserve((one.key, len(one.scenario.turns)) for one in trials)
        if shortfall is None:
            self._reserved_blocks.add(block)
            self._postponed.discard(trial.key)
        elif is_idle:
            self.shortfall = shortfall
        return shortfall is None

    def is_postponed(self, trial: Trial) -> bool:
        """Whether a conversation was broken off and is played again once no other is under way."""
        return trial.key in self._postponed

    def cost_of(self, agent: str, record: Record) -> float | None:
        """What a turn cost; None if the price of the agent's model or the tokens are not known."""
        price = self._prices.get(agent)
        return None if price is None else price.cost_of_turn(record)

    def user_cost_of(self, record: Record) -> float | None:
        """What a model that plays the user cost in a turn; None if none does, or if price or tokens are unknown."""
        if self._user_price is None:
            return None
        return self._user_price.cost(record.user_input_tokens, record.user_output_tokens)

    def _cost_of_both(self, agent: str, record: Record) -> float | None:
        """What a turn cost with its user; None if a part of it is not known."""
        cost = self.cost_of(agent, record)
        if not self._has_user_model or cost is None:
            return cost
        of_user = self.user_cost_of(record)
        return None if of_user is None else cost + of_user

    def charge(self, trial: Trial, played: PlayedTurn, *, is_last: bool) -> None:
        """Count what a turn cost; raises OutOfBudgetError if the conversation must not go on."""
        if self._budget is None:
            return
        self._budget.charge(trial.key, played.turn, self._cost_of_both(trial.agent, played.record))
        shortfall = None if is_last else self._budget.ends(trial.key, played.turn, len(trial.scenario.turns))
        if shortfall is not None:
            if self._budget.committed_besides(trial.key) > self._budget.spent:
                self._postponed.add(trial.key)
            else:
                self.shortfall = self.shortfall or shortfall
            # The agent is in its next turn already, which is paid for and lost.
            self._budget.charge(trial.key, played.turn + 1, None)
            raise OutOfBudgetError

    def charge_warm_up(self, key: AnswerKey, played: PlayedTurn) -> None:
        """Count what a turn cost that is played before anything is measured."""
        if self._budget is not None:
            self._budget.charge(key, played.turn, self.cost_of(key[0], played.record))

    def reserve_again(self, key: AnswerKey, turns: int) -> None:
        """Reserve for a conversation alone; raises OutOfBudgetError if that is not covered."""
        if self._budget is not None:
            self._budget.release(key)
            shortfall = self._budget.reserve([(key, turns)])
            if shortfall is not None:
                self.shortfall = self.shortfall or shortfall
                raise OutOfBudgetError

    def release(self, key: AnswerKey) -> None:
        """End the reservation of a conversation that is over."""
        if self._budget is not None:
            self._budget.release(key)
