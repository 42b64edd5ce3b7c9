"""Addresses: whether one is this machine's own, whether others can read what is sent there, and origins of pages."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

THIS_MACHINE: Final = "127.0.0.1"
_PORTS: Final = {"http": 80, "https": 443}


def is_this_machine(host: str) -> bool:
    """Whether an address, as `OLLAMA_HOST` has it, is this machine's own; so is none at all."""
    try:
        name = urlsplit(host if "://" in host else f"//{host}").hostname or THIS_MACHINE
    except ValueError:
        return False
    if name == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def is_in_clear(url: str) -> bool:
    """Whether what goes to a URL can be read on its way: plain http to another machine."""
    return url.strip().lower().startswith("http://") and not is_this_machine(url.strip())


def origin_of(text: str) -> str:
    """An origin as browsers write it: lower case, without a slash or a port that goes without saying.

    Raises:
        ValueError: it is none, or stands for many.
    """
    parts = urlsplit(text.strip().rstrip("/").lower())
    if not parts.scheme or not parts.hostname or parts.path or parts.query or "@" in parts.netloc or "*" in text:
        raise ValueError("use origins like https://app.example, without a path or *")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"
