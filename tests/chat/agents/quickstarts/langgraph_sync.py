"""As in LangGraph's quick start: a graph whose nodes call model and tools from functions that are not asynchronous."""

from typing import Any

from langchain.chat_models import init_chat_model
from langchain.messages import ToolMessage
from langchain.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph


@tool
def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city} at 20 °C."


model = init_chat_model("openai:gpt-5", temperature=0).bind_tools([get_weather])


def call_model(state: MessagesState) -> dict[str, Any]:
    return {"messages": [model.invoke(state["messages"])]}


def call_tools(state: MessagesState) -> dict[str, Any]:
    calls = state["messages"][-1].tool_calls  # type: ignore[union-attr]
    return {"messages": [ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]) for call in calls]}


def has_calls(state: MessagesState) -> str:
    return "tools" if state["messages"][-1].tool_calls else END  # type: ignore[union-attr]


builder = StateGraph(MessagesState)
builder.add_node("model", call_model)
builder.add_node("tools", call_tools)
builder.add_edge(START, "model")
builder.add_conditional_edges("model", has_calls, ["tools", END])
builder.add_edge("tools", "model")
agent = builder.compile()
