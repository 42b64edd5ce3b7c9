"""From a file to a note and back: what may be left out, what is refused, what survives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.model.note import Link, Note
from holdfast.store.codec import MalformedError, Surroundings, changed_document, new_document, note_of, parse, with_id

ID = "mem_01jd4x0k3v8q2m7z"
WHEN = "2026-11-20T10:15:00Z"
AROUND = Surroundings("garden", WHEN)
NOTE = Note(ID, "We chose SQLite.", "SQLite", WHEN, WHEN, type="decision", space="holdfast", tags=("storage",))


def read(text: str | bytes, note_id: str | None = ID) -> Note:
    return note_of(parse(text if isinstance(text, bytes) else text.encode()), AROUND, note_id)


def test_a_new_note_is_written_in_canonical_lines() -> None:
    linked = replace(NOTE, connections=(Link(ID, "supports", 0.9, "why", WHEN),))
    assert new_document(linked).render().decode() == (
        f'---\nid: "{ID}"\ntype: "decision"\ntitle: "SQLite"\ntier: "working"\nspace: "holdfast"\ntags: ["storage"]\n'
        f'confidence: 1.0\ncreated: "{WHEN}"\nupdated: "{WHEN}"\nsource: ""\n'
        f'connections: [{{"to": "{ID}", "type": "supports", "weight": 0.9, "reason": "why", "created": "{WHEN}"}}]\n'
        "---\nWe chose SQLite.\n"
    )


def test_a_file_without_frontmatter_is_a_fact_of_its_folder() -> None:
    note = read("# Water the plants\n\nTwice a week.")
    assert (note.type, note.title, note.space, note.created) == ("fact", "Water the plants", "garden", WHEN)


@pytest.mark.parametrize("content", ["a", "a\n", "a\r", "a\r\n", "\n", "---\nx\n---\n", "a\u2028b", "\ufeffa"])
def test_content_comes_back_as_it_was_given(content: str) -> None:
    note = replace(NOTE, content=content)
    assert read(new_document(note).render()) == note


def test_unknown_keys_and_body_bytes_survive_a_rewrite() -> None:
    text = f"---\nid: {ID}\nmine: [1, two]\ncreated: 2026-01-02\ntitle: x\n---\nbody without an end"
    document = parse(text.encode())
    note = note_of(document, AROUND)
    changed = changed_document(document, note, replace(note, tier="core")).render().decode()
    assert changed == text.replace("title: x\n", 'title: x\ntier: "core"\n')


def test_what_a_file_did_not_say_of_its_id_and_date_is_written_down_when_it_is_changed() -> None:
    document = parse(b"mine")
    note = note_of(document, AROUND, ID)
    changed = changed_document(document, note, replace(note, outdated=True)).render()
    assert (read(changed, None).id, read(changed, None).created) == (ID, AROUND.modified)
    assert changed.endswith(b"---\nmine")
    assert changed_document(document, note, note).render() == b"mine"


@pytest.mark.parametrize(
    "text", ["plain", "---\ntitle: x\n---\nb\r\n", "\ufeff---\r\ntitle: x\r\n---\r\nb", "---\n---\n"]
)
def test_an_id_is_added_and_no_other_byte_is_touched(text: str) -> None:
    adopted = with_id(text.encode(), parse(text.encode()), ID)
    assert read(adopted, None).id == ID
    assert adopted.decode().replace(f'id: "{ID}"\n', "").removeprefix("---\n---\n") == text.removeprefix("---\n---\n")


@pytest.mark.parametrize("text", ["---\n{title: x, mine: 1}\n---\nb", "---\n  title: x\n  mine: 1\n---\nb"])
def test_an_id_is_added_where_no_line_can_be_put_above_the_others(text: str) -> None:
    adopted = parse(with_id(text.encode(), parse(text.encode()), ID))
    assert adopted.values == {"title": "x", "mine": 1, "id": ID}


@pytest.mark.parametrize(
    "line",
    [
        "id: 7", "type: rumour", "tier: top", "title: [a]", "tags: {a: b}", "confidence: 2", "confidence: yes",
        "confidence: .nan", "confidence: 1" + "0" * 400, "created: soon", "created: 0001-01-01T00:00:00+10:00",
        "seq: -1", "outdated: maybe", "connections: x", "connections: [{to: y}]", "evidence: x",
        "title: 0x" + "f" * 5000, "tags: [0x" + "f" * 5000 + "]", 'title: "a\\0b"', "space: '???'",
    ],
)  # fmt: skip
def test_a_value_that_a_key_cannot_have_is_refused(line: str) -> None:
    with pytest.raises(MalformedError):
        read(f"---\n{line}\n---\nbody")


@pytest.mark.parametrize(
    ("title", "text", "own"),
    [
        ("The autoclave is serviced by Mr. Quist.", "The autoclave is serviced by Mrs. Ode.", ""),
        (
            "The rye sourdough rests for 16 hours in the cold room of the…",
            "The rye sourdough rests for 20 hours in the cold room of the old bakery, covered.",
            "",
        ),
        ("Who services the autoclave", "The autoclave is serviced by Mrs. Ode.", "Who services the autoclave"),
        ("Never again.", "The autoclave is serviced by Mrs. Ode.", "Never again."),
    ],
)
def test_what_a_text_began_with_before_it_was_edited_is_no_title_of_its_own(title: str, text: str, own: str) -> None:
    day = "2026-11-01T00:00:00Z"
    note = Note(id="mem_1", content=text, title=title, created=day, updated=day, type="fact", space="global")
    assert note.shown_title == own
    assert note.own_title == title
