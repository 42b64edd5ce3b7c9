"""The program as a client meets it: real processes, pipes, ports, signals."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.lowlevel
import httpx
import pytest
from fastmcp import Client

import forked
from holdfast import __version__
from holdfast.engine.ports import Ports
from holdfast.errors import StorageError
from holdfast.running import STOP_SECONDS
from processes import HOLDFAST, INITIALIZE, PATIENCE, http, notes_in, stdio, until
from served import ERAS, made_up_secret
from worlds import ask, living

starting = pytest.mark.whole_start("how a server starts")
TOOLS = {"remember", "recall", "recall_node", "mark_outdated"}

# A server that does nothing but answer: on a machine that takes its time what is done behind comes before the answers.
_NOTHING_BEHIND = """
import sys
from holdfast.engine import runtime as memory
from holdfast.__main__ import main

memory.START_SECONDS = 600.0
sys.exit(main([]))
"""

# --- stdio ----------------------------------------------------------------------------------------


@starting
@pytest.mark.parametrize("era", ERAS)
def test_a_client_on_a_pipe_can_list_and_call(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era) as server:
        assert "memory" in server.begin()["instructions"]
        assert {tool["name"] for tool in server.ask("tools/list")["tools"]} >= TOOLS
        stored = server.tool("remember", content="The crane lifts forty tonnes.")
        assert not stored["isError"]
        assert stored["structuredContent"]["space"] == "harbour"
        found = server.tool("recall", query="crane")["structuredContent"]["results"]
        assert [hit["id"] for hit in found] == [stored["structuredContent"]["id"]]
        assert server.tool("recall", limit=0)["isError"]
        assert server.end() == (0, [])


@starting
@pytest.mark.skipif(sys.platform != "linux", reason="looks at what a process has mapped")
@pytest.mark.parametrize("era", ERAS)
def test_discovery_is_answered_before_any_model_is_loaded(environment: dict[str, str], era: str) -> None:
    command = (sys.executable, "-c", _NOTHING_BEHIND)
    with stdio(environment | {"HOLDFAST_ENCODER": "builtin"}, era, command) as server:
        maps = Path(f"/proc/{server.process.pid}/maps")
        server.begin()
        server.ask("tools/list")
        assert "onnxruntime" not in maps.read_text()
        assert "numpy" not in maps.read_text()
        server.tool("remember", content="The crane lifts forty tonnes.")
        assert "onnxruntime" in maps.read_text()  # or the two lines above would prove nothing


@pytest.mark.parametrize("era", ERAS)
def test_lines_that_are_no_messages_do_not_end_the_server(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era) as server:
        server.begin()
        for line in (b"not json", b"\xff\xfe\x00", b"", b"[]", b"{}", b'{"jsonrpc":"2.0"', b'"\\ud800"', b"[" * 9999):
            server.write(line)
        asked = server.send("tools/call", name="recall", arguments={"query": "crane"})
        while (answer := server.read()).get("id") != asked:
            assert "error" in answer
        assert answer["result"]["isError"] is False
        assert server.end()[0] == 0


@pytest.mark.parametrize("era", ERAS)
def test_a_text_that_was_cut_within_a_sign_is_stored_and_found(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era) as server:
        server.begin()
        assert not server.tool("remember", content="Tangerines \ud83d are for the crane crew \U0001f34a.")["isError"]
        assert "Tangerines \ufffd are for the crane crew \U0001f34a." in json.dumps(
            server.tool("recall", query="tangerines \ude00"), ensure_ascii=False
        )


def test_a_tool_that_there_is_not_is_an_error_and_not_the_end(environment: dict[str, str]) -> None:
    with stdio(environment) as server:
        server.begin()
        server.send("tools/call", name="admin_purge", arguments={})
        assert "admin_purge" in json.dumps(server.read())
        assert not server.tool("recall", query="crane")["isError"]


@pytest.mark.parametrize("era", ERAS)
def test_the_end_of_input_is_the_end_of_the_server(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era) as server:
        server.begin()
        server.tool("remember", content="The crane lifts forty tonnes.")
        assert server.end()[0] == 0
    assert "forty tonnes" in notes_in(environment)


@starting
def test_an_input_that_ends_before_anything_was_said_is_no_failure(environment: dict[str, str]) -> None:
    with stdio(environment) as server:
        assert server.end() == (0, [])


def test_a_client_that_stops_listening_ends_the_server_quietly(environment: dict[str, str]) -> None:
    with stdio(environment) as server:
        server.begin()
        assert server.process.stdout is not None
        server.process.stdout.close()
        with suppress(BrokenPipeError):  # it may have ended at the first answer that nobody took
            for _ in range(20):
                server.send("ping" if server.era == "legacy" else "server/discover")
            server.send("tools/call", name="remember", arguments={"content": "The crane lifts forty tonnes."})
        until(lambda: "forty tonnes" in notes_in(environment) or server.process.poll() is not None)
        assert server.process.stdin is not None
        with suppress(BrokenPipeError):
            server.process.stdin.close()
        assert server.process.wait(PATIENCE) == 0


def test_without_any_input_there_is_a_sentence(environment: dict[str, str]) -> None:
    ended = run(environment, command=("/bin/sh", "-c", 'exec "$0" -m holdfast <&-', sys.executable))
    assert_refused(ended)


# --- signals --------------------------------------------------------------------------------------

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def test_what_is_under_way_has_less_than_a_second_when_a_signal_comes() -> None:
    assert STOP_SECONDS < 1.0


@pytest.mark.anyio
async def test_what_is_under_way_is_carried_out_before_a_memory_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_go_on = anyio.Event(), anyio.Event()
    order: list[str] = []

    async def slow(_: Ports) -> None:
        begun.set()
        await may_go_on.wait()
        order.append("carried out")

    async with living(tmp_path) as memory, anyio.create_task_group() as tasks:
        close = memory.aclose

        async def closed() -> None:
            order.append("closed")
            await close()

        monkeypatch.setattr(memory, "aclose", closed)
        tasks.start_soon(memory.attend, slow)
        await begun.wait()
        tasks.start_soon(memory.stop)
        while not memory._stopping:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(StorageError, match="stopping"):
            await ask(memory, "crane")
        may_go_on.set()
    assert order[:2] == ["carried out", "closed"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_server_with_everything_kept(
    environment: dict[str, str], era: str, number: signal.Signals
) -> None:
    with stdio(environment, era) as server:
        server.begin()
        server.tool("remember", content="The crane lifts forty tonnes.")
        server.process.send_signal(number)
        assert server.ended() == (0, [])
    assert "forty tonnes" in notes_in(environment)


@pytest.mark.parametrize("number", SIGNALS)
def test_whatever_was_acknowledged_when_a_signal_comes_is_kept(
    environment: dict[str, str], number: signal.Signals
) -> None:
    with stdio(environment) as server:
        server.begin()
        words = {}
        for count in range(60):
            asked = server.send("tools/call", name="remember", arguments={"content": f"Crane word{count}end."})
            words[asked] = f"word{count}end"
        answers = [server.read() for _ in range(5)]
        server.process.send_signal(number)
        code, rest = server.ended()
        assert code == 0
    kept = notes_in(environment)
    answers += rest
    acknowledged = [words[item["id"]] for item in answers if not item["result"]["isError"]]
    assert len(acknowledged) >= 5
    assert [word for word in acknowledged if word not in kept] == []


@starting
@pytest.mark.skipif(sys.platform != "linux", reason="looks at what a process has mapped")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_server_is_still_starting_ends_it_too(
    environment: dict[str, str], number: signal.Signals
) -> None:
    with stdio(environment) as server:
        until(lambda: "pydantic_core" in Path(f"/proc/{server.process.pid}/maps").read_text())
        server.process.send_signal(number)
        assert server.ended() == (0, [])


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "hang", ["await anyio.sleep_forever()", "time.sleep(600)", "await anyio.to_thread.run_sync(time.sleep, 600)"]
)
def test_a_memory_that_does_not_close_does_not_keep_the_server(
    environment: dict[str, str], number: signal.Signals, hang: str
) -> None:
    program = f"""
