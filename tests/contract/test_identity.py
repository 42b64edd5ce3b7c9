"""Questions about the user, and about other people by name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from served import ERAS, Agent, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent in the space `harbour`, where some is known that is not about the user."""
    async with serving(tmp_path / "home", ERAS[-1]) as asking:
        await asking.remember("The crane is what we know best of all.")
        await asking.remember("Who am I? is what the gull asks in the play.", type="event")
        yield asking


@pytest.mark.parametrize(
    "query",
    [
        "who am I?",
        "What do you know about me?",
        "tell me everything you remember about me",
        "my coding conventions",
        "what is my preferred naming style?",
        "Wer bin ich?",
        "Was weißt du über mich?",
        "meine Programmierkonventionen",
        "Qui suis-je ?",
        "Que sais-tu de moi ?",
        "Qu'est-ce que tu sais sur moi ?",
        "mes conventions de code",
        "¿Quién soy?",
        "¿Qué sabes de mí?",
        "mis convenciones de código",
        "Cosa sai di me?",
        "我是谁？",  # noqa: RUF001 - as it is written
    ],
)
async def test_who_the_user_is_leads_to_what_is_about_them(agent: Agent, query: str) -> None:
    person = str((await agent.remember("Ada builds compilers in Turin.", about_self=True))["id"])
    taste = str((await agent.remember("Four blanks, never tabs.", type="preference", space="quay"))["id"])
    answer = await agent.recall(query)
    assert answer.found[:2] == [person, taste]
    assert not any(hit["weak"] for hit in answer["results"][:2])
    told = await agent.omi("memory_recall", query=query)
    assert {person, taste} <= {item["memory_id"] for item in told}


@pytest.mark.parametrize(
    "query",
    [
        "what are my preferences?",
        "user preferences",
        "What does the user like?",
        "what do I like?",
        "Was sind meine Vorlieben?",
        "quelles sont mes préférences ?",
        "¿Cuáles son mis preferencias?",
    ],
)
async def test_of_the_users_preferences_what_is_none_stands_behind_and_that_of_another_last(
    agent: Agent, query: str
) -> None:
    person = str((await agent.remember("Ada builds compilers in Turin.", about_self=True))["id"])
    other = str((await agent.remember("Anna prefers tea.", type="preference"))["id"])
    taste = str((await agent.remember("Four blanks, never tabs.", type="preference", space="quay"))["id"])
    answer = await agent.recall(query)
    assert answer.found == [taste, person, other]
    assert not any(hit["weak"] for hit in answer["results"])


@pytest.mark.parametrize("query", ["who am I?", "what are my preferences?", "what do you know about me?"])
async def test_what_somebody_else_is_named_as_the_subject_of_is_no_preference_of_the_user(
    agent: Agent, query: str
) -> None:
    person = str((await agent.remember("The user is Ada Brandt.", about_self=True))["id"])
    await agent.remember("Jonas likes tea black.", type="preference", subject="Jonas Adler")
    own = str((await agent.remember("Four blanks, never tabs.", type="preference", subject="Python"))["id"])
    assert sorted((await agent.recall(query)).found) == sorted([person, own])


async def ines(agent: Agent) -> dict[str, str]:
    """A person with preferences of their own and facts, beside preferences of two spaces."""

    async def put(text: str, **given: object) -> str:
        return str((await agent.remember(text, **given))["id"])

    return {
        "person": await put("The user is Ines Varga, a baker from Porto.", about_self=True, type="person"),
        "fact": await put("She has two sons.", about_self=True, type="fact"),
        "goal": await put("A marathon in spring.", about_self=True, type="goal"),
        "own": await put("Short answers, please.", about_self=True, type="preference"),
        "elsewhere": await put("The team uses tabs.", type="preference", space="larkspur"),
        "here": await put("Quay lights stay on.", type="preference"),
    }


@pytest.mark.parametrize(
    "query", ["who am I?", "wer bin ich?", "quem sou eu?", "qui suis-je ?", "¿quién soy?", "chi sono?"]
)
async def test_who_somebody_is_comes_first_and_what_they_prefer_last(agent: Agent, query: str) -> None:
    notes = await ines(agent)
    found = (await agent.recall(query)).found
    assert found[:4] == [notes["person"], notes["fact"], notes["goal"], notes["own"]]


