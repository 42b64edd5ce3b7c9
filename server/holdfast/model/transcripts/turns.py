"""What was said in sessions, as turns: read from clients' transcripts and from exports, without what nobody said.

Of a turn's text are taken out `<private>` blocks, reminders and command output that clients write into a user's
message, and fenced notes (`holdfast.tools.fitting`): a note that was recalled must not become a note again. The work
grows with the length of the text and no faster.

Claude Code (2.1), one JSON object a line; a turn is a `user` or `assistant` line of the main thread:

    {"type": "user", "uuid", "sessionId", "cwd", "timestamp", "isSidechain": false, "message": {"role", "content"}}

Codex (0.169), one JSON object a line; a turn is a `message` among the `response_item` lines:

    {"timestamp", "type": "session_meta" | "turn_context", "payload": {"id", "cwd"}}
    {"timestamp", "type": "response_item", "payload": {"type": "message", "role", "content": [{"type", "text"}]}}

Left out are tool calls and results, reasoning, system prompts, side chains of subagents, summaries of compactions and
what hooks put in. A line that is none of these tells nothing.

Data exports of Claude and ChatGPT:

    Claude    {"uuid", "chat_messages": [{"uuid", "sender": "human" | "assistant", "text", "content", "created_at"}]}
    ChatGPT   {"conversation_id", "current_node", "mapping": {id: {"parent", "message": {"id", "author": {"role"},
              "content": {"content_type", "parts"}, "create_time", "weight", "recipient", "channel"}}}}

In ChatGPT's a prompt that was edited leaves its old branch behind: what counts is the way from `current_node` upwards.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal
from urllib.parse import quote

from holdfast.model.note import instant, read_instant
from holdfast.model.passages import LEFT_OUT, without_private
from holdfast.model.words import regex

_INJECTED: Final = (
    "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat", "command-name",
    "command-message", "command-args", "command-contents", "bash-input", "bash-stdout", "bash-stderr",
    "task-notification", "user-prompt-submit-hook", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "environment_context", "user_instructions", "permissions instructions", "skills_instructions", "turn_aborted",
    "subagent_notification", "hook_prompt", "user_shell_command", "collaboration_mode",
)  # fmt: skip
_NAMES: Final = "|".join(re.escape(name) for name in _INJECTED)
_BLOCK: Final = regex(rf"<(/?)(note [0-9a-f]{{8}}|(?:{_NAMES}))(?:\s[^<>]{{0,200}})?>", re.IGNORECASE)
_GAPS: Final = regex(r"\n{3,}")


def said(text: str) -> str:
    """The text without these blocks; empty where nothing is left.

    Blocks that are never closed are none, but private ones: see `holdfast.model.passages`.
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


Role = Literal["user", "assistant"]
CLAUDE_CODE, CODEX = "claude-code", "codex"
LONGEST_TURN: Final = 48 * 1024  # characters that are kept: a pasted log is nothing to distil
LONGEST_NAME: Final = 400
_CUT: Final = "\n[…]\n"
_HIDDEN: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_PUT_IN: Final = ("# AGENTS.md instructions", "<INSTRUCTIONS>", "[Request interrupted by user", "<turn_aborted")
_NO_MODEL: Final = "<synthetic>"  # how Claude Code calls what it says itself


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said. `key` is its identity: the same in every copy of the transcript.

    `at` is an instant, empty where it is not known.
    """

    key: str
    role: Role
    text: str
    at: str
    source: str
    session: str
    cwd: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What earlier lines say about those that follow: which session, in which folder, of which client."""

    source: str = ""
    session: str = ""
    cwd: str = ""


def read_turns(lines: Iterable[bytes], setting: Setting) -> tuple[list[Turn], Setting]:
    """The turns of some whole lines, and what is known for the lines behind them."""
    turns: list[Turn] = []
    for line in lines:
        entry = _object(line)
        payload = entry.get("payload")
        if isinstance(payload, Mapping):
            setting = _codex_setting(entry, payload, setting)
            turn = _codex_turn(entry, payload, setting)
            if turns and _sums_up(entry, payload, turns[-1]):
                turns.pop()
        else:
            setting = _claude_setting(entry, setting)
            turn = _claude_turn(entry, setting)
        if turn is not None:
            turns.append(turn)
    return turns, setting


