"""LangGraph's functional API as in its quick start, and with each kind of input and return value that it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from langchain.messages import AIMessage, HumanMessage, SystemMessage
from langchain.tools import tool
from langchain_core.messages import BaseMessage
from langchain_openai import ChatOpenAI
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph, add_messages


@tool
def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return f"It's sunny in {city}."


tools = {get_weather.name: get_weather}
model = ChatOpenAI(model="gpt-4o").bind_tools(list(tools.values()))


@task
def call_llm(messages: list[Any]) -> Any:
    return model.invoke([SystemMessage("You tell the weather."), *messages])


@task
def call_tool(call: Any) -> Any:
    return tools[call["name"]].invoke(call)


def conversation(messages: Any) -> Any:
    """The messages with the answer, after the calls of tools that it takes."""
    answer = call_llm(messages).result()
    while answer.tool_calls:
        results = [one.result() for one in [call_tool(call) for call in answer.tool_calls]]
        messages = add_messages(messages, [answer, *results])
        answer = call_llm(messages).result()
    return add_messages(messages, answer)


@entrypoint()
def agent(messages: list[BaseMessage]) -> Any:
    return conversation(messages)


@entrypoint()
def remembering(messages, *, previous=None):  # type: ignore[no-untyped-def]
    said = conversation(add_messages(previous or [], messages))
    return entrypoint.final(value=said[-1], save=said)


@entrypoint()
def from_text(question: str) -> str:
    return str(conversation([HumanMessage(question)])[-1].text)


@entrypoint()
def from_message(question: HumanMessage) -> Any:
    return conversation([question])[-1]


@entrypoint()
async def from_state(given: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [await model.ainvoke([*given["messages"], AIMessage("Hm.")])]}


@dataclass
class Input:
    """A state that has to be created."""

    messages: list[BaseMessage]


@entrypoint()
def from_class(given: Input) -> Any:
    return conversation(given.messages)


class Question(TypedDict):
    """What no suite can give."""

    question: str


@entrypoint()
def from_question(given: Question) -> str:
    return given["question"]


@entrypoint()
def untyped(something):  # type: ignore[no-untyped-def]
    return something


@entrypoint()
def numbers(amounts: list[int]) -> int:
    return sum(amounts)


@entrypoint()
def essay(topic: str) -> dict[str, str]:
    return {"essay": topic, "review": "good"}


def echo(state: Question) -> Question:
    return state


builder = StateGraph(Question).add_node("echo", echo).add_edge(START, "echo")
without_messages = builder.compile()
