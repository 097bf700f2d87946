"""A completion of the scripted model in the format of OpenAI's chat-completions protocol, whole or streamed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.chat.world.completion_request import CompletionRequest
from assay.chat.world.scripted import ModelOutput
from assay.chat.world.tokens import count_tokens, tokenize

MODEL = "assay-scripted"
"""The model name in every completion, whatever model the request names."""

# Models that reason aloud have a token for each of these, so that each comes in a chunk of its own.
_THINK_TAG = re.compile(r"(</?think>)")
TOKENS_PER_CHUNK = 6
"""Pieces of text in one chunk of a stream."""


class Completion:
    """The model's output in the protocol's format, whole or streamed; cut off at the request's token limit."""

    def __init__(
        self, output: ModelOutput, parsed: CompletionRequest, digest: str, created: int, fingerprint: str
    ) -> None:
        self.id = f"chatcmpl-{digest[:29]}"
        self.parsed = parsed
        self.created = created
        self.fingerprint = fingerprint
        self.text = output.text
        self.answers_by_call = output.answers_by_call
        """Whether its call is the answer, given to a tool that takes it."""
        self.calls: list[dict[str, Any]] = [
            {
                "id": f"call_{digest_of(digest, at)[:24]}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for at, call in enumerate(output.calls)
        ]
        self.finish_reason: str | None = "tool_calls" if self.calls else "stop"
        self.reasoning: str | None = None
        """The model's reasoning, in the field that some endpoints have for it."""
        self.refusal: str | None = None
        self.has_usage = True
        self.counts_in_every_chunk = False
        """Whether each chunk of a stream has the token counts so far, as some endpoints send them."""
        self._sent = 0
        self.stated_usage: Mapping[str, Any] | None = None
        """The token counts to send; None for the true ones."""
        if self.text is not None:
            ends = [at for stop in parsed.stop if (at := self.text.find(stop)) >= 0]
            self.text = self.text[: min(ends)] if ends else self.text
        self._cut(parsed.max_tokens)

    def _cut(self, limit: int | None) -> None:
        if limit is None:
            return
        if self.text is not None and count_tokens(self.text) > limit:
            self.text, self.finish_reason = "".join(tokenize(self.text)[:limit]), "length"
        if self.calls and self.completion_tokens > limit:
            # A truncated call could not be parsed.
            self.text, self.calls, self.finish_reason = "", [], "length"

    @property
    def completion_tokens(self) -> int:
        written = [call["function"] for call in self.calls]
        return count_tokens(self.text or "") + sum(
            count_tokens(one["name"]) + count_tokens(str(one["arguments"])) for one in written
        )

    @property
    def usage(self) -> Mapping[str, Any]:
        if self.stated_usage is not None:
            return self.stated_usage
        prompt, completion = self.parsed.prompt_tokens, self.completion_tokens
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}

    def body(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": self.text, "refusal": self.refusal}
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = self.calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        whole = {**self._common_fields("chat.completion"), "choices": [choice]}
        return {**whole, "usage": self.usage} if self.has_usage else whole

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The streamed form: the role, the text or the calls, the finish reason, and the usage if requested."""
        yield self._chunk({"role": "assistant", "content": None if self.text is None else ""})
        if self.reasoning is not None:
            yield self._chunk({"reasoning_content": self.reasoning})
        if self.refusal is not None:
            yield self._chunk({"refusal": self.refusal})
        for piece in _THINK_TAG.split(self.text or ""):
            parts = tokenize(piece) if not _THINK_TAG.fullmatch(piece) else [piece]
            for at in range(0, len(parts), TOKENS_PER_CHUNK):
                yield self._chunk({"content": "".join(parts[at : at + TOKENS_PER_CHUNK])})
        for index, call in enumerate(self.calls):
            function = call["function"]
            if not isinstance(function["arguments"], str):
                yield self._call_chunk(index, call)
                continue
            yield self._call_chunk(index, {**call, "function": {"name": function["name"], "arguments": ""}})
            written = tokenize(function["arguments"])
            for at in range(0, len(written), TOKENS_PER_CHUNK):
                yield self._call_chunk(index, {"function": {"arguments": "".join(written[at : at + TOKENS_PER_CHUNK])}})
        yield self._chunk({}, self.finish_reason)
        if self.parsed.include_usage and self.has_usage:
            yield {**self._common_fields("chat.completion.chunk"), "choices": [], "usage": self.usage}

    def _call_chunk(self, index: int, call: Mapping[str, Any]) -> dict[str, Any]:
        return self._chunk({"tool_calls": [{"index": index, **call}]})

    def _chunk(self, delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        if self.counts_in_every_chunk:
            self._sent += count_tokens(str(delta.get("content") or ""))
            prompt = self.parsed.prompt_tokens
            so_far = {"prompt_tokens": prompt, "completion_tokens": self._sent, "total_tokens": prompt + self._sent}
            return {**self._common_fields("chat.completion.chunk"), "choices": [choice], "usage": so_far}
        chunk = {**self._common_fields("chat.completion.chunk"), "choices": [choice]}
        return {**chunk, "usage": None} if self.parsed.include_usage else chunk

    def _common_fields(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": MODEL,
            "system_fingerprint": self.fingerprint,
        }


def digest_of(*parts: object) -> str:
    """A digest of some values, from which ids are derived."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
