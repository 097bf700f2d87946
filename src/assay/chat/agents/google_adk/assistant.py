"""The weather assistant, written with Google's Agent Development Kit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.telemetry import ContentCapturingMode, TelemetryConfig
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from assay.chat.agents import Limits, Reply, Setup
from assay.chat.agents._shared.assistant import DESCRIPTION, INSTRUCTIONS, NAME, City, Days, Insight, openai_client
from assay.chat.agents.google_adk._spans import CountedOnce
from assay.chat.scoring.trajectory import failure_in
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from google.adk.events import Event

    from assay.chat.world.preferences import Preferences
    from assay.chat.world.weather import WeatherClient

Tool = Callable[..., Awaitable[dict[str, Any]]]


class TimedTool(FunctionTool):
    """A tool that may take a limited time; ADK itself has no such setting."""

    def __init__(self, function: Tool, seconds: float) -> None:
        super().__init__(function)
        self._seconds = seconds

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        async with asyncio.timeout(self._seconds):
            return await super().run_async(args=args, tool_context=tool_context)


def make_tools(weather: WeatherClient, preferences: Preferences) -> list[Tool]:
    """The assistant's tools."""

    async def get_current_weather(city: City) -> dict[str, Any]:
        """Tell the weather in a city right now."""
        return await weather.current(city)

    async def get_weather_forecast(city: City, days: Days = 5) -> dict[str, Any]:
        """Tell the weather in a city on the coming days, from tomorrow on."""
        return await weather.forecast(city, days)

    async def get_user_preferences(tool_context: ToolContext) -> dict[str, Any]:
        """Tell what the user is known to like and dislike."""
        return preferences.read(tool_context.user_id)

    async def update_user_preferences_from_insight(insight: Insight, tool_context: ToolContext) -> dict[str, Any]:
        """Keep what the user has told about what they like or dislike."""
        return preferences.learn(tool_context.user_id, insight)

    return [get_current_weather, get_weather_forecast, get_user_preferences, update_user_preferences_from_insight]


def tell_failure(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> dict[str, Any]:
    """The result that the model reads if a tool fails; by default an exception in a tool ends the turn."""
    return {"status": "error", "error_message": str(error) or type(error).__name__}


ANSWER_TOOL = "set_model_response"
"""ADK's own tool that takes the answer of an agent with an output schema and tools: a call of it is the answer."""


class Assistant:
    """The assistant, whose runner stores one session for each conversation."""

    def __init__(self, runner: Runner, limits: Limits) -> None:
        self._runner = runner
        self._run_config = RunConfig(
            streaming_mode=StreamingMode.SSE,
            max_llm_calls=limits.model_calls,
            # Without it the spans of tools lack their arguments and results.
            telemetry=TelemetryConfig(capture_message_content=ContentCapturingMode.SPAN_ONLY),
        )

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        async for part in self._run(session, user, types.UserContent(message)):
            yield part

    async def _run(self, session: str, user: str, message: types.Content) -> AsyncIterator[str | Reply]:
        events: list[Event] = []
        run = self._runner.run_async(user_id=user, session_id=session, new_message=message, run_config=self._run_config)
        async with aclosing(run):
            async for event in run:
                if not event.partial:
                    events.append(event)
                elif text := _text(event):
                    yield text
        yield self._reply(session, events)

    def _reply(self, session: str, events: list[Event]) -> Reply:
        return _reply(events)

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete a conversation."""
        await self._runner.session_service.delete_session(
            app_name=self._runner.app_name, user_id=user, session_id=session
        )


def session_service(setup: Setup) -> InMemorySessionService | SqliteSessionService:
    """Where sessions are stored: in memory, or in a file if they are to outlive the process."""
    return SqliteSessionService(f"{setup.storage}/sessions.db") if setup.storage else InMemorySessionService()


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    async with openai_client(setup) as client:
        agent = LlmAgent(
            name=NAME,
            description=DESCRIPTION,
            model=CountedOnce(model=setup.model, max_tokens=setup.limits.max_tokens, client=client),
            instruction=INSTRUCTIONS,
            tools=[TimedTool(tool, setup.limits.tool_timeout) for tool in make_tools(setup.weather, setup.preferences)],
            on_tool_error_callback=tell_failure,
        )
        assistant: type[Assistant] = Assistant
        if setup.has_deletion:
            from assay.chat.agents.google_adk.consent import ConsentingAssistant, deletion_tool

            assistant = ConsentingAssistant
            agent.tools.append(deletion_tool(setup.preferences))
        sessions = session_service(setup)
        runner = Runner(app_name=NAME, agent=agent, session_service=sessions, auto_create_session=True)
        async with runner:
            yield assistant(runner, setup.limits)


def _reply(events: list[Event]) -> Reply:
    """The turn as its events report it. Partial events are left out, because their text is repeated at the end."""
    failed = next((event for event in events if event.error_code), None)
    if failed is not None:
        raise RuntimeError(f"the model gave no answer: {failed.error_message or failed.error_code}")
    results = {result.id: result.response for event in events for result in event.get_function_responses()}
    usages = [event.usage_metadata for event in events if event.usage_metadata]
    return Reply(
        next((_text(event) for event in reversed(events) if event.is_final_response()), ""),
        tuple(
            ToolCall(
                name=call.name or "",
                arguments=call.args or {},
                result=results.get(call.id),
                error=failure_in(results.get(call.id)),
            )
            for event in events
            for call in event.get_function_calls()
            if call.name != ANSWER_TOOL
        ),
        sum(usage.prompt_token_count or 0 for usage in usages) if usages else None,
        sum(usage.candidates_token_count or 0 for usage in usages) if usages else None,
    )


def _text(event: Event) -> str:
    parts = event.content.parts if event.content and event.content.parts else []
    return "".join(part.text for part in parts if part.text and not part.thought)
