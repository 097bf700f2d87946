"""The agents of live conversations, each in a separate process, and their services, started when first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, UsageError, unknown_name

if TYPE_CHECKING:
    from assay.chat.agents.spec import AgentSpec
    from assay.chat.prices import ModelPrice
    from assay.chat.running.environment import Environment, Services
    from assay.chat.running.hosts.host import ProcessHost

# Ctrl-C ends the server within two seconds; a worker that is stuck ends when it sees that its parent is gone.
_SECONDS_TO_CLOSE = 0.8
_MOST_TYPED = 20
_SECONDS_TO_WARM_UP = 30.0


class LiveAgents:
    """Open agents by name. Everything runs in the server's event loop."""

    def __init__(
        self,
        specs: Sequence[AgentSpec],
        *,
        prices: Mapping[str, ModelPrice] | None = None,
        takes_addresses: bool = False,
    ) -> None:
        self._own = list(specs)
        self._prices = prices or {}
        self.takes_addresses = takes_addresses
        """Whether a user may type the address of an agent."""
        self._typed = 0
        self._stack: AsyncExitStack | None = None
        self._hosts: dict[str, ProcessHost] = {}
        self._services: Services | None = None
        self._lock = asyncio.Lock()
        self._preparing: dict[str, asyncio.Task[None]] = {}

    def names(self) -> list[str]:
        """Agents that were named at the start, then the bundled ones whose packages are installed."""
        return list(self.specs())

    def specs(self) -> dict[str, AgentSpec]:
        """The same with their specifications."""
        from assay.runs.choosing import known_agents

        return known_agents(self._own)

    def add(self, name: str, url: str, form: str) -> str:
        """Add an agent by an address that its user typed; returns its name.

        Neither a key nor a header can be given: a page that named environment variables could send them anywhere.
        """
        from assay.chat.agents.spec import agent_at

        if not self.takes_addresses:
            raise UsageError(
                "agents cannot be added by their address here, because other machines can reach this server",
                hint="Name the agent when the server starts: assay serve --agents NAME=http://…/v1",
            )
        spec = agent_at(name, url, form=form)
        if spec.name in self.specs():
            raise UsageError(f"there is an agent called '{spec.name}' already", hint="Choose another name")
        if self._typed >= _MOST_TYPED:
            raise UsageError(f"at most {_MOST_TYPED} addresses can be typed", hint="Start the server with --agents")
        self._own.append(spec)
        self._typed += 1
        return spec.name

    def price(self, name: str) -> ModelPrice | None:
        """The price of the model that an agent calls; None if it is not known, as that of the scripted model."""
        from assay.chat.prices import prices_of
        from assay.chat.running.environment import SCRIPTED

        spec = self.specs().get(name)
        model = (spec.model if spec is not None else None) or SCRIPTED
        return prices_of([model], self._prices, url=(spec.http if spec is not None else None) or "").get(model)

    @property
    def environment(self) -> Environment:
        """Model and weather: the scripted stand-in and the embedded service."""
        from assay.chat.running.environment import Environment

        return Environment()

    async def host(self, name: str) -> ProcessHost:
        """The agent of this name, opened if it is not open yet."""
        from assay.chat.running.hosts.host import ProcessHost

        specs = self.specs()
        if name not in specs:
            raise unknown_name("agent", name, specs)
        async with self._lock:
            if self._stack is None:
                stack = AsyncExitStack()
                self._services = await stack.enter_async_context(self.environment.opened())
                self._stack = stack
            assert self._services is not None
            if name not in self._hosts:
                self._hosts[name] = ProcessHost(specs[name], self._services.setup)
        return self._hosts[name]

    def prepare(self, names: Sequence[str]) -> None:
        """Open agents in the background and warm them up, while a user types: the times of the first answer are then
        those of any other.
        """
        for name in names:
            if name not in self._preparing:
                self._preparing[name] = asyncio.create_task(self._open(name))

    def is_prepared(self, name: str) -> bool:
        """Whether an agent is open and warm, or cannot be opened."""
        return name in self._preparing and self._preparing[name].done()

    async def prepared_host(self, name: str) -> ProcessHost:
        """The agent of this name when it is open and warm."""
        self.prepare([name])
        # A reader who leaves does not stop what the next one needs.
        await asyncio.shield(self._preparing[name])
        return await self.host(name)

    async def _open(self, name: str) -> None:
        from assay.chat.running.conversation import warm_up_job

        # Whoever sends it a message is told why it cannot be opened.
        with suppress(AssayError, OSError):
            host = await self.host(name)
            await host.open()
            spec = self.specs()[name]
            if spec.agent is None or spec.model is not None:
                return  # an agent of the user's own: it may have costs, and hears only what the user says
            async with aclosing(host.play(warm_up_job(name, _SECONDS_TO_WARM_UP))) as playing:
                async for _ in playing:
                    pass

    async def truth(self, city: str, days: int, now: datetime) -> Any:
        """The true weather of a city; None until an agent has been opened."""
        return None if self._services is None else await self._services.look_up_truth(city, days, now)

    async def close(self) -> None:
        """Close every agent and the services."""
        for task in self._preparing.values():
            task.cancel()
        hosts, self._hosts = list(self._hosts.values()), {}
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_CLOSE):
                await asyncio.gather(*(host.close() for host in hosts), return_exceptions=True)
        stack, self._stack = self._stack, None
        if stack is not None:
            await stack.aclose()


def checked_choice(chosen: Sequence[str], known: Sequence[str], most: int) -> list[str]:
    """The agents of a conversation, each once; raises UsageError if there are none, too many or unknown ones."""
    names = list(dict.fromkeys(chosen))
    for name in names:
        if name not in known:
            raise unknown_name("agent", name, known)
    if not 1 <= len(names) <= most:
        raise UsageError(f"choose 1 to {most} agents, got {len(names)}")
    return names
