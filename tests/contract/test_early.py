"""What clients ask first is answered before the framework is there, and nothing is different for it afterwards."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import forked
from holdfast import early
from holdfast.early import LISTS, Opening, made_for, stored_answers
from holdfast.settings import load_settings
from processes import INITIALIZE, MODERN, ROOT, Stdio, stdio, until
from served import ERAS

pytestmark = pytest.mark.whole_start("how a server starts")
LATE = "holdfast.early.stored_answers = lambda *_, **__: None"  # everything is left to the framework
PROGRAM = """
import os, sys, time
import holdfast.early
{early}
class Gate:
    def find_spec(self, name, path=None, target=None):
        if name == "holdfast.running":
            open(os.environ["GATE"] + ".reached", "w").close()
            while not os.path.exists(os.environ["GATE"]):
                time.sleep(0.01)
sys.modules.pop("holdfast.running", None)  # a process that was divided off has it, with the framework
sys.meta_path.insert(0, Gate())
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
Line = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def early_answers() -> None:
    """Without them each test here would wait for what never comes, and say so only after minutes."""
    stored = json.loads(early.STORED.read_text("utf-8"))["made_for"]
    assert stored == made_for(), "If this is meant: python tests/house/test_early_answers.py"


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A file that the import of the framework waits for."""
    return tmp_path / "gate"


@contextmanager
def gated(
    environment: dict[str, str], gate: Path, era: str = ERAS[0], early: str = "", *arguments: str
) -> Iterator[Stdio]:
    command = (sys.executable, "-c", PROGRAM.format(early=early), *arguments)
    with stdio(environment | {"GATE": str(gate)}, era, command, forked.begin_program) as server:
        yield server


def line(number: object, method: str, parameters: object = None) -> Line:
    more = {} if parameters is None else {"params": parameters}
    return {"jsonrpc": "2.0", "id": number, "method": method} | more


def hello(number: object = 0, **changed: Any) -> Line:
    return line(number, "initialize", INITIALIZE | changed)


READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.mark.parametrize("admin", [(), ("--admin",)])
@pytest.mark.parametrize("era", ERAS)
def test_the_first_requests_are_answered_before_the_framework_is_there(
    environment: dict[str, str], gate: Path, era: str, admin: tuple[str, ...]
) -> None:
    with gated(environment, gate, era, "", *admin) as server:
        assert "memory" in server.begin()["instructions"]
        names = {tool["name"] for tool in server.ask("tools/list")["tools"]}
        assert ("admin_purge" in names) == bool(admin)
        for method in LISTS[1:]:
            assert server.ask(method)
        if era == ERAS[0]:
            assert server.ask("ping") == {}
        asked = server.send("tools/call", name="remember", arguments={"content": "The crane lifts forty tonnes."})
        assert not gate.exists()
        gate.touch()
        answer = server.read()
        assert answer["id"] == asked
        assert "forty tonnes" in answer["result"]["content"][0]["text"]
        assert server.tool("recall", query="crane")["structuredContent"]["results"][0]["source"] == "test"
        assert len(server.ask("tools/list")["tools"]) == len(names)
        assert server.end() == (0, [])


LAMP = "The lamp of the lighthouse is trimmed by tenacity with five attempts."


def tell_of_the_lamp(presence: dict[str, str]) -> None:
    with forked.divided(), stdio(presence) as earlier:
        earlier.begin()
        earlier.tool("remember", content=LAMP, space="harbour")
        assert earlier.end()[0] == 0


@pytest.mark.parametrize("era", ERAS)
def test_a_hook_is_answered_before_the_framework_is_there_and_the_session_is_remembered(
    environment: dict[str, str], gate: Path, era: str
) -> None:
    presence = environment | {"HOLDFAST_PRESENCE": "on"}
    tell_of_the_lamp(presence)
    asked = {"prompt": "How is the lamp of the lighthouse trimmed?", "session_id": "one", "cwd": "/srv/harbour"}
    with gated(presence, gate, era) as server:
        server.begin()
        early = server.ask("tools/call", name="whisper", arguments=asked)
        assert not gate.exists()
        assert LAMP in early["content"][0]["text"]
        gate.touch()
        late = server.ask("tools/call", name="whisper", arguments=asked)
        assert late["content"][0]["text"] == "{}", "the framework was not asked the same once more, and knows of it"
        other = server.ask("tools/call", name="whisper", arguments=asked | {"session_id": "two"})
        assert LAMP in other["content"][0]["text"]
        assert {**early, "content": []} == {**other, "content": []}
        assert server.end() == (0, [])


def test_a_hook_that_the_index_does_not_answer_waits_for_the_framework(environment: dict[str, str], gate: Path) -> None:
    presence = environment | {"HOLDFAST_PRESENCE": "on"}
    notes = Path(environment["HOLDFAST_HOME"]) / "memories" / "harbour"
    notes.mkdir(parents=True)
    (notes / "lamp.md").write_text(f"{LAMP}\n", "utf-8")
    with gated(presence, gate) as server:
        server.begin()
        asked = server.send("tools/call", name="whisper", arguments={"prompt": LAMP, "cwd": "/srv/harbour"})
        gate.touch()
        answer = server.read()
        assert answer["id"] == asked
        assert LAMP in answer["result"]["content"][0]["text"]
        assert server.end() == (0, [])


NEVER = """
import threading, holdfast.from_index
holdfast.from_index.by_words = lambda *_: threading.Event().wait()
"""


def test_a_hook_that_the_index_does_not_answer_in_time_is_answered_by_the_framework(
    environment: dict[str, str], gate: Path
) -> None:
    presence = environment | {"HOLDFAST_PRESENCE": "on"}
    tell_of_the_lamp(presence)
    with gated(presence, gate, ERAS[0], NEVER) as server:
        server.begin()
        asked = server.send("tools/call", name="whisper", arguments={"prompt": LAMP, "cwd": "/srv/harbour"})
        listed = server.send("tools/list")
        gate.touch()
        answers = {answer["id"]: answer for answer in (server.read() for _ in range(2))}
        assert LAMP in answers[asked]["result"]["content"][0]["text"]
        assert answers[listed]["result"]["tools"]
        assert server.end() == (0, [])


@dataclass
class Slowly:
    """What answers a hook, but not before it may."""

    before_claim: threading.Event = field(default_factory=threading.Event)
    behind_claim: threading.Event = field(default_factory=threading.Event)
    claimed: list[bool] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(self, _given: dict[str, str], claim: Callable[[], bool]) -> str:
        assert self.before_claim.wait(60)
        self.claimed.append(claim())
        assert self.behind_claim.wait(60)
        self.ended.set()
        return "told"


@contextmanager
def opened(environment: dict[str, str], answer: Slowly) -> Iterator[tuple[Opening, BinaryIO]]:
    """What answers early, in this process, and what it said; a hook asked it."""
    answers = stored_answers(load_settings(environment | {"HOLDFAST_PRESENCE": "on"}), admin=False, environ={})
    assert answers is not None
    source, sink = os.pipe(), os.pipe()
    opening = Opening(answers, source[0], sink[1])
    opening.hooks_by(answer)
    whisper = line(1, "tools/call", {"name": "whisper", "arguments": {"prompt": LAMP}})
    os.write(source[1], b"".join(json.dumps(each).encode() + b"\n" for each in (hello(), whisper)))
    opening.start()
    with open(sink[0], "rb") as told:  # noqa: PTH123 - a file that is open already
        assert json.loads(told.readline())["id"] == 0
        yield opening, told
    for number in (source[0], source[1], sink[1]):
        os.close(number)


@pytest.mark.parametrize("by", ["HOOK_SECONDS", "LAST_SECONDS"])
def test_what_was_not_answered_in_time_does_not_count_as_shown(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(early, "HOOK_SECONDS", 3600.0)
    monkeypatch.setattr(early, by, 0.0)
    slowly = Slowly()
    with opened(environment, slowly) as (opening, _):
        heard = opening.finish()
        assert b"whisper" in heard.data, "the framework answers it"
        slowly.before_claim.set()
        slowly.behind_claim.set()
        assert slowly.ended.wait(60)
        assert slowly.claimed == [False]


def test_what_counts_as_shown_already_is_told_though_its_time_is_over(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early, "LAST_SECONDS", 0.0)
    slowly = Slowly()
    slowly.before_claim.set()
    with opened(environment, slowly) as (opening, told):
        until(lambda: bool(slowly.claimed))
        threading.Timer(0.5, slowly.behind_claim.set).start()
        assert b"whisper" not in opening.finish().data
        assert json.loads(told.readline())["result"]["content"][0]["text"] == "told"
        assert slowly.claimed == [True]


def test_each_kind_of_client_gets_its_own_list(environment: dict[str, str], gate: Path) -> None:
    for name, structured in (("claude-code", False), ("somebody", True)):
        with gated(environment, gate) as server:
            server.write(json.dumps(hello(clientInfo={"name": name, "version": "1"})))
            server.write(json.dumps(line(1, "tools/list")))
            assert server.read()["id"] == 0
            assert all(("outputSchema" in tool) == structured for tool in server.read()["result"]["tools"])


def test_the_session_is_the_one_that_was_begun(environment: dict[str, str], gate: Path) -> None:
    with gated(environment, gate) as server:
        server.begin()
        gate.touch()
        server.ask("logging/setLevel", level="error")
        server.ask("resources/subscribe", uri="memory://now")
        server.send("tools/call", name="now_update", arguments={"current_task": "Dredge."})
        read = [server.read(), server.read()]  # the answer may come before the notification or after it
        assert sorted(each.get("method", "") for each in read) == ["", "notifications/resources/updated"]


# --- a client that probes -------------------------------------------------------------------------

PROBE = line("probe", "server/discover", MODERN)


def shakes_hands(server: Stdio) -> None:
    """The older era's beginning, and a call."""
    for message in (hello(7), READY, line(8, "tools/list"), line(9, "tools/call", RECALL)):
        server.write(json.dumps(message))