import sys, time, anyio
from holdfast.engine.runtime import Memory
from holdfast.__main__ import main
async def stop(self):
    {hang}
Memory.stop = stop
sys.exit(main([]))
"""
    command = (sys.executable, "-c", program)
    with stdio(environment, command=command, begin=forked.begin_program) as server:
        server.begin()
        server.tool("recall", query="winch")  # early answers are given before anybody listens for signals
        server.process.send_signal(number)
        assert server.ended() == (0, [])


# --- HTTP -----------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("number", SIGNALS)
async def test_over_http_both_eras_share_one_memory_and_a_signal_keeps_it(
    anyio_backend: str, environment: dict[str, str], number: signal.Signals
) -> None:
    with http(environment) as (server, port):
        for era in ERAS:
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
                assert {tool.name for tool in await client.list_tools()} >= TOOLS
                await client.call_tool("remember", {"content": f"Crane of the {era} era."})
                found = await client.call_tool("recall", {"query": "crane"})
                assert len(found.structured_content["results"]) == ERAS.index(era) + 1
        server.send_signal(number)
        assert server.wait(PATIENCE) == 0
    assert all(f"Crane of the {era} era." in notes_in(environment) for era in ERAS)


def post(port: int, body: str | None = None, **headers: str) -> httpx.Response:
    """An `initialize`, or another body, straight to the server."""
    message = body or json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE})
    fixed = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        return client.post(f"http://127.0.0.1:{port}/mcp", content=message, headers=fixed | headers)


def test_over_http_only_this_machine_and_its_own_pages_are_served(environment: dict[str, str]) -> None:
    with http(environment) as (_, port):
        assert post(port).status_code == 200
        for host in (f"localhost:{port}", "localhost", "127.0.0.1", f"[::1]:{port}"):
            assert post(port, Host=host).status_code == 200, host
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "169.254.169.254"):
            assert post(port, Host=host).status_code == 421, host
        assert post(port, Origin=f"http://127.0.0.1:{port}").status_code == 200
        for origin in ("https://evil.example", "null", f"http://127.0.0.1.evil.example:{port}"):
            assert post(port, Origin=origin).status_code == 403, origin


def test_over_http_further_hosts_and_origins_can_be_allowed(environment: dict[str, str]) -> None:
    allowed = {"HOLDFAST_ALLOWED_HOSTS": "memory.example", "HOLDFAST_ALLOWED_ORIGINS": '["https://app.example"]'}
    with http(environment | allowed) as (_, port):
        assert post(port, Host="memory.example").status_code == 200
        assert post(port, Host="memory.example", Origin="https://app.example").status_code == 200
        assert post(port, Host="evil.example").status_code == 421
        assert post(port, Origin="https://evil.example").status_code == 403


def test_over_http_what_is_no_request_of_ours_is_refused_and_the_server_stays(environment: dict[str, str]) -> None:
    with http(environment) as (_, port):
        assert post(port, "not json").status_code == 400
        assert post(port, '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}').status_code == 400
        assert post(port, "x" * (4 * 1024 * 1024 + 1)).status_code == 413
        with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
            assert client.get(f"http://127.0.0.1:{port}/admin/mcp").status_code == 404
            assert client.get(f"http://127.0.0.1:{port}/../../etc/passwd").status_code == 404
        assert post(port).status_code == 200


# --- the command line -----------------------------------------------------------------------------


def run(
    environment: dict[str, str], *arguments: str, command: Sequence[str] = HOLDFAST
) -> subprocess.CompletedProcess[str]:
    with forked.begin(
        [*command, *arguments], env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as process:
        said, complained = process.communicate("", PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, said, complained)


def assert_refused(ended: subprocess.CompletedProcess[str]) -> str:
    """Exit code 2, one line on stderr, nothing on stdout."""
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.startswith("holdfast: ")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


@starting
def test_the_version_is_told(environment: dict[str, str]) -> None:
    ended = run(environment, "--version")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"holdfast {__version__}\n", "")


@starting
def test_on_a_terminal_it_shows_help_instead_of_waiting(environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(HOLDFAST, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(PATIENCE) == 0
    finally:
        os.close(ours)
    assert b"usage: holdfast" in shown
    assert b"--http" in shown
    assert not Path(environment["HOLDFAST_HOME"]).exists()


@pytest.mark.files("beside a database a start says first what is not there")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "memory.example"])  # noqa: S104 - to be refused
def test_another_address_than_this_machines_own_is_refused(environment: dict[str, str], host: str) -> None:
    assert "127.0.0.1" in assert_refused(run(environment, "--http", "--host", host))


@pytest.mark.files("beside a database a start says first what is not there")
def test_a_port_that_is_taken_is_told(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert str(port) in assert_refused(run(environment, "--http", "--port", str(port)))


@pytest.mark.files("beside a database a start says first what is not there")
@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_there_is_not_is_told(environment: dict[str, str], port: str) -> None:
    assert "--port" in assert_refused(run(environment, "--http", f"--port={port}"))


@pytest.mark.parametrize("arguments", [("--port", "zanzibar"), ("zanzibar",), ("--zanzibar",)])
def test_an_argument_that_there_is_not_is_told_with_the_usage(
    environment: dict[str, str], arguments: tuple[str, ...]
) -> None:
    ended = run(environment, *arguments)
    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: holdfast")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOLDFAST_ENCODER", "zanzibar"),
        ("HOLDFAST_SECRETS", "zanzibar"),
        ("HOLDFAST_LOG_LEVEL", "zanzibar"),
        ("HOLDFAST_SPACE", "con"),
        ("HOLDFAST_SPACE", "///"),
        ("HOLDFAST_BUILTIN_MODEL", "zanzibar.onnx"),
        ("HOLDFAST_BUILTIN_MODEL_SHA256", "zanzibar"),
        ("HOLDFAST_ALLOWED_HOSTS", '["zanzibar'),
        ("HOLDFAST_NOW", "zanzibar"),
        ("HOLDFAST_HOME", "~zanzibar/memory"),
        ("HOLDFAST_HOME", "zanzibar" * 60),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_not_repeated(
    environment: dict[str, str], variable: str, value: str
) -> None:
    told = assert_refused(run(environment | {variable: value}))
    assert variable in told
    assert "zanzibar" not in told


@pytest.mark.parametrize(
    "text",
    [
        b"encoder: [",
        b"- a\n- b\n",
        b"\xff\xfe\x00",
        b"when: 2026-13-45\n",
        b"space: 2026-11-20\nencoder: zanzibar\n",
        b"log_level: [debug]\n",
        b"a: &a [*a]\nencoder: *a\n",
        b"[" * 5000,
        b"encoder: \x00",
    ],
)
def test_a_configuration_that_cannot_be_used_is_told(environment: dict[str, str], text: bytes) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    home.mkdir()
    (home / "config.yaml").write_bytes(text)
    environment.pop("HOLDFAST_ENCODER")
    assert_refused(run(environment))


def test_a_date_in_the_configuration_is_a_name_like_any_other(environment: dict[str, str]) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text("space: 2026-11-20\n")
    environment.pop("HOLDFAST_SPACE")
    with stdio(environment) as server:
        server.begin()
        assert server.tool("remember", content="A buoy.")["structuredContent"]["space"] == "2026-11-20"


@pytest.mark.files("it is about the folder")
def test_a_memory_folder_that_is_a_file_is_told_by_the_tools(environment: dict[str, str]) -> None:
    Path(environment["HOLDFAST_HOME"]).write_text("not a folder")
    with stdio(environment) as server:
        server.begin()
        answer = server.tool("remember", content="A buoy.")
        assert answer["isError"]
        assert "StorageError" in answer["content"][0]["text"]
        assert server.end()[0] == 0


def test_no_secret_reaches_the_log_however_much_is_logged(environment: dict[str, str]) -> None:
    secret = made_up_secret()
    with stdio(environment | {"HOLDFAST_LOG_LEVEL": "debug"}) as server:
        server.begin()
        note = server.tool("remember", content=f"Token {secret}", title=secret, tags=[secret], session=secret)
        server.tool("mark_outdated", node_id=note["structuredContent"]["id"], reason=secret)
        server.tool("recall", query=secret, tags=[secret])
        for wrong in ({"content": secret, "type": secret}, {"content": secret, secret: 1}, {"event_time": secret}):
            assert secret not in json.dumps(server.tool("remember", **wrong))
        server.end()
        assert secret[4:] not in server.stderr
    files = (path for path in Path(environment["HOLDFAST_HOME"]).rglob("*") if path.is_file())
    assert [path for path in files if secret[4:].encode() in path.read_bytes()] == []


@starting
def test_two_servers_share_one_folder_at_the_same_time(environment: dict[str, str]) -> None:
    with stdio(environment) as one, stdio(environment, ERAS[1]) as two:
        starts = [threading.Thread(target=server.begin) for server in (one, two)]
        for start in starts:
            start.start()
        for start in starts:
            start.join()
        stored = one.tool("remember", content="The crane lifts forty tonnes.")["structuredContent"]
        found = two.tool("recall", query="crane")["structuredContent"]["results"]
        assert [hit["id"] for hit in found] == [stored["id"]]
