"""The weather assistant in Microsoft Agent Framework, in the embedded world and with models that misbehave."""

from __future__ import annotations

from tests.chat.agents.assistant import AssistantLaws
from tests.chat.agents.many import ManyConversations


class TestAgentFramework(AssistantLaws, ManyConversations):
    name = "agent-framework"
    limit_error = "calls of the model in a turn is exceeded"
    forgets_failed_turns = True
