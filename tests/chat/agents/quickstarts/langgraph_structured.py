"""As in LangChain's guide to structured output, beside another graph with a model that is no part of it."""

from typing import Any

import langgraph_other_model  # type: ignore[import-not-found]
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import BaseModel


class Weather(BaseModel):
    """The structured answer."""

    city: str
    temperature_c: float


def get_weather(city: str) -> str:
    """Get the weather for a city."""
    return f"It is always sunny in {city}."


fake = FakeListChatModel(responses=["It is sunny, 21 °C."])


def call(state: MessagesState) -> dict[str, Any]:
    return {"messages": [fake.invoke(state["messages"])]}


def graph_of(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("call", node)
    builder.add_edge(START, "call")
    builder.add_edge("call", END)
    return builder.compile()


class Caller:
    """A node that is an object; its class names the model."""

    def __call__(self, state: MessagesState) -> dict[str, Any]:
        return {"messages": [fake.invoke(state["messages"])]}


def calling(model: Any) -> Any:
    return lambda state: {"messages": [model.invoke(state["messages"])]}


def by_name(state: MessagesState) -> dict[str, Any]:
    return {"messages": [langgraph_other_model.chat.invoke(state["messages"])]}


other = graph_of(call)
by_closure = graph_of(calling(fake))
by_object = graph_of(Caller())
by_module = graph_of(by_name)
inside = graph_of(other)
agent = create_agent(ChatOpenAI(model="gpt-4o"), tools=[get_weather], response_format=Weather)
