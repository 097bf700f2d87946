"""The weather assistant in Google ADK, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws, lawful, saying
from tests.chat.agents.many import BAD, ManyConversations

from assay.chat.agents._shared.assistant import DESCRIPTION, NAME
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World


class TestGoogleAdk(AssistantLaws, ManyConversations):
    name = "google-adk"
    limit_error = "Max number of llm calls limit"
    added_instructions = (
        f'\n\nYou are an agent. Your internal name is "{NAME}". The description about you is "{DESCRIPTION}".'
    )
    output_limit = "max_tokens"  # for models whose name is not of those that refuse it
    # A list cannot be kept as the arguments of a call; one in place of a word reaches the tool, which raises.
    unbearable = ("[1]", '{"city": ["Oslo"]}')
    # It gives a tool whatever the model wrote; an argument of the wrong type raises there, which ends the turn.
    bears = tuple((name, arguments) for name, arguments in BAD if "many" not in str(arguments))

    def test_reasoning_is_not_counted_twice(self, world: World, tracing: Tracing) -> None:
        told = b'"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}'
        move = saying("Snow.").replace(b'"completion_tokens": 5', told)
        answer, _ = self.with_model(world, tracing, [move])
        assert answer.trace.output_tokens == 5
        lawful(answer)

    def test_an_answer_that_never_began_is_an_error(self, world: World, tracing: Tracing) -> None:
        move = saying("").replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
        answer, _ = self.with_model(world, tracing, [move])
        assert "the model gave no answer" in str(answer.error)
