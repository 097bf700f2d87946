"""As in the quick start of the OpenAI Agents SDK: handoffs, and a guardrail that is an agent with an output type."""

from typing import Any

from agents import Agent, GuardrailFunctionOutput, InputGuardrail, Runner, function_tool
from pydantic import BaseModel


class HomeworkOutput(BaseModel):
    """What the guardrail finds."""

    is_homework: bool
    reasoning: str


@function_tool
async def look_up_event(year: int, place: str = "Rome") -> str:
    """Look up what happened in a year."""
    return f"In {year} a great fire broke out in {place}."


guardrail_agent = Agent(
    name="Guardrail check", instructions="Is the user asking about homework?", output_type=HomeworkOutput
)
history_tutor = Agent(name="History Tutor", instructions="You help with history.", tools=[look_up_event])


async def homework_guardrail(ctx: Any, agent: Any, input_data: Any) -> GuardrailFunctionOutput:
    result = await Runner.run(guardrail_agent, input_data, context=ctx.context)
    final = result.final_output_as(HomeworkOutput)
    return GuardrailFunctionOutput(output_info=final, tripwire_triggered=not final.is_homework)


triage = Agent(
    name="Triage Agent",
    instructions="Decide which tutor to use.",
    handoffs=[history_tutor],
    input_guardrails=[InputGuardrail(guardrail_function=homework_guardrail)],
)
plain = Agent(name="Triage without guardrail", instructions="Decide which tutor to use.", handoffs=[history_tutor])