async def test_who_somebody_is_comes_before_what_of_them_soon_passes(agent: Agent) -> None:
    name = await agent.remember("My name is Ola Brandt and I keep bees in Trondheim.", about_self=True)
    await agent.remember("I am ordering jars from the glassworks.")
    lifting = await agent.remember("I may lift no more than ten kilos.", about_self=True)
    await agent.remember("I have a cold this week.", about_self=True)
    assert (await agent.recall("who am I?")).found[:2] == [name["id"], lifting["id"]]


async def test_who_somebody_is_comes_first_also_where_it_is_told_with_what_soon_passes(agent: Agent) -> None:
    name = await agent.remember("I am Tomas Rieger, an architect in Graz, and off work this week.", about_self=True)
    await agent.remember("I have two sons.", about_self=True)
    await agent.remember("I like short answers.", about_self=True, type="preference")
    assert (await agent.recall("who am I?")).found[0] == name["id"]


async def test_who_somebody_is_comes_first_also_where_nothing_is_marked_as_about_them(agent: Agent) -> None:
    person = str((await agent.remember("User is Priya Raman, 34, an engineer in Bristol.", type="person"))["id"])
    await agent.remember("User prefers short answers: the command first.")
    await agent.remember("I edit in Helix.", type="preference")
    assert (await agent.recall("who am I?")).found[0] == person


@pytest.mark.parametrize(
    "query",
    [
        "what are my preferences?",
        "which preferences do I have?",
        "was sind meine Vorlieben?",
        "welche Vorlieben habe ich?",
        "quelles sont mes préférences ?",
        "quelles préférences ai-je ?",
        "¿cuáles son mis preferencias?",
        "¿qué preferencias tengo?",
        "quali sono le mie preferenze?",
        "quais são as minhas preferências?",
    ],
)
async def test_the_users_own_preferences_come_first_then_those_of_the_space_then_what_else_is_about_them(
    agent: Agent, query: str
) -> None:
    notes = await ines(agent)
    found = (await agent.recall(query)).found
    assert found[:2] == [notes["own"], notes["here"]]
    assert set(found[2:5]) == {notes["person"], notes["fact"], notes["goal"]}
    assert found[5:] == [notes["elsewhere"]]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("How do I like my eggs?", "User likes soft-boiled eggs."),
        ("Which drink do I prefer?", "The preferred drink is rooibos."),
        ("Wie mag ich meinen Kaffee?", "Kaffee immer schwarz."),
        ("what do I like to read?", "User likes to read sea charts."),
    ],
)
async def test_what_the_user_likes_of_one_thing_is_searched_for(agent: Agent, query: str, content: str) -> None:
    for about in ("Ada builds compilers in Turin.", "User wears shoes of size 41.", "User's blood group is 0."):
        await agent.remember(about, about_self=True)
    assert not any(not hit["weak"] for hit in (await agent.recall(query))["results"])
    own = str((await agent.remember(content, about_self=True, type="preference"))["id"])
    answer = await agent.recall(query)
    assert answer.found[0] == own
    assert [hit["id"] for hit in answer["results"] if not hit["weak"]] == [own]


@pytest.mark.parametrize(
    "content",
    [
        "My name is Theres, I run the bakery with my brother Korbinian.",
        "I prefer short answers without bullet points.",
        "User prefers tabs and dark themes.",
        "The user's name is Theres; she lives in Rott.",
        "I'm allergic to hazelnuts.",
        "Ich bin Bäckerin und wohne in Rott.",
        "Je préfère le thé au café.",
        "Me llamo Teresa y vivo en Rota.",
    ],
)
@pytest.mark.parametrize("query", ["who am I?", "what do you know about me?", "how should you answer me?"])
async def test_what_begins_as_a_word_of_the_user_is_known_of_them_though_nobody_marked_it(
    agent: Agent, content: str, query: str
) -> None:
    for other in (
        "Soy milk is out on Mondays.",
        "The users table has 40 columns.",
        "A user is locked out after 5 tries.",
    ):
        await agent.remember(other)
    own = str((await agent.remember(content))["id"])
    marked = str((await agent.remember("Ada builds compilers in Turin.", about_self=True))["id"])
    has_its_words = "answer" in query and "answers" in content
    assert (await agent.recall(query)).found == ([own, marked] if has_its_words else [marked, own])


