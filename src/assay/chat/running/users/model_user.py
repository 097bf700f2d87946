"""A simulated user that a model plays: it gets the persona's goal and the conversation, and writes the next message.

Works with any OpenAI-compatible endpoint. It runs where the agent runs; the key comes from the environment.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from assay.chat.world.situation import chance
from assay.errors import AssayError
from assay.redaction import redacted

USER_KEY = "ASSAY_USER_KEY"
"""The environment variable with the key of the user's model; by default that of the agents' model is used."""
USER_PROMPT = """You play a user who writes to an assistant. Write only the user's next message: one or two short \
sentences, without quotation marks. Never answer for the assistant.

What you want the assistant to know or to do, one after another:
{wishes}

If an answer shows that something was not understood, say it again in other words. \
When everything is done, {afterwards}"""
BEGINNING = "(The conversation begins. Write the first message.)"
"""What the model gets in place of the answer that it would reply to."""

_TIMEOUT = 60.0
_RETRIES = 2
_LONGEST_MESSAGE = 2000
_MOST_TOKENS = 200


class UserModelError(AssayError):
    """The model of the simulated user gave no message."""


@dataclass(frozen=True, slots=True)
class UserTokens:
    """What one message of the user took, as the endpoint reports it; None if it does not."""

    input: int | None = None
    output: int | None = None

    @classmethod
    def reported(cls, usage: object) -> UserTokens:
        table = usage if isinstance(usage, dict) else {}
        found = [table.get(name) for name in ("prompt_tokens", "completion_tokens")]
        return cls(*(value if isinstance(value, int) and value >= 0 else None for value in found))


class ModelUser:
    """One user in one conversation."""

    def __init__(self, model: str, url: str, wishes: Sequence[str], afterwards: str, *, seed: int, key: str) -> None:
        self._model = model
        self._url = url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        listed = "\n".join(f"- {wish}" for wish in wishes)
        self._messages = [{"role": "system", "content": USER_PROMPT.format(wishes=listed, afterwards=afterwards)}]
        # Another seed for each conversation, and the same one for every agent.
        self._seed = chance(seed, "user model", key).randrange(2**31)

    async def next(self, answer: str | None) -> tuple[str, UserTokens]:
        """What the user says after an answer, None before the first, and the tokens it took."""
        import httpx

        from assay.chat.tls import tls_context

        # From the model's side, the assistant is the one who speaks to it.
        self._messages.append({"role": "user", "content": BEGINNING if answer is None else answer or "(no answer)"})
        body = {
            "model": self._model,
            "messages": self._messages,
            "temperature": 0,
            "seed": self._seed,
            "max_tokens": _MOST_TOKENS,
        }
        secret = os.environ.get(USER_KEY) or os.environ.get("OPENAI_API_KEY") or "none"
        problem = ""
        async with httpx.AsyncClient(timeout=_TIMEOUT, verify=tls_context()) as client:
            for _ in range(_RETRIES + 1):
                try:
                    response = await client.post(self._url, json=body, headers={"authorization": f"Bearer {secret}"})
                except httpx.HTTPError as error:
                    problem = str(error) or type(error).__name__
                    continue
                if response.status_code >= 500 or response.status_code == 429:
                    problem = f"status {response.status_code}"
                    continue
                return self._said(response.status_code, response.text)
        raise UserModelError(f"the model of the simulated user, '{self._model}', cannot be asked: {redacted(problem)}")

    def _said(self, status: int, text: str) -> tuple[str, UserTokens]:
        try:
            data = json.loads(text)
            said = data["choices"][0]["message"]["content"].strip()[:_LONGEST_MESSAGE]
        except (ValueError, LookupError, TypeError, AttributeError):
            said = ""
        if status != 200 or not said:
            raise UserModelError(
                f"the model of the simulated user gave no message: status {status}, {redacted(text[:200])}"
            )
        self._messages.append({"role": "assistant", "content": said})
        return said, UserTokens.reported(data.get("usage"))
