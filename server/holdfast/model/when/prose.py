"""Which lines of a query are the asker's own, and which of their words are words."""

from __future__ import annotations

import re

_LONGEST_PROSE = 300  # characters
_LETTERS = r"[^\W\d_]"
_PLAIN = re.compile(
    rf"{_LETTERS}+(?:['-]{_LETTERS}+)*'?|(?:mid|early|late)-\d{{4}}|\d{{1,3}}(?:st|nd|rd|th|er)?|\d{{1,2}}-\d{{1,2}}|"
    r"\d{4}(?:-\d\d(?:-\d\d)?|/\d\d/\d\d)?(?:'s)?|\d{4}-?w\d\d|\d{4}-?q[1-4]|q[1-4](?:[/-]?\d{4})?|"
    r"h[12](?:[/-]\d{4})?|\d{1,2}([/.])\d{1,2}\1\d{4}|\W*",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[^\s,;]+")
_PART_HYPHEN = re.compile(r"\b(mid|early|late|mi)-(?=\w)")
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)|(?<!\S)--[\w-]+(?:[ =]\S+)?")
_LOG_LINE = re.compile(
    r"\d\d:\d\d:\d\d|^\s*(?:at [\w.$<>]+[.(]|File |Traceback|[>$#|{}<\[]|\S+Error\b)|[{}<>=|;]{2}|\t"
)
EDGES = "()[]{}*\u201c\u201d\u201e«»'\".,:!?…"
_TYPEWRITTEN = str.maketrans("\u2018\u2019\u2013", "''-")


def lines_to_read(query: str) -> list[str]:
    """The lines to read. A question is one short line; more of them are a paste, and so is a long one.

    Of a paste only the first and the last line are the asker's own words, if any: they are read when they are no
    longer than 300 characters and look like no log line or code. Dates inside a log say when the log was written.
    """
    lines = [line.strip() for line in query.strip().splitlines() if line.strip()]
    outer = lines[:1] + lines[1:][-1:]
    return [line for line in outer if len(line) <= _LONGEST_PROSE and not _LOG_LINE.search(line)]


def masked(line: str) -> str:
    """Lower case of the same length, with NULs for whatever is not a word, a number or a date."""
    lowered = line.lower() if len(line.lower()) == len(line) else line
    text = _QUOTED.sub(lambda quoted: "\0" * len(quoted.group()), lowered.translate(_TYPEWRITTEN))
    text = _TOKEN.sub(lambda token: token.group() if _is_plain(token.group()) else _blank(token), text)
    text = _PART_HYPHEN.sub(r"\1 ", re.sub(r"\s", " ", text))
    return _ALSO_WORD.sub(lambda word: word.group() if _is_month(word, line) else _blank(word), text)


def _is_plain(token: str) -> bool:
    return "()" not in token and bool(_PLAIN.fullmatch(token.strip(EDGES)))


def _blank(match: re.Match[str]) -> str:
    return "\0" * len(match.group())


# "may" and "march" are verbs, "mars" is a planet, unless their neighbours make them months.
_ALSO_WORD = re.compile(r"\b(?:may|march|mars)\b")
_SURE_BEFORE = re.compile(
    r"(?:\b(?:in|last|next|early|mid|late|since|until|till|between|(?:end|start|beginning|middle|week) of)|"
    r"\d(?:st|nd|rd|th)(?: of)?|\b(?:between|from) \S+(?: \S+)? (?:and|to|through)) $"
)
_SURE_BEHIND = re.compile(
    r",? (?:of )?(?:19|20)\d\d\b|\.? \d{1,2}(?:st|nd|rd|th)\b|\.? \d{1,2}(?:-\d{1,2})?,? (?:19|20)\d\d\b"
)
_LIKELY_BEFORE = re.compile(r"\b(?:this|before|after|by|for|of|from|during|and|or|to|through|the|on|around|\d{1,2}) $")
_ENDS = re.compile(r"(?:\.? \d{1,2})?\s*(?:$|[?.!,;:)]|'s\b|(?:to|until|through|and|-) \d)")
_MARS_BEFORE = re.compile(r"\b(?:en|de|du|début|fin|mi|depuis|avant|après|\d{1,2}|1er) $")


def _is_month(word: re.Match[str], line: str) -> bool:
    """Whether `word` of the lowered `line` is a month: a capital tells, but not at the beginning of a sentence."""
    before, behind = word.string[: word.start()], word.string[word.end() :]
    if word.group() == "mars":
        return bool(_MARS_BEFORE.search(before))
    if _SURE_BEFORE.search(before) or _SURE_BEHIND.match(behind):
        return True
    dated = bool(re.match(r"\.? \d{1,2}\b", behind))
    told = (line[word.start()].isupper() and bool(before.strip())) or bool(_ENDS.match(behind))
    return told and (dated or bool(_LIKELY_BEFORE.search(before)))
