"""What kind of failure an error of a turn is: of the connection to the model, or of an endpoint that cannot be used.

Frameworks wrap errors of httpx and openai in their own, so that the causes of an error are searched too, by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.errors import AssayError, UsageError

if TYPE_CHECKING:
    from assay.chat.world.situation import Situation

# Errors of the connection to the model or of its endpoint, by the names of their classes in httpx and openai:
# frameworks differ in which of the two they let through.
_INFRASTRUCTURE_ERRORS = frozenset(
    {
        "APIConnectionError",
        "APITimeoutError",
        "ConnectError",
        "ConnectTimeout",
        "ConnectionError",
        "InternalServerError",
        "PoolTimeout",
        "RateLimitError",
        "ReadError",
        "ReadTimeout",
        "RemoteProtocolError",
    }
)
# An endpoint that is not there, and a key that it does not take: no other turn of the run would succeed either.
_ENDPOINT_ERRORS = frozenset(
    {"APIConnectionError", "AuthenticationError", "ConnectError", "ConnectionRefusedError", "PermissionDeniedError"}
)
_REFUSED_KEY = re.compile(r"\bstatus 40[13]\b")


def is_infrastructure_failure(error: BaseException, situation: Situation) -> bool:
    """Whether an error comes from the connection to the model, and not from a fault of the scenario."""
    if situation.fault is not None and situation.fault.kind.startswith("model_"):
        return False
    return any(type(link).__name__ in _INFRASTRUCTURE_ERRORS for link in _chain(error))


def is_endpoint_failure(error: BaseException) -> bool:
    """Whether an endpoint could not be reached, or answered that the key is wrong."""
    return any(
        type(link).__name__ in _ENDPOINT_ERRORS
        or getattr(link, "status_code", None) in (401, 403)
        or (isinstance(link, AssayError) and _REFUSED_KEY.search(str(link)) is not None)
        for link in _chain(error)
    )


def unusable_endpoint(agent: str, reason: str) -> UsageError:
    """The error that stops a run or a load test before anything is measured."""
    return UsageError(
        f"the endpoint of '{agent}' cannot be used: {reason}",
        hint="Check its address and its key; nothing was played",
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes."""
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        link = waiting.pop()
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [cause for cause in (link.__cause__, link.__context__) if cause is not None]
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
