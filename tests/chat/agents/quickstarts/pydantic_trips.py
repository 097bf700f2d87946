"""As in Pydantic AI's guide to function tools, about trips: an argument with a list of models, a bare figure back."""

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput


class Leg(BaseModel):
    """One part of a trip."""

    origin: str
    dest: str


class Trip(BaseModel):
    """A trip."""

    legs: list[Leg]
    passengers: int = 1


class Offer(BaseModel):
    """The structured answer."""

    words: str
    trip: Trip | None


agent = Agent("openai:gpt-4o", instructions="You plan trips.")
structured = Agent("openai:gpt-4o", instructions="You plan trips.", output_type=NativeOutput(Offer))


@agent.tool_plain
def price(trip: Trip) -> float:
    """Price of a trip."""
    return 100.0 * len(trip.legs) * trip.passengers
