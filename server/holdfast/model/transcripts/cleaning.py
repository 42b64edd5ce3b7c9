"""What of a turn's text was said by somebody: without what is private, what the client put in, what a memory gave back.

Taken out are `<private>` blocks, reminders and command output that clients write into a user's message, and fenced
notes (`holdfast.tools.fitting`): a note that was recalled must not become a note again. The work grows with the length
of the text and no faster.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.model.private import LEFT_OUT, without_private

_INJECTED: Final = (
    "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat", "command-name",
    "command-message", "command-args", "command-contents", "bash-input", "bash-stdout", "bash-stderr",
    "task-notification", "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "environment_context", "user_instructions", "permissions instructions", "skills_instructions", "turn_aborted",
    "subagent_notification", "hook_prompt", "user_shell_command", "collaboration_mode",
)  # fmt: skip
_NAMES: Final = "|".join(re.escape(name) for name in _INJECTED)
_BLOCK: Final = re.compile(rf"<(/?)(note [0-9a-f]{{8}}|(?:{_NAMES}))(?:\s[^<>]{{0,200}})?>", re.IGNORECASE)
_GAPS: Final = re.compile(r"\n{3,}")


def said(text: str) -> str:
    """The text without these blocks; empty where nothing is left.

    Blocks that are never closed are none, but private ones: see `holdfast.model.private`.
    """
    if "<" in text:
        text = without_private(text)
        text = _GAPS.sub("\n\n", _without(text, _injected_blocks(text)))
    return text.strip() if text.replace(LEFT_OUT, "").strip() else ""


def _without(text: str, blocks: Iterable[tuple[int, int]]) -> str:
    kept: list[str] = []
    start = 0
    for first, last in blocks:
        kept.append(text[start:first])
        start = last
    return "".join([*kept, text[start:]])


def _injected_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where a block begins that is closed somewhere behind, and where that is."""
    closings: dict[str, list[int]] = {}
    openings: list[re.Match[str]] = []
    for mark in _BLOCK.finditer(text):
        if mark[1]:
            closings.setdefault(mark[2].lower(), []).append(mark.end())
        else:
            openings.append(mark)
    end = 0
    for mark in openings:
        ends = closings.get(mark[2].lower(), [])
        place = bisect_right(ends, mark.end())
        if mark.start() >= end and place < len(ends):
            end = ends[place]
            yield mark.start(), end
