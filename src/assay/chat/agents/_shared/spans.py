"""Spans by OpenTelemetry's conventions for generative AI, for frameworks that do not record such spans themselves.

The framework's events start and end them. Their parent is the span that is current at their start, which is the turn's.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

Attributes = Mapping[str, str | int | None]


class GenAISpans:
    """Records spans, identified by the framework's own ids until they end; safe for concurrent turns."""

    def __init__(self, system: str) -> None:
        self._system = system
        self._open: dict[Hashable, Span] = {}

    def start_model(self, key: Hashable, model: str) -> None:
        """A model call starts."""
        self._start(key, f"chat {model}", SpanKind.CLIENT, "chat", {"gen_ai.request.model": model})

    def end_model(
        self,
        key: Hashable,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
        error: str | None = None,
    ) -> None:
        """The model call ends; `error` is the name of the error if it failed."""
        usage = {
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
            "gen_ai.usage.cache_read.input_tokens": cached_tokens,
        }
        self._end(key, usage, error, error)

    def start_tool(self, key: Hashable, name: str, *, arguments: object = None) -> None:
        """A tool call starts; its arguments may be given at its end instead."""
        self._start(
            key,
            f"execute_tool {name}",
            SpanKind.INTERNAL,
            "execute_tool",
            {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": _json(arguments)},
        )

    def end_tool(
        self,
        key: Hashable,
        *,
        arguments: object = None,
        result: object = None,
        error: str | None = None,
        message: str | None = None,
    ) -> None:
        """The tool call ends; if it failed, `error` is the kind of failure and `message` describes it."""
        self._end(
            key,
            {
                "gen_ai.tool.call.arguments": _json(arguments),
                "gen_ai.tool.call.result": _json(result),
            },
            error,
            message,
        )

    def _start(self, key: Hashable, name: str, kind: SpanKind, operation: str, attributes: Attributes) -> None:
        # The tracer is looked up each time, because the provider may be set after this object is created.
        self._open[key] = trace.get_tracer("assay.chat.agents").start_span(
            name,
            kind=kind,
            attributes={
                "gen_ai.operation.name": operation,
                "gen_ai.provider.name": self._system,
                **{name: value for name, value in attributes.items() if value is not None},
            },
        )

    def _end(self, key: Hashable, attributes: Attributes, error: str | None, message: str | None) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR, message))
        span.end()

    def refused(self, name: str, *, arguments: object, reason: str, result: object = None) -> None:
        """Record a call that the framework refused, for example because there is no such tool."""
        self.start_tool(name, name, arguments=arguments)
        self.end_tool(name, result=result, error="refused", message=reason)


def _json(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
