"""Another encoder on a living folder: servers that are killed while they encode, that lose their provider."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Effort
from holdfast.index.projection import text_to_encode
from holdfast.model.note import note_id
from ollama_server import MODEL, Ollama, serving_ollama
from processes import Stdio, own_port, stdio

OTHER = "mxbai-embed-large"
OTHERS = (
    "Anna takes her tea without sugar.", "The invoice of March was late.", "Migrations run before the tests.",
    "Tomatoes want water twice a week.", "He plays the cello in Vienna.", "The path is too long for Windows.",
)  # fmt: skip
ALIKE = {"vessel": "ship", "gale": "storm", "hound": "dog"}
PATIENT = """
import sys
from holdfast.encode import services as nearby
from holdfast.engine import encoding
encoding.PATIENCE_SECONDS = encoding.REMOTE_PATIENCE_SECONDS = nearby.LOOK_SECONDS = 60.0
from holdfast.__main__ import main
sys.exit(main())
"""
MINUTES_TWO = 120.0  # how long what waits may wait after the provider is back


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    models = {f"{MODEL}:latest": "d1" * 32, f"{OTHER}:latest": "e1" * 32}
    with serving_ollama(Ollama(models=models, alike=ALIKE)) as server:
        yield server


def until(condition: Callable[[], bool], seconds: float = 50.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def asking(environment: dict[str, str], ollama: Ollama, model: str = MODEL) -> dict[str, str]:
    chosen = {"HOLDFAST_ENCODER": "ollama", "HOLDFAST_ENCODER_MODEL": model, "OLLAMA_HOST": ollama.host}
    return environment | chosen


@contextmanager
def patient(environment: dict[str, str]) -> Iterator[Stdio]:
    """A server that has begun, and that waits for its encoder: how soon that answers here is this machine's affair."""
    with stdio(environment, command=(sys.executable, "-c", PATIENT)) as server:
        server.begin()
        yield server


def results(server: Stdio, query: str) -> list[str]:
    answer = server.tool("recall", query=query)
    assert not answer["isError"], answer
    return [hit["content"] for hit in answer["structuredContent"]["results"]]


