"""The weather assistant, written with Microsoft's Agent Framework."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import agent_framework
from agent_framework import (
    Agent,
    AgentResponse,
    AgentSession,
    ChatContext,
    ChatMiddleware,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    InMemoryHistoryProvider,
    Message,
    tool,
)
from agent_framework.exceptions import AgentException
from agent_framework.observability import OBSERVABILITY_SETTINGS, enable_instrumentation
from agent_framework.openai import OpenAIChatCompletionClient

from assay.chat.agents import Limits, Reply, Setup
from assay.chat.agents._shared.assistant import DESCRIPTION, INSTRUCTIONS, NAME, City, Days, Insight, openai_client
from assay.chat.agents.agent_framework._spans import RefusedCalls
from assay.chat.formats.payload import arguments_of, parsed
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from assay.chat.world.preferences import Preferences
    from assay.chat.world.weather import WeatherClient


def make_tools(weather: WeatherClient, preferences: Preferences) -> list[FunctionTool]:
    """The assistant's tools. If a tool raises an exception, the model reads the error."""

    @tool
    async def get_current_weather(city: City) -> dict[str, Any]:
        """Tell the weather in a city right now."""
        return await weather.current(city)

    @tool
    async def get_weather_forecast(city: City, days: Days = 5) -> dict[str, Any]:
        """Tell the weather in a city on the coming days, from tomorrow on."""
        return await weather.forecast(city, days)

    @tool
    async def get_user_preferences(context: FunctionInvocationContext) -> dict[str, Any]:
        """Tell what the user is known to like and dislike."""
        return preferences.read(context.kwargs["user"])

    @tool
    async def update_user_preferences_from_insight(
        insight: Insight, context: FunctionInvocationContext
    ) -> dict[str, Any]:
        """Keep what the user has told about what they like or dislike."""
        return preferences.learn(context.kwargs["user"], insight)

    return [get_current_weather, get_weather_forecast, get_user_preferences, update_user_preferences_from_insight]


class ModelCallLimit(ChatMiddleware):
    """Ends a turn that calls the model too often.

    The framework's own limit calls the model again, without tools, and takes its text as the answer.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._calls = 0

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        self._calls += 1
        if self._calls > self._most:
            raise AgentException(f"the limit of {self._most} calls of the model in a turn is exceeded")
        await call_next()


class ToolTimeout(FunctionMiddleware):
    """Ends a tool that takes too long; the framework itself has no such setting."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await call_next()
        except TimeoutError as error:  # with its own text, so that the model learns the reason
            raise TimeoutError(str(error) or f"the tool timed out after {self._seconds:g} s") from error


class Assistant:
    """The assistant, with one session of the framework for each conversation."""

    def __init__(self, agent: Agent[Any], limits: Limits) -> None:
        self._agent = agent
        self._limits = limits
        self._sessions: dict[str, AgentSession] = {}

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        async for part in self._run(session, user, message):
            yield part

    async def _run(self, session: str, user: str, message: str | Message) -> AsyncIterator[str | Reply]:
        if session not in self._sessions:
            self._sessions[session] = self._agent.create_session(session_id=session)
        stream = self._agent.run(
            message,
            stream=True,
            session=self._sessions[session],
            middleware=[ModelCallLimit(self._limits.model_calls), RefusedCalls()],
            function_invocation_kwargs={"user": user},
        )
        async for update in stream:
            if update.text:
                yield update.text
        yield self._reply(session, await stream.get_final_response())

    def _reply(self, session: str, response: AgentResponse[Any]) -> Reply:
        return _reply(response)

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete a conversation: its history is part of its session."""
        self._sessions.pop(session, None)


def instrument() -> None:
    """Record spans. Without these settings the spans of tools lack their arguments and results."""
    enable_instrumentation(enable_sensitive_data=True)
    OBSERVABILITY_SETTINGS.otel_semconv_stability_opt_in = "gen_ai_latest_experimental"


def chat_client(setup: Setup, client: AsyncOpenAI) -> OpenAIChatCompletionClient[Any]:
    """The framework's client of the model's endpoint."""
    return OpenAIChatCompletionClient(
        setup.model,
        async_client=client,
        function_invocation_configuration={
            "max_iterations": setup.limits.model_calls,
            # After this many failures the framework would end the turn with its own answer.
            "max_consecutive_errors_per_request": setup.limits.model_calls + 1,
            # Tool errors are written for the model to read; without this it would not see the reason.
            "include_detailed_errors": True,
        },
    )


def history_provider(setup: Setup) -> agent_framework.FileHistoryProvider | InMemoryHistoryProvider:
    """Where histories are stored: in memory, or in files if they are to outlive the process."""
    # By its module: release candidates of 1.0 have none, and need none unless a process is to be killed.
    return agent_framework.FileHistoryProvider(setup.storage) if setup.storage else InMemoryHistoryProvider()


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    instrument()
    async with openai_client(setup) as client:
        assistant: type[Assistant] = Assistant
        tools = make_tools(setup.weather, setup.preferences)
        if setup.has_deletion:
            from assay.chat.agents.agent_framework.consent import ConsentingAssistant, deletion_tool

            assistant = ConsentingAssistant
            tools.append(deletion_tool(setup.preferences))
        agent = Agent(
            client=chat_client(setup, client),
            name=NAME,
            description=DESCRIPTION,
            instructions=INSTRUCTIONS,
            tools=tools,
            middleware=[ToolTimeout(setup.limits.tool_timeout)],
            context_providers=[history_provider(setup)],
            default_options={"max_tokens": setup.limits.max_tokens},
        )
        async with agent:
            yield assistant(agent, setup.limits)


def _reply(response: AgentResponse[Any]) -> Reply:
    """The turn as the framework's response reports it."""
    contents = [content for message in response.messages for content in message.contents]
    results = {content.call_id: content for content in contents if content.type == "function_result"}
    usage = response.usage_details or {}
    return Reply(
        response.messages[-1].text if response.messages else "",
        tuple(
            ToolCall(
                name=content.name or "",
                arguments=arguments_of(content.arguments),
                result=None if result is None or result.exception else parsed(result.result),
                error=None if result is None else result.exception,
            )
            for content in contents
            if content.type == "function_call"
            # A model may give its calls no id, or several the same.
            for result in [results.get(content.call_id)]
        ),
        usage.get("input_token_count"),
        usage.get("output_token_count"),
    )
