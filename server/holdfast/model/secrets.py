"""The one door for secrets: what looks like a credential is replaced before it reaches disk or log.

Looked for are the prefixes that vendors give (`secret_formats`), forms of protocols (`secret_shapes`), key blocks, and
values that a name such as `password` or `api_key` is given (`secret_names`). The work grows with the length of the text
and no faster, in calls that are each short. A token takes the whole run of its characters, and a placeholder is never
part of a secret, so redacting twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, starmap
from typing import Final

from holdfast.model.secret_formats import BY_PREFIX, Format, body_of, entropy
from holdfast.model.secret_names import named
from holdfast.model.secret_shapes import JUDGED, humps, is_masked, is_random, shapes
from holdfast.model.words import any_of, matches

# What stands beside a secret can look like one only once that is gone: the second pass finds it, if any does.
_MOST_PASSES: Final = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret stands, and of what kind it is; never the secret itself."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text without its secrets, and the kind of each one that was replaced."""

    text: str
    labels: tuple[str, ...]


def redact(text: str) -> Redaction:
    """Replace each secret with a placeholder such as `[redacted: GitHub token]`."""
    labels: list[str] = []
    for _ in range(_MOST_PASSES):
        findings = find(text)
        if not findings:
            break
        text = _replaced(text, findings)
        labels += [finding.label for finding in findings]
    return Redaction(text, tuple(labels))


def _replaced(text: str, findings: list[Finding]) -> str:
    parts: list[str] = []
    kept = 0
    for finding in findings:
        parts += text[kept : finding.start], f"[redacted: {finding.label}]"
        kept = finding.end
    return "".join([*parts, text[kept:]])


def find(text: str) -> list[Finding]:
    """Every secret in `text`, in order and without overlaps."""
    lowered = text.replace("\u0130", "I").lower()  # the one letter whose lower case is longer
    others = chain(_prefixed(text), shapes(text, lowered), named(text, lowered))
    found = [*_key_blocks(text), *starmap(Finding, others)]
    if found and _EMBEDDED_HINT in text:
        files = [match.span() for match in _EMBEDDED.finditer(text)]
        found = [item for item in found if not any(first <= item.start < last for first, last in files)]
    found.sort(key=lambda finding: finding.start)
    separate: list[Finding] = []
    for finding in found:
        if separate and finding.start < separate[-1].end:
            last = separate.pop()
            finding = Finding(last.start, max(last.end, finding.end), last.label)  # noqa: PLW2901 - joined
        separate.append(finding)
    return separate


# --- what vendors' prefixes begin -----------------------------------------------------------------

# An embedded file is no place for keys, and long enough to hold by chance what looks like one.
_EMBEDDED_HINT: Final = ";base64,"
_EMBEDDED: Final = re.compile(r";base64,[A-Za-z0-9+/=%]++")
_LONGEST_PREFIX: Final = max(map(len, BY_PREFIX))
_JUDGED_BODY: Final = 512  # characters
_LONGEST_HUMP: Final = 4  # letters on average


@cache
def _prefixes() -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){any_of(BY_PREFIX)}")


@cache
def _rows(prefix: str) -> tuple[tuple[int, Format], ...]:
    """The rows that may begin with this text, those of longer prefixes first, each with its prefix's length."""
    lengths = range(len(prefix), 0, -1)
    return tuple((length, row) for length in lengths for row in BY_PREFIX.get(prefix[:length], ()))


def _prefixed(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a token of a vendor stands; a token does not begin inside a word."""
    end = 0
    for prefix in matches(_prefixes(), text, _LONGEST_PREFIX):
        if prefix.start() < end:
            continue
        for length, row in _rows(prefix[0]):
            start = prefix.start() + length
            body = body_of(row).match(text, start, start + _JUDGED_BODY)
            if body is not None and _is_drawn(body[0][:JUDGED], row):
                whole = body_of(row).match(text, start) or body
                end = whole.start() + len(whole[0].rstrip("."))  # the full stop of a sentence
                yield prefix.start(), end, row.label
                break


@lru_cache(4096)
def _is_drawn(body: str, row: Format) -> bool:
    """Whether what follows a prefix was drawn at random; what stands for an example was not."""
    if is_masked(body):
        return False
    if not row.entropy:
        return True
    mixed = body.isalpha() and len(body) < len(humps(body)) * _LONGEST_HUMP  # longer than that are words
    return entropy(body) >= row.entropy and (mixed or is_random(body))


# --- private keys ---------------------------------------------------------------------------------

_KEY_MARK: Final = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# What follows the first line of a block that was cut off: headers and base64, newlines perhaps escaped.
_KEY_BODY: Final = re.compile(
    r"(?:\s|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]*+"
    r"|[A-Za-z0-9+/]{16,}+=*+|[A-Za-z0-9+/]++={1,2})*+"
)


def _key_blocks(text: str) -> Iterator[Finding]:
    opened: re.Match[str] | None = None
    for mark in _KEY_MARK.finditer(text):
        if opened is not None:
            end = mark.end() if mark[1] == "END" else _cut_off(text, opened)
            yield Finding(opened.start(), end, "private key")
        opened = mark if mark[1] == "BEGIN" else None
    if opened is not None:
        yield Finding(opened.start(), _cut_off(text, opened), "private key")


def _cut_off(text: str, opened: re.Match[str]) -> int:
    body = _KEY_BODY.match(text, opened.end())
    return opened.end() + len(body[0].rstrip()) if body else opened.end()
