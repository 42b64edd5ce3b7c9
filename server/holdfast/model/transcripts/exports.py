"""Conversations of the data exports of Claude and ChatGPT, as turns; see `holdfast.model.transcripts.turns`.

    Claude    {"uuid", "chat_messages": [{"uuid", "sender": "human" | "assistant", "text", "content", "created_at"}]}
    ChatGPT   {"conversation_id", "current_node", "mapping": {id: {"parent", "message": {"id", "author": {"role"},
              "content": {"content_type", "parts"}, "create_time", "weight", "recipient", "channel"}}}}

In ChatGPT's a prompt that was edited leaves its old branch behind: what counts is the way from `current_node` upwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from holdfast.model.times import instant
from holdfast.model.transcripts.turns import Role, Setting, Turn, joined_text, spoken, time_or_nothing

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
