"""What is fuzzed, and how: valid inputs, taken apart and put together wrong, so that they reach deep."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from holdfast.model.note import EDGE_TYPES, MEMORY_TYPES, NOTE_TYPES, TIERS, Link, Note
from holdfast.store.codec import new_document
from processes import PATIENCE, Stdio
from served import SELF

HANG_SECONDS = 5.0  # of a processor; how long that is by the clock depends on who else wants one
GROWTH = 48 * 1024 * 1024  # what allocators and caches may still take after a warm-up; a leak of thousands takes more
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

# --- one case -------------------------------------------------------------------------------------


@contextmanager
def cases(target: str, tally: Counter[str]) -> Iterator[Callable[[int], Any]]:
    """Gives a context manager for each numbered case: its own random numbers, no more than five seconds of computing.

    The processor's time is watched while the case runs, so that a hang is shown where it hangs; the clock at its end,
    for one that waits.
    """

    def hangs(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"computes for more than {HANG_SECONDS} seconds")

    @contextmanager
    def case(number: int) -> Iterator[random.Random]:
        started = time.monotonic()
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
        try:
            yield random.Random(f"{target}/{number}")  # noqa: S311 - must come out the same again
            assert time.monotonic() - started < PATIENCE
        except BaseException as error:
            error.add_note(f"made by random.Random('{target}/{number}')")
            raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        tally[f"fuzz cases: {target}"] += 1

    before = signal.signal(signal.SIGVTALRM, hangs)
    try:
        yield case
    finally:
        signal.signal(signal.SIGVTALRM, before)


def rss(process: int | str = "self") -> int:
    """Bytes of memory that a process has now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


def seconds_used(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Growth:
    """Memory of a process between a warm-up and the end."""

    def __init__(self, process: int | str = "self") -> None:
        self._process = process
        self._before = rss(process)

    def judge(self) -> None:
        grown = rss(self._process) - self._before
        assert grown < GROWTH, f"grown by {grown >> 20} MiB"


class Watched(Stdio):
    """A server that may compute no longer for a line than a hang may take."""

    def __init__(self, environment: dict[str, str], era: str) -> None:
        super().__init__(environment, era)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def read(self) -> dict[str, Any]:
        before = seconds_used(self.process.pid)
        line = self._lines.get(timeout=PATIENCE)
        assert line, f"the server has ended: {self.stderr}"
        assert seconds_used(self.process.pid) - before < HANG_SECONDS
        return self._message(line)

    def ended(self) -> tuple[int, list[dict[str, Any]]]:
        rest = [self._message(line) for line in iter(self._lines.get, b"")]
        return self.process.wait(PATIENCE), rest

    def close(self) -> None:
        """Let go of the pipes of a process that has ended."""
        self._listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


@contextmanager
def watched(environment: dict[str, str], era: str) -> Iterator[Watched]:
    server = Watched(environment, era)
    try:
        yield server
        assert "Traceback" not in server.stderr
    finally:
        server.process.kill()
        server.process.wait()
        server.close()


# --- bytes ----------------------------------------------------------------------------------------

GARBAGE = (
    b"\0", b"\0" * 512, b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\r", b"\n", b"\r\n", b"---\n", b"\x1a", b"{", b'"',
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xc2\x85", b"<<<<<<< ours\n", b"\x7fELF", b"\\u0000", b"\\ud800", b"\t",
)  # fmt: skip


def noise(rng: random.Random, most: int = 64) -> bytes:
    return rng.randbytes(rng.randint(1, most))


def flipped(rng: random.Random, data: bytes, most: int = 8) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, most)):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def harmed(rng: random.Random, data: bytes) -> bytes:
    """Bytes as a bad disk, a bad editor or a bad network leaves them."""
    start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: flipped(rng, data),
        lambda: data[:start],
        lambda: data[:start] + data[end:],
        lambda: data[:start] + rng.choice(GARBAGE) + data[start:],
        lambda: data[:start] + noise(rng) + data[end:],
        lambda: data[:end] + data[start:],
        lambda: data[:start] + bytes(end - start) + data[end:],
        lambda: data[start:] + data[:start],
    )
    return rng.choice(ways)()


