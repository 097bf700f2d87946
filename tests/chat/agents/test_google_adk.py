"""The weather assistant in Google ADK, with the embedded world and with misbehaving models."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantTests
from tests.chat.agents.laws import check_laws
from tests.chat.agents.random_conversations import BAD, RandomConversations
from tests.chat.agents.scripted_model import saying

from assay.chat.agents._shared.assistant import DESCRIPTION, NAME
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World


class TestGoogleAdk(AssistantTests, RandomConversations):
    name = "google-adk"
    quickstart = "adk:adk_quickstart:root_agent"
    limit_error = "Max number of llm calls limit"
    added_instructions = (
        f'\n\nYou are an agent. Your internal name is "{NAME}". The description about you is "{DESCRIPTION}".'
    )
    output_limit = "max_tokens"  # for models not listed as refusing it
    # ADK cannot store a list as arguments.
    fatal_arguments = ("[1]",)
    # ADK does not validate arguments: one of the wrong type reaches the tool, which raises.
    accepted_bad_calls = tuple((name, arguments) for name, arguments in BAD if "many" not in str(arguments))

    def test_reasoning_tokens_are_not_counted_twice(self, world: World, tracing: Tracing) -> None:
        told = b'"completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}'
        move = saying("Snow.").replace(b'"completion_tokens": 5', told)
        answer, _ = self.with_model(world, tracing, [move])
        assert answer.trace.output_tokens == 5
        check_laws(answer)

    def test_empty_model_response_is_an_error(self, world: World, tracing: Tracing) -> None:
        move = saying("").replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
        answer, _ = self.with_model(world, tracing, [move])
        assert "the model gave no answer" in str(answer.error)
