"""The NOW file in OMI's format: read leniently, changed only where asked, written so that no item makes a section.

# NOW - <ISO time>                      what a person wrote above, between and below stays as it is
## Current Task                         text of one or more lines
## Recent Completions                   - [x] item
## Pending Decisions                    - [ ] item; one that a person ticked is pending no longer, and stays
## Key Files                            - `path`
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from holdfast.model.words import regex

CHARACTERS_PER_TOKEN = 4

_TITLES = {
    "current_task": "Current Task",
    "recent_completions": "Recent Completions",
    "pending_decisions": "Pending Decisions",
    "key_files": "Key Files",
}
_ORDER = tuple(_TITLES)
_KNOWN = regex(r"\W*(?:(current task)|(recent completion)|(pending decision)|(key file))s?(?!\w)", re.IGNORECASE)
_HEADING = regex(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*\r?\n?\Z")
_NOW = regex(r"NOW\b", re.IGNORECASE)
_TIME = regex(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_FENCE = regex(r" {0,3}(`{3,}|~{3,})(.*)")
_BULLET = regex(r"\s*(?:[-*+\u2022]|\d{1,9}[.)])(?:\s+(?:\[([ xX])\](?:\s+|\Z))?|\Z)")
_RULE = regex(r"\s*([-*_])(?:\s*\1){2,}\s*\Z")
_COMMENT = regex(r"\s*<!--.*-->\s*\Z")
_NOTHING = regex(r"[*_(]*(?:none|nothing|n/a)[*_).]*\Z", re.IGNORECASE)
_CODE = regex(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_TICKED = ("x", "X")
_BREAKS = regex(r"[^\S\r\n\v\f\x1c-\x1e\x85\u2028\u2029]*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_MARKED = regex(r"(\s*)(\\*)(#|```|~~~)")
_TITLE_RANK, _SECTION_RANK = 1, 2
_LONGEST_FENCE = 100
_SHARE = 4


@dataclass(frozen=True, slots=True)
class Now:
    """What an agent is at, as four fields."""

    current_task: str = ""
    recent_completions: tuple[str, ...] = ()
    pending_decisions: tuple[str, ...] = ()
    key_files: tuple[str, ...] = ()


EMPTY = Now()
TEMPLATES = (  # as OMI's files begin, before anybody has written into them
    EMPTY,
    Now("No active task (just started)", ("Session initialized",), (), ("SOUL.md (identity)", "MEMORY.md (curated)")),
    Now(
        "Initializing OMI memory infrastructure.",
        (
            "Directory structure created",
            "Configuration file initialized",
            "SQLite database initialized",
            "NOW.md template created",
        ),
        (
            "Configure embedding provider (NIM vs Ollama)",
            "Enable vault backup (optional)",
            "Set required consensus instances",
        ),
        ("~/.openclaw/omi/config.yaml", "~/.openclaw/omi/palace.sqlite", "~/.openclaw/omi/NOW.md"),
    ),
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A heading with what follows it, as it stands; `field` is empty for what is not ours, `title` for the title."""

    field: str
    heading: str
    body: str


