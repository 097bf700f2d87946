"""As in ADK's guide to agent teams, about cooking: a tool that returns a table, and a sub-agent with another tool."""

from google.adk.agents import Agent
from pydantic import BaseModel


class Recipe(BaseModel):
    """The structured answer."""

    minutes: int
    words: str


async def find_recipe(dish: str) -> dict[str, object]:
    """Find a recipe for a dish."""
    return {"status": "success", "dish": dish, "minutes": 35, "steps": ["chop", "fry", "serve"]}


def convert_units(amount: float, unit: str) -> dict[str, object]:
    """Convert a kitchen amount to grams."""
    return {"grams": amount * {"cup": 240, "tbsp": 15}.get(unit, 1)}


converter = Agent(
    name="converter", model="gemini-2.5-flash", description="Converts kitchen units.", tools=[convert_units]
)
root_agent = Agent(
    name="kitchen_helper",
    model="gemini-2.5-flash",
    instruction="You help in the kitchen. Delegate unit conversion.",
    tools=[find_recipe],
    sub_agents=[converter],
)
structured = Agent(name="writer", model="gemini-2.5-flash", instruction="Write recipes.", output_schema=Recipe)
structured_with_tools = Agent(
    name="writer_with_tools",
    model="gemini-2.5-flash",
    instruction="Write recipes.",
    output_schema=Recipe,
    tools=[find_recipe],
)