RECALL = {"name": "recall", "arguments": {"query": "crane"}}


def assert_served(server: Stdio, *more: object) -> None:
    answers = {answer["id"]: answer for answer in (server.read() for _ in range(3 + len(more)))}
    assert set(answers) == {7, 8, 9, *more}
    assert all("result" in answers[number] for number in (7, 8, 9)), answers


def test_a_client_that_gave_up_probing_is_served_in_the_older_era(environment: dict[str, str], gate: Path) -> None:
    with gated(environment, gate) as server:
        server.write(json.dumps(PROBE))
        assert server.read()["id"] == "probe"
        shakes_hands(server)
        gate.touch()
        assert_served(server)
        assert server.end() == (0, [])


def test_a_client_that_gave_up_probing_is_served_without_early_answers_too(
    environment: dict[str, str], gate: Path
) -> None:
    with gated(environment, gate, ERAS[0], LATE) as server:
        server.write(json.dumps(PROBE))
        until(lambda: gate.with_name("gate.reached").exists())
        shakes_hands(server)
        gate.touch()
        answers = [server.read()]
        answers += [server.read() for _ in range(2 + (answers[0]["id"] == "probe"))]  # it is stale: either will do
        assert {answer["id"] for answer in answers} - {"probe"} == {7, 8, 9}
        assert all("result" in answer for answer in answers)


