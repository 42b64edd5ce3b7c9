"""Three servers of one database behind a real nginx, with the lines of docs/fleet.md, killed in the middle of work.

What was acknowledged is found once through any of them, in both eras. What takes two requests, and what a client waits
for, comes to whichever server nginx chooses.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

import postgres
from conftest import Effort
from doors import KEEPER, TLS, Web, with_tokens
from processes import PATIENCE
from replicas import MISSING, NGINX, SERVED_BY, Replica, proxied, recipe, replicas
from served import ERAS
from tables import assert_whole, texts_in

pytestmark = [
    pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING),
    pytest.mark.skipif(NGINX is None, reason=MISSING),
]
NAME = "memory.example"
WRITER = "writer"
AGAIN = {429, 502, 503, 504}  # what a proxy, or a server that is busy, says of a request that may be repeated
UPDATED = "notifications/resources/updated"


class Site:
    """Servers behind nginx as clients meet them, and what these were told."""

    def __init__(self, port: int, behind: list[Replica], tenant: str) -> None:
        self.port, self.behind, self.tenant = port, behind, tenant
        self.acknowledged: set[str] = set()
        self.repeated = 0

    @contextmanager
    def door(self, era: str, token: str = WRITER, path: str = "/mcp", port: int | None = None) -> Iterator[Web]:
        """A way in through nginx, or past it to the server on a port."""
        with httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE, headers={"Host": NAME}) as client:
            yield Web(f"http://127.0.0.1:{port or self.port}{path}", era, token, client)

    def await_all(self) -> None:
        """Wait until nginx sends requests to every server."""
        deadline = time.monotonic() + PATIENCE
        with self.door(ERAS[1]) as door:
            while len({self._served_by(door) for _ in self.behind}) < len(self.behind):
                assert time.monotonic() < deadline, "nginx leaves a server out"
                time.sleep(0.05)

    @staticmethod
    def _served_by(door: Web) -> str:
        door.ask("tools/list")
        return str(door.headers[SERVED_BY])

    def insist(self, era: str, tool: str, port: int | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a client does that repeats what was not answered; what it is told in the end."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with self.door(era, port=port) as door:
                    answer = door.ask("tools/call", name=tool, arguments=arguments)
            except (httpx.HTTPError, ValueError):  # cut off, or the proxy's own page in place of an answer
                answer = {"status": 502}
            if "result" in answer and answer["result"].get("isError"):
                assert "cannot be reached" in answer["result"]["content"][0]["text"], answer
                answer = {"status": 503}
            if "result" in answer:
                told = dict(answer["result"]["structuredContent"])
                if "cannot be reached" not in " ".join(
                    told.get("notices", ())
                ):  # for seconds, on a machine with much to do
                    return told
                answer = {"status": 503}
            assert answer.get("status") in AGAIN, answer
            assert time.monotonic() < until, answer
            self.repeated += 1
            time.sleep(0.05)

    def found(self, era: str, word: str, port: int | None = None) -> list[str]:
        """What is found by whichever server nginx chooses, or by the one on a port."""
        return [hit["content"] for hit in self.insist(era, "recall", port, query=word)["results"]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Three servers without sessions; those that a test killed run again when the next begins."""
    folder = tmp_path_factory.mktemp("replicas")
    with (
        replicas(folder, 3, settings_of(folder, "true")) as behind,
        proxied(folder / "nginx", behind, recipe()) as port,
    ):
        yield Site(port, behind, str(folder))


def settings_of(folder: Path, stateless: str) -> dict[str, str]:
    given = {"HOLDFAST_STORE": postgres.shared().url, "HOLDFAST_TENANT": str(folder), "HOLDFAST_STATELESS": stateless}
    named = {
        "HOLDFAST_PUBLIC_URL": f"https://{NAME}",
        "HOLDFAST_TRUSTED_PROXIES": "127.0.0.1",
        "HOLDFAST_ADMIN": "true",
    }
    return with_tokens(given | named)


@dataclass
class Work:
    """What clients do while servers are killed; `busy` while they do it without a pause."""

    site: Site
    over: threading.Event = field(default_factory=threading.Event)
    busy: threading.Event = field(default_factory=threading.Event)

    def write(self, name: str) -> None:
        """Store notes one after the other; each that is acknowledged is there for whichever server is asked next."""
        number = 0
        while not self.over.is_set():
            number += 1
            era, word = ERAS[number % 2], f"{name}x{number}"
            text = f"The quay {word} was swept."
            self.site.insist(era, "remember", content=text)
            self.site.acknowledged.add(text)
            if number % 3 == 0:
                assert self.site.found(era, word).count(text) == 1
            self.busy.wait(0.4)

    def kill(self, kills: int) -> None:
        """Kill one server after the other with SIGKILL, each in the middle of requests, and start it again."""
        try:
            for number in range(kills):
                replica = self.site.behind[number % len(self.site.behind)]
                self.busy.set()
                self.grow(10)
                replica.kill()
                self.grow(10)
                self.busy.clear()
                replica.start()
        finally:
            self.over.set()

    def fail_over(self, primary: postgres.Postgres, standby: postgres.Postgres) -> None:
        """Kill the database together with one of the servers, in the middle of requests; its standby takes over."""
        replica = self.site.behind[0]
        try:
            self.busy.set()
            self.grow(10)
            primary.kill()
            replica.kill()
            standby.promote()
            self.grow(20)
            self.busy.clear()
            replica.start()
            self.grow(10)
        finally:
            self.over.set()

    def grow(self, by: int) -> None:
        """Wait until so many more notes were acknowledged."""
        wanted, deadline = len(self.site.acknowledged) + by, time.monotonic() + PATIENCE
        while len(self.site.acknowledged) < wanted and not self.over.is_set():
            assert time.monotonic() < deadline, "the servers that are left do not go on"
            time.sleep(0.005)


