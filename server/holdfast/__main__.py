"""The command line: arguments in, a run out."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from holdfast import __version__
from holdfast.inject import inject

if TYPE_CHECKING:
    import argparse

_HOOK = ["whisper", "inject"]


def _parser() -> argparse.ArgumentParser:
    import argparse  # noqa: PLC0415 - a hook does without

    from holdfast.cli.commands import add_commands  # noqa: PLC0415 - as above

    parser = argparse.ArgumentParser(
        prog="holdfast",
        description="Long-term memory for AI agents: one MCP server over markdown files that you own.",
        epilog="Without arguments, on a pipe, it is a stdio server: that is how an MCP client starts it.",
    )
    add_commands(parser)
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp instead of stdio")
    parser.add_argument("--admin", action="store_true", help="add the admin tools and resources (stdio only)")
    parser.add_argument("--host", default="127.0.0.1", help="address for --http (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8765, help="port for --http (default 8765)")
    parser.add_argument("--version", action="version", version=f"holdfast {__version__}")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:2] == _HOOK and not {"-h", "--help"} & set(given):
        return inject(given[2:])
    from holdfast.errors import HoldfastError  # noqa: PLC0415 - as above

    parser = _parser()
    options = parser.parse_args(given)
    if options.command is None and not options.http and sys.stdin and sys.stdin.isatty():
        parser.print_help()
        return 0
    try:
        return _run(options)
    except HoldfastError as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return 2


def _run(options: argparse.Namespace) -> int:
    from holdfast.cli.commands import run_command  # noqa: PLC0415 - a hook does without
    from holdfast.early import listening  # noqa: PLC0415 - as above
    from holdfast.errors import SettingsError  # noqa: PLC0415 - as above
    from holdfast.settings import load_settings  # noqa: PLC0415 - as above

    if options.command is not None:
        return run_command(options)
    if not options.http and not sys.stdin:
        raise SettingsError("There is no input to read requests from.", "Start it on a pipe, or with --http.")
    for number in (signal.SIGTERM, signal.SIGINT):  # until the server listens to them: nothing is promised yet
        signal.signal(number, lambda *_: os._exit(0))
    settings = load_settings(os.environ)
    opening = None if options.http else listening(settings, admin=options.admin, environ=os.environ)
    if opening is not None and settings.presence:
        from holdfast.from_index import answering  # noqa: PLC0415 - as above

        opening.hooks_by(answering(settings))
    gc.disable()  # what imports make stays: to look through it again and again takes an eighth of the start
    from holdfast.running import (  # noqa: PLC0415 - each way imports only what it needs
        configure_logs,
        serve_http,
        serve_stdio,
        warn_of_unknown,
    )

    os.umask(0o077)  # what is kept is nobody else's business
    configure_logs(settings.log_level)
    warn_of_unknown(settings)
    if options.http:
        serve_http(settings, options.host, options.port, admin=options.admin)
    else:
        serve_stdio(settings, admin=options.admin, opening=opening)
    return 0


if __name__ == "__main__":
    sys.exit(main())
