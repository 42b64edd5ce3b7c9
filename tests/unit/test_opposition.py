"""Texts contradict each other by opposite words about the same thing, and not otherwise."""

from __future__ import annotations

import pytest

from holdfast.model.note import Note
from holdfast.model.opposition import LONG, compared, only_said_by, opposition, to_read

ALWAYS, WORKS, CAUSES, INCREASES, ENABLES = (
    "should always vs should never",
    "works well vs doesn't work",
    "causes vs prevents",
    "increases vs decreases",
    "enables vs blocks",
)
OPPOSED = [
    (ALWAYS, "We should always squash commits", "We should never squash commits before a merge"),
    (ALWAYS, "You mustn't deploy on Fridays.", "You must always deploy on Fridays."),
    (ALWAYS, "Tests: always mock the clock", "Never mock the clock in tests"),
    (WORKS, "The offline cache works well", "The offline cache doesn't work"),
    (WORKS, "The offline cache worked really well under load", "Under load the offline cache does not work"),
    (WORKS, "Retries work fine with the bank", "With the bank, retries won\u2019t work"),
    (CAUSES, "Smoking causes cancer", "Smoking prevents cancer"),
    (CAUSES, "TypeScript prevents runtime errors", "TypeScript does not prevent runtime errors"),
    (CAUSES, "The lock caused a deadlock", "The lock is preventing the deadlock"),
    (INCREASES, "Caching increases latency", "The cache decreases latency"),
    (INCREASES, "Caching increases memory but decreases latency", "Caching increased latency"),
    (ENABLES, "The flag enables retries", "THE FLAG BLOCKS RETRIES!"),
    (ENABLES, "The proxy no longer blocks uploads", "The proxy blocks uploads"),
]
AT_PEACE = [
    ("Smoking causes cancer", "Paint prevents rust"),
    ("The VPN enables access to staging", "The VPN unblocks access to staging"),
    ("Redis increases latency", "Memcached decreases latency"),
    ("Caching increases memory use", "Caching decreases latency"),
    ("TypeScript does not cause slow builds", "TypeScript does not prevent slow builds"),
    ("The new index does not increase cost", "The new index decreases cost"),
    ("We should always test payment code", "We should never test in production"),
    ("Always use tabs", "Never use spaces"),
    ("The lift works well", "The boiler doesn't work"),
    ("Not only does the lock cause stalls", "The lock causes stalls"),
    ("A causal model of demand", "A preventive model of demand"),
    ("def increase(): return 1", "class Shipment: blocked = True"),
    ("", "The cache decreases latency"),
    ("会議は毎週金曜日", "会議は毎週木曜日"),
]


@pytest.mark.parametrize(("pattern", "one", "other"), OPPOSED)
def test_opposite_words_about_the_same_thing_contradict_each_other(pattern: str, one: str, other: str) -> None:
    assert opposition(one, other) == opposition(other, one) == pattern


@pytest.mark.parametrize(("one", "other"), AT_PEACE)
@pytest.mark.parametrize("close", [False, True])
def test_other_texts_do_not(one: str, other: str, *, close: bool) -> None:
    assert opposition(one, other, close=close) is None
    assert opposition(other, one, close=close) is None


@pytest.mark.parametrize("text", [text for _, *pair in OPPOSED for text in pair] + ["X causes Y. X prevents Y."])
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert opposition(text, text, close=True) is None
    assert opposition(text, f"  {text.upper()} ", close=True) is None


def test_texts_that_are_near_by_meaning_need_to_share_less() -> None:
    one = "Nightly compaction increases disk usage on the replicas"
    other = "Disk writes, and usage of space, are decreased by merging segments"
    assert opposition(one, other) is None
    assert opposition(one, other, close=True) == INCREASES


def test_a_very_long_text_is_answered_for() -> None:
    long = "The cache increases latency of requests. " * 5000
    assert opposition(long, "The cache decreases latency of requests") == INCREASES


def noted(text: str) -> Note:
    day = "2026-11-01T00:00:00Z"
    return Note(id="mem_1", content=text, title="A note", created=day, updated=day, type="fact", space="global")


MINUTES = "Minutes of the March meeting. " + "Nobody had anything to say about the minutes of February. " * 8
HEDGE = "The hedge is cut by Mr Osei. "
REST = "The lawn is mown every ten days."


def test_of_a_long_note_that_is_read_beside_another_what_is_likest_to_it() -> None:
    long, short = MINUTES + HEDGE + REST, "The hedge is cut by Florian."
    assert len(long) > LONG
    part = to_read(noted(long), noted(short), 0.3)
    assert part[:2] == (HEDGE.strip(), short)
    assert part.likeness > 0.3, "how near all of a long note is says little about one sentence"
    assert to_read(noted(short), noted(long), 0.3)[:2] == (short, HEDGE.strip())
    assert to_read(noted(HEDGE), noted(short), 0.3) == (HEDGE, short, 0.3)


def test_what_is_read_beside_another_has_its_values_spelled_as_there() -> None:
    older, newer = "Practice begins at 19:30.", "Practice starts at half past seven in the evening."
    assert to_read(noted(older), noted(newer), 0.9) == (older, "Practice starts at 19:30.", 0.9)


@pytest.mark.parametrize(
    ("kept", "other", "alone"),
    [
        ("Our accountant is Ms Bell.", "Ms Bell is our accountant. Her fee is 300 pounds.", "Her fee is 300 pounds."),
        ("The gate is locked at six.", "At 6 the gate gets locked.", ""),
        ("Blood samples are fetched at 14:00.", "The samples of blood are fetched at 14:00.", ""),
        ("The sweep came.", f"The sweep came. {'Soot fell on carpets, chairs and books. ' * 9}", "Soot fell"),
    ],
)
def test_what_only_one_of_two_notes_says_is_told_and_cut_short(kept: str, other: str, alone: str) -> None:
    told = only_said_by(noted(other), noted(kept))
    assert told.startswith(alone) if alone else not told
    assert len(told) <= 120


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("The billing API requires a signed token.", "The billing API doesn't require a signed token.", "denial"),
        ("The disk is encrypted.", "The disk isn\u2019t encrypted.", "denial"),
        ("We can deploy on Fridays.", "We can't deploy on Fridays.", "denial"),
        ("Bestellung mit Lieferschein.", "Bestellung ohne Lieferschein.", "denial"),
        ("The cache holds thirteen entries per shard.", "The cache holds fourteen entries per shard.", "value"),
        ("Es gibt zwölf Boxen.", "Es gibt fünfzehn Boxen.", "value"),
        ("Backups run once a day.", "Backups run twice a day.", "value"),
        ("Hay doce cajas.", "Hay 12 cajas.", "none"),
        ("The fee is 50 cents.", "The fee is 50 pence.", "none"),
    ],
)
def test_what_two_notes_say_differently_is_seen_however_it_is_written(one: str, other: str, difference: str) -> None:
    assert compared(noted(one), noted(other)).difference == difference
    assert compared(noted(other), noted(one)).difference == difference