async def test_of_what_is_about_the_user_what_the_question_names_is_first(agent: Agent) -> None:
    for n in range(12):
        await agent.remember(f"Taste number {n}.", type="preference")
    editor = str((await agent.remember("The editor is Kakoune.", type="preference"))["id"])
    for _ in range(2):
        await agent.remember("Drinks tea at noon.", about_self=True)
    assert (await agent.recall("what are my editor preferences?")).found[0] == editor
    pages = [(await agent.recall("what do you know about me?", offset=at)).found for at in (0, 10)]
    assert len({*pages[0], *pages[1]}) == 14


@pytest.mark.parametrize("query", ["what do I hate?", "what do I want?", "how do I like my answers?"])
async def test_of_what_the_user_likes_what_has_the_words_of_the_question_is_first(agent: Agent, query: str) -> None:
    words = {"hate": "I hate fennel.", "want": "User wants a greenhouse.", "answers": "Answers in French, please."}
    kept = {word: str((await agent.remember(text, type="preference"))["id"]) for word, text in words.items()}
    for n in range(3):
        await agent.remember(f"Taste number {n}.", type="preference")
    right = next(note for word, note in kept.items() if word in query)
    assert (await agent.recall(query)).found[0] == right


async def test_asked_how_to_answer_what_comes_nearest_to_that_is_first_though_weak(agent: Agent) -> None:
    own = str((await agent.remember("Likes it if one answers in one or two short sentences.", about_self=True))["id"])
    await agent.remember("Ada builds compilers in Turin.", about_self=True)
    assert (await agent.recall("how should you answer me?")).found[0] == own


async def test_of_what_the_user_has_only_one_the_rest_is_weak_beside_it(agent: Agent) -> None:
    for n in range(3):
        await agent.remember(f"Taste number {n}.", type="preference")
    own = str((await agent.remember("My name is Theres.", about_self=True))["id"])
    answer = await agent.recall("what is my name?")
    assert answer.found[0] == own
    assert [hit["weak"] for hit in answer["results"]] == [False, True, True, True]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("where do I work?", "I work at the lock of Rota."),
        ("where do I work?", "I work in a bakery near the lock."),
        ("when do I get up?", "I get up at five, before the gulls."),
        ("where did we stop?", "We stopped at the third bollard."),
        ("how do I like things explained?", "User likes an example before things are explained."),
    ],
)
async def test_a_question_of_common_words_about_the_asker_is_looked_for(agent: Agent, query: str, content: str) -> None:
    own = str((await agent.remember(content))["id"])
    answer = await agent.recall(query)
    assert answer.found[0] == own
    assert not answer["results"][0]["weak"]


async def test_filters_hold_for_what_is_about_the_user(agent: Agent) -> None:
    await agent.remember("Four blanks, never tabs.", type="preference", tags=["code"])
    tea = str((await agent.remember("Drinks tea at noon.", type="preference", tags=["home"]))["id"])
    assert (await agent.recall("what are my preferences?", tags=["home"])).found == [tea]
    gone = str((await agent.remember("Drinks coffee.", about_self=True))["id"])
    await agent.outdate(gone)
    assert gone not in (await agent.recall("what do you know about me?")).found


async def test_what_is_about_the_user_is_of_no_project_unless_one_is_given(agent: Agent) -> None:
    told = await agent.remember("Ada builds compilers in Turin.", about_self=True)
    assert told["space"] == "global"
    assert "(space global, about the user)" in told.text
    given = await agent.remember("Ada leads this harbour.", about_self=True, space="harbour")
    assert given["space"] == "harbour"


@pytest.mark.parametrize(
    "query", ["fix my settings", "why does my editor crash?", "my test fails", "what do I do next?", "tell me", "user"]
)
async def test_what_only_speaks_of_the_asker_is_no_question_about_them(agent: Agent, query: str) -> None:
    await agent.remember("Ada builds compilers in Turin.", about_self=True)
    assert (await agent.recall(query)).found == []


async def test_where_nothing_is_about_the_user_the_words_are_searched(agent: Agent) -> None:
    rules = str((await agent.remember("Coding conventions: four blanks."))["id"])
    assert (await agent.recall("my coding conventions")).found == [rules]


