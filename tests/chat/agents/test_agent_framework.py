"""The weather assistant in Microsoft Agent Framework, with the embedded world and with misbehaving models."""

from __future__ import annotations

import pytest
from tests.chat.agents.assistant import AssistantTests
from tests.chat.agents.laws import check_laws
from tests.chat.agents.random_conversations import RandomConversations
from tests.chat.agents.scripted_model import calling, saying

from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World


class TestAgentFramework(AssistantTests, RandomConversations):
    name = "agent-framework"
    quickstart = "maf:maf_quickstart:agent"
    limit_error = "calls of the model in a turn is exceeded"
    forgets_failed_turns = True

    def test_spans_contain_arguments_whatever_the_environment_sets(
        self, world: World, tracing: Tracing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from agent_framework.observability import OBSERVABILITY_SETTINGS

        # The framework reads these from OTEL_SEMCONV_STABILITY_OPT_IN and ENABLE_SENSITIVE_DATA when it is imported.
        monkeypatch.setattr(OBSERVABILITY_SETTINGS, "otel_semconv_stability_opt_in", "http")
        monkeypatch.setattr(OBSERVABILITY_SETTINGS, "enable_sensitive_data", False)
        answer, _ = self.with_model(world, tracing, [saying("", calling()), saying("Snow.")])
        assert answer.trace.tool_calls[0].arguments == {"city": "Oslo"}
        check_laws(answer)

    def test_model_reads_why_a_tool_failed(self, world: World, tracing: Tracing) -> None:
        moves = [saying("", calling("get_current_weather", {"city": "Xyzzyville"})), saying("Sorry.")]
        answer, asked = self.with_model(world, tracing, moves)
        (result,) = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
        assert str(answer.trace.tool_calls[0].error) in str(result)
        assert "Xyzzyville" in str(result)
