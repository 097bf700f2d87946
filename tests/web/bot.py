"""An agent that the live tests talk to: it echoes the question, forgets nothing, and can be slow or fail."""

from __future__ import annotations

import asyncio


async def answer(message: str) -> str:
    """An answer with a tag in it, which a page must show as text."""
    if "crash" in message:
        raise RuntimeError("asked to <b>fail</b>")
    if "slow" in message:
        await asyncio.sleep(30)
    return f"<i>You said</i>: {message} It is 21 °C in Oslo."


async def answer_after_a_pause(message: str) -> str:
    """The same, slowly enough that a run of some hundred trials is still in progress while a test looks at it."""
    await asyncio.sleep(0.1)
    return await answer(message)
