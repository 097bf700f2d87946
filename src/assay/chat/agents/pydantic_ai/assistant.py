"""The weather assistant, written with Pydantic AI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    Agent,
    AgentRunResult,
    AgentRunResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    RunContext,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolFailed,
    ToolReturnPart,
    UsageLimits,
)
from pydantic_ai.capabilities import AbstractCapability, Instrumentation
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import INSTRUCTIONS, NAME, City, Days, Insight, openai_client
from assay.chat.agents.pydantic_ai._spans import RefusedCalls
from assay.chat.formats.payload import parsed
from assay.chat.transcript import ToolCall

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from assay.chat.world.preferences import Preferences
    from assay.chat.world.weather import WeatherClient


@dataclass(frozen=True, slots=True)
class Deps:
    """What the tools know about the turn; the model does not see it."""

    user: str
    weather: WeatherClient
    preferences: Preferences


async def get_current_weather(ctx: RunContext[Deps], city: City) -> dict[str, Any]:
    """Tell the weather in a city right now."""
    return await ctx.deps.weather.current(city)


async def get_weather_forecast(ctx: RunContext[Deps], city: City, days: Days = 5) -> dict[str, Any]:
    """Tell the weather in a city on the coming days, from tomorrow on."""
    return await ctx.deps.weather.forecast(city, days)


async def get_user_preferences(ctx: RunContext[Deps]) -> dict[str, Any]:
    """Tell what the user is known to like and dislike."""
    return ctx.deps.preferences.read(ctx.deps.user)


async def update_user_preferences_from_insight(ctx: RunContext[Deps], insight: Insight) -> dict[str, Any]:
    """Keep what the user has told about what they like or dislike."""
    return ctx.deps.preferences.learn(ctx.deps.user, insight)


TOOLS: list[Callable[..., Any]] = [
    get_current_weather,
    get_weather_forecast,
    get_user_preferences,
    update_user_preferences_from_insight,
]


class FailuresTold(AbstractCapability[Deps]):
    """Tells the model if a tool fails; by default an exception in a tool ends the turn."""

    async def on_tool_execute_error(
        self, ctx: RunContext[Deps], *, call: ToolCallPart, tool_def: Any, args: Any, error: Exception
    ) -> Any:
        raise ToolFailed(str(error) or type(error).__name__) from error


class Assistant:
    """The assistant. It stores the messages of each conversation, because Pydantic AI leaves that to its user."""

    def __init__(
        self, setup: Setup, agent: Agent[Any, Any], *, has_deps: bool = True, options: Mapping[str, Any] | None = None
    ) -> None:
        self._setup = setup
        self._agent = agent
        self._has_deps = has_deps
        self._options = options or {}
        self._histories: dict[str, list[ModelMessage]] = {}

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        async for part in self._run(session, user, message):
            yield part

    async def _run(self, session: str, user: str, message: str | None, **resumed: Any) -> AsyncIterator[str | Reply]:
        async with self._agent.run_stream_events(
            message,
            deps=Deps(user, self._setup.weather, self._setup.preferences) if self._has_deps else None,
            message_history=self._history(session),
            usage_limits=UsageLimits(request_limit=self._setup.limits.model_calls),
            conversation_id=session,
            **self._options,
            **resumed,
        ) as events:
            async for event in events:
                match event:
                    case PartStartEvent(part=TextPart(content=text)) if text:
                        yield text
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        yield text
                    case AgentRunResultEvent(result=result):
                        self._keep(session, result.all_messages())
                        yield self._reply(session, result)

    def _reply(self, session: str, result: AgentRunResult[Any]) -> Reply:
        # Pydantic AI reports 0 if the endpoint gave no count.
        tokens = (result.usage.input_tokens or None, result.usage.output_tokens or None)
        return Reply(str(result.output), _calls(result.new_messages()), *tokens)

    def _history(self, session: str) -> list[ModelMessage] | None:
        """The messages so far; those that another process has stored too."""
        file = self._file(session)
        if session not in self._histories and file is not None and file.exists():
            self._histories[session] = ModelMessagesTypeAdapter.validate_json(file.read_bytes())
        return self._histories.get(session)

    def _keep(self, session: str, messages: list[ModelMessage]) -> None:
        self._histories[session] = messages
        if (file := self._file(session)) is not None:
            file.write_bytes(ModelMessagesTypeAdapter.dump_json(messages))

    def _file(self, session: str) -> Path | None:
        return Path(self._setup.storage) / f"{session}.json" if self._setup.storage else None

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete a conversation."""
        self._histories.pop(session, None)


def chat_model(setup: Setup, client: AsyncOpenAI) -> OpenAIChatModel:
    """The model of the endpoint."""
    return OpenAIChatModel(
        setup.model,
        provider=OpenAIProvider(openai_client=client),
        profile=OpenAIModelProfile(openai_supports_strict_tool_definition=False),
    )


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    async with openai_client(setup) as client:
        agent = Agent(
            chat_model(setup, client),
            name=NAME,
            deps_type=Deps,
            instructions=INSTRUCTIONS,
            tools=TOOLS,
            # More malformed tool calls than this end the turn; the limit of model calls is reached first.
            retries={"tools": setup.limits.model_calls},
            tool_timeout=setup.limits.tool_timeout,
            model_settings=ModelSettings(max_tokens=setup.limits.max_tokens),
            capabilities=[Instrumentation(), RefusedCalls(), FailuresTold()],
        )
        if not setup.has_deletion:
            yield Assistant(setup, agent)
            return
        from assay.chat.agents.pydantic_ai.consent import ConsentingAssistant, delete_user_preferences

        agent.tool(requires_approval=True)(delete_user_preferences)
        yield ConsentingAssistant(setup, agent)


def _calls(messages: Sequence[ModelMessage]) -> tuple[ToolCall, ...]:
    """The tool calls of a run, as its messages report them."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    results = {part.tool_call_id: part for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)}
    calls = [call for message in messages if isinstance(message, ModelResponse) for call in message.tool_calls]
    return tuple(_call(call, results.get(call.tool_call_id)) for call in calls)


def _call(call: ToolCallPart, result: ToolReturnPart | RetryPromptPart | None) -> ToolCall:
    if result is None:  # calls of a model that gives several the same id
        return ToolCall(name=call.tool_name, arguments=call.args_as_dict())
    failed = isinstance(result, RetryPromptPart) or result.outcome != "success"
    told = result.model_response() if isinstance(result, RetryPromptPart) else result.content
    return ToolCall(
        name=call.tool_name,
        arguments=call.args_as_dict(),
        result=parsed(told),
        error=str(told) if failed else None,
    )
