"""As in LangGraph's guide to tool calling: a graph of an agent's node and a node of tools, about restaurants."""

from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
async def book_table(restaurant: str, people: int = 2) -> str:
    """Book a table at a restaurant."""
    return f"Booked a table for {people} at {restaurant}"


@tool
def menu(restaurant: str) -> list[str]:
    """Tell what is on the menu of a restaurant."""
    return ["soup", "fish", "cake"]


llm = init_chat_model("openai:gpt-4o-mini", temperature=0).bind_tools([book_table, menu])


async def call_model(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await llm.ainvoke([SystemMessage("You are a concierge."), *state["messages"]])]}


builder = StateGraph(MessagesState)
builder.add_node("agent", call_model)
builder.add_node("tools", ToolNode([book_table, menu]))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", tools_condition)
builder.add_edge("tools", "agent")
graph = builder.compile()