@pytest.mark.parametrize(
    "query",
    ["who is Anna?", "Who's Anna Bruni", "wer ist Anna?", "qui est Anna ?", "¿Quién es Anna?", "tell me about Anna"],
)
async def test_a_persons_own_note_leads_then_what_else_names_them(agent: Agent, query: str) -> None:
    for n in range(12):
        await agent.remember(f"Anna signed paper {n} for Anna's crane. Anna!", space=f"site-{n}")
    own = await agent.remember(
        "Anna Bruni keeps the books of the harbour and speaks four languages; she has been here since the flood.",
        type="person",
    )
    await agent.remember("Hannah keeps the keys, says Anna.", type="person")
    answer = await agent.recall(query)
    assert answer.found[0] == own["id"]
    assert not answer["results"][0]["weak"]
    assert len(answer.found) == 10


async def test_what_only_names_a_person_later_stands_behind_their_own_note(agent: Agent) -> None:
    own = await agent.remember(
        "Joost de Wit, electrician, on call for lane four.", type="person", event_time="2026-02-05"
    )
    await agent.remember("Spare plates are with Joost.", event_time="2026-08-09")
    assert (await agent.recall("who is Joost?")).found[0] == own["id"]


async def test_a_person_nobody_noted_is_nobody(agent: Agent) -> None:
    await agent.remember("Anna Bruni keeps the books.", type="person")
    assert (await agent.recall("who is Zoe?")).found == []


async def test_what_somebody_else_has_of_it_is_no_answer_about_the_user(agent: Agent) -> None:
    own = str((await agent.remember("The user is Mara Lindholm, backend lead.", about_self=True))["id"])
    await agent.remember("The job runner is Nomad; jobs are named after the service.")
    await agent.remember("Ben Osei, database engineer, is in time zone UTC+0.")
    for query in ("what's my name?", "what is my job?", "what's my time zone?"):
        answer = await agent.recall(query)
        assert answer.found[0] == own, query
        assert [hit["weak"] for hit in answer["results"]][1:] in ([], [True]), query


OWN = {
    "name": (
        "User is called Lena Huber.",
        "what is my name?",
        "what is the user's name?",
        "wie heiße ich?",
        "¿cómo me llamo?",
    ),
    "home": (
        "I live in Graz.",
        "where does the user live?",
        "wo wohne ich?",
        "où est-ce que j'habite ?",
        "¿dónde vivo?",
    ),
    "birth": ("Ich habe am 14. März Geburtstag.", "when is my birthday?", "how old am I?", "quel âge ai-je ?"),
    "work": ("Works as an engineer at the tramway.", "what do I do for a living?", "wo arbeite ich?"),
}


@pytest.mark.parametrize(("trait", "query"), [(trait, query) for trait, (_, *asked) in OWN.items() for query in asked])
async def test_what_each_person_has_one_of_is_known_by_what_tells_it_of_the_user(
    agent: Agent, trait: str, query: str
) -> None:
    for other in (
        "Tom lives in Vienna, is 41 years old and works as a baker.",
        "Tom's birthday is on 12 May.",
        "Our dog is called Bruno.",
    ):
        await agent.remember(other)
    await agent.remember("My sister was born in Turin, lives there and works as a cook.", about_self=True)
    own = {name: str((await agent.remember(text, about_self=True))["id"]) for name, (text, *_) in OWN.items()}
    answer = await agent.recall(query)
    assert [hit["id"] for hit in answer["results"] if not hit["weak"]] == [own[trait]]
    assert answer.found[0] == own[trait]


async def test_where_nothing_tells_it_of_the_user_nothing_is_strong_and_that_is_said(agent: Agent) -> None:
    await agent.remember("Tom's birthday is on 12 May.")
    await agent.remember("I am allergic to nuts.", about_self=True)
    answer = await agent.recall("when is my birthday?")
    assert all(hit["weak"] for hit in answer["results"])
    assert "none tells it" in answer.text


async def test_an_unmarked_note_tells_it_in_the_users_own_name(agent: Agent) -> None:
    await agent.remember("Tom lives in Vienna.")
    own = str((await agent.remember("I live in Graz."))["id"])
    answer = await agent.recall("where do I live now?")
    assert [hit["id"] for hit in answer["results"] if not hit["weak"]] == [own]


