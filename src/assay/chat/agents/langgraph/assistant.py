"""The weather assistant, written with LangChain's `create_agent`, which builds a graph of LangGraph."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import langsmith
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelCallLimitMiddleware, ToolCallRequest, ToolErrorMiddleware
from langchain.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain.messages import ToolCall as AskedCall
from langchain.tools import BaseTool, ToolRuntime, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel
from langgraph.types import Command
from pydantic import SecretStr

from assay.chat.agents import Reply, Setup
from assay.chat.agents._shared.assistant import INSTRUCTIONS, NAME, City, Days, Insight, http_client
from assay.chat.agents.langgraph._spans import RefusedCalls, SpanBridge
from assay.chat.formats.payload import parsed
from assay.chat.transcript import ToolCall
from assay.errors import missing_extra

if TYPE_CHECKING:
    from assay.chat.world.preferences import Preferences
    from assay.chat.world.weather import WeatherClient


@dataclass(frozen=True, slots=True)
class Context:
    """What the tools know about the turn; the model does not see it."""

    user: str


def make_tools(weather: WeatherClient, preferences: Preferences) -> list[BaseTool]:
    """The assistant's tools."""

    @tool
    async def get_current_weather(city: City) -> dict[str, Any]:
        """Tell the weather in a city right now."""
        return await weather.current(city)

    @tool
    async def get_weather_forecast(city: City, days: Days = 5) -> dict[str, Any]:
        """Tell the weather in a city on the coming days, from tomorrow on."""
        return await weather.forecast(city, days)

    @tool
    async def get_user_preferences(runtime: ToolRuntime[Context]) -> dict[str, Any]:
        """Tell what the user is known to like and dislike."""
        return preferences.read(runtime.context.user)

    @tool
    async def update_user_preferences_from_insight(insight: Insight, runtime: ToolRuntime[Context]) -> dict[str, Any]:
        """Keep what the user has told about what they like or dislike."""
        return preferences.learn(runtime.context.user, insight)

    return [get_current_weather, get_weather_forecast, get_user_preferences, update_user_preferences_from_insight]


def tell_failure(error: Exception, request: ToolCallRequest) -> str:
    """The message to the model if a tool fails; by default an exception in a tool ends the turn."""
    return f"Error: {error}" if str(error) else f"Error: {type(error).__name__}"


class ToolTimeout(AgentMiddleware[Any, Context, Any]):
    """Ends a tool that takes too long; `create_agent` itself has no such setting."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        async with asyncio.timeout(self._seconds):
            return await handler(request)


class Assistant:
    """The assistant, whose graph stores one thread for each conversation."""

    def __init__(self, graph: Pregel[Any, Any, Any, Any], *, has_context: bool = True) -> None:
        self._graph = graph
        self._has_context = has_context

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        async for part in self._run(session, user, {"messages": [HumanMessage(message)]}):
            yield part

    async def _run(self, session: str, user: str, given: dict[str, Any] | Command[Any]) -> AsyncIterator[str | Reply]:
        messages: Sequence[AnyMessage] = ()
        async for part in self._graph.astream(
            given,
            {"configurable": {"thread_id": session}, "callbacks": [SpanBridge()]},
            context=Context(user) if self._has_context else None,
            stream_mode=["messages", "values"],
            version="v2",
        ):
            if part["type"] == "values":
                messages = part["data"]["messages"]
            elif part["type"] == "messages":
                piece, _ = part["data"]
                if isinstance(piece, AIMessageChunk) and piece.text:
                    yield piece.text
        yield reply_of(messages)

    async def end_session(self, *, session: str, user: str) -> None:
        """Delete a conversation."""
        assert isinstance(self._graph.checkpointer, BaseCheckpointSaver)
        await self._graph.checkpointer.adelete_thread(session)


def chat_model(setup: Setup, client: httpx.AsyncClient) -> ChatOpenAI:
    """The model behind the endpoint, within the limits."""
    return ChatOpenAI(
        model=setup.model,
        base_url=setup.model_url,
        api_key=SecretStr(setup.model_key),
        max_retries=setup.limits.retries,
        timeout=setup.limits.model_timeout,
        max_completion_tokens=setup.limits.max_tokens,
        stream_usage=True,
        http_async_client=client,
        http_socket_options=(),
    )


def middleware_of(setup: Setup) -> list[AgentMiddleware[Any, Context, Any]]:
    """Limits of a turn, and what happens if a tool fails or takes too long."""
    return [
        ModelCallLimitMiddleware(run_limit=setup.limits.model_calls, exit_behavior="error"),
        ToolErrorMiddleware(tell_failure),
        ToolTimeout(setup.limits.tool_timeout),
        RefusedCalls(),
    ]


@asynccontextmanager
async def open_assistant(setup: Setup) -> AsyncIterator[Assistant]:
    """The assistant, ready to answer."""
    # LangSmith would send traces to LangChain if the environment enables it. OpenTelemetry's spans stay local.
    langsmith.configure(enabled=False)
    async with http_client(setup) as client, opened_saver(setup) as saver:
        middleware = middleware_of(setup)
        tools, assistant = make_tools(setup.weather, setup.preferences), Assistant
        if setup.has_deletion:
            from assay.chat.agents.langgraph.consent import APPROVAL, ConsentingAssistant, deletion_tool

            tools.append(deletion_tool(setup.preferences))
            middleware.append(APPROVAL)
            assistant = ConsentingAssistant
        graph = create_agent(
            chat_model(setup, client),
            tools,
            name=NAME,
            system_prompt=INSTRUCTIONS,
            context_schema=Context,
            checkpointer=saver,
            middleware=middleware,
        )
        yield assistant(graph)


@asynccontextmanager
async def opened_saver(setup: Setup) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Where threads are stored: in memory, or in a file if they are to outlive the process."""
    if not setup.storage:
        yield InMemorySaver()
        return
    try:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    except ImportError as error:
        raise missing_extra("langgraph-checkpoint-sqlite", "langgraph", "store threads in a file") from error
    async with AsyncSqliteSaver.from_conn_string(f"{setup.storage}/threads.db") as saver:
        yield saver


def reply_of(messages: Sequence[AnyMessage]) -> Reply:
    """The last turn of a thread, as its messages report it."""
    start = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
    said = [message for message in messages[start:] if isinstance(message, AIMessage)]
    results = {message.tool_call_id: message for message in messages[start:] if isinstance(message, ToolMessage)}
    usages = [message.usage_metadata for message in said if message.usage_metadata]
    return Reply(
        said[-1].text,
        tuple(_call(call, results.get(call["id"] or "")) for message in said for call in message.tool_calls),
        sum(usage["input_tokens"] for usage in usages) if usages else None,
        sum(usage["output_tokens"] for usage in usages) if usages else None,
    )


def _call(call: AskedCall, result: ToolMessage | None) -> ToolCall:
    if result is None:  # calls of a model that gives them no id, or several the same
        return ToolCall(name=call["name"], arguments=call["args"])
    if result.status == "error":
        return ToolCall(name=call["name"], arguments=call["args"], error=result.text)
    return ToolCall(name=call["name"], arguments=call["args"], result=parsed(result.text))
