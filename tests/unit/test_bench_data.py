"""The data that bench/ ships is whole, and what it reads of other data is read as it is meant."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benches import BENCH, loaded
from holdfast.model.words import query_terms

datasets = loaded("datasets")


def data(name: str) -> Any:
    return json.loads((BENCH / "data" / name).read_text("utf-8"))


def test_every_labelled_pair_of_the_bakery_has_both_its_notes_and_no_text_is_there_twice() -> None:
    told = data("tending_bakery.json")
    notes = {note["id"]: note["content"] for note in told["notes"]}
    labels = told["labels"]
    assert len(notes) == 60
    assert Counter(label["label"] for label in labels) == {"conflict": 20, "duplicate": 20, "lookalike": 20}
    assert all(label["of"] in notes for label in labels)
    texts = [*notes.values(), *(label["content"] for label in labels)]
    assert len(set(texts)) == len(texts)


def test_every_question_of_devmem_has_two_other_phrasings_that_are_not_the_question() -> None:
    asked = {query.id: query.text for query in datasets.read_devmem().queries}
    phrasings = data("phrasings.json")
    assert phrasings.keys() == asked.keys()
    assert all(len(given) >= 2 and asked[end] not in given for end, given in phrasings.items())


def test_at_least_150_questions_are_about_nothing_stored() -> None:
    unstored = [text for texts in data("unstored.json").values() for text in texts]
    off_topic = [query for query in datasets.read_devmem().queries if not query.evidence]
    assert len(set(unstored)) + len(off_topic) >= 150


def beam(folder: Path) -> Path:
    """A folder as BEAM's repository has it, with one chat."""
    place = folder / "chats" / "100K" / "1"
    (place / "probing_questions").mkdir(parents=True)
    turns = [
        [
            {"id": 0, "role": "user", "content": "My crane is red."},
            {"id": 1, "role": "assistant", "content": "Ok." + " " * 9},
        ]
    ]
    (place / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": turns}]), "utf-8")
    asked = {
        "abstention": [{"question": "Who owns it?"}],
        "knowledge_update": [
            {"question": "Which colour?", "source_chat_ids": {"original_info": [0], "updated_info": [1, 0]}}
        ],
    }
    (place / "probing_questions" / "probing_questions.json").write_text(json.dumps(asked), "utf-8")
    return folder


def test_of_beam_each_message_is_a_note_and_each_named_message_evidence(tmp_path: Path) -> None:
    found = datasets.read_beam(beam(tmp_path), chats=1)
    assert [note.id for note in found.notes] == ["beam-1/0", "beam-1/1"]
    assert found.notes[0].arguments == {"content": "My crane is red.", "space": "beam-1", "session": "beam-1-0"}
    assert found.notes[1].arguments["content"] == "Ok."
    nothing, update = found.queries
    assert (nothing.kind, nothing.evidence) == ("abstention", ())
    assert update.evidence == ("beam-1/0", "beam-1/1")
    assert update.spaces == {"beam-1"}


def test_a_folder_that_is_not_beams_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is not there"):
        datasets.read_beam(tmp_path)


def test_the_plain_notes_of_a_theatre_and_a_weather_service_are_asked_for_mostly_in_other_words() -> None:
    found = datasets.read_devmem(BENCH / "data" / "theatre_and_weather.json")
    texts = {note.id: note.arguments["content"] for note in found.notes}
    assert len(texts) == 133
    assert len(set(texts.values())) == len(texts)
    assert all(query.evidence and set(query.evidence) <= texts.keys() for query in found.queries)
    paraphrases = [query for query in found.queries if query.kind == "paraphrase"]
    assert (len(found.queries), len(paraphrases)) == (154, 124)
    shared = [set(query_terms(query.text)) & set(query_terms(texts[query.evidence[0]])) for query in paraphrases]
    assert all(len(words) < 2 for words in shared)


def test_what_the_encoder_learns_from_is_whole_and_its_second_and_third_questions_are_mostly_in_other_words() -> None:
    files = [file.read_text("utf-8") for file in (BENCH / "training").glob("*.jsonl")]
    lines = [json.loads(line) for text in files for line in text.strip().split("\n")]
    assert len({line["store"] for line in lines}) == 211
    assert all(line["note"] and len(line["questions"]) == 4 and all(line["questions"]) for line in lines)
    shared = [
        len(set(query_terms(line["note"])) & set(query_terms(question)))
        for line in lines
        for question in line["questions"][1:3]
    ]
    assert sum(map(bool, shared)) < len(shared) / 2
    asked = {query["query"] for query in data("devmem.json")["queries"]}
    assert asked.isdisjoint(question for line in lines for question in line["questions"])
    unanswered = [line["unanswered"] for line in lines if "unanswered" in line]
    assert Counter(map(len, unanswered)) == {2: 2430, 4: 1258}
    assert all(map(all, unanswered))


@pytest.mark.parametrize("name", ["team", "home"])
def test_a_question_of_everyday_names_notes_that_are_there_the_older_ones_before_the_newer(name: str) -> None:
    everyday, told = loaded("everyday"), data(f"everyday_{name}.json")
    days = {note["id"]: note["days_ago"] for note in told["notes"]}
    assert len(days) == len(told["notes"])
    for question in told["questions"]:
        assert {*question["right"], *question["older"], *question["wrong"]} <= days.keys()
        assert bool(question["right"]) is (question["kind"] not in everyday.SILENT)
        assert not question["older"] or max(days[end] for end in question["right"]) < max(
            days[end] for end in question["older"]
        )
