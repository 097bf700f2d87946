"""Whether a host is this machine. Names are not resolved: a name server outside could map them to any address."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host is an IP address that only this machine has."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def leads_here(url: str) -> bool:
    """Whether a URL leads to this machine: by such an address, or by the name localhost."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or is_loopback(host)
