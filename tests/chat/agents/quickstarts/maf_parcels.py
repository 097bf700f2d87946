"""As in Agent Framework's guide to function tools, about parcels; one agent gives structured answers."""

from typing import Annotated

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatClient
from pydantic import BaseModel, Field


class Quote(BaseModel):
    """The structured answer."""

    price_eur: float
    carrier: str


@tool
def quote_parcel(weight_kg: Annotated[float, Field(gt=0)], city: str) -> str:
    """Quote the price of sending a parcel."""
    return f"That costs {4 + weight_kg:.2f} EUR to {city}"


agent = Agent(client=OpenAIChatClient(), name="shipper", instructions="You quote parcels.", tools=[quote_parcel])
structured = Agent(
    client=OpenAIChatClient(),
    name="quoter",
    instructions="You quote parcels.",
    tools=[quote_parcel],
    default_options={"response_format": Quote},  # type: ignore[arg-type]
)
