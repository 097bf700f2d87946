"""Plays baselines. Their answer depends on the message alone, so nothing is started, awaited, timed out or traced.

Everything else is as for agents: the same scenarios and simulated users, and the same checks and scores.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.chat.running.conversation import Job, PlayedTurn
from assay.chat.running.users.simulated_user import scripted_user
from assay.chat.scoring.answers import Record
from assay.chat.world.shop import ORDERS
from assay.json_safe import json_safe, whole_text
from assay.redaction import redacted

if TYPE_CHECKING:
    from assay.chat.baselines import Answering
    from assay.chat.running.environment import UsesServices


class BaselineHost:
    """One baseline."""

    processes = 1

    def __init__(self, answering: Answering, *, uses: UsesServices) -> None:
        """`uses` are the services of the agents that it is compared with: it is held to what they are held to.

        Beside an agent that uses the setup, it could have used it too, and is checked against the same truth.
        """
        self._answering = answering
        self.uses_setup, self.uses_model = uses.uses_setup, uses.uses_model
        self._kept = lru_cache(maxsize=1)(lambda text: redacted(whole_text(text)))
        """The text without secrets; one of the baselines always says the same."""

    async def open(self) -> None:
        """Nothing to build."""

    async def play(self, job: Job) -> AsyncGenerator[PlayedTurn]:
        for played in self.turns(job):
            yield played

    def turns(self, job: Job) -> Iterator[PlayedTurn]:
        """Play a conversation, without waiting for anything."""
        user = None if job.persona is None else scripted_user(job.persona)
        known = {} if job.preferences is None else json_safe(dict(job.preferences))
        if job.has_shop:
            known[ORDERS] = {}
        text: str | None = None
        # Its calls are known, as those of the agents beside it are; a plain function may call any tool.
        knows_calls = self.uses_setup or self.uses_model
        for at, (message, situation) in enumerate(zip(job.messages, job.situations, strict=True), start=job.first):
            if user is not None:
                message = user.next(text)
            started = time.perf_counter()
            text = self._answering(message)
            wall = time.perf_counter() - started
            fault = None if situation.fault is None else str(situation.fault)
            record = Record(
                fault=fault,
                wall=wall,
                first_text=wall if text else None,
                own_tool_calls=0 if knows_calls else None,
                tools_offered=[] if knows_calls and not self.uses_setup else None,
            )
            yield PlayedTurn(at, self._kept(text), record, known, message if user is not None else "")

    async def close(self) -> None:
        """Nothing to close."""
