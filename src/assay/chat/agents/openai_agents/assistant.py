"""The weather assistant, written with the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunContextWrapper,
    Runner,
    RunResultStreaming,
    RunState,
    SQLiteSession,
    ToolCallItem,
    ToolCallOutputItem,
    ToolErrorFormatterArgs,
    default_tool_error_function,
    function_tool,
    set_trace_processors,
)
from agents.tool_context import ToolContext
from openai.types.responses import ResponseTextDeltaEvent

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import INSTRUCTIONS, NAME, City, Days, Insight, openai_client
from assay.chat.agents.openai_agents._spans import RefusedCalls, SpanBridge, note_failure
from assay.chat.formats.payload import arguments_of, parsed
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from assay.chat.world.preferences import Preferences
    from assay.chat.world.weather import WeatherClient


@dataclass(frozen=True, slots=True)
class Context:
    """What the tools know about the turn; the model does not see it."""

    user: str
    weather: WeatherClient
    preferences: Preferences
    failures: dict[str, str] = field(default_factory=dict)
    """Error messages by the id of the tool call."""


def tell_failure(context: RunContextWrapper[Any], error: Exception) -> str:
    """The message to the model if a tool fails: the SDK's own text."""
    if isinstance(context, ToolContext):
        context.context.failures[context.tool_call_id] = str(error)
    return default_tool_error_function(context, error)


def tell_timeout(context: RunContextWrapper[Any], error: Exception) -> str:
    """The message to the model if a tool takes too long."""
    note_failure(error)
    return tell_failure(context, error)


def note_refusal(refusal: ToolErrorFormatterArgs[Context]) -> None:
    """Record that a tool does not exist; the model reads the SDK's own text."""
    refusal.run_context.context.failures[refusal.call_id] = refusal.default_message


@function_tool(failure_error_function=tell_failure, strict_mode=False)
async def get_current_weather(context: RunContextWrapper[Context], city: City) -> str:
    """Tell the weather in a city right now."""
    return json.dumps(await context.context.weather.current(city))


@function_tool(failure_error_function=tell_failure, strict_mode=False)
async def get_weather_forecast(context: RunContextWrapper[Context], city: City, days: Days = 5) -> str:
    """Tell the weather in a city on the coming days, from tomorrow on."""
    return json.dumps(await context.context.weather.forecast(city, days))


@function_tool(failure_error_function=tell_failure, strict_mode=False)
async def get_user_preferences(context: RunContextWrapper[Context]) -> str:
    """Tell what the user is known to like and dislike."""
    return json.dumps(context.context.preferences.read(context.context.user))


@function_tool(failure_error_function=tell_failure, strict_mode=False)
async def update_user_preferences_from_insight(context: RunContextWrapper[Context], insight: Insight) -> str:
    """Keep what the user has told about what they like or dislike."""
    return json.dumps(context.context.preferences.learn(context.context.user, insight))


TOOLS = [get_current_weather, get_weather_forecast, get_user_preferences, update_user_preferences_from_insight]


class Assistant:
    """The assistant, with one SDK session for each conversation."""

    def __init__(
        self,
        setup: Setup,
        agent: Agent[Any],
        *,
        model: OpenAIChatCompletionsModel | None = None,
        model_settings: ModelSettings | None = None,
    ) -> None:
        self._setup = setup
        self._agent = agent
        self._run_config = RunConfig(
            # None for that of the agent itself.
            model=model,
            model_settings=model_settings,
            trace_include_sensitive_data=True,
            # By default a call for a tool that does not exist ends the turn.
            tool_not_found_behavior="return_error_to_model",
            tool_error_formatter=note_refusal,
        )
        self._sessions: dict[str, SQLiteSession] = {}

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        context = Context(user, self._setup.weather, self._setup.preferences)
        async for part in self._run(session, context, message):
            yield part

    async def _run(self, session: str, context: Context, given: str | RunState[Any, Any]) -> AsyncIterator[str | Reply]:
        if session not in self._sessions:
            where = f"{self._setup.storage}/sessions.db" if self._setup.storage else ":memory:"
            self._sessions[session] = SQLiteSession(session, where)
        result = Runner.run_streamed(
            self._agent,
            given,
            context=context,
            session=self._sessions[session],
            max_turns=self._setup.limits.model_calls,
            hooks=RefusedCalls(),
            run_config=self._run_config,
        )
        async for event in result.stream_events():
            if event.type == "raw_response_event" and isinstance(event.data, ResponseTextDeltaEvent):
                yield event.data.delta
        yield self._reply(session, result, context)

    def _reply(self, session: str, result: RunResultStreaming, context: Context) -> Reply:
        usage = result.context_wrapper.usage
        # The SDK reports 0 if the endpoint gave no count.
        tokens = (usage.input_tokens or None, usage.output_tokens or None)
        return Reply(str(result.final_output), _calls(result, context), *tokens)

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete a conversation: it is stored in a database in memory, which goes when it is closed."""
        if session in self._sessions:
            self._sessions.pop(session).close()

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()


def model_settings_of(setup: Setup) -> ModelSettings:
    """Limits of a model call."""
    return ModelSettings(
        # The SDK's `max_tokens` setting sends the older field, which OpenAI has replaced by this one.
        extra_args={"max_completion_tokens": setup.limits.max_tokens},
        include_usage=True,
    )


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    # By default the SDK sends traces to OpenAI. Here they become OpenTelemetry spans and stay local.
    set_trace_processors([SpanBridge()])
    async with openai_client(setup) as client:
        agent = Agent[Context](
            name=NAME,
            instructions=INSTRUCTIONS,
            model=OpenAIChatCompletionsModel(setup.model, openai_client=client),
            model_settings=model_settings_of(setup),
            tools=[
                replace(tool, timeout_seconds=setup.limits.tool_timeout, timeout_error_function=tell_timeout)
                for tool in TOOLS
            ],
        )
        assistant = Assistant(setup, agent)
        if setup.has_deletion:
            from assay.chat.agents.openai_agents.consent import ConsentingAssistant, delete_user_preferences

            agent.tools.append(delete_user_preferences)
            assistant = ConsentingAssistant(setup, agent)
        try:
            yield assistant
        finally:
            assistant.close()


def _calls(result: RunResultStreaming, context: Context) -> tuple[ToolCall, ...]:
    """The tool calls of a run, as the SDK reports them."""
    outputs = {item.call_id: item.output for item in result.new_items if isinstance(item, ToolCallOutputItem)}
    calls = [item for item in result.new_items if isinstance(item, ToolCallItem)]
    return tuple(
        ToolCall(
            name=call.tool_name or "",
            arguments=arguments_of(getattr(call.raw_item, "arguments", None)),
            result=None if call.call_id in context.failures else parsed(outputs.get(call.call_id)),
            error=context.failures.get(call.call_id or ""),
        )
        for call in calls
    )
