"""What a hook that is a command is told where no server runs, and the index alone does not tell it.

So it is where there is no index of this version, and where a note's file is not the one that the index knows.

The engine answers as everywhere, without an encoder; neither the framework nor numpy is imported for it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from holdfast.app import build_memory
from holdfast.engine.ports import Caller
from holdfast.engine.presence.entries import filled
from holdfast.engine.presence.whisper import Whisper, Whispered, whisper
from holdfast.running import configure_logs
from holdfast.settings import load_settings, work_space
from holdfast.tools.fitting import hook_answer, new_mark, text_of

SOURCE: Final = "hook"


def by_words(given: dict[str, str]) -> str:
    """The answer to a hook; empty where there is nothing to say.

    Raises:
        HoldfastError: as recall does, or the settings cannot be used.
    """
    settings = replace(load_settings(os.environ), encoder="none", presence=True, log_level="error", jobs=False)
    if not settings.home.is_dir() or settings.tenancy != "single":
        return ""
    os.umask(0o077)
    configure_logs(settings.log_level)
    folder = Path(filled(given.get("cwd")) or Path.cwd())
    who = Caller(*work_space(settings.space, folder, Path.home()), SOURCE)
    request = Whisper(given.get("prompt", ""), given.get("session_id", ""), given.get("event", ""))

    async def asked() -> Whispered:
        memory = build_memory(settings)
        async with memory.running():
            return await memory.attend(lambda ports: whisper(ports, who, request))

    text = text_of(anyio.run(asked).sections, new_mark())
    return hook_answer(text, filled(request.event) or "UserPromptSubmit") if text else ""