def only_turn(text: str, setting: Setting, at: str) -> Turn | None:
    """A turn of the assistant that came without its transcript; None where nothing is left of it."""
    kept = shown_of(text)
    return Turn(_key(setting.session, "assistant", kept), "assistant", kept, at, *_where(setting)) if kept else None


def shown_of(text: str) -> str:
    """What is kept of a text as the text of a turn; empty where it says nothing."""
    shown = _shortened(said(text))
    return shown if any(letter.isalnum() for letter in shown) else ""


def _object(line: bytes) -> Mapping[str, Any]:
    """A line's JSON object; empty for what is none."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _claude_setting(entry: Mapping[str, Any], before: Setting) -> Setting:
    session, cwd = _text(entry.get("sessionId")), _text(entry.get("cwd"))
    if not session:
        return before
    return replace(before, source=CLAUDE_CODE, session=session, cwd=cwd or before.cwd)


def _claude_turn(entry: Mapping[str, Any], setting: Setting) -> Turn | None:
    message, kind = entry.get("message"), entry.get("type")
    if kind not in ("user", "assistant") or not isinstance(message, Mapping) or message.get("role") != kind:
        return None
    if any(entry.get(mark) is True for mark in _HIDDEN) or message.get("model") == _NO_MODEL:
        return None
    return _turn("user" if kind == "user" else "assistant", message.get("content"), entry, setting, "uuid")


def _codex_setting(entry: Mapping[str, Any], payload: Mapping[str, Any], before: Setting) -> Setting:
    cwd = _text(payload.get("cwd")) or before.cwd
    match entry.get("type"):
        case "session_meta":
            return Setting(CODEX, _text(payload.get("id")) or before.session, cwd)
        case "turn_context":
            return replace(before, source=CODEX, cwd=cwd)
    return before


def _codex_turn(entry: Mapping[str, Any], payload: Mapping[str, Any], setting: Setting) -> Turn | None:
    role = payload.get("role")
    if entry.get("type") != "response_item" or payload.get("type") != "message" or role not in ("user", "assistant"):
        return None
    return _turn("user" if role == "user" else "assistant", payload.get("content"), entry, setting, "")


def _sums_up(entry: Mapping[str, Any], payload: Mapping[str, Any], last: Turn) -> bool:
    """Whether this is a compaction whose summary is the last answer: Codex writes it down as one, right before."""
    summary = payload.get("message")
    if entry.get("type") != "compacted" or not isinstance(summary, str) or last.role != "assistant":
        return False
    return shown_of(summary).endswith(last.text)


def _turn(role: Role, content: object, entry: Mapping[str, Any], setting: Setting, named: str) -> Turn | None:
    whole = joined_text(content)
    if role == "user" and whole.lstrip().startswith(_PUT_IN):
        return None
    written = _text(entry.get("timestamp"))
    own = _text(entry.get(named)) if named else ""
    return spoken(role, whole, own, time_or_nothing(written), setting, written)


def spoken(role: Role, whole: str, own: str, at: str, setting: Setting, written: str = "") -> Turn | None:
    """A turn of what was said; None where nothing is left of it.

    Args:
        role: whose.
        whole: the text as it was written down.
        own: the turn's own name there, if it has one.
        at: when, as an instant; empty where that is not known.
        setting: in which session.
        written: the time as it was written down, which tells turns without a name apart.
    """
    text = shown_of(whole)
    if not text:
        return None
    key = _key("uuid", own) if own else _key(written or at or setting.session, role, text)
    return Turn(key, role, text, at, *_where(setting))


def joined_text(content: object) -> str:
    """The text of a message: its own, or that of its text blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    kinds = ("text", "input_text", "output_text")
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") in kinds]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _shortened(text: str) -> str:
    """A text that can be stored as UTF-8, cut in its middle where it is very long."""
    text = text.replace("\0", "").encode("utf-8", "replace").decode()
    if len(text) <= LONGEST_TURN:
        return text
    return text[: LONGEST_TURN * 3 // 4] + _CUT + text[-LONGEST_TURN // 4 :]


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _where(setting: Setting) -> tuple[str, str, str]:
    return setting.source, setting.session, setting.cwd


def _text(value: object) -> str:
    """A short text; empty for what is none."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
        return ""
    return value


def time_or_nothing(value: object) -> str:
    """A time as an instant; empty where it is none."""
    try:
        return read_instant(value) if value else ""
    except ValueError:
        return ""


CLAUDE, CHATGPT = "claude", "chatgpt"
_SITES: Final = {CLAUDE: "https://claude.ai/chat/", CHATGPT: "https://chatgpt.com/c/"}
_ROLES: Final[Mapping[str, Role]] = {"human": "user", "user": "user", "assistant": "assistant"}
_TEXTS: Final = frozenset({"text", "multimodal_text"})


def conversations_in(export: Any) -> list[Mapping[str, Any]]:
    """The conversations of an export's file; none where it is no such file."""
    items = export.get("conversations") if isinstance(export, Mapping) else export
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def addresses_of(source: str, session: str) -> dict[str, str]:
    """Where a conversation of such an export can be read again, by the name of a note's field."""
    return {"source_url": _SITES[source] + quote(session)} if source in _SITES and session else {}


def turns_in(conversation: Mapping[str, Any]) -> list[Turn]:
    """What was said in a conversation, in order; nothing where it is of neither form."""
    if isinstance(conversation.get("chat_messages"), list):
        return _of_claude(conversation)
    return _of_chatgpt(conversation) if isinstance(conversation.get("mapping"), Mapping) else []


def _of_claude(conversation: Mapping[str, Any]) -> list[Turn]:
    setting = Setting(CLAUDE, str(conversation.get("uuid", ""))[:64])
    turns = []
    for message in conversation["chat_messages"]:
        role = _ROLES.get(str(message.get("sender"))) if isinstance(message, Mapping) else None
        if role is not None:
            text = joined_text(message.get("content")) or joined_text(message.get("text"))
            at = time_or_nothing(message.get("created_at"))
            turns.append(spoken(role, text, str(message.get("uuid", "")), at, setting))
    return [turn for turn in turns if turn is not None]


def _of_chatgpt(conversation: Mapping[str, Any]) -> list[Turn]:
    setting = Setting(CHATGPT, str(conversation.get("conversation_id") or conversation.get("id") or "")[:64])
    turns = [_chatgpt_turn(message, setting) for message in _thread(conversation)]
    return [turn for turn in turns if turn is not None]


def _thread(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages on the way from the first to the current one; all of them by time where none is current."""
    nodes = {name: node for name, node in conversation["mapping"].items() if isinstance(node, Mapping)}
    found: list[Mapping[str, Any]] = []
    passed: set[str] = set()
    place = conversation.get("current_node")
    while isinstance(place, str) and place in nodes and place not in passed:
        passed.add(place)
        found.append(nodes[place])
        place = nodes[place].get("parent")
    messages = [node.get("message") for node in (reversed(found) if found else nodes.values())]
    kept = [message for message in messages if isinstance(message, Mapping)]
    return kept if found else sorted(kept, key=_seconds)


def _chatgpt_turn(message: Mapping[str, Any], setting: Setting) -> Turn | None:
    author, content = message.get("author"), message.get("content")
    role = _ROLES.get(str(author.get("role"))) if isinstance(author, Mapping) else None
    if role is None or not isinstance(content, Mapping) or content.get("content_type") not in _TEXTS:
        return None
    if message.get("weight") == 0 or message.get("recipient") not in (None, "all"):
        return None
    if message.get("channel") not in (None, "final"):
        return None
    parts = content.get("parts")
    text = "\n\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
    at = instant(datetime.fromtimestamp(_seconds(message), UTC)) if _seconds(message) else ""
    return spoken(role, text, str(message.get("id", "")), at, setting)


def _seconds(message: Mapping[str, Any]) -> float:
    """When a message was written; 0 where that is not known."""
    at = message.get("create_time")
    return float(at) if isinstance(at, int | float) and 0 < at < 4e9 else 0.0  # noqa: PLR2004 - until the year 2096
