"""As in Pydantic AI's example of a bank: dependencies, and an answer that is structured."""

from dataclasses import dataclass

from pydantic import BaseModel, Field
from pydantic_ai import Agent, RunContext


@dataclass
class Support:
    """What the tools know about the customer."""

    customer: str


class Advice(BaseModel):
    """The answer."""

    advice: str
    risk: int = Field(ge=0, le=10)


agent = Agent("anthropic:claude-sonnet-4-5", deps_type=Support, output_type=Advice, defer_model_check=True)


@agent.tool
def get_weather(ctx: RunContext[Support], city: str) -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city}, {ctx.deps.customer}."


def support() -> Support:
    return Support("Ada")