def test_what_three_servers_behind_nginx_acknowledge_is_found_once_though_they_are_killed(
    site: Site, effort: Effort, tally: Counter[str]
) -> None:
    clients, kills, work = effort.of(6, 64), effort.of(2, 40), Work(site)
    before = texts_in(postgres.shared().owner, site.tenant)  # of tests that another worker's order puts first
    with ThreadPoolExecutor(clients) as pool:
        writers = [pool.submit(work.write, f"c{number}") for number in range(clients)]
        work.kill(kills)
        for writer in writers:
            writer.result()
        there = texts_in(postgres.shared().owner, site.tenant)
        assert there == before + Counter(dict.fromkeys(site.acknowledged, 1))
        assert_whole(postgres.shared().owner, site.tenant)
        asked = sorted(site.acknowledged)[:: effort.of(5, 1)]
        found = pool.map(lambda text: site.found(ERAS[1], text.split()[2]).count(text), asked)
        assert set(found) == {1}
    tally["kill -9 of servers behind nginx"] += kills
    tally["notes acknowledged through nginx by servers that are killed"] += len(site.acknowledged)
    tally["calls repeated because a server behind nginx died"] += site.repeated


def test_a_primary_that_dies_with_one_of_three_servers_loses_nothing_that_they_acknowledged(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    for number in range(effort.of(1, 5)):
        _fails_over(tmp_path / str(number), effort.of(6, 64), tally)


def _fails_over(folder: Path, clients: int, tally: Counter[str]) -> None:
    with ExitStack() as stack:
        primary = stack.enter_context(postgres.postgres())
        standby = stack.enter_context(postgres.standby_of(primary))
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://{postgres.ROLE}@{hosts}/postgres?target_session_attrs=read-write"
        given = settings_of(folder, "true") | {"HOLDFAST_STORE": url}
        behind = stack.enter_context(replicas(folder, 3, given))
        site = Site(stack.enter_context(proxied(folder / "nginx", behind, recipe())), behind, str(folder))
        pool, work = stack.enter_context(ThreadPoolExecutor(clients)), Work(site)
        writers = [pool.submit(work.write, f"c{number}") for number in range(clients)]
        work.fail_over(primary, standby)
        for writer in writers:
            writer.result()
        assert texts_in(standby.owner, site.tenant) == Counter(dict.fromkeys(site.acknowledged, 1))
        assert_whole(standby.owner, site.tenant)
        last = max(site.acknowledged)
        for replica in behind:
            assert site.found(ERAS[1], last.split()[2], replica.port).count(last) == 1
    tally["failovers under servers behind nginx"] += 1
    tally["notes acknowledged around failovers"] += len(site.acknowledged)


def test_an_administrators_second_call_is_taken_by_any_server_once(site: Site) -> None:
    site.await_all()
    for era in ERAS:
        note = site.insist(era, "remember", content=f"The {era} bollard is loose.")["id"]
        with site.door(era, KEEPER, "/admin/mcp") as door:

            def delete(door: Web = door, **given: str) -> tuple[dict[str, Any], str]:
                answer = door.ask("tools/call", name="admin_delete_memory", arguments=given)["result"]
                return answer, door.headers[SERVED_BY]

            dry, first = delete(node_id=note)
            confirm = dry["structuredContent"]["confirm"]
            done, second = delete(node_id=note, confirm=confirm)
            assert not done.get("isError"), done
            assert first != second
            used, _ = delete(node_id=note, confirm=confirm)
            assert used["isError"]


def test_a_listener_is_told_of_what_any_server_changes(site: Site) -> None:
    site.await_all()
    with site.door(ERAS[1]) as door:
        for number in range(2):
            note = site.insist(ERAS[1], "remember", content=f"Lamp {number} is lit.")["id"]
            uri = f"memory://note/{note}"
            with told(door, uri) as changes:
                listened = next(changes)
                another = next(each.port for each in site.behind if not listened.endswith(f":{each.port}"))
                with site.door(ERAS[1], port=another) as other:
                    other.ask("tools/call", name="mark_outdated", arguments={"node_id": note})
                assert next(changes) == uri


def test_a_listener_whose_server_dies_sees_its_stream_end(site: Site) -> None:
    site.await_all()
    with site.door(ERAS[1]) as door:
        with told(door, "memory://self") as changes:
            listened = next(changes)
            replica = next(each for each in site.behind if listened.endswith(f":{each.port}"))
            replica.kill()
            with pytest.raises((StopIteration, httpx.HTTPError)):
                next(changes)
        with told(door, "memory://self") as changes:
            assert next(changes) != listened
    replica.start()


def test_a_limit_over_all_servers_is_the_proxys(tmp_path: Path, site: Site) -> None:
    lines = recipe().replace("rate=50r/s", "rate=1r/m").replace("burst=200", "burst=3")
    with proxied(tmp_path / "nginx", site.behind, lines) as port:
        strict = Site(port, site.behind, site.tenant)
        answers = []
        with strict.door(ERAS[1]) as door:
            for _ in range(9):
                door.ask("tools/list")
                answers.append((door.status, door.headers[SERVED_BY] if door.status == 200 else ""))
        assert {status for status, _ in answers} == {200, 429}
        assert len({name for status, name in answers if status == 200}) > 1
        with strict.door(ERAS[1], "reader") as another:
            another.ask("tools/list")
            assert another.status == 200  # each token has a limit of its own


@contextmanager
def told(door: Web, uri: str) -> Iterator[Iterator[str]]:
    """A listener of the newer era: first the server that it listens to, then each resource that has changed."""
    method = "subscriptions/listen"
    parameters, headers = door._framed(method, {"notifications": {"resourceSubscriptions": [uri]}})
    message = door._message(method, parameters)
    with door._client.stream("POST", door._url, json=message, headers=headers) as answer:
        yield _changes(answer)


def _changes(answer: httpx.Response) -> Iterator[str]:
    messages = (json.loads(line[5:]) for line in answer.iter_lines() if line.startswith("data:") and line[5:].strip())
    acknowledged = next(messages)
    assert acknowledged["params"]["notifications"]["resourceSubscriptions"]
    yield str(answer.headers[SERVED_BY])
    for message in messages:
        if message.get("method") == UPDATED:
            yield str(message["params"]["uri"])


@contextmanager
def with_sessions(folder: Path) -> Iterator[tuple[list[Replica], Callable[[str], Any]]]:
    """Two servers that keep sessions, and an nginx with other lines for each who asks."""
    with replicas(folder / "servers", 2, settings_of(folder, "false")) as behind:
        yield behind, lambda lines: proxied(folder / f"nginx-{time.monotonic_ns()}", behind, lines)


def test_sessions_of_the_older_era_need_a_proxy_that_keeps_a_client_on_one_server(tmp_path: Path) -> None:
    with with_sessions(tmp_path) as (behind, nginx):
        with nginx(recipe()) as port:
            lost = statuses(Site(port, behind, ""), 4)
            assert lost[404] > 0, "without the line a session is found by each server"
        settled = recipe(sticky=True).replace("$remote_addr$http_authorization", "$http_mcp_session_id")
        with nginx(settled) as port:
            site = Site(port, behind, "")
            assert sum(statuses(site, 1)[404] for _ in range(24)) > 0, "a hash of the session's id would do"
        with nginx(recipe(sticky=True)) as port:
            site = Site(port, behind, "")
            assert statuses(site, 4) == {200: 4}
            _a_session_hears_and_begins_anew_when_its_server_dies(site)


def statuses(site: Site, calls: int) -> Counter[int]:
    """How the calls of one session of the older era were answered."""
    found: Counter[int] = Counter()
    with site.door(ERAS[0]) as door:
        assert door.has_session
        for _ in range(calls):
            door.ask("tools/list")
            found[door.status] += 1
    return found


def _a_session_hears_and_begins_anew_when_its_server_dies(site: Site) -> None:
    with site.door(ERAS[0]) as door:
        note = door.ask("tools/call", name="remember", arguments={"content": "The ferry is late."})["result"]
        uri = f"memory://note/{note['structuredContent']['id']}"
        assert door.ask("resources/subscribe", uri=uri)["result"] == {}
        keeper = door.headers[SERVED_BY]
        with door._client.stream("GET", door._url) as stream, site.door(ERAS[1]) as other:
            assert stream.headers[SERVED_BY] == keeper
            other.ask("tools/call", name="mark_outdated", arguments={"node_id": uri.rpartition("/")[2]})
            assert any(uri in line for line in stream.iter_lines() if UPDATED in line)
        next(each for each in site.behind if keeper.endswith(f":{each.port}")).kill()
        door.ask("tools/list")
        assert door.status == 404
    assert statuses(site, 2) == {200: 2}  # a new session, on the server that is left


def test_without_sessions_the_older_era_works_and_is_told_what_it_lacks(site: Site) -> None:
    with site.door(ERAS[0]) as door:
        assert not door.has_session
        stored = door.ask("tools/call", name="remember", arguments={"content": "The tug is at berth two."})["result"]
        refused = door.ask("resources/subscribe", uri=f"memory://note/{stored['structuredContent']['id']}")
        assert "keeps no session" in refused["error"]["message"]
