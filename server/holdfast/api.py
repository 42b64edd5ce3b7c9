"""OMI's entry point for Python programs: five groups of methods on one memory, without MCP.

    tools = get_all_mcp_tools({"base_path": "~/.openclaw/omi"})
    memory_id = tools["memory"].store(content="SQLite supports full-text search via FTS5", memory_type="fact")

The methods answer with bare values where the tools of the same names answer with objects, and raise the errors of
`holdfast.exceptions`. They wait, so call them from a thread that runs no event loop. The memory works in a thread of
its own until `tools["checkpoint"].close()`, or until the program ends.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import structlog
from anyio.from_thread import BlockingPortal, start_blocking_portal

from holdfast.app import build_memory
from holdfast.engine.admin.gate import back_up
from holdfast.engine.omi.beliefs import BeliefUpdate, belief_update, check_contradiction, evidence_chain
from holdfast.engine.omi.integrity import integrity_check
from holdfast.engine.omi.memories import MemoryRecall, MemoryStore, memory_recall, memory_store
from holdfast.engine.omi.now import NowUpdate, append_daily, list_daily, now_read, now_update, read_daily
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.runtime import Memory
from holdfast.engine.state import get_event_bus
from holdfast.settings import EncoderName, load_settings

Answer = TypeVar("Answer")

DEFAULT_PATH = "~/.openclaw/omi"
_CALLER = Caller(None, "none: from Python", "python")
_KEYS = {"embedding_provider": "HOLDFAST_ENCODER", "embedding_model": "HOLDFAST_ENCODER_MODEL"}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Open:
    """A memory that runs in a thread of its own."""

    home: Path
    memory: Memory
    portal: BlockingPortal
    held: ExitStack

    def ask(self, verb: Callable[[Ports], Awaitable[Answer]], *, anew: bool = False) -> Answer:
        async def answer() -> Answer:
            return await self.memory.attend(verb, anew=anew)

        return self.portal.call(answer)


def get_all_mcp_tools(config: Mapping[str, Any]) -> dict[str, Any]:
    """Open the memory that a config names, and what can be done with it, as OMI's reference groups it.

    Args:
        config: `base_path`, or `data_dir` as OpenClaw's plugin block has it, the folder (`~/.openclaw/omi` by default;
            made if it is missing), `embedding_provider` and `embedding_model`. Other settings come from the folder's
            config.yaml and from the environment.

    Raises:
        SettingsError: a value cannot be used.
    """
    opened = _open(config)
    return {
        "memory": MemoryTools(opened),
        "belief": BeliefTools(opened),
        "checkpoint": CheckpointTools(opened),
        "security": SecurityTools(opened),
        "daily": DailyLogTools(opened),
    }


def _open(config: Mapping[str, Any]) -> _Open:
    environ = {**os.environ, "HOLDFAST_HOME": str(config.get("base_path") or config.get("data_dir") or DEFAULT_PATH)}
    for key in sorted(config.keys() - {"base_path", "data_dir", *_KEYS}):
        log.warning("unknown_settings", keys=[key])
    for key, variable in _KEYS.items():
        value = config.get(key)
        if key == "embedding_provider" and value and value not in get_args(EncoderName):
            log.warning("setting_not_followed", reason="this embedding_provider is not supported yet")
        elif value:
            environ[variable] = str(value)
    settings = load_settings(environ)
    memory = build_memory(settings, get_event_bus())
    with ExitStack() as opening:
        portal = opening.enter_context(start_blocking_portal("asyncio"))
        opening.enter_context(portal.wrap_async_context_manager(memory.running()))
        held = opening.pop_all()
    atexit.register(held.close)
    return _Open(settings.home, memory, portal, held)


class _Tools:
    """A group of methods on an open memory."""

    def __init__(self, opened: _Open) -> None:
        self._opened = opened


class MemoryTools(_Tools):
    """Memories: what was noted, found again by words, meaning and age."""

    def store(
        self,
        content: str,
        memory_type: str = "experience",
        related_to: Sequence[str] | None = None,
        confidence: float | None = None,
    ) -> str:
        """Keep a memory; returns its id. See `holdfast.engine.omi.memories.memory_store`."""
        request = MemoryStore(content, memory_type, related_to or (), confidence)
        return self._opened.ask(lambda ports: memory_store(ports, _CALLER, request), anew=True).note.id

    def recall(
        self, query: str, limit: int = 10, min_relevance: float = 0.7, memory_type: str | None = None
    ) -> list[dict[str, Any]]:
        """Find memories, as the documented objects. See `holdfast.engine.omi.memories.memory_recall`."""
        request = MemoryRecall(query, limit, min_relevance, memory_type)
        found = self._opened.ask(lambda ports: memory_recall(ports, _CALLER, request))
        return [item.shape() for item in found.memories]


class BeliefTools(_Tools):
    """Beliefs: memories whose confidence evidence moves."""

    def update(self, belief_id: str, evidence_memory_id: str, supports: bool, strength: float) -> float:
        """Apply evidence; returns the new confidence. See `holdfast.engine.omi.beliefs.belief_update`."""
        request = BeliefUpdate(belief_id, evidence_memory_id, supports, strength)
        return self._opened.ask(lambda ports: belief_update(ports, _CALLER, request)).belief.confidence

    def get_evidence_chain(self, belief_id: str) -> list[dict[str, Any]]:
        """What moved a belief, oldest first: memory_id, supports, strength, timestamp, old and new confidence."""
        chain = self._opened.ask(lambda ports: evidence_chain(ports, belief_id))
        return [evidence.as_entry() for evidence in chain.evidence]

    def check_contradiction(self, memory1_id: str, memory2_id: str) -> dict[str, Any]:
        """Whether two memories say opposite things: contradiction, and the pattern that gave it away."""
        found = self._opened.ask(lambda ports: check_contradiction(ports, memory1_id, memory2_id))
        return {"contradiction": found.contradiction, "pattern": found.pattern}


class CheckpointTools(_Tools):
    """What a session is at, and backups."""

    def now_read(self) -> dict[str, Any]:
        """The current task and what belongs to it; empty where nothing is noted."""
        found = self._opened.ask(lambda ports: now_read(ports, _CALLER))
        return {} if found is None else found.shape()

    def now_update(
        self,
        current_task: str | None = None,
        recent_completions: Sequence[str] | None = None,
        pending_decisions: Sequence[str] | None = None,
        key_files: Sequence[str] | None = None,
    ) -> None:
        """Note it: completions are added, the others replace, what is left out stays."""
        request = NowUpdate(current_task, recent_completions, pending_decisions, key_files)
        self._opened.ask(lambda ports: now_update(ports, _CALLER, request))

    def vault_backup(self) -> str:
        """Back the memory up into its `vault/`; returns the backup's id."""
        return self._opened.portal.call(back_up, self._opened.memory, _CALLER).answer.backup_id

    def close(self) -> None:
        """Let go of the memory; nothing can be asked of it after that."""
        atexit.unregister(self._opened.held.close)
        self._opened.held.close()


class SecurityTools(_Tools):
    """Whether the memory is as it was left."""

    def integrity_check(self, scope: str = "all") -> dict[str, Any]:
        """The documented report; `details` says what was looked at and found."""
        return self._opened.ask(lambda ports: integrity_check(ports, scope)).shape()


class DailyLogTools(_Tools):
    """The log of each day, in UTC."""

    def append(self, content: str) -> str:
        """Add an entry to today's log; returns the file's path."""
        return self._path(self._opened.ask(lambda ports: append_daily(ports, _CALLER, content)))

    def read(self, days_ago: int = 0) -> str:
        """The log of today or of an earlier day; empty where there is none."""
        return self._opened.ask(lambda ports: read_daily(ports, days_ago))

    def list_recent(self, days: int = 7) -> list[str]:
        """The paths of the logs of so many days, today's being one of them, the newest first."""
        return [self._path(path) for path in self._opened.ask(lambda ports: list_daily(ports, days))]

    def _path(self, path: str) -> str:
        return str(self._opened.home / path)
