"""Any note survives its file, any file survives a change, and nothing but MalformedError comes out of a parse."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.note import EDGE_TYPES, NOTE_TYPES, TIERS, Link, Note
from holdfast.store.codec import Document, MalformedError, Surroundings, changed_document, new_document, note_of, parse

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
lines = texts.map(str.strip).filter(bool)
fractions = st.floats(0, 1)
times = st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat() + "Z")
ids = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=16, max_size=16).map("mem_".__add__)
links = st.builds(Link, ids, st.sampled_from(EDGE_TYPES), fractions, st.one_of(st.just(""), lines), times)
notes = st.builds(
    Note,
    id=ids,
    content=texts,
    title=lines,
    created=times,
    updated=times,
    type=st.sampled_from(NOTE_TYPES),
    tier=st.sampled_from(TIERS),
    space=st.sampled_from(["global", "garden", "küche"]),
    tags=st.lists(lines.filter(lambda tag: not tag.startswith("#")), unique=True, max_size=4).map(tuple),
    confidence=fractions,
    source=st.one_of(st.just(""), lines),
    connections=st.lists(links, max_size=3).map(tuple),
    session=st.none() | lines,
    source_url=st.none() | lines,
    seq=st.none() | st.integers(0, 2**40),
    subject=st.none() | lines,
    event_time=st.none() | times,
    valid_from=st.none() | times,
    valid_until=st.none() | times,
    outdated=st.booleans(),
    outdated_reason=st.none() | lines,
    superseded_by=st.none() | ids,
    merged=st.lists(ids, unique=True, max_size=2).map(tuple),
    about_self=st.booleans(),
)
names = st.from_regex(r"[a-z]{1,6}", fullmatch=True)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(notes)
def test_any_note_comes_back_from_its_file(note: Note) -> None:
    assert note_of(parse(new_document(note).render()), Surroundings()) == note


@given(notes)
def test_canonical_frontmatter_says_the_same_to_yaml(note: Note) -> None:
    data = new_document(note).render()
    head = data.decode().partition("---\n")[2].partition("\n---\n")[0]
    assert yaml.safe_load(head) == parse(data).values


@given(st.dictionaries(names, plain, min_size=1), st.booleans(), texts, st.data())
def test_a_change_of_a_hand_written_file_keeps_everything_else(
    values: dict[str, Any], flow: bool, body: str, data: st.DataObject
) -> None:
    text = yaml.safe_dump(values, allow_unicode=True, default_flow_style=None if flow else False, sort_keys=False)
    before = f"---\n{text}---\n{body}".encode()
    document = parse(before)
    assert document.render() == before
    key = data.draw(st.sampled_from(sorted(values)))
    after = parse(document.with_values({key: "changed"}).render())
    assert after.values == {**document.values, key: "changed"}
    assert after.body == document.body
    if document.spans is not None:
        kept = [text for name, text in document.spans if name != key]
        assert [text for name, text in after.spans or () if name != key] == kept


@given(notes, notes)
def test_any_note_can_become_any_other(old: Note, new: Note) -> None:
    new = replace(new, id=old.id)
    changed = changed_document(parse(new_document(old).render()), old, new)
    assert note_of(parse(changed.render()), Surroundings()) == new


fragments = st.sampled_from(
    [
        b"---\n", b"---", b"\n", b"id: ", b"title: ", b"tags:\n- a\n", b"confidence: ", b"created: ", b"!!int ",
        b"!!bool ", b"&a ", b"*a", b"[", b"]", b"{", b"}", b"? ", b"- ", b": ", b"|\n  x\n", b'"', b"'",
        b"2026-11-20", b"1e999",
        b"\\ud800", b"\xff", b"\0", b"# c\n", b"\r\n", b"true", b"null", b".nan", b"<<: ", b"%YAML 1.1\n", b"0x",
    ]
)  # fmt: skip


@given(st.binary() | st.lists(fragments | st.binary(max_size=4)).map(b"".join).map(b"---\n".__add__))
def test_whatever_the_bytes_are_they_are_a_note_or_malformed(data: bytes) -> None:
    with suppress(MalformedError):
        document: Document = parse(data)
        note_of(document, Surroundings(), "mem_" + "0" * 16)
        assert document.render() == data
