"""`holdfast whisper inject`: asks a running server over its socket, else finds by words; it never fails."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import postgres
from forked import run
from holdfast.from_index import by_words
from holdfast.model.access import folder_of_store
from holdfast.settings import load_settings
from holdfast.sockets import reachable
from processes import HOLDFAST, Stdio, environment_in, stdio, take_back_building, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such sockets there")

LAMP = "The lamp of the lighthouse is trimmed by tenacity with five attempts."
PROMPT = "How is the lamp of the lighthouse trimmed by tenacity?"
ROOMY = ("--seconds", "60")  # for a slow machine
HEAVY = {"anyio", "fastmcp", "mcp", "pydantic", "numpy", "onnxruntime", "sqlite3", "structlog", "asyncio"}


@pytest.fixture
def here(tmp_path: Path) -> dict[str, str]:
    return environment_in(tmp_path) | {"HOLDFAST_PRESENCE": "on"}


@pytest.fixture
def server(here: dict[str, str]) -> Iterator[Stdio]:
    with stdio(here) as running:
        begin(running, here)
        yield running


def begin(running: Stdio, here: dict[str, str]) -> None:
    running.begin()
    running.tool("remember", content=LAMP, space="harbour")
    until(lambda: any(f"{running.process.pid}-" in path.name for path in sockets(here)))


def sockets(here: dict[str, str]) -> list[Path]:
    home = Path(here["HOLDFAST_HOME"])
    if here.get("HOLDFAST_STORE"):
        home = folder_of_store(home, here["HOLDFAST_STORE"], here["HOLDFAST_TENANT"])
    return list((home / ".holdfast" / "sockets").glob("*.sock"))


def hook(session: str = "one", **given: Any) -> str:
    told = {"prompt": PROMPT, "session_id": session, "cwd": "/srv/harbour", "hook_event_name": "UserPromptSubmit"}
    return json.dumps(told | given)


def inject(here: dict[str, str], text: str, *more: str, python: tuple[str, ...] = HOLDFAST) -> str:
    """What the command prints; it must end well and say nothing else."""
    command = [*python, "whisper", "inject", *(more or ROOMY)]
    ran = subprocess.run(command, input=text.encode(), env=here, capture_output=True, check=False, timeout=120)
    assert ran.returncode == 0
    assert python != HOLDFAST or not ran.stderr
    return ran.stdout.decode()


def imported_for(here: dict[str, str], text: str, told: str = LAMP) -> set[str]:
    """The top packages that the command imports to tell of the lamp, or of something else."""
    code = "import sys; from holdfast.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-X", "importtime", "-c", code, "whisper", "inject", *ROOMY]
    ran = subprocess.run(command, input=text.encode(), env=here, capture_output=True, check=True, timeout=120)
    assert told in added(ran.stdout.decode())
    return set(re.findall(r"\| +([a-zA-Z_][\w]*)", ran.stderr.decode()))


def added(text: str) -> str:
    return str(json.loads(text)["hookSpecificOutput"]["additionalContext"]) if text else ""


def test_a_running_server_is_asked_and_remembers_the_session(here: dict[str, str], server: Stdio) -> None:
    answer = json.loads(inject(here, hook()))
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert LAMP in answer["hookSpecificOutput"]["additionalContext"]
    assert inject(here, hook()) == ""
    result = server.tool("whisper", prompt=PROMPT, session_id="one", cwd="/srv/harbour")
    assert result["content"][0]["text"] == "{}", "the tool and the command know the same sessions"


def test_for_that_nothing_heavy_is_imported(here: dict[str, str], server: Stdio) -> None:
    imported = imported_for(here, hook())
    assert not imported & HEAVY
    assert "argparse" not in imported


def test_without_a_server_notes_are_found_by_their_words(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    assert LAMP in added(inject(here, hook()))
    assert inject(here, hook()) == ""
    assert inject(here, hook(session="two", prompt="thanks!")) == ""


@pytest.mark.files("it is about a folder's index that is asked without a server")
def test_without_a_server_neither_the_framework_nor_numpy_is_imported(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    imported = imported_for(here, hook())
    assert "sqlite3" in imported
    assert not imported & (HEAVY - {"sqlite3"})
    assert not {"aiosqlite", "sqlite_vec", "httpx", "yaml"} & imported


@pytest.mark.files("without a server the folder itself is read")
def test_without_a_server_a_note_that_was_changed_behind_the_index_is_told_as_it_is_now(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    (path,) = (Path(here["HOLDFAST_HOME"]) / "memories" / "harbour").glob("*.md")
    path.write_text(path.read_text("utf-8").replace("five attempts", "seven attempts"), "utf-8")
    assert "seven attempts" in added(inject(here, hook()))
    path.unlink()
    assert inject(here, hook(session="two")) == ""


OF_MANY_NOTES = """
import sys, holdfast.from_index
holdfast.from_index.MOST_COMPARED = 0
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.files("without a server the folder itself is read")
@pytest.mark.parametrize("python", [HOLDFAST, (sys.executable, "-c", OF_MANY_NOTES)])
def test_without_a_server_a_note_that_was_put_there_by_hand_is_told(
    here: dict[str, str], python: tuple[str, ...]
) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    assert LAMP in added(inject(here, hook(), python=python))
    folder = Path(here["HOLDFAST_HOME"]) / "memories" / "harbour"
    (folder / "oil.md").write_text("The lamp of the lighthouse burns colza oil.", "utf-8")
    (folder / "note.swp").write_text("no note", "utf-8")
    asked = hook(session="two", prompt="Which oil does the lamp of the lighthouse burn?")
    assert "colza" in added(inject(here, asked, python=python))
    (folder / "note.swp").unlink()
    asked = hook(session="three", prompt="Which oil does the lamp of the lighthouse burn?")
    assert not imported_for(here, asked, "colza") & {"anyio", "numpy"}, "the whole engine is started once for it"


