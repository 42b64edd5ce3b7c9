"""Sessions of clients as files: real ones, and made ones in the same form."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

REAL = Path(__file__).parents[1] / "real_sessions"
BEGUN = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@dataclass
class Session:
    """A transcript in the form of Claude Code that grows line by line."""

    path: Path
    cwd: str = "/home/ada/harbour"
    name: str = "0b2f2f5e-0000-4000-8000-000000000001"
    said: int = 0
    lines: list[str] = field(default_factory=list)

    def line(self, role: str, text: str | Sequence[dict[str, Any]], **more: Any) -> str:
        """One line as the client writes it."""
        self.said += 1
        entry = {
            "parentUuid": None,
            "isSidechain": False,
            "type": role,
            "message": {"role": role, "content": text},
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.name}/{self.said}")),
            "timestamp": (BEGUN + timedelta(minutes=self.said)).isoformat().replace("+00:00", ".000Z"),
            "cwd": self.cwd,
            "sessionId": self.name,
            "version": "2.1.329",
        }
        return json.dumps(entry | more, ensure_ascii=False)

    def say(self, *texts: str) -> None:
        """The user and the agent in turn, written to the file."""
        roles = ("user", "assistant")
        self.write("".join(self.line(roles[place % 2], text) + "\n" for place, text in enumerate(texts)))

    def write(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)


def claude_session(home: Path, number: int = 1, cwd: str = "/home/ada/harbour") -> Session:
    """A session of a user whose home folder this is."""
    name = f"0b2f2f5e-0000-4000-8000-{number:012d}"
    return Session(home / ".claude" / "projects" / "-home-ada-harbour" / f"{name}.jsonl", cwd, name)