def test_a_handshake_after_a_probe_that_the_framework_answered_is_served(
    environment: dict[str, str], gate: Path
) -> None:
    gate.touch()
    with gated(environment, gate, ERAS[0], LATE) as server:
        server.write(json.dumps(PROBE))
        assert server.read()["id"] == "probe"
        shakes_hands(server)
        assert_served(server)
        assert server.end() == (0, [])


# --- the same as without --------------------------------------------------------------------------

APPS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
APPS_UNNAMED = {"extensions": {"io.modelcontextprotocol/ui": {}}, "roots": {"listChanged": True}}
INFO = MODERN["_meta"]["io.modelcontextprotocol/clientInfo"]


def envelope(capabilities: object) -> Line:
    return {"_meta": MODERN["_meta"] | {"io.modelcontextprotocol/clientCapabilities": capabilities}}


SCRIPTS: dict[str, Sequence[Line | str]] = {
    "a plain beginning": (hello(), READY, line(1, "tools/list"), line(2, "prompts/list", {}), line(3, "ping")),
    "names for ids": (hello("a"), READY, line("b-1", "resources/list"), line("ü", "ping"), line('"', "ping")),
    "ids of other kinds": (hello(1.5), line([], "ping"), line(None, "ping"), line(2**70, "ping")),
    "progress tokens": (hello(), READY, line(1, "tools/list", {"_meta": {"progressToken": 7}})),
    "a cursor": (hello(), READY, line(1, "tools/list", {"cursor": "x"}), line(2, "tools/list")),
    "lists without a handshake": (line(1, "tools/list"), hello(2), READY, line(3, "tools/list")),
    "two handshakes": (hello(1), hello(2), READY, line(3, "ping")),
    "one id twice": (hello(1), READY, line(2, "ping"), line(2, "tools/list")),
    "a version that there is not": (hello(protocolVersion="1999-01-01"), READY, line(1, "tools/list")),
    "the newer version in a handshake": (hello(protocolVersion="2026-07-28"), READY, line(1, "ping")),
    "capabilities that are none": (hello(capabilities=[]), READY, line(1, "ping")),
    "roots that are none": (hello(capabilities={"roots": "x"}), READY, line(1, "ping")),
    "extensions that are none": (hello(capabilities={"extensions": {"x": []}}), READY, line(1, "tools/list")),
    "a client that shows Apps": (
        hello(capabilities=APPS),
        READY,
        *(line(number, name) for number, name in enumerate(LISTS, 1)),
    ),
    "a client of the first version that shows Apps": (
        hello(capabilities=APPS_UNNAMED, protocolVersion="2024-11-05"),
        READY,
        line(1, "tools/list"),
        line(2, "resources/list"),
    ),
    "clients of the newer era of which one shows Apps": (
        *(line(number, name, envelope(APPS)) for number, name in enumerate(LISTS)),
        line(8, "tools/list", MODERN),
        line(9, "tools/list", envelope(APPS_UNNAMED)),
    ),
    "a client without a name": (hello(clientInfo={}), READY, line(1, "ping")),
    "no parameters": (line(1, "initialize"), READY, line(2, "ping")),
    "no messages": (hello(), "{", "[]", "nonsense", "", READY, line(1, "ping"), '{"jsonrpc":"2.0"}'),
    "a batch": (hello(), "[" + json.dumps(line(1, "ping")) + "]", line(2, "ping")),
    "a method that there is not": (hello(), READY, line(1, "tools/dance"), line(2, "tools/list")),
    "an answer nobody asked for": (hello(), READY, {"jsonrpc": "2.0", "id": 0, "result": {}}, line(1, "ping")),
    "the newer era": tuple(line(number, name, MODERN) for number, name in enumerate(("server/discover", *LISTS))),
    "the newer era with a ping": (line(1, "tools/list", MODERN), line(2, "ping", MODERN), line(3, "ping")),
    "an envelope without capabilities": (
        line(1, "tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
    ),
    "an envelope of another version": (
        line(1, "tools/list", {"_meta": MODERN["_meta"] | {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}}),
    ),
    "an envelope after a handshake": (hello(), READY, line(1, "tools/list", MODERN), line(2, "tools/list")),
    "a call in between": (
        hello(),
        READY,
        line(1, "tools/call", {"name": "now_read", "arguments": {}}),
        line(2, "tools/list"),
    ),
}


EARLY_SECONDS = 0.3  # for answers: whoever has the framework loaded is soon there, and answers the rest
FROM_NOTHING = {"a plain beginning", "the newer era", "a call in between"}  # others find what they import loaded


def said(environment: dict[str, str], gate: Path, early: str, script: Sequence[Line | str]) -> list[str]:
    """All that a server says to a script, in a fixed order. Most start at once: they are compared with each other."""
    reached = gate.with_name("gate.reached")
    for file in (gate, reached):
        file.unlink(missing_ok=True)
    last = line("last", "tools/call", {"name": "now_read", "arguments": {}})
    asked = [message for message in script if isinstance(message, dict)]
    awaited = {"last", *(str(message["id"]) for message in asked if message.get("method") == "tools/call")}
    whole = early != LATE and script in [SCRIPTS[name] for name in FROM_NOTHING]
    with nullcontext() if whole else forked.divided(), gated(environment, gate, ERAS[0], early) as server:
        for message in script:
            server.write(message if isinstance(message, str) else json.dumps(message))
        until(reached.exists)
        time.sleep(EARLY_SECONDS if early != LATE else 0)
        gate.touch()
        modern = any(isinstance(message, dict) and "_meta" in str(message.get("params")) for message in script[:1])
        server.write(json.dumps(last | {"params": last["params"] | (MODERN if modern else {})}))
        answers = []
        while awaited - {str(answer.get("id")) for answer in answers}:  # calls overtake each other
            answers.append(server.read())
        code, rest = server.end()
        assert code == 0
    return sorted(map(json.dumps, answers + rest))


@pytest.mark.parametrize("name", SCRIPTS)
def test_whatever_comes_is_answered_as_without_early_answers(
    environment: dict[str, str], gate: Path, name: str
) -> None:
    early, late = (without_chance(said(environment, gate, how, SCRIPTS[name])) for how in ("", LATE))
    assert early == late


@pytest.mark.parametrize("view", ["always", "never"])
def test_whom_the_view_is_offered_to_holds_for_early_answers(
    environment: dict[str, str], gate: Path, view: str
) -> None:
    scripts = (
        (hello(), READY, line(1, "tools/list"), line(2, "resources/list")),
        tuple(line(number, name, envelope(APPS)) for number, name in enumerate(LISTS)),
    )
    for script in scripts:
        early, late = (
            without_chance(said(environment | {"HOLDFAST_VIEW": view}, gate, how, script)) for how in ("", LATE)
        )
        assert early == late
        assert any("memory_view" in answer for answer in early) is (view == "always")


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_shows_apps_is_offered_the_view_before_the_framework_is_there(
    environment: dict[str, str], gate: Path, era: str
) -> None:
    parameters = None if era == ERAS[0] else envelope(APPS)
    with gated(environment, gate, era) as server:
        if era == ERAS[0]:
            server.write(json.dumps(hello(capabilities=APPS)))
            assert server.read()["id"] == 0
        server.write(json.dumps(line(1, "tools/list", parameters)))
        server.write(json.dumps(line(2, "resources/list", parameters)))
        tools, resources = (server.read()["result"] for _ in range(2))
        assert not gate.exists()
        assert {"memory_view", "view_recent", "remember"} <= {tool["name"] for tool in tools["tools"]}
        assert "ui://holdfast/view.html" in {each["uri"] for each in resources["resources"]}


def without_chance(answers: list[str]) -> list[str]:
    return [re.sub(r"(evt|mem)_\w{16}", r"\1", answer) for answer in answers]


def test_a_line_may_come_in_pieces(environment: dict[str, str], gate: Path) -> None:
    with gated(environment, gate) as server:
        text = json.dumps(hello(1)).encode() + b"\n" + json.dumps(line(2, "tools/call", RECALL)).encode()
        assert server.process.stdin is not None
        for place in range(0, len(text), 97):
            server.process.stdin.write(text[place : place + 97])
            server.process.stdin.flush()
        assert server.read()["id"] == 1
        gate.touch()
        server.write("")
        assert server.read()["id"] == 2


def test_the_end_of_input_before_the_framework_is_there_is_the_end_of_the_server(
    environment: dict[str, str], gate: Path
) -> None:
    with gated(environment, gate) as server:
        server.begin()
        gate.touch()
        assert server.end() == (0, [])


# --- when in doubt --------------------------------------------------------------------------------


def test_answers_that_were_made_for_something_else_are_not_given(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings(environment)
    assert stored_answers(settings, admin=False, environ={})
    for changed in made_for():
        monkeypatch.setattr("holdfast.early.made_for", lambda key=changed: made_for() | {key: "another"})
        assert stored_answers(settings, admin=False, environ={}) is None, changed
    monkeypatch.undo()
    assert stored_answers(settings, admin=False, environ={"FASTMCP_LIST_PAGE_SIZE": "5"}) is None


def test_what_clients_are_told_by_variables_of_their_own_keeps_no_answer_back(environment: dict[str, str]) -> None:
    """Claude Code hands on its whole environment, and docs/clients.md says which variables to set."""
    told = (ROOT / "docs" / "clients.md").read_text("utf-8")
    variables = dict.fromkeys(re.findall(r"\bMCP_\w+(?==)", told), "30000")
    assert len(variables) == 2
    assert stored_answers(load_settings(environment), admin=False, environ=variables | {"MCP_TOOL_TIMEOUT": "1"})
    reads = re.compile(r"""(?:environ|getenv|env_prefix|validation_alias)[^\n]{0,40}["']MCP_""")
    for package in ("mcp", "mcp_types", "fastmcp"):
        (folder,) = importlib.util.find_spec(package).submodule_search_locations  # type: ignore[union-attr,misc]
        read = [path for path in Path(folder).rglob("*.py") if reads.search(path.read_text("utf-8"))]
        assert not read, "what the framework says may depend on it"


def test_what_is_stored_and_cannot_be_read_is_not_given(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for text in (None, "", "[]", "{}", '{"made_for": {}}'):
        place = tmp_path / "early.json"
        if text is not None:
            place.write_text(text)
        monkeypatch.setattr("holdfast.early.STORED", place)
        assert stored_answers(load_settings(environment), admin=False, environ={}) is None


@pytest.mark.parametrize("answers", ["text", "structured"])
def test_the_setting_of_the_form_holds_for_early_answers(environment: dict[str, str], gate: Path, answers: str) -> None:
    with gated(environment | {"HOLDFAST_ANSWERS": answers}, gate) as server:
        server.begin()
        tools = server.ask("tools/list")["tools"]
        assert all(("outputSchema" in tool) == (answers == "structured") for tool in tools)
