"""holdfast view: the View in the browser, for as long as the terminal lets it."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import webbrowser
from dataclasses import replace

from holdfast.running import configure_logs, serve_view, warn_of_unknown
from holdfast.settings import load_settings

HOST = "127.0.0.1"


def run_view(options: argparse.Namespace) -> int:
    """Serve the View on this machine until Ctrl-C, and open it in the browser unless asked not to."""
    os.umask(0o077)  # what is kept is nobody else's business
    settings = replace(load_settings(os.environ), view="always")
    configure_logs(settings.log_level)
    warn_of_unknown(settings)

    def listening(port: int, key: str) -> None:
        address = f"http://{HOST}:{port}/#{key}"
        sys.stdout.write(f"{address}\nThe View is at this address, for you alone; Ctrl-C ends it.\n")
        sys.stdout.flush()
        if options.browser:
            webbrowser.open(address)

    serve_view(settings, options.port, secrets.token_urlsafe(32), admin=options.admin, listening=listening)
    return 0
