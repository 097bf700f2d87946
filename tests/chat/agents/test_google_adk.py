"""The weather assistant in Google ADK, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws
from tests.chat.agents.many import BAD, ManyConversations


class TestGoogleAdk(AssistantLaws, ManyConversations):
    name = "google-adk"
    limit_error = "Max number of llm calls limit"
    # It gives a tool whatever the model wrote; an argument of the wrong type raises there, which ends the turn.
    bears = tuple((name, arguments) for name, arguments in BAD if "many" not in str(arguments))
