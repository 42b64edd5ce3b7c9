"""Periods as they stand in a sentence: with a preposition, a part of them, two of them, days before them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from holdfast.model.when import spans
from holdfast.model.when import vocabulary as say
from holdfast.model.when.periods import Period, count_of, distance, periods
from holdfast.model.when.spans import Span


@dataclass(frozen=True, slots=True)
class Window:
    """A period with the words around it that belong to it, at [`start`, `end`) of the text.

    `span` is what the relation makes of `whole`, the period itself.
    """

    start: int
    end: int
    span: Span
    whole: Span
    kind: str
    rank: int
    relation: str = "during"


_ARTICLE = r"(?:the |dem |den |der |das |le |la |les |el |l'|last |this |next )?"
_LEAD = re.compile(
    rf"(?<![\w'-])(?:(?:right|just|shortly|soon|back|all|even) )?(?P<word>{say.any_of(say.RELATIONS)}) {_ARTICLE}$"
)
_PART = re.compile(rf"(?<![\w'-])(?:the )?(?P<part>{say.any_of(say.PARTS)})[ -](?:in |the |des |der |de |du )?$")
_OFFSET = re.compile(
    r"(?<![\w'-])(?:(?:in|the|last) )*(?:(?P<count>\d{1,3}|a|one|two|three|four|five|six|few) )?"
    r"(?P<unit>day|week|weekend|month|year)s? (?P<side>before|after) (?:the )?$"
)
_WEEK_OF = re.compile(r"\b(?:the )?week of (?:the )?$")
_REPEATED = re.compile(
    r"\b(?:every|each|any|most|least|more|how|many|jeden|jede[sr]?|chaque|cada|per)(?: the| last| first)? $"
)
_RECURRING = re.compile(r"(?:'s)?\s+(?:mornings|afternoons|evenings|nights|used\b)")
_RETAINED = re.compile(r"\s+(?:of|retention)\b")
_NO_SEASON = re.compile(
    r"\s+(?:\d|mode\b|boot|framework|cloud|data|security|mvc|bean|batch|cleaning|intern\w*|school|job|time|back)\b"
)
_YEAR_ENDS = re.compile(
    r"\s*(?:$|[?.!,;:)]|'s\b|(?:we|i|you|they|he|she|it|the|a|our|my|what|which|who|how|why|when|where|did|was|were|is|"
    r"are|and|or|to|for|on|at|with|by|about|from|until|vs|but|that|as|has|had|have|compared|before|after|through)\b)"
)
_YEAR_LEADS = frozenset({"in", "during", "throughout", "from", "im", "en", "within"})
_JOINS = {"to", "until", "till", "through", "-", "bis", "hasta", "au", "a", "à", "al"}
_PAIRS = {"and", "or", "und", "y", "et", "&"}
_PAIR_LEAD = re.compile(r"\b(?:between|from|in|during|zwischen|von|entre|de|del|desde|du)(?: the| le| el)? $")


def windows(text: str, today: date) -> list[Window]:
    found = periods(text, today)
    read: list[Window] = []
    at = 0
    while at < len(found):
        pair = _pair(text, found[at], found[at + 1]) if at + 1 < len(found) else None
        window = pair or _window(text, found[at])
        at += 2 if pair else 1
        if window:
            read.append(window)
    return read


def _pair(text: str, one: Period, other: Period) -> Window | None:
    """As in "between March and May", "2026-01-01 to 2026-01-31"; a year that is said once is for both."""
    between, lead = text[one.end : other.start].strip(), _PAIR_LEAD.search(text[: one.start])
    sure = not (one.bare or other.bare)
    if not ((between in _JOINS and (lead or sure)) or (between in _PAIRS and lead)) or not other.span.last:
        return None
    if "year" in (one.kind, other.kind) and not _YEAR_ENDS.match(text, other.end):
        return None
    first = (one.yearly and other.span.first and spans.latest(one.yearly, other.span.first)) or one.span
    start = lead.start() if lead else one.start
    both = spans.joined(first, other.span)
    return Window(start, other.end, both, both, other.kind, max(one.rank, other.rank))


def _window(text: str, period: Period) -> Window | None:
    """The period with what stands before it: a part of it, a preposition; None where it is no time after all."""
    before = text[: period.start]
    if _REPEATED.search(before) or _RECURRING.match(text, period.end) or _named_thing(before, period):
        return None
    if period.kind == "rolling" and _RETAINED.match(text, period.end):
        return None
    if offset := _OFFSET.search(before):
        return _offset(offset, period)
    span, kind, start = _narrowed(before, period)
    lead = _LEAD.search(text[:start])
    relation = say.RELATIONS[lead["word"]] if lead else "during"
    if lead and lead["word"] == "by" and kind == "weekday" and span.last:
        span = spans.unit_around("day", span.last, 7)  # "by Friday" is the next one
    if kind in ("vague", "ago", "about") and relation == "during":
        lead = None
    if not _is_time(text, period, lead["word"] if lead else None, part=kind == "part"):
        kind = "mention"
        if not _is_mention(text, period):
            return None
    if (
        lead
        and lead["word"] == "from"
        and (onwards := re.match(r" (?:on|onwards?|forward|(?:to|until|till) now)\b", text[period.end :]))
    ):
        return Window(
            lead.start(), period.end + onwards.end(), Span(span.first, None), span, kind, period.rank, "since"
        )
    start, rank = lead.start() if lead else start, 0 if kind == "mention" else period.rank
    return Window(start, period.end, _related(span, relation), span, kind, rank, relation)


def _narrowed(before: str, period: Period) -> tuple[Span, str, int]:
    """The part of the period, or the week of the day, that the words before it mean: its days, kind and start."""
    if (part := _PART.search(before)) and period.kind not in ("day", "yesterday", "today", "weekday", "vague"):
        return spans.share(period.span, *say.PARTS[part["part"]]), "part", part.start()
    if (week := _WEEK_OF.search(before)) and period.span.first:
        return spans.unit_around("week", period.span.first), "week", week.start()
    return period.span, period.kind, period.start


def _named_thing(before: str, period: Period) -> bool:
    """Whether a number is the name of something: "version 2024-01", "RFC 2025"."""
    words = before.split()
    return period.kind in ("day", "month", "week", "year") and bool(words) and words[-1].strip(":.#'") in say.LABELS


def _is_time(text: str, period: Period, lead: str | None, *, part: bool) -> bool:
    match period.kind:
        case "year" if period.bare:
            related = lead and (lead in _YEAR_LEADS or say.RELATIONS[lead] != "during")
            return bool(part or related) and bool(_YEAR_ENDS.match(text, period.end))
        case "season" | "in season":
            return (part or not period.bare or bool(lead)) and not _NO_SEASON.match(text, period.end)
        case "the weekend":
            return bool(lead)
        case kind if kind.startswith("the "):
            return part
        case "quarter":
            return True
    return part or not period.bare or bool(lead)


def _is_mention(text: str, period: Period) -> bool:
    """As in "the August close", "July incident": a month leans the ranking, unless it may be a person's name."""
    name = text[period.start : period.end]
    sure = name not in say.ALSO_NAMES | say.ALSO_WORDS or text[: period.start].endswith("the ")
    return period.kind == "month" and sure


def _offset(match: re.Match[str], period: Period) -> Window | None:
    """As in "the week before 16 November", "two weeks before 11 August"."""
    anchor = period.span.first if match["side"] == "before" else period.span.last
    if anchor is None:
        return None
    least, most = count_of(match["count"] or "a")
    sign = 1 if match["side"] == "before" else -1
    nearest, furthest = sorted((sign * least, sign * most))
    if match["count"] in (None, "a"):
        days = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}[match["unit"]]
        far, near = spans.shift(anchor, -sign * days), spans.shift(anchor, -sign)
        span = Span(min(far, near), max(far, near))
    else:
        span = distance(match["unit"], nearest, furthest, anchor)
    return Window(match.start(), period.end, span, span, "offset", period.rank)


def _related(span: Span, relation: str) -> Span:
    match relation:
        case "before":
            return Span(None, span.first and spans.shift(span.first, -1))
        case "after":
            return Span(span.last and spans.shift(span.last, 1), None)
        case "since":
            return Span(span.first, None)
        case "until":
            return Span(None, span.last)
    return span
