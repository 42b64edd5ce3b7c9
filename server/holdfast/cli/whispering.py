"""`holdfast whisper`: presence under the name that Ormah's users know it by.

`inject` answers a hook, and is answered by `holdfast.inject` before any of this is imported; it is here for those who
ask what there is. `setup` is `holdfast install CLIENT --presence`.
"""

from __future__ import annotations

import argparse
from typing import Final

from holdfast.cli.install import run_install
from holdfast.inject import inject

_OPTIONS: Final = ("home", "seconds")


def run_whisper(options: argparse.Namespace) -> int:
    """Set presence up, or answer a hook."""
    if options.action == "setup":
        return run_install(options)
    given = [(f"--{name}", getattr(options, name)) for name in _OPTIONS]
    return inject([str(part) for name, value in given if value is not None for part in (name, value)])
