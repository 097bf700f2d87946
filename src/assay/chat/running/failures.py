"""What kind of failure an error of a turn is: of the connection to the model, or of an endpoint that cannot be used.

Frameworks wrap errors of httpx and openai in their own, so that the causes of an error are searched too, by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.errors import AssayError, SourceError, UsageError

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
# Statuses of a key that is not taken, and of a path that is not there or cannot be asked.
_REFUSED_KEY, _NOT_THERE = (401, 403), (404, 405)
_ANSWERED = re.compile(r"\banswered with status (\d{3})\b")
_PAGE = "not valid JSON: <"
_OURS = f"{SourceError.__name__}: "


def is_infrastructure_failure(error: BaseException, situation: Situation) -> bool:
    """Whether an error comes from the connection to the model, and not from a fault of the scenario."""
    if situation.fault is not None and situation.fault.kind.startswith("model_"):
        return False
    return any(type(link).__name__ in _INFRASTRUCTURE_ERRORS for link in _chain(error))


def is_endpoint_failure(error: BaseException, *, is_first: bool = True) -> bool:
    """Whether an endpoint could not be reached, refused the key, or is at another address.

    In the first turn nothing but the model is asked: later, what is not there may be what a tool has asked for.
    """
    for link in _chain(error):
        if type(link).__name__ in _ENDPOINT_ERRORS:
            return True
        status = getattr(link, "status_code", None)
        if isinstance(link, AssayError):
            answered = _ANSWERED.search(link.what)
            status = int(answered[1]) if answered else None
            if is_first and _PAGE in link.what:
                return True
            if is_first and status is not None and 300 <= status < 400:
                return True
        if status in _REFUSED_KEY or (is_first and status in _NOT_THERE):
            return True
    return False


def unusable_endpoint(agent: str, reason: str) -> UsageError:
    """The error that stops a run or a load test before anything is measured."""
    check = "its address and its key"
    if _PAGE in reason:
        check = "its address, where a web page answers and no API"
    elif re.search(r"\b(404|405|30[1278])\b", reason):
        check = "the path of its address, and the model that it is asked for"
    return UsageError(
        f"the endpoint of '{agent}' cannot be used: {reason.removeprefix(_OURS).rstrip('.')}",
        hint=f"Check {check}; nothing was played",
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
