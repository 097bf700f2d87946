"""A guard on sockets, for any Python process that finds this file first: whatever goes beyond loopback is noted.

It is an audit hook, which no code in the process can take off again. The attempt itself fails as on a machine without
a network.
"""

import ipaddress
import os
import sys

_LOG = os.environ.get("ASSAY_SOCKET_LOG", "")
_LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def _is_near(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.bind"):
        address = arguments[1]
        if isinstance(address, tuple) and not _is_near(address[0]):
            _note(event, address)
    elif event in _LOOKUPS and not _is_near(arguments[0]):
        _note(event, arguments[0])


def _note(event: str, address: object) -> None:
    # A copy of a process may have been given another log.
    with open(os.environ.get("ASSAY_SOCKET_LOG", _LOG), "a", encoding="utf-8") as log:
        log.write(f"{os.getpid()} {event} {address!r}\n")
    raise OSError(f"{event} beyond loopback: {address!r}")


if _LOG:
    with open(_LOG, "a", encoding="utf-8") as log:
        log.write(f"{os.getpid()} watched\n")
    sys.addaudithook(_watch)