def rows(home: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    path = Path(home) / ".holdfast" / "index.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=30)) as connection:
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError:
            return []


def described(home: str) -> dict[str, tuple[str, bool, int]]:
    """Key, readiness and queue of each set by its model."""
    waiting = "(SELECT count(*) FROM pending WHERE vector_set = s.key)"
    found = rows(home, f"SELECT s.described, s.key, s.ready, {waiting} FROM vector_sets s")  # noqa: S608 - own clause
    return {json.loads(text)["model"]: (key, bool(ready), waiting) for text, key, ready, waiting in found if text}


def is_whole(home: str, model: str) -> bool:
    return described(home).get(model, ("", False, 1))[1:] == (True, 0)


def write_notes(home: str, count: int) -> list[str]:
    """Notes as Holdfast writes them, put there by hand; returns their texts."""
    folder = Path(home) / "memories" / "harbour"
    folder.mkdir(parents=True)
    texts = [f"The ship of berth n{number} lies there since the storm." for number in range(count)]
    for number, text in enumerate(texts):
        end = note_id(1_700_000_000_000 + number, number)
        head = {"id": end, "type": "fact", "title": text, "space": "harbour", "created": "2026-01-01T00:00:00Z"}
        lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
        (folder / f"{end}.md").write_text("\n".join(["---", *lines, "---", text]), "utf-8")
    return texts


def check_vectors(home: str, ollama: Ollama, model: str) -> None:
    """Every note has the vector of its own text, made by this model."""
    key, ready, waiting = described(home)[model]
    assert (ready, waiting) == (True, 0)
    made = rows(
        home,
        "SELECT n.title, n.content, v.vector FROM notes n LEFT JOIN vectors v ON v.note = n.rowid AND v.vector_set = ?",
        key,
    )
    assert len(made) == rows(home, "SELECT count(*) FROM notes")[0][0]
    for title, content, vector in made:
        assert np.allclose(
            np.frombuffer(vector, "<f4"), ollama.vector(text_to_encode(title, content), f"{model}:latest"), atol=1e-5
        )


@pytest.mark.timeout(300)
def test_a_server_that_is_killed_again_and_again_while_it_encodes_ends_complete_and_is_right_throughout(
    environment: dict[str, str], ollama: Ollama, effort: Effort, tally: Counter[str]
) -> None:
    home = environment["HOLDFAST_HOME"]
    texts = write_notes(home, effort.of(2_000, 20_000))  # many, for questions take long on a busy machine
    chance = random.Random(7)  # noqa: S311 - a choice of moments
    with patient(asking(environment, ollama)) as server:
        until(lambda: is_whole(home, MODEL), 60 + len(texts) / 50)
    kills = 0
    while not is_whole(home, OTHER):
        before = described(home).get(OTHER, ("", False, len(texts)))[2]
        goal = before - chance.randrange(1, max(2, len(texts) // 5))
        with patient(asking(environment, ollama, OTHER)) as server:
            for number in chance.sample(range(len(texts)), 5):
                assert texts[number] in results(server, f"vessel n{number}"), "never worse than by its words"
                assert texts[number] in results(server, f"n{number}")
            assert results(server, "vessel in a gale"), "by meaning alone"
            until(lambda goal=goal: described(home).get(OTHER, ("", False, len(texts)))[2] <= max(0, goal))  # type: ignore[misc]
            if not is_whole(home, OTHER):
                server.process.kill()
                kills += 1
    assert kills >= 2
    tally["kills of a server that encodes"] += kills
    check_vectors(home, ollama, MODEL)
    check_vectors(home, ollama, OTHER)
    with patient(asking(environment, ollama, OTHER)) as server:
        answer = server.tool("recall", query="vessel n7")["structuredContent"]
        assert answer["results"][0]["content"] == texts[7]
        assert answer["notices"] == []


@pytest.mark.timeout(300)
def test_two_servers_go_from_the_built_in_encoder_to_ollama_and_back_and_neither_mixes(
    environment: dict[str, str], ollama: Ollama
) -> None:
    home = environment["HOLDFAST_HOME"]
    builtin = environment | {"HOLDFAST_ENCODER": "builtin", "OLLAMA_HOST": ollama.host}
    remote = asking(environment, ollama)
    texts = [
        "The ship lies in the harbour.",
        "A dog guards the pier.",
        *OTHERS,
    ]
    with patient(builtin) as one, patient(builtin) as two:
        for text in texts:
            assert one.tool("remember", content=text)["structuredContent"]["indexed"]["vector"] is True
        assert results(two, "canine watching over the dock")[0] == texts[1]
    with patient(remote) as one, patient(remote) as two:
        for server in (one, two):
            assert texts[0] in results(server, "ship harbour")
        until(lambda: is_whole(home, MODEL))
        for server, text in ((one, "A gull cries over the storm."), (two, "The crane lifts forty tonnes.")):
            assert server.tool("remember", content=text)["structuredContent"]["indexed"]["vector"] is True
            texts.append(text)
        for server in (one, two):
            assert results(server, "vessel")[0] == texts[0], "only the new set knows this"
            assert "A gull cries over the storm." in results(server, "gale")
    check_vectors(home, ollama, MODEL)
    asked = len(ollama.asked)
    with patient(builtin) as one, patient(builtin) as two:
        until(lambda: all(waiting == 0 for _, _, waiting in described(home).values()))
        for server in (one, two):
            assert results(server, "canine watching over the dock")[0] == texts[1]
            assert results(server, "heavy lifting machine capacity")[0] == "The crane lifts forty tonnes."
    assert len(ollama.asked) == asked, "it is not asked any more"
    widths = rows(home, "SELECT vector_set, length(vector) FROM vectors GROUP BY 1, 2")
    assert len(widths) == len({key for key, _ in widths}) == 2


@pytest.mark.timeout(300)
def test_what_is_stored_in_an_outage_is_found_by_words_at_once_and_by_meaning_after_it_without_a_call(
    environment: dict[str, str],
) -> None:
    home = environment["HOLDFAST_HOME"]
    ollama = Ollama(alike=ALIKE)
    with own_port() as ollama.port, stdio(asking(environment, ollama)) as server:
        server.begin()
        began = time.monotonic()
        for text in ("The ship lies in the harbour.", "A storm is coming."):
            stored = server.tool("remember", content=text)["structuredContent"]
            assert stored["indexed"] == {"text": True, "vector": "pending"}
        answer = server.tool("recall", query="storm coming")["structuredContent"]
        assert [hit["content"] for hit in answer["results"]] == ["A storm is coming."]
        assert any("words only" in notice for notice in answer["notices"])
        assert time.monotonic() - began < 30, "nobody waited for it"
        assert results(server, "gale") == []
        with serving_ollama(ollama, ollama.port):
            until(lambda: is_whole(home, MODEL), MINUTES_TWO)
            until(lambda: results(server, "gale") != [])
            answer = server.tool("recall", query="gale")["structuredContent"]
            assert answer["results"][0]["content"] == "A storm is coming."
            assert answer["notices"] == []
        assert server.end()[0] == 0


def test_a_server_that_chooses_by_itself_says_once_in_a_folder_that_a_better_encoder_is_near(
    environment: dict[str, str], ollama: Ollama
) -> None:
    def notices(server: Stdio) -> list[str]:
        return [
            text for text in server.tool("recall", query="ship")["structuredContent"]["notices"] if "Ollama" in text
        ]

    chosen = environment | {"HOLDFAST_ENCODER": "auto", "OLLAMA_HOST": ollama.host}
    told: list[str] = []
    with patient(chosen) as server:
        until(lambda: bool(told.extend(notices(server)) or told))
        assert f"HOLDFAST_ENCODER_MODEL={OTHER}" in told[0]
        assert notices(server) == []
    with patient(chosen) as server:
        time.sleep(3)  # it has looked around by now
        assert notices(server) == []
    assert ollama.texts == [], "nothing is sent to it"
