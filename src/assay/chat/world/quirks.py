"""Quirks that can be switched on for a turn: ways in which a model, its endpoint or a tool misbehaves.

Here are their names, what each does, and how one is written in a suite. What a quirk does is up to the part that it
affects: `model_quirks.py` (what the model says), `wire_quirks.py` (how it is sent) and `tool_quirks.py` (the tools).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import UsageError, unknown_name

ANSWER_QUIRKS: Mapping[str, str] = {
    "arguments_not_json": "the model writes a call's arguments as words instead of JSON",
    "arguments_cut_off": "the model's arguments end in the middle of the city's name",
    "arguments_wrong_type": "the model gives a number for the city",
    "arguments_missing": "the model calls a tool without its required argument",
    "arguments_extra": "the model adds an argument that the tool does not have",
    "arguments_object": "the model's arguments are a JSON object instead of a string",
    "arguments_list": "the model's arguments are a JSON list",
    "arguments_empty": "the model's arguments are an empty string",
    "unknown_tool": "the model calls a tool that does not exist",
    "similar_tool": "the model misspells the name of a tool",
    "unnamed_tool": "the model calls a tool with an empty name",
    "same_call_forever": "the model makes the same call again and again",
    "twenty_calls": "the model makes twenty calls in one message",
    "duplicate_call_ids": "all calls in a message have the same id",
    "empty_call_id": "the calls have an empty id",
    "missing_call_id": "the calls have no id",
    "text_and_calls": "the model sends text and calls in one message",
    "calls_end_with_stop": "a message with calls ends with finish_reason 'stop'",
    "calls_without_finish_reason": "a message with calls has no finish_reason",
    "calls_end_with_length": "the arguments are cut off, with finish_reason 'length'",
    "empty_answer": "the model answers with an empty text",
    "null_answer": "the model answers with neither text nor calls",
    "no_finish_reason": "the answer has no finish_reason",
    "length": "the answer is cut off, with finish_reason 'length'",
    "content_filter": "the answer is cut off, with finish_reason 'content_filter'",
    "content_filter_empty": "a content filter removes the whole answer",
    "refusal": "the model refuses, in the field that the protocol has for it",
    "reasoning_content": "the model sends its reasoning in a separate field",
    "think_tags": "the model's reasoning stands in tags inside the answer",
    "usage_missing": "the endpoint sends no token counts",
    "usage_absurd": "the endpoint sends token counts that are negative or in the billions",
    "usage_null": "the endpoint sends token counts that are null",
    "usage_in_every_chunk": "the endpoint sends the token counts so far with every chunk of a stream",
}
"""What the model says is wrong."""

WIRE_QUIRKS: Mapping[str, str] = {
    "keep_alive": "comments stand between the events of the stream",
    "delayed_chunks": "the chunks of the stream come late",
    "one_byte_chunks": "the stream comes byte by byte",
    "stream_cut_in_text": "the connection breaks in the middle of the answer",
    "stream_cut_in_arguments": "the connection breaks in the middle of a call's arguments",
    "stream_ends_in_text": "the stream ends in the middle of the answer, without an error",
    "stream_ends_in_arguments": "the stream ends in the middle of a call's arguments, without an error",
    "stream_error": "the stream sends an error in the middle of the answer",
    "stream_not_json": "an event of the stream is broken JSON",
    "stream_stalls": "the stream stops in the middle of the answer and stays open",
    "ignores_stream": "the endpoint ignores that a stream is asked for and sends the completion as a whole",
    "context_too_long": "status 400: the context is too long",
    "status_401": "status 401: the key is not accepted",
    "status_413": "status 413: the request is too large",
    "status_429": "status 429 without Retry-After",
    "status_429_retry_after": "status 429 with Retry-After",
    "status_500": "status 500",
    "status_503": "status 503",
    "error_with_status_200": "an error with status 200",
    "connection_reset": "the endpoint closes the connection without an answer",
    "html": "the endpoint sends a page in HTML instead of JSON",
}
"""What the model says is right; the endpoint sends something else, or sends it in an unusual way."""

TOOL_QUIRKS: Mapping[str, str] = {
    "tool_exception": "a tool raises an exception that nobody expected",
    "tool_timeout": "a tool raises TimeoutError",
    "tool_hangs": "a tool never returns",
    "tool_large_result": "a tool returns 1 MB",
    "tool_not_utf8": "a tool returns bytes that are not UTF-8, as Python keeps them in a text",
    "tool_injection": "a tool's result contains an instruction to the model",
    "tool_text": "a tool returns a sentence instead of a table",
    "tool_list": "a tool returns a list instead of a table",
    "tool_nothing": "a tool returns None",
}
"""A tool misbehaves."""

QUIRKS: Mapping[str, str] = {**ANSWER_QUIRKS, **WIRE_QUIRKS, **TOOL_QUIRKS}
"""Every quirk that can be switched on, with a description of what happens."""

_ON_CALLS = frozenset(
    {"unknown_tool", "similar_tool", "unnamed_tool", "same_call_forever", "twenty_calls", "duplicate_call_ids",
     "empty_call_id", "missing_call_id", "text_and_calls", "stream_cut_in_arguments", "stream_ends_in_arguments"}
)  # fmt: skip
_ON_MEANT_ARGUMENTS = frozenset(
    {"arguments_not_json", "arguments_cut_off", "arguments_wrong_type", "arguments_missing", "arguments_extra",
     "arguments_object", "arguments_list", "arguments_empty", "calls_end_with_length", "stream_cut_in_arguments",
     "stream_ends_in_arguments"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quirk:
    """A quirk in a turn. As text: `empty_answer`, or `empty_answer*1` if only the first response has it."""

    kind: str
    times: int | None = None
    """How many responses of the turn have it, of those that it can affect; None for all."""

    @classmethod
    def parse(cls, text: str) -> Quirk:
        """Read a quirk from text; the inverse of `str`."""
        kind, mark, times = text.partition("*")
        if kind not in QUIRKS:
            raise unknown_name("quirk", kind, QUIRKS)
        if mark and not (times.isascii() and times.isdecimal() and int(times) > 0):
            raise UsageError(
                f"'{text}' must have a positive integer after '*'",
                hint=f"Write {kind}, or {kind}*1 for the first response only",
            )
        return cls(kind, int(times) if mark else None)

    @property
    def is_of_tools(self) -> bool:
        """Whether a tool misbehaves, and not the model or its endpoint."""
        return self.kind in TOOL_QUIRKS

    @property
    def alters_arguments(self) -> bool:
        """Whether a call arrives with other arguments than the model meant."""
        return self.kind in _ON_MEANT_ARGUMENTS

    @property
    def acts_on(self) -> str:
        """What a turn must have for it to occur."""
        if self.is_of_tools:
            return "look-up by a tool"
        if self.kind.startswith("arguments_"):
            return "call of a tool with arguments"
        if self.kind in _ON_CALLS or self.kind.startswith("calls_"):
            return "call of a tool"
        if self.kind.startswith("status_") or self.kind in WIRE_QUIRKS:
            return "streamed response of the model"
        return "answer of the model"

    @property
    def words(self) -> str:
        """What happens, in words."""
        often = {None: "", 1: ", once"}.get(self.times, f", {self.times} times")
        return QUIRKS[self.kind] + often

    def __str__(self) -> str:
        return self.kind if self.times is None else f"{self.kind}*{self.times}"