def shuffled_lines(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Lines twice, missing, exchanged, or taken from elsewhere."""
    lines = data.splitlines(keepends=True)
    for _ in range(rng.randint(1, 3)):
        place = rng.randint(0, len(lines))
        match rng.randrange(4):
            case 0 if lines:
                lines.insert(place, rng.choice(lines))
            case 1 if lines:
                lines.pop(rng.randrange(len(lines)))
            case 2 if len(lines) > 1:
                one, two = rng.sample(range(len(lines)), 2)
                lines[one], lines[two] = lines[two], lines[one]
            case _:
                lines.insert(place, rng.choice(others))
    return b"".join(lines)


# --- values ---------------------------------------------------------------------------------------

TEXTS = (
    "crane", "The crane lifts forty tonnes.", "", " ", "\n", "\t", "a\0b", "\x1b[31m", "\x85", "\u200b", "\u2028",
    "\ufeff", "\u202etxt.exe", "\u2066x\u2069", "*", "%", "_", "[a-z]*", "../../etc/passwd", "C:\\x", "con", "null",
    "true", "yes", "~", "1e5", "1e-07", "0x1f", "0o17", "1_000", "12:30:00", ".inf", ".nan", "2026-11-20", "-", "- a",
    ": ", "a: b", "#tag", "a #b", "'", '"', "\\", "|", ">", "&a", "*a", "!!int 3", "%YAML", "---", "...", "{", "[",
    "a AND", "NEAR(", '"unclosed', "'; DROP TABLE notes; --", "{{7*7}}", "<note>", "</note>", "e\u0301", "\ufdfd" * 30,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u6e2f", "\u0627\u0644", "\U0010ffff", "\ue000", "\ufffe", "global",
    "mem_", "mem_0", SELF, SELF.upper(), SELF + "\n", "mem_" + "\u0660" * 16, "mem_" + "u" * 16, "\ud800", "a\udfffb",
    "2026-13-45", "2026-02-30T25:61:61Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "-0001-01-01",
    "+275760-09-13", "20261120T101500Z", "2026-W47-5", "yesterday", "2026-11-20T10:15:00.123456789+05:30:17.5",
)  # fmt: skip
LONG_TEXTS = ("x" * 70_000, "crane " * 12_000, "y" * 300_000, "\u6e2f" * 30_000, "a\n" * 5_000, "<" * 9_999)
NUMBERS = (
    0, 1, -1, 2, 50, 51, 0.5, -0.0, 1e-7, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"),
    2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, 10**400,
)  # fmt: skip
FILLED = 1 / 60  # of the texts are long


def text(rng: random.Random) -> str:
    kind = rng.random()
    if kind < FILLED:
        return rng.choice(LONG_TEXTS)
    if kind < 0.6:
        return rng.choice(TEXTS)
    if kind < 0.8:
        return " ".join(rng.choice(TEXTS) for _ in range(rng.randint(1, 4)))
    return "".join(chr(_character(rng)) for _ in range(rng.randint(1, 24)))


def _character(rng: random.Random) -> int:
    first, last = rng.choice(((0, 0x20), (0x20, 0x7F), (0x7F, 0x250), (0x600, 0x700), (0x2000, 0x2070), (0, 0x10FFFF)))
    return rng.randint(first, last)


def line(rng: random.Random) -> str:
    """A text that a note's file can hold in a key: not blank, no NUL, no half surrogate pair."""
    found = text(rng)[:400].replace("\0", "").encode("utf-8", "ignore").decode()
    return found.strip() or "crane"


def anything(rng: random.Random, depth: int = 3) -> Any:
    """Any JSON value, and some that only look like one."""
    match rng.randrange(8 if depth else 6):
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2 | 3:
            return rng.choice(NUMBERS)
        case 4 | 5:
            return text(rng)
        case 6:
            return [anything(rng, depth - 1) for _ in range(rng.randint(0, 4))]
        case _:
            return {text(rng): anything(rng, depth - 1) for _ in range(rng.randint(0, 4))}


def sendable(value: Any) -> Any:
    """The value without half surrogate pairs, which no client here can send."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [sendable(item) for item in value]
        case dict():
            return {sendable(key): sendable(item) for key, item in value.items()}
    return value


def nested(rng: random.Random) -> Any:
    """A value of a depth that recursion may not reach."""
    value: Any = 1
    for _ in range(rng.choice((30, 100, 150))):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def note_id(rng: random.Random) -> str:
    return "mem_" + "".join(rng.choices(ALPHABET, k=16))


def mistaken(rng: random.Random, value: Any) -> Any:
    """A JSON value with one thing in it that is something else."""
    place = rng.random()
    if isinstance(value, dict) and value and place < 0.85:
        key = rng.choice(list(value))
        match rng.randrange(8):
            case 0:
                return {name: item for name, item in value.items() if name != key}
            case 1:
                return {(text(rng) if name == key else name): item for name, item in value.items()}
            case 2:
                return value | {text(rng): anything(rng)}
            case _:
                return value | {key: mistaken(rng, value[key])}
    if isinstance(value, list) and value and place < 0.85:
        spot = rng.randrange(len(value))
        return [*value[:spot], mistaken(rng, value[spot]), *value[spot + rng.randrange(2) :]]
    return nested(rng) if place > 0.98 else anything(rng)


# --- note files -----------------------------------------------------------------------------------


def note(rng: random.Random) -> Note:
    """A note as Holdfast writes it, with whatever texts."""
    links = tuple(
        Link(note_id(rng), rng.choice(EDGE_TYPES), rng.random(), line(rng), "2026-11-20T10:15:00Z")
        for _ in range(rng.randrange(3))
    )
    return Note(
        id=note_id(rng), content=line(rng), title=line(rng), created="2026-11-20T10:15:00Z",
        updated="2026-11-20T10:15:00Z", type=rng.choice(NOTE_TYPES), tier=rng.choice(TIERS), space="garden",
        tags=tuple({line(rng).removeprefix("#") or "tag" for _ in range(rng.randrange(3))}), confidence=rng.random(),
        connections=links, outdated=rng.random() < 0.2, source="pytest", session=rng.choice((None, line(rng))),
    )  # fmt: skip


def revised(rng: random.Random, old: Note) -> Note:
    """The note after what a tool does to one."""
    match rng.randrange(6):
        case 0:
            return replace(old, outdated=True, outdated_reason=line(rng), valid_until="2026-11-21T00:00:00Z")
        case 1:
            return replace(old, superseded_by=note_id(rng), updated="2026-11-21T00:00:00Z")
        case 2:
            return replace(old, connections=(*old.connections, Link(note_id(rng), "supports", rng.random(), line(rng))))
        case 3:
            return replace(old, title=line(rng), tags=(*old.tags, note_id(rng)), subject=line(rng))
        case 4:
            return replace(old, content=line(rng) + rng.choice(("", "\n", "\r", "\r\n", " ", "\n---\n")))
        case _:
            return replace(old, confidence=rng.random(), seq=rng.randrange(99), session=line(rng), tier="archival")


_KEYS = (
    "id", "type", "title", "tier", "space", "tags", "confidence", "created", "updated", "source", "session", "seq",
    "subject", "event_time", "valid_until", "outdated", "superseded_by", "about_self", "evidence", "connections",
    "aliases", "my-key", "x.y", "_private", '"quoted key"', "'single'", "cssclasses", "yes", "null", "1st", "- ", "? ",
)  # fmt: skip
_LITERALS = (
    "", "~", "yes", "'it''s'", '"a\\tb"', '"\\u0041"', "1", "0.5", "1e3", "1_000", "0x1f", "12:30", ".inf", ".nan",
    "2026-11-20", "2026-11-20 10:15:00 +01:00", "2026-11-20T10:15:00Z", "[a, b]", "[a, [b, {c: d}]]", "{a: 1, b: [2]}",
    "\n  - a\n  - b", "\n- a\n- b", "\n  a: 1\n  b:\n    c: 2", "|\n  two\n  lines", ">-\n  folded\n  text",
    "|+\n  kept\n\n", "plain\n  continued", '"over\n  lines"', "a # comment", "# comment", "'#'", "!!str 1", "!!int x",
    "!!binary aGk=", "!!set {a, b}", "!!timestamp x", "!!python/object/apply:os.system [x]", "&a b", "*a", "[&a x, *a]",
    "{<<: {a: 1}}", "9" * 5000, "[" * 40 + "]" * 40, "[" * 3000, "{a: " * 200, "[" * 60_000 + "]" * 60_000,
    "- - - - - a", "\n  - - a\n    - b",
    "decision", "working", "true", "false", "\n  - to: mem_0000000000000000\n    type: supports", "[{to: x}]", "%", "@",
)  # fmt: skip


def hand_written(rng: random.Random) -> bytes:
    """A file as a person or another program writes it."""
    lines = []
    for key in rng.sample(_KEYS, rng.randint(0, 7)):
        literal = json.dumps(anything(rng)) if rng.random() < 0.3 else rng.choice(_LITERALS)
        value = json.dumps(note_id(rng)) if key == "id" and rng.random() < 0.7 else literal
        lines.append(f"{key}: {value}\n")
        if rng.random() < 0.15:
            lines.append(rng.choice(("\n", "# a comment\n", "  # indented\n", "   \n", "stray\n", "\t- tab\n")))
    head = "".join(lines) if rng.random() < 0.93 else "{a: 1,\n b: [2]}\n"
    body = text(rng) + rng.choice(("", "\n", "\n\n", "\r\n", "\n---\n", " \n"))
    written = f"{rng.choice(('---', '---', '--- ', chr(0xFEFF) + '---'))}\n{head}---{rng.choice(('', ' '))}\n{body}"
    if rng.random() < 0.1:
        written = written.replace("\n", "\r\n")
    return written.encode("utf-8", "ignore")


def note_file(rng: random.Random) -> bytes:
    """A note's file: sound in half of the cases, else harmed."""
    data = hand_written(rng) if rng.random() < 0.6 else new_document(note(rng)).render()
    for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
        other = hand_written(rng).splitlines(keepends=True) or [b"\n"]
        data = harmed(rng, data) if rng.random() < 0.6 else shuffled_lines(rng, data, other)
    return data


# --- databases ------------------------------------------------------------------------------------

PAGE = 4096
Harm = Callable[[random.Random, Path], None]


def overwritten(rng: random.Random, path: Path) -> None:
    path.write_bytes(rng.choice((noise(rng, 9000), b"", bytes(9000), b"SQLite format 3\0" + bytes(84), b"# A note\n")))


def cut_short(rng: random.Random, path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(rng.randrange(1, max(2, path.stat().st_size)))


def pages_lost(rng: random.Random, path: Path) -> None:
    """Whole pages full of nothing, or of noise."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(rng.randint(1, 6)):
            file.seek(rng.randrange(max(1, size // PAGE)) * PAGE)
            file.write(rng.choice((bytes(PAGE), rng.randbytes(PAGE), b"\xff" * PAGE)))


def beginning_lost(rng: random.Random, path: Path) -> None:
    with path.open("r+b") as file:
        file.write(rng.choice((bytes(100), rng.randbytes(100), b"SQLite format 2\0", rng.randbytes(PAGE))))


def replaced_file(rng: random.Random, path: Path) -> None:
    """Another file of this folder, or a database of somebody else."""
    path.unlink()
    match rng.randrange(3):
        case 0:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("CREATE TABLE notes (x)")
                connection.execute(f"PRAGMA user_version = {rng.choice((0, 1, 1))}")
        case 1:
            others = sorted(other.read_bytes() for other in path.parent.iterdir() if other.is_file())
            path.write_bytes(rng.choice(others or [b""]))
        case _:
            path.write_bytes(noise(rng, 9000))


def removed(_rng: random.Random, path: Path) -> None:
    path.unlink()


def other_tables(rng: random.Random, path: Path) -> None:
    """Another schema, under the same name and version."""
    tables = ("notes", "links", "texts", "files", "tags", "history", "meta", "tombstones")
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=1)) as connection, connection:
        table = rng.choice(tables)
        connection.execute(
            rng.choice((f"DROP TABLE {table}", f"ALTER TABLE {table} RENAME TO other", "PRAGMA user_version = 0"))
        )


def bits_flipped(rng: random.Random, path: Path) -> None:
    path.write_bytes(flipped(rng, path.read_bytes(), 40))


NOTICED: tuple[Harm, ...] = (overwritten, cut_short, pages_lost, beginning_lost, replaced_file, removed, other_tables)
PARTS = ("index.db", "index.db", "index.db", "index.db-wal", "index.db-shm")


def spoil(rng: random.Random, derived: Path, harms: Sequence[Harm], parts: Sequence[str]) -> str:
    """Harm one file of the index; what was done to which."""
    harm, path = rng.choice(harms), derived / rng.choice(parts)
    if path.exists() and path.stat().st_size:
        harm(rng, path)
    return f"{harm.__name__} {path.name}"


# --- arguments ------------------------------------------------------------------------------------


def near_id(rng: random.Random, known: Sequence[str]) -> str:
    """An id, the beginning of one, or nearly one."""
    found = rng.choice(known) if rng.random() < 0.8 else note_id(rng)
    if rng.random() < 0.4:
        return found
    place = rng.randrange(len(found))
    return rng.choice(
        (
            found[:place],
            found[4:],
            found.upper(),
            f" {found}\n",
            found + rng.choice(ALPHABET),
            found.replace("_", rng.choice("-*%.\0/")),
            found[:place] + rng.choice("iloué\u0660?*_ ") + found[place + 1 :],
            text(rng),
        )
    )


def arguments(rng: random.Random, known: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A tool and what it is called with: of the right shape, or with one thing wrong."""

    def some(make: Callable[[], Any], most: int = 4) -> list[Any]:
        return [make() for _ in range(rng.choice((*range(most + 1), 60) if rng.random() < 0.1 else range(most + 1)))]

    def an_id() -> str:
        return near_id(rng, known)

    def a_text() -> str:
        return text(rng)

    shapes: dict[str, dict[str, Callable[[], Any]]] = {
        "remember": {
            "content": a_text, "type": lambda: rng.choice((*NOTE_TYPES, "Fact", "")), "title": a_text, "space": a_text,
            "tier": lambda: rng.choice((*TIERS, "hot")), "tags": lambda: some(a_text), "session": a_text,
            "about_self": lambda: rng.random() < 0.5, "confidence": lambda: rng.choice((rng.random(), *NUMBERS)),
            "links": lambda: some(lambda: rng.choice((an_id(), {"to": an_id(), "type": rng.choice(EDGE_TYPES)}))),
            "supersedes": lambda: some(an_id, 2), "subject": a_text, "event_time": a_text,
        },
        "recall": {
            "query": a_text, "limit": lambda: rng.choice((*range(-1, 53), *NUMBERS)),
            "types": lambda: some(lambda: rng.choice(NOTE_TYPES)), "spaces": lambda: some(a_text),
            "tags": lambda: some(a_text), "tiers": lambda: some(lambda: rng.choice(TIERS)), "created_after": a_text,
            "created_before": a_text, "include_outdated": lambda: rng.random() < 0.5,
            "budget": lambda: rng.choice((rng.randint(1, 4000), *NUMBERS)), "explain": lambda: rng.random() < 0.5,
        },
        "recall_node": {"node_id": an_id},
        "mark_outdated": {"node_id": an_id, "reason": a_text, "superseded_by": an_id},
        "submit_feedback": {
            "node_id": an_id, "signal": lambda: rng.choice((1, -1, *NUMBERS)), "event_id": a_text,
            "source": lambda: rng.choice(("explicit", "implicit", "")),
        },
        "memory_recall": {
            "query": a_text, "limit": lambda: rng.choice((*range(-1, 103), *NUMBERS)),
            "min_relevance": lambda: rng.choice((rng.random(), *NUMBERS)),
            "memory_type": lambda: rng.choice((*MEMORY_TYPES, "event")),
        },
        "memory_store": {
            "content": a_text, "memory_type": lambda: rng.choice((*MEMORY_TYPES, "event")),
            "related_to": lambda: some(an_id), "confidence": lambda: rng.choice((rng.random(), *NUMBERS)),
        },
        "belief_update": {
            "belief_id": an_id, "evidence_memory_id": an_id, "supports": lambda: rng.random() < 0.5,
            "strength": lambda: rng.choice((rng.random(), *NUMBERS)),
        },
        "now_update": {
            "current_task": a_text, "recent_completions": lambda: some(a_text), "key_files": lambda: some(a_text),
            "pending_decisions": lambda: some(a_text),
        },
        "integrity_check": {"scope": lambda: rng.choice(("now", "daily", "graph", "all", ""))},
    }  # fmt: skip
    tool = rng.choices(tuple(shapes), (5, 5, 2, 1, 1, 2, 2, 2, 1, 1))[0]
    required, *optional = shapes[tool]
    names = [required, *rng.sample(optional, rng.randint(0, min(4, len(optional))))]
    given: dict[str, Any] = {name: shapes[tool][name]() for name in names}
    if rng.random() < 0.3:
        wrong = mistaken(rng, given)
        given = wrong if isinstance(wrong, dict) else {required: wrong}
    return tool, given


# --- messages -------------------------------------------------------------------------------------

_METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/subscribe",
    "resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
    "server/discover", "subscriptions/listen", "notifications/initialized", "notifications/cancelled",
    "notifications/progress", "notifications/roots/list_changed", "sampling/createMessage", "roots/list", "tasks/get",
    "", "tools", "rpc.discover", "TOOLS/LIST", "admin/purge",
)  # fmt: skip
_IDS = (0, -1, 1, 1, "1", "", "x" * 300, None, True, 1.5, 2**70, [], {}, [1], "\ud800", "\0", float("nan"))


def message(rng: random.Random, known: Sequence[str], valid: dict[str, Any]) -> dict[str, Any]:
    """A request, notification or answer in the form of the protocol; `valid` are the parameters that all need."""
    method = rng.choice(_METHODS) if rng.random() < 0.5 else "tools/call"
    parameters: dict[str, Any] = {}
    if method == "tools/call":
        tool, given = arguments(rng, known)
        parameters = {"name": tool, "arguments": given}
    elif rng.random() < 0.7:
        parameters = {
            "uri": "memory://x", "name": "x", "level": "debug", "requestId": 1, "progressToken": 1, "progress": 1,
            "cursor": text(rng)[:50], "protocolVersion": rng.choice(("2025-06-18", "2026-07-28", "1999-01-01")),
            "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }  # fmt: skip
    made: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": parameters | valid}
    if not method.startswith("notifications/") or rng.random() < 0.2:
        made["id"] = rng.choice(_IDS) if rng.random() < 0.5 else rng.randrange(10**6)
    if rng.random() < 0.05:
        made = {"jsonrpc": "2.0", "id": made.get("id"), rng.choice(("result", "error")): anything(rng)}
    return made


def wire(rng: random.Random, known: Sequence[str], valid: dict[str, Any]) -> bytes:
    """A message as it goes over a wire: sound, wrong in its structure, or harmed in its bytes."""
    made: Any = message(rng, known, valid)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        made = mistaken(rng, made)
    if rng.random() < 0.05:
        made = [made, *(message(rng, known, valid) for _ in range(rng.randrange(3)))]
    try:
        data = json.dumps(made, ensure_ascii=rng.random() < 0.7).encode("utf-8", "surrogatepass")
    except RecursionError:
        data = b"[" * 5000
    ways: tuple[Callable[[], bytes], ...] = (
        *[lambda: harmed(rng, data)] * 6,
        lambda: b"[" * rng.choice((100, 1000, 100_000)),
        lambda: b'{"a":' * rng.choice((100, 1000, 20_000)) + b"1" + b"}" * rng.choice((0, 100, 1000)),
        lambda: data[:-1] + b',"id":7,"method":"ping"}',
        lambda: b" " * rng.choice((1, 1000, 100_000)) + data,
        lambda: data[:-1] + b',"filler":"' + b"z" * rng.choice((9, 9, 9, 1_000_000, 3_000_000)) + b'"}',
        *[lambda: data] * 29,
    )
    return rng.choice(ways)()
