"""The certificates that HTTP clients trust, read once in a process: reading them takes 50 ms for each client."""

from __future__ import annotations

import ssl
from functools import cache


@cache
def tls_context() -> ssl.SSLContext:
    """What httpx would create for every client: the authorities of certifi, or those that SSL_CERT_FILE names."""
    import httpx

    return httpx.create_ssl_context()