@dataclass(frozen=True, slots=True)
class NowFile:
    """A file as it stands, in parts that make it up again."""

    parts: tuple[_Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.heading + part.body for part in self.parts)

    @property
    def now(self) -> Now:
        """The four fields, whatever their form; a section that is there twice counts as one."""
        bodies = {name: [_clean(part.body) for part in self.parts if part.field == name] for name in _ORDER}
        tasks = [task for body in bodies["current_task"] if (task := _task(body))]
        done, _, paths = [[item for body in bodies[name] for item, _ in _items(body)] for name in _ORDER[1:]]
        pending = [item for body in bodies["pending_decisions"] for item, ticked in _items(body) if not ticked]
        return Now("\n".join(tasks), tuple(done), tuple(pending), tuple(_plain_path(item) for item in paths))

    @property
    def decided(self) -> list[str]:
        """The decisions that a person ticked off."""
        bodies = [part.body for part in self.parts if part.field == "pending_decisions"]
        return [item for body in bodies for item, ticked in _items(body) if ticked]

    @property
    def is_blank(self) -> bool:
        """Whether nobody has written anything into it yet: no field, or what OMI's own files begin with."""
        return self.now in TEMPLATES

    @property
    def says_more(self) -> bool:
        """Whether somebody has written what is in none of the fields."""
        beside = any(part.field in ("", "title") and re.search(r"\w", part.body) for part in self.parts)
        return beside or bool(self.decided)

    def is_over(self, most_tokens: int) -> bool:
        """Whether it is longer than so many tokens, of four characters each."""
        return len(self.text) > most_tokens * CHARACTERS_PER_TOKEN

    @property
    def written(self) -> datetime | None:
        """When it was last updated, by its title, in UTC; None where that says no time."""
        title = next((part.heading for part in self.parts if part.field == "title"), "")
        found = _TIME.search(title)
        try:
            moment = datetime.fromisoformat(found.group()) if found else None
            return moment and (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            return None


def read_now(text: str) -> NowFile:
    """Take a file apart. Any text is one; what stands in fenced code is no heading."""
    parts: list[_Part] = []
    field, heading, body, titled = "", "", [""], False
    for line, code in _with_code(_lines(text.removeprefix("\ufeff"))):
        found = None if code else _HEADING.match(line)
        rank = len(found.group(1)) if found else 0
        name = _field(found.group(2) or "") if found else ""
        if rank == _TITLE_RANK and not titled and found and _NOW.match(found.group(2) or ""):
            name, titled = "title", True
        foreign = heading != "" and field == ""
        if found and (rank <= _SECTION_RANK or (name and not foreign)):
            parts.append(_Part(field, heading, "".join(body)))
            field, heading, body = name, line, []
        else:
            body.append(line)
    parts.append(_Part(field, heading, "".join(body)))
    return NowFile(tuple(part for part in parts if part.heading or part.body))


def update_now(
    file: NowFile,
    at: datetime,
    current_task: str | None = None,
    recent_completions: Sequence[str] = (),
    pending_decisions: Sequence[str] | None = None,
    key_files: Sequence[str] | None = None,
) -> NowFile:
    """The file with a new time, what is given replaced (None keeps it), and the completions added.

    Texts are expected stripped, items on one line; see `one_line` and `lines_of`.
    """
    template = file.is_blank and file.now != EMPTY  # its words are nobody's
    before = () if template else file.now.recent_completions
    fields: dict[str, str | Sequence[str]] = {}
    if template:
        fields |= {"current_task": "", **dict.fromkeys(_ORDER[1:], ())}
    given = {"current_task": current_task, "pending_decisions": pending_decisions, "key_files": key_files}
    fields |= {name: value for name, value in given.items() if value is not None}
    changed = _with_title(_with_fields(file, fields), at)
    if not recent_completions:
        return changed
    wanted = (*before, *recent_completions)
    added = _with_added(changed, recent_completions) if before else changed
    return added if added.now.recent_completions == wanted else _with_fields(changed, {"recent_completions": wanted})


def fit(file: NowFile, most_tokens: int) -> tuple[NowFile, tuple[str, ...]]:
    """The file within a number of tokens, as far as taking out the oldest completions helps; and those.

    Where the rest alone is longer, completions cannot help: they may then take a quarter of the room.
    """
    items = file.now.recent_completions
    room, gone = most_tokens * CHARACTERS_PER_TOKEN, 0
    rest = len(_with_fields(file, {"recent_completions": ()}).text)
    if rest > room:
        room = rest + room // _SHARE
    while len(file.text) > room and gone < len(items):
        excess = len(file.text) - room
        while excess > 0 and gone < len(items):
            excess -= len(items[gone]) + len("- [x] \n")
            gone += 1
        file = _with_fields(file, {"recent_completions": items[gone:]})
    return file, items[:gone]


def stamp(moment: datetime) -> str:
    """A moment as a NOW file or a daily log tells it: ISO-8601, milliseconds, with the offset of UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def one_line(text: str) -> str:
    """An item as it can be written: without line breaks of any kind, nor space around it."""
    return _BREAKS.sub(" ", text.strip()).strip()


def lines_of(text: str) -> str:
    """A text as it can be written: one kind of line break, no space around it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def escaped(line: str) -> str:
    """A line that begins no heading and no fence."""
    found = _MARKED.match(line)
    return f"{found.group(1)}\\{line[found.end(1) :]}" if found else line


def _unescaped(line: str) -> str:
    found = _MARKED.match(line)
    return found.group(1) + line[found.end(1) + 1 :] if found and found.group(2) else line


def _clean(text: str) -> str:
    """Text without the halves of surrogate pairs that stand for bytes which are no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _with_code(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to fenced code. A fence that nothing closes is none."""
    end, hopeless = -1, {"`": _LONGEST_FENCE, "~": _LONGEST_FENCE}  # none so long or longer is closed further on
    for place, line in enumerate(lines):
        found = _FENCE.match(line) if place > end else None
        if found and len(found.group(1)) < hopeless[line.strip()[0]]:
            mark = found.group(1)
            closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*\Z")
            end = next((at for at in range(place + 1, len(lines)) if closing.match(lines[at])), -1)
            if end < 0:
                hopeless[mark[0]] = len(mark)
        yield line, place <= end


def _field(heading: str) -> str:
    found = _KNOWN.match(heading)
    return _ORDER[(found.lastindex or 1) - 1] if found else ""


def _task(body: str) -> str:
    return "\n".join(_unescaped(line.rstrip("\r")) for line in body.split("\n")).strip()


def _items(body: str) -> Iterator[tuple[str, bool]]:
    """The items of a list with any bullets, or none, and whether each is ticked.

    What is indented or follows at once belongs to the item above; what stands below a ticked one without a box of its
    own is ticked with it.
    """
    item, box, blank = "", "", False
    above = sys.maxsize  # how far the last ticked one is indented, while what comes is below it
    for raw in body.split("\n"):
        line = raw.rstrip("\r")
        if not line.strip() or _RULE.match(line) or _COMMENT.match(line):
            blank = True
            continue
        bullet = _BULLET.match(line)
        if item and not bullet and (not blank or line[0].isspace()):
            item = f"{item} {line.strip()}"
        else:
            yield from _said(item, box, ticked=box in _TICKED or (not box and above < sys.maxsize))
            item = line[bullet.end() :].strip() if bullet else line.strip()
            box = (bullet.group(1) or "") if bullet else ""
            indent = len(line) - len(line.lstrip())
            if indent <= above:
                above = indent if box in _TICKED else sys.maxsize
        blank = False
    yield from _said(item, box, ticked=box in _TICKED or (not box and above < sys.maxsize))


def _said(item: str, box: str, *, ticked: bool) -> Iterator[tuple[str, bool]]:
    """An item; a "none" without a box stands for there being none."""
    if item and (box or not _NOTHING.match(item)):
        yield item, ticked


def _plain_path(item: str) -> str:
    """A path without the backticks around it; what we wrote is one code span."""
    whole = _CODE.fullmatch(item)
    if whole:
        inner = whole.group(2)
        padded = inner[0] == inner[-1] == " " and inner.strip()
        return inner[1:-1] if padded else inner
    return _CODE.sub(r"\2", item)


def _path(item: str) -> str:
    mark = "`" * (max((len(run) for run in re.findall("`+", item)), default=0) + 1)
    pad = " " if item.startswith("`") or item.endswith("`") else ""
    return f"{mark}{pad}{item}{pad}{mark}"


def _body(name: str, value: str | Sequence[str], decided: Sequence[str] = ()) -> str:
    match name, value:
        case "current_task", str():
            lines = [escaped(line) for line in value.split("\n")]
        case "key_files", _:
            lines = [f"- {_path(item)}" for item in value]
        case _:
            box = "[x]" if name == "recent_completions" else "[ ]"
            lines = [*(f"- {box} {item}" for item in value), *(f"- [x] {item}" for item in decided)]
    return "\n".join(lines) + "\n\n"


def _with_title(file: NowFile, at: datetime) -> NowFile:
    heading = f"# NOW - {stamp(at)}\n"
    parts = [replace(part, heading=heading) if part.field == "title" else part for part in file.parts]
    if not any(part.field == "title" for part in parts):
        parts.insert(0, _Part("title", heading, "\n"))
    return NowFile(tuple(parts))


def _with_fields(file: NowFile, fields: Mapping[str, str | Sequence[str]]) -> NowFile:
    for name, value in fields.items():
        file = _with_field(file, name, value)
    return file


def _with_field(file: NowFile, name: str, value: str | Sequence[str]) -> NowFile:
    """The section written anew under the heading that it has; an empty one goes. What a person decided stays."""
    decided = [item for item in file.decided if item not in value] if name == "pending_decisions" else []
    places = [place for place, part in enumerate(file.parts) if part.field == name]
    rest = [part for part in file.parts if part.field != name]
    if not value and not decided:
        return NowFile(tuple(rest))
    heading = file.parts[places[0]].heading if places else f"## {_TITLES[name]}\n"
    place = places[0] if places else _place_for(rest, name)
    if place and not (rest[place - 1].heading + rest[place - 1].body).endswith("\n\n"):
        rest[place - 1] = _ended(rest[place - 1])
    rest.insert(place, _Part(name, heading if heading.endswith("\n") else f"{heading}\n", _body(name, value, decided)))
    return NowFile(tuple(rest))


def _place_for(parts: Sequence[_Part], name: str) -> int:
    """Where a new section goes: behind those of ours that come before it, else before the others, else at the end."""
    rank = _ORDER.index(name)
    before = [place for place, part in enumerate(parts) if part.field in _ORDER[:rank]]
    behind = [place for place, part in enumerate(parts) if part.field in _ORDER[rank + 1 :]]
    return before[-1] + 1 if before else behind[0] if behind else len(parts)


def _ended(part: _Part) -> _Part:
    """A part that another can follow, with a blank line between."""
    text = part.heading + part.body
    return replace(part, body=part.body + ("\n" if text.endswith("\n") else "\n\n"))


def _with_added(file: NowFile, items: Sequence[str]) -> NowFile:
    """The items behind the last that is there; everything else as it stands."""
    places = [place for place, part in enumerate(file.parts) if part.field == "recent_completions"]
    if not places:
        return _with_fields(file, {"recent_completions": tuple(items)})
    parts = list(file.parts)
    last = parts[places[-1]]
    kept = last.body.rstrip()
    tail = last.body[len(kept) :].lstrip("\r").removeprefix("\n") or "\n"
    new = _body("recent_completions", items).removesuffix("\n\n")
    start = f"{kept}\n" if kept else ""
    heading = last.heading if last.heading.endswith("\n") else f"{last.heading}\n"
    parts[places[-1]] = replace(last, heading=heading, body=f"{start}{new}\n{tail}")
    return NowFile(tuple(parts))
