"""As in the documentation of Pydantic AI: a game of dice, whose dependencies are the name of the player."""

import random

from pydantic import BaseModel
from pydantic_ai import Agent, RunContext

agent = Agent(
    "openai:gpt-5.2",
    deps_type=str,
    instructions="You're a dice game: roll the die and see if the number matches the user's guess.",
)


@agent.tool_plain
def roll_dice() -> str:
    """Roll a six-sided die and return the result."""
    return str(random.randint(1, 6))


@agent.tool
def get_player_name(ctx: RunContext[str]) -> str:
    """Get the player's name."""
    return ctx.deps


class Outcome(BaseModel):
    """The answer of the game."""

    words: str
    has_won: bool


judge = Agent("openai:gpt-5.2", output_type=Outcome, tools=[roll_dice])