@pytest.mark.parametrize(
    "query", ["where do I live?", "what is my address?", "wo wohne ich?", "où est-ce que j'habite ?"]
)
async def test_of_two_homes_the_one_that_was_told_last_is_first(agent: Agent, query: str) -> None:
    old = str((await agent.remember("I live in Graz, Sporgasse 18.", about_self=True))["id"])
    agent.clock.forward(days=80)
    moved = "We moved house at the weekend: home is now the old mill in Linz."
    new = str((await agent.remember(moved, about_self=True))["id"])
    for other in ("I moved the server to Linz.", "The new address is 10.0.4.7.", "Its home is in /var/lib/tug."):
        await agent.remember(other)
    answer = await agent.recall(query)
    (first, *_) = answer["results"]
    assert (first["id"], first["weak"]) == (new, False)
    assert old in "".join(first["earlier"])
    assert all(hit["weak"] for hit in answer["results"][1:])


@pytest.mark.parametrize("query", ["when is Tom's birthday?", "where does my sister live?"])
async def test_what_is_asked_of_somebody_else_is_searched_for(agent: Agent, query: str) -> None:
    told = [await agent.remember(text) for text in ("Tom's birthday is on 12 May.", "My sister lives in Turin.")]
    await agent.remember("I live in Graz.", about_self=True)
    answer = await agent.recall(query)
    assert answer.found[0] == told["sister" in query]["id"]
    assert "about the user" not in answer.text


@pytest.mark.parametrize("query", ["my preferences", "what are my preferences?", "mes préférences", "meine Vorlieben"])
async def test_all_preferences_come_newest_first_in_any_language(agent: Agent, query: str) -> None:
    said = ("Prefers tables over prose.", "Use metric units.", "Dark mode everywhere.", "I like window seats.")
    ids = []
    for content in said:
        ids.append(str((await agent.remember(content, type="preference"))["id"]))
        agent.clock.forward(days=3)
    assert (await agent.recall(query)).found == ids[::-1]


async def test_what_the_user_wants_by_their_own_name_is_a_preference_of_theirs(agent: Agent) -> None:
    await agent.remember("The user is Ines Halvorsen, a consultant.", about_self=True)
    own = str((await agent.remember("Ines wants answers short.", type="preference"))["id"])
    other = str((await agent.remember("Ada wants long answers.", type="preference"))["id"])
    found = (await agent.recall("what are my preferences?")).found
    assert found[0] == own
    assert found[-1] == other


@pytest.mark.parametrize("query", ["what should you know about me?", "what do you need to know about me?"])
async def test_what_one_should_know_of_the_user_is_what_is_known(agent: Agent, query: str) -> None:
    own = str((await agent.remember("Ada builds compilers in Turin.", about_self=True))["id"])
    assert (await agent.recall(query)).found == [own]


@pytest.mark.parametrize(("query", "right"), [("Wer ist Jonas?", 0), ("Wer ist Dr. Brömme?", 3)])
async def test_who_somebody_is_stands_before_what_else_is_told_of_them(
    era: str, tmp_path: Path, query: str, right: int
) -> None:
    told = ("Jonas ist mein Neffe.", "Jonas hat am 3. Mai Geburtstag.", "Mein Chef Jonas mag Tee.")
    others = ("Meine Zahnärztin ist Frau Dr. Brömme.", "Dr. Brömme hat bis Freitag Urlaub.")
    async with serving(tmp_path / "home", era, encoder="builtin") as agent:
        notes = [(await agent.remember(text))["id"] for text in (*told, *others)]
        assert (await agent.recall(query)).found[0] == notes[right]
        assert (await agent.recall(query, also=["the canteen"])).found[0] == notes[right]


@pytest.mark.parametrize("query", ["who is Renate?", "Wer ist Renate?", "qui est Renate ?", "¿quién es Renate?"])
async def test_the_name_decides_who_somebody_is_and_not_the_language_of_the_question(agent: Agent, query: str) -> None:
    for other in ("Meine Hausärztin ist Dr. Brömme.", "Ma banque est la CIC.", "KeePassXC es el gestor que usamos."):
        await agent.remember(other)
    own = (await agent.remember("Altos are led by Renate Uhl."))["id"]
    (hit,) = (await agent.recall(query))["results"]
    assert (hit["id"], hit["weak"]) == (own, False)