@pytest.mark.files("without a server the folder itself is read")
@pytest.mark.parametrize("python", [HOLDFAST, (sys.executable, "-c", OF_MANY_NOTES)])
def test_a_note_that_was_put_there_before_the_first_question_is_told(
    here: dict[str, str], python: tuple[str, ...]
) -> None:
    """Whoever opens the index makes an empty log, whose time is no sign of what the index knows."""
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    folder = Path(here["HOLDFAST_HOME"]) / "memories" / "harbour"
    (folder / "oil.md").write_text("The lamp of the lighthouse burns colza oil.", "utf-8")
    for session in ("one", "two"):
        asked = hook(session=session, prompt="Which oil does the lamp of the lighthouse burn?")
        assert "colza" in added(inject(here, asked, python=python))


@pytest.mark.files("without a server the folder itself is read")
def test_without_a_server_a_note_is_found_by_what_was_written_into_it_by_hand_and_in_a_folder_in_a_folder(
    here: dict[str, str],
) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    (path,) = (Path(here["HOLDFAST_HOME"]) / "memories" / "harbour").glob("*.md")
    path.write_text(path.read_text("utf-8").replace(LAMP, "Harriet keeps the ledger in the boathouse."), "utf-8")
    asked = hook(session="two", prompt="Who keeps the ledger in the boathouse?")
    assert "Harriet" in added(inject(here, asked))
    deep = path.parent / "north" / "quay"
    deep.mkdir(parents=True)
    (deep / "oil.md").write_text("The lantern burns colza oil.", "utf-8")
    (deep / "broken.md").write_text("---\nid: 1\nid: 2\n---\nNo note.", "utf-8")
    (deep / "link.md").symlink_to(path)
    asked = hook(session="three", prompt="Which oil does the lantern burn?")
    assert "colza" in added(inject(here, asked))
    asked = hook(session="four", prompt="Which oil does the lantern burn?")
    assert not imported_for(here, asked, "colza") & {"anyio", "numpy"}, "the whole engine is started once for it"


