"""Whether an address is this machine's own, and whether others can read what is sent to it."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

THIS_MACHINE: Final = "127.0.0.1"


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
