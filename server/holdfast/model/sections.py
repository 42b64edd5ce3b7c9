"""A long markdown text in its sections: what stands below each heading, up to the next one of any level."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONG = 4_000  # characters from which on a text is read better in sections
MOST_SECTIONS = 500  # of one text; beyond that the deepest headings stay within their sections
_DEEPEST = 6

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t\r]*")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-{2,})[ \t\r]*")
_NO_PARAGRAPH = re.compile(r"\s|[#>|*+-]|\d+[.)]\s|$")  # how a line begins that no line of dashes makes a heading
_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*(?:(`{3,})[^`]*|(~{3,}).*)")
_RAW = re.compile(r" {0,3}<(pre|script|style|textarea)\b(?!.*</\1>)", re.IGNORECASE)
_COMMENT = re.compile(r"[^`]*<!--(?!.*-->)")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_ATTRIBUTES = re.compile(r"\s*\{[#.][^{}]*\}$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it.

    Attributes:
        above: the headings that it is part of, the outermost first.
        title: its own.
        text: from the heading on.
        line: where the heading is, from 1.
        part_of: the place of the section that holds it; None where that is the text as a whole.
        key: its name among the sections of the text, made of the headings.
    """

    above: tuple[str, ...]
    title: str
    text: str
    line: int
    part_of: int | None
    key: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A text by its sections: `title` is its only top heading, empty without one; `opening` is what comes first."""

    title: str
    opening: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    title: str
    lines: int


def outline(text: str) -> Outline | None:
    """The sections of a text; None where it has no two of them.

    A heading without text of its own is no section: it is told among those above the next.
    """
    lines = text.split("\n")
    found = list(_headings(lines))
    is_titled = bool(found) and found[0].level == 1 and not any(item.level == 1 for item in found[1:])
    is_titled = is_titled and not "".join(lines[: found[0].line]).strip()
    title = found[0].title if is_titled else ""
    kept = _shallow(found[1:] if is_titled else found)
    opening = "\n".join(lines[: kept[0].line] if kept else lines).strip()
    sections = _sections(lines, kept)
    return Outline(title, opening, tuple(sections)) if len(sections) > 1 else None


def _shallow(found: Sequence[_Heading]) -> list[_Heading]:
    """The headings down to the level at which there are not too many."""
    for deepest in range(_DEEPEST, 0, -1):
        kept = [item for item in found if item.level <= deepest]
        if len(kept) <= MOST_SECTIONS:
            return kept
    return []


def _sections(lines: Sequence[str], kept: Sequence[_Heading]) -> list[Section]:
    sections: list[Section] = []
    keys: set[str] = set()
    open_: list[tuple[_Heading, int | None]] = []  # the headings above, with the places of those that have text
    for number, item in enumerate(kept):
        while open_ and open_[-1][0].level >= item.level:
            open_.pop()
        end = kept[number + 1].line if number + 1 < len(kept) else len(lines)
        place = None
        if "".join(lines[item.line + item.lines : end]).strip():
            above = tuple(heading.title for heading, _ in open_)
            part_of = next((held for _, held in reversed(open_) if held is not None), None)
            place = len(sections)
            text = "\n".join(lines[item.line : end]).strip("\r\n")
            sections.append(Section(above, item.title, text, item.line + 1, part_of, _key(above, item.title, keys)))
        open_.append((item, place))
    return sections


def _key(above: Sequence[str], title: str, keys: set[str]) -> str:
    """A name that no other section has; it is put among those that are taken."""
    name = "/".join(" ".join(each.casefold().split()) for each in (*above, title))
    numbered = (f"{name}~{number}" for number in itertools.count(2))
    key = next(key for key in itertools.chain([name], numbered) if key not in keys)
    keys.add(key)
    return key


def _headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """The headings of both kinds; what stands in code, comments and raw blocks is none."""
    closing: re.Pattern[str] | None = None
    for number, line in enumerate(lines):
        if closing is not None:
            closing = None if closing.match(line) else closing
        elif (closing := _closing(line)) is None:
            heading = _heading(lines, number)
            if heading is not None and heading.title:
                yield heading


def _closing(line: str) -> re.Pattern[str] | None:
    """What ends the block that a line opens; None where it opens none."""
    if (fence := _FENCE.fullmatch(line)) is not None:
        mark = fence[1] or fence[2]
        return re.compile(rf"[\s>]*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    if _COMMENT.match(line):
        return re.compile(r".*-->")
    raw = _RAW.match(line)
    return re.compile(rf".*</{raw[1]}>", re.IGNORECASE) if raw else None


def _heading(lines: Sequence[str], number: int) -> _Heading | None:
    """The heading that begins with a line; a paragraph of one line that is underlined is one too."""
    found = _HEADING.fullmatch(lines[number])
    if found is not None:
        return _Heading(number, len(found[1]), _plain(found[2]), 1)
    below = _UNDERLINE.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
    is_alone = number == 0 or not lines[number - 1].strip()
    if below is None or not is_alone or _NO_PARAGRAPH.match(lines[number]):
        return None
    return _Heading(number, 1 if below[1] else 2, _plain(lines[number]), 2)


def _plain(title: str) -> str:
    """A heading's words without the marks of links and emphasis."""
    words = _LINK.sub(r"\1", _ATTRIBUTES.sub("", title.strip()))
    return " ".join(words.replace("**", "").replace("__", "").replace("`", "").strip("* ").split())