def test_without_a_server_and_without_an_index_the_notes_are_told(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    for path in (Path(here["HOLDFAST_HOME"]) / ".holdfast").glob("index.db*"):
        path.unlink()
    assert LAMP in added(inject(here, hook()))


@pytest.mark.files("it is about a folder's index that is asked without a server")
def test_without_a_server_and_with_half_an_index_the_notes_are_told(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    take_back_building(Path(here["HOLDFAST_HOME"]) / ".holdfast" / "index.db")
    assert LAMP in added(inject(here, hook()))
    assert inject(here, hook()) == ""


@pytest.mark.files("it is about a folder's index that is asked without a server")
def test_without_a_server_a_session_that_began_in_an_empty_memory_is_told_its_first_notes_later(
    here: dict[str, str],
) -> None:
    run([*HOLDFAST, "recall", "lamp"], here, None)  # it finds nothing
    assert (Path(here["HOLDFAST_HOME"]) / ".holdfast" / "index.db").exists()
    assert inject(here, hook()) == ""
    core = ("--space", "harbour", "--tier", "core")
    run([*HOLDFAST, "remember", "Cranes first.", *core], here)
    assert "Cranes first." in added(inject(here, hook()))


def test_without_a_server_what_was_replaced_or_is_over_is_not_told(here: dict[str, str], server: Stdio) -> None:
    lamp = server.tool("recall", query=PROMPT)["structuredContent"]["results"][0]["id"]
    newer = "The lamp of the lighthouse is trimmed by tenacity with nine attempts."
    server.tool("remember", content=newer, space="harbour", supersedes=[lamp])
    server.end()
    assert not sockets(here)
    told = added(inject(here, hook()))
    assert newer in told
    assert LAMP not in told


@pytest.mark.files("without a server the folder itself is read")
def test_without_a_server_core_notes_the_now_page_and_the_user_come_first(here: dict[str, str], server: Stdio) -> None:
    server.tool("remember", content="The user reads Malayalam.", about_self=True, type="preference")
    server.tool("remember", content="Never touch the old beacon.", space="harbour", tier="core")
    server.tool("whisper", prompt="hello", cwd="/srv/harbour")
    now = Path(here["HOLDFAST_HOME"]) / "now" / "harbour.md"
    now.parent.mkdir(exist_ok=True)
    now.write_text("# NOW\n\n## Current task\n\nRepair the fog horn.\n", "utf-8")
    server.end()
    told = added(inject(here, hook()))
    places = [told.index(text) for text in ("Malayalam", "old beacon", "fog horn", LAMP)]
    assert places == sorted(places)
    assert "never instructions" in told
    assert re.search(r"<note [0-9a-f]{8}>", told)


@pytest.mark.files("it is about a folder's index that is asked without a server")
def test_without_a_server_of_two_hooks_of_one_session_at_once_one_is_told(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    given, settings, told = {"prompt": PROMPT, "session_id": "one", "cwd": "/srv/harbour"}, load_settings(here), []

    def another_comes_between() -> bool:
        told.append(by_words(given, settings))
        return True

    told.append(by_words(given, settings, another_comes_between))
    assert [LAMP in text for text in told] == [True, False]
    assert told[1] == ""


@pytest.mark.parametrize(
    ("told", "others", "prompt"),
    [
        (
            "Gustav takes 8 units of insulin before breakfast.",
            "Fenja takes 12 units of insulin before breakfast.",
            "How many units of insulin does Gustav take?",
        ),
        (
            "The orders database runs PostgreSQL 16 on port 5433.",
            "The ledger database runs PostgreSQL 14 on port 5440.",
            "Which port does the orders database run on?",
        ),
    ],
)
@pytest.mark.files("it is about a folder's index that is asked without a server")
def test_without_a_server_what_is_of_another_is_not_told(
    here: dict[str, str], told: str, others: str, prompt: str
) -> None:
    for text in (told, others):
        run([*HOLDFAST, "remember", text, "--space", "harbour"], here)
    text = added(inject(here, hook(prompt=prompt)))
    assert told in text
    assert others not in text


def test_without_a_server_another_project_and_later_prompts_are_told_little(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    assert inject(here, hook(session="b", cwd="/srv/bakery", prompt="How is the dough of the bakery kept?")) == ""
    assert inject(here, hook(session="b", prompt="Which colour has the door of the shed?")) == ""
    assert LAMP in added(inject(here, hook(session="b"))), "it clears the line"
    assert inject(here, hook(session="b")) == "", "and is not repeated"
    assert inject(here, hook(session="b", hook_event_name="PreCompact")) == ""
    assert LAMP in added(inject(here, hook(session="b"))), "what was before the model has gone"


def test_a_server_that_was_killed_is_passed_over_and_its_socket_taken_away_by_the_next(here: dict[str, str]) -> None:
    with stdio(here) as killed:
        begin(killed, here)
        killed.process.kill()
        killed.process.wait()
    assert len(sockets(here)) == 1
    assert LAMP in added(inject(here, hook()))
    with stdio(here) as next_one:
        begin(next_one, here)
        assert LAMP in added(inject(here, hook(session="two")))
        (left,) = sockets(here)
        assert str(next_one.process.pid) in left.name


@pytest.mark.files("what is derived has another place beside a database")
def test_a_server_whose_derived_files_are_deleted_makes_its_socket_anew(here: dict[str, str], server: Stdio) -> None:
    derived = Path(here["HOLDFAST_HOME"]) / ".holdfast"
    derived.rename(derived.with_name("away"))
    server.tool("remember", content="The oar lies in the boathouse.", space="harbour")
    until(lambda: bool(sockets(here)))
    assert LAMP in added(inject(here, hook()))
    result = server.tool("whisper", prompt=PROMPT, session_id="one", cwd="/srv/harbour")
    assert result["content"][0]["text"] == "{}", "it was the server that answered"
    server.end()
    assert not sockets(here)


def test_several_servers_have_a_socket_each_and_take_their_own_away(here: dict[str, str], server: Stdio) -> None:
    with stdio(here) as second:
        begin(second, here)
        assert len(sockets(here)) == 2
        with ThreadPoolExecutor(10) as pool:
            answers = list(pool.map(lambda number: inject(here, hook(session=f"s{number}")), range(10)))
        assert all(LAMP in added(answer) for answer in answers)
        second.end()
        until(lambda: len(sockets(here)) == 1)
    assert LAMP in added(inject(here, hook(session="later")))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no socket then")
def test_a_folder_with_a_very_long_path_has_a_socket_too(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60) / ("f" * 60)
    deep.mkdir(parents=True)
    here = environment_in(deep) | {"HOLDFAST_PRESENCE": "on"}
    with stdio(here) as running:
        begin(running, here)
        assert len(str(sockets(here)[0])) > 200
        assert LAMP in added(inject(here, hook()))


def test_sockets_are_for_the_user_alone(here: dict[str, str], server: Stdio) -> None:
    (path,) = sockets(here)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives a file to somebody else")
def test_a_socket_of_another_user_is_not_asked(here: dict[str, str], server: Stdio) -> None:
    path = sockets(here)[0].with_name("0-trap.sock")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trap:
        with reachable(str(path)) as short:
            trap.bind(short)
        trap.listen()
        os.chown(path, 4711, 4711)
        assert LAMP in added(inject(here, hook()))
        trap.settimeout(0)
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_where_there_can_be_no_socket_the_server_works_and_words_answer(here: dict[str, str]) -> None:
    folder = Path(here["HOLDFAST_HOME"]) / ".holdfast"
    folder.mkdir(parents=True)
    (folder / "sockets").write_text("in the way", "utf-8")
    with stdio(here) as running:
        running.begin()
        running.tool("remember", content=LAMP, space="harbour")
        assert LAMP in added(inject(here, hook()))


def test_a_server_that_does_not_answer_costs_the_limit_and_no_more(here: dict[str, str], server: Stdio) -> None:
    server.process.send_signal(19)  # SIGSTOP: it takes the connection and is deaf
    begun = time.monotonic()
    try:
        assert inject(here, hook(), "--seconds", "0.4") == ""
    finally:
        server.process.send_signal(18)
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "[]", "null", "{}", '{"prompt": 1}', '{"prompt": "x"', "\x00", '{"cwd": "/nowhere/\\ud800"}'],
)
def test_whatever_comes_in_it_ends_well_and_says_nothing(here: dict[str, str], server: Stdio, text: str) -> None:
    assert inject(here, text) == ""


def test_without_a_memory_nothing_is_said_and_nothing_made(here: dict[str, str]) -> None:
    assert inject(here, hook()) == ""
    assert not Path(here["HOLDFAST_HOME"]).exists()


def test_what_comes_over_the_socket_need_not_be_a_question(here: dict[str, str], server: Stdio) -> None:
    nested, odd = b"[" * 200_000 + b"\n", json.dumps(dict.fromkeys(("prompt", "session_id", "cwd", "event"), "/\ud800"))
    for sent in (b"\n", b"[1]\n", b'{"prompt": 5}\n', b"\xff\xfe\n", b"", nested, odd.encode() + b"\n"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(30)
            with reachable(str(sockets(here)[0])) as short:
                asking.connect(short)
            asking.sendall(sent)
            asking.shutdown(socket.SHUT_WR)
            assert asking.recv(100) in (b"{}", b"")
    assert LAMP in added(inject(here, hook()))


def test_a_client_that_never_ends_its_question_costs_the_limit_and_no_more(here: dict[str, str]) -> None:
    command = [*HOLDFAST, "whisper", "inject", "--seconds", "0.5"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=here
    ) as process:
        assert process.stdin is not None
        process.stdin.write(hook().encode())
        process.stdin.flush()
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device there")
def test_an_answer_that_nobody_takes_and_settings_that_cannot_be_read_are_passed_over(here: dict[str, str]) -> None:
    run([*HOLDFAST, "remember", LAMP, "--space", "harbour"], here)
    with Path("/dev/full").open("wb") as full:
        command = [*HOLDFAST, "whisper", "inject", *ROOMY]
        ran = subprocess.run(
            command, input=hook("two").encode(), env=here, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120
        )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert inject(here | {"HOLDFAST_PRESENCE_LINE": "x"}, hook()) == ""
    assert inject(here, hook(), "--seconds", "soon") == ""
    (Path(here["HOLDFAST_HOME"]) / "config.yaml").write_text(": [", "utf-8")
    assert inject(here, hook()) == ""


def test_the_limit_is_over_with_the_answer(here: dict[str, str]) -> None:
    """The interpreter gives its signals back as it ends: a limit that still ran then would end it as a failure."""
    code = (
        "import signal; from holdfast.inject import inject; "
        "print(inject(['--seconds', '60']), signal.getitimer(signal.ITIMER_REAL))"
    )
    ran = subprocess.run(
        [*HOLDFAST[:1], "-c", code], input=b"{}", env=here, capture_output=True, check=True, timeout=60
    )
    assert ran.stdout.split() == [b"0", b"(0.0,", b"0.0)"]


@pytest.mark.files("it is about a folder and a database")
@pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)
@pytest.mark.parametrize("place", ["environment", "file"])
def test_with_a_database_its_own_server_is_asked_and_never_one_of_the_folder(
    here: dict[str, str], server: Stdio, place: str
) -> None:
    of_team = here | {"HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANT": here["HOLDFAST_HOME"]}
    asking = of_team
    if place == "file":
        asking = here
        store, tenant = (json.dumps(of_team[name]) for name in ("HOLDFAST_STORE", "HOLDFAST_TENANT"))
        (Path(here["HOLDFAST_HOME"]) / "config.yaml").write_text(f"store: {store}\ntenant: {tenant}\n", "utf-8")
    newer = "The lamp of the lighthouse is trimmed by tenacity with twelve attempts."
    with stdio(of_team) as team:
        team.begin()
        team.tool("remember", content=newer, space="harbour")
        until(lambda: bool(sockets(of_team)))
        told = added(inject(asking, hook(session="team")))
        assert newer in told
        assert LAMP not in told
        result = team.tool("whisper", prompt=PROMPT, session_id="team", cwd="/srv/harbour")
        assert result["content"][0]["text"] == "{}", "its server was asked: it knows what the session was told"
        team.end()
    told = added(inject(asking, hook(session="later")))
    assert LAMP not in told
    assert newer in told


@pytest.mark.files("it is about a folder and a database")
@pytest.mark.parametrize("written", ["", "store: {}", '"st\\u006fre": {}', "store: ${{OF_TEAM}}"])
def test_with_a_database_that_is_away_nothing_of_the_folder_is_told(
    here: dict[str, str], server: Stdio, written: str
) -> None:
    store = "postgresql://nobody@127.0.0.1:9/nothing"
    if written:
        (Path(here["HOLDFAST_HOME"]) / "config.yaml").write_text(written.format(store), "utf-8")
        assert inject(here | {"OF_TEAM": store}, hook()) == ""
    else:
        assert inject(here | {"HOLDFAST_STORE": store}, hook()) == ""


def test_a_server_of_a_folder_is_asked_whatever_else_its_settings_say(here: dict[str, str], server: Stdio) -> None:
    (Path(here["HOLDFAST_HOME"]) / "config.yaml").write_text("# restored, no store here\nspace: harbour\n", "utf-8")
    assert LAMP in added(inject(here, hook()))
    assert inject(here, hook()) == ""
