"""The first answers over stdio, given while the framework is still being imported.

Clients give up, or begin without tools, when a server takes long to start. What they ask first has answers that never
change: who the server is, and its lists of tools, resources and prompts. `early.json` holds these as the framework
writes them; a test keeps them equal to the byte. A thread reads what comes in and answers from there. The first prompt
of a session often comes while its server is being started, and its hook waits: `whisper` is answered from the index
alone (`holdfast.from_index`) as soon as that is imported, and where the index does not tell it, or not in time, by the
framework.

Everything else that was read is handed to the framework afterwards, as if it came in then, so that it knows the session
exactly as it would have; what it answers to requests that were answered already is held back (see `holdfast.stdio`).
Whatever is not exactly what is expected is left to the framework, and so is everything when in doubt: other versions
of the packages or of our own definitions than `early.json` was made for, or settings that change the framework.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast.model.access import APPS, form_for
from holdfast.settings import Settings

STORED: Final = Path(__file__).with_name("early.json")
PACKAGES: Final = ("fastmcp", "fastmcp_slim", "mcp", "mcp_types", "pydantic", "pydantic_core")
MODERN: Final = "2026-07-28"
LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_WITH_PRESENCE: Final = (LISTS[0], LISTS[3])  # which have more where it is on
WHISPER: Final = "whisper"
SERVED_BY: Final = "io.modelcontextprotocol/serverInfo"
_WITH_APPS: Final = (LISTS[0], LISTS[1])  # which have more for clients that show Apps
DEFINING: Final = (
    "__init__.py", "app.py",
    "engine/admin/gate.py", "engine/agent/browse.py", "engine/agent/feedback.py", "engine/agent/remember.py",
    "engine/maintenance/batches.py", "engine/maintenance/verdicts.py", "engine/omi/integrity.py",
    "engine/presence/distilling.py", "engine/view/inspect.py", "engine/view/review.py",
    "model/maintenance.py", "model/moving.py", "model/note.py",
)  # whose values stand in definitions, besides all of tools/  # fmt: skip
HOOK_SECONDS: Final = 6.0  # for the index to tell what a hook asks: clients wait ten
LAST_SECONDS: Final = 1.0  # of these once the framework is there: until then nothing else is answered
_LOOK_SECONDS: Final = 0.05
MOST_HEARD: Final = 1 << 20  # bytes: what a client says beyond that waits in the pipe

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_INFORMATION: Final = "io.modelcontextprotocol/clientInfo"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_ENVELOPE: Final = frozenset({_VERSION, _INFORMATION, _CAPABILITIES, "io.modelcontextprotocol/logLevel"})
_HANDSHAKE: Final = frozenset({"protocolVersion", "capabilities", "clientInfo"})
_REQUEST: Final = frozenset({"jsonrpc", "id", "method"})
_HOOKED: Final = frozenset({"prompt", "session_id", "cwd", "event", "client"})  # arguments of the tool for hooks
_FOREIGN: Final = "FASTMCP_"  # variables that change what the framework says
_MOST_ID: Final = 2**53
_LONGEST_ID: Final = 100

Id = int | str
Given = dict[str, str]
Claim = Callable[[], bool]  # whether an answer is still waited for; once it is claimed it is


class Client(NamedTuple):
    """Who asks: its name, and whether it says that it shows Apps."""

    name: str
    shows_apps: bool


@dataclass(frozen=True, slots=True)
class Answers:
    """The stored answers for one way of serving: by protocol version and method, the result as JSON."""

    texts: Mapping[str, str]
    settings: Settings
    admin: bool

    def find(self, version: str, method: str, client: Client) -> str | None:
        """The result, or None where none is stored."""
        view = self.settings.view
        key = key_of(
            version,
            method,
            structured=form_for(client.name, self.settings.answers).structured,
            admin=self.admin,
            presence=self.settings.presence,
            apps=view == "always" or (view == "auto" and client.shows_apps),
        )
        return self.texts.get(key)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came in before the framework was there: all of it, and the answers that were given, by the request's id."""

    data: bytes = b""
    answered: dict[Id, str] = field(default_factory=dict)


def key_of(
    version: str, method: str, *, structured: bool, admin: bool, presence: bool = False, apps: bool = False
) -> str:
    """Under what an answer is stored; only lists differ by who is asked and how they are served."""
    if method not in LISTS:
        return f"{version} {method}"
    era = version if version == MODERN else "legacy"
    marks = {
        "admin": admin,
        "structured": structured and method == LISTS[0],
        "presence": presence and method in _WITH_PRESENCE,
        "apps": apps and method in _WITH_APPS,
    }
    return " ".join((era, method, *(mark for mark, holds in marks.items() if holds)))


def made_for() -> dict[str, str]:
    """What stored answers depend on: the packages that make them, and our own definitions."""
    return {name: _version(name) for name in PACKAGES} | {"definitions": _definitions(Path(__file__).parent)}


def stored_answers(settings: Settings, *, admin: bool, environ: Mapping[str, str]) -> Answers | None:
    """The answers to give early; None where there are none that are sure to be those of the framework."""
    foreign = any(name.startswith(_FOREIGN) for name in environ)
    if settings.tenancy != "single" or foreign:
        return None
    try:
        stored = json.loads(STORED.read_bytes())
        if stored["made_for"] != made_for():
            return None
        return Answers(_unfolded(stored), settings, admin)
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _unfolded(stored: Mapping[str, Any]) -> dict[str, str]:
    """Answers by key. Those that only have something more than another are stored as what it is and where it stands."""
    texts = stored["texts"]
    answers = {key: texts[number] for key, number in stored["answers"].items()}
    for key, (other, place, number) in stored["longer"].items():
        answers[key] = answers[other][:place] + texts[number] + answers[other][place:]
    return answers


def _version(package: str) -> str:
    """The version that is installed where the package would be imported from; empty where that is not known."""
    module = "fastmcp" if package == "fastmcp_slim" else package
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    beside = os.listdir(Path(spec.origin).parents[1])  # noqa: PTH208 - names alone, as fast as can be
    found = [name for name in beside if name.startswith(f"{package}-") and name.endswith(".dist-info")]
    return found[0].removeprefix(f"{package}-").removesuffix(".dist-info") if len(found) == 1 else ""


def _definitions(package: Path) -> str:
    """A hash of the modules that say what tools, resources and prompts there are."""
    hashed = sha256()
    for path in (*(package / name for name in DEFINING), *sorted((package / "tools").rglob("*.py"))):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()


def listening(settings: Settings, *, admin: bool, environ: Mapping[str, str]) -> Opening | None:
    """Begin to answer what comes in; None where nothing can be answered early."""
    if sys.platform == "win32" or not _is_pipe(0) or not _is_pipe(1):
        return None
    answers = stored_answers(settings, admin=admin, environ=environ)
    if answers is None:
        return None
    opening = Opening(answers, 0, 1)
    opening.start()
    return opening


def _is_pipe(number: int) -> bool:
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _Question:
    """A hook's question that is answered in a thread of its own, so that nothing waits longer for it than it should."""

    def __init__(self, answer: Callable[[Given, Claim], str | None], given: Given) -> None:
        self._answer, self._given = answer, given
        self._lock = threading.Lock()
        self._claimed = self._given_up = False
        self._text: str | None = None
        self._done = threading.Event()

    def answered(self, until: Callable[[], float]) -> str | None:
        """The answer; None where there is none by a time that may come nearer meanwhile."""
        threading.Thread(target=self._work, daemon=True).start()
        while not self._done.wait(_LOOK_SECONDS):
            if time.monotonic() > until() and self._give_up():
                return None
        return self._text

    def _work(self) -> None:
        try:
            self._text = self._answer(self._given, self._claim)
        finally:
            self._done.set()

    def _claim(self) -> bool:
        with self._lock:
            self._claimed = not self._given_up
            return self._claimed

    def _give_up(self) -> bool:
        """Wait no longer, unless the answer is about to be counted as given: then it comes at once."""
        with self._lock:
            self._given_up = not self._claimed
            return self._given_up


class Opening:
    """A thread that reads lines and answers those it knows, until `finish`. It imports nothing: imports have locks.

    A hook's question waits until `hooks_by` says who answers it, or `finish` that nobody does.
    """

    def __init__(self, answers: Answers, source: int, sink: int) -> None:
        self._answers = answers
        self._source, self._sink = source, sink
        self._data = bytearray()
        self._answered: dict[Id, str] = {}
        self._seen: set[Id] = set()
        self._version, self._client = "", Client("", shows_apps=False)  # of the handshake, once there was one
        self._by: Callable[[Given, Claim], str | None] | None = None
        self._ends = float("inf")  # when no hook is waited for any more
        self._known = threading.Event()  # who answers hooks, if anybody
        self._handed = bytearray()  # what was read but for hooks that were answered: nobody is to answer them again
        self._wake, self._woken = os.pipe()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> Heard:
        """Stop reading; what came in and what was answered. From now on the input is the caller's."""
        self._ends = time.monotonic() + LAST_SECONDS
        self._known.set()
        os.close(self._woken)
        self._thread.join()
        os.close(self._wake)
        return Heard(bytes(self._handed), self._answered)

    def hooks_by(self, answer: Callable[[Given, Claim], str | None]) -> None:
        """From now on answer hooks by this; what it answers None to, or not in time, is left to the framework."""
        self._by = answer
        self._known.set()

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        behind = 0  # the last line that was looked at ends here
        try:
            while behind + len(self._data) < MOST_HEARD:
                ready = {number for number, _ in poll.poll()}
                if self._wake in ready:
                    return
                read = os.read(self._source, 65536)
                if not read:
                    return
                self._data += read
                while (end := self._data.find(b"\n") + 1) > 0:
                    behind += end
                    self._hand_on(bytes(self._data[:end]))
                    del self._data[:end]
        except (OSError, _DoubtError):
            return  # the framework meets the same, or knows better
        finally:
            self._handed += self._data

    def _hand_on(self, line: bytes) -> None:
        """Look at a line, and keep it for the framework unless it was a hook that was answered."""
        if self._take(line.rstrip(b"\r\n")):
            return
        self._handed += line

    def _take(self, line: bytes) -> bool:
        """Answer a line if that can be done; returns whether it was a hook's, and is over with its answer."""
        message = _message(line)
        if "method" not in message or "id" not in message:
            return False
        request = message["id"]
        if not _is_plain(request) or request in self._seen:
            raise _DoubtError
        self._seen.add(request)
        hook = self._hook(message)
        result = self._result(message) if hook is None else self._whispered(hook, message)
        if result is None:
            return False
        answer = f'{{"jsonrpc":"2.0","id":{json.dumps(request)},"result":{result}}}\n'
        if hook is None:
            self._answered[request] = answer
        write_whole(self._sink, answer.encode())
        return hook is not None

    def _hook(self, message: dict[str, Any]) -> Given | None:
        """What a hook asks; None where this is not a hook's question, or not in the form that it should have."""
        asked = message.get("params")
        if message["method"] != "tools/call" or message.keys() - {"params"} != _REQUEST or not isinstance(asked, dict):
            return None
        given, keys = asked.get("arguments"), asked.keys() - {"_meta"}
        if not self._answers.settings.presence or asked.get("name") != WHISPER or keys != {"name", "arguments"}:
            return None
        if not isinstance(given, dict) or given.keys() - _HOOKED or not _are_texts(given.values()):
            return None
        return given

    def _whispered(self, given: Given, message: dict[str, Any]) -> str | None:
        """The result of a hook's question; None where the framework is to answer."""
        meta = message["params"].get("_meta")
        modern = isinstance(meta, dict) and meta.get(_VERSION) == MODERN
        if not modern and not self._version:
            return None
        until = time.monotonic() + HOOK_SECONDS
        self._known.wait()
        text = None
        if self._by is not None:
            text = _Question(self._by, given).answered(lambda: min(until, self._ends))
        if text is None:
            return None
        result: dict[str, Any] = {"content": [{"text": text or "{}", "type": "text"}], "isError": False}
        if modern:
            served_by = json.loads(
                self._answers.texts[key_of(MODERN, "server/discover", structured=False, admin=False)]
            )
            result |= {"resultType": "complete", "_meta": {SERVED_BY: served_by["_meta"][SERVED_BY]}}
        return json.dumps(result, ensure_ascii=False, separators=(",", ":"))

    def _result(self, message: dict[str, Any]) -> str | None:
        """What to answer; None where the framework is to."""
        method, parameters = message["method"], message.get("params")
        if not isinstance(method, str) or message.keys() - {"params"} != _REQUEST or message["jsonrpc"] != "2.0":
            return None
        if method == "initialize":
            return self._handshake(parameters)
        client = _modern_client(parameters)
        if client is not None:
            return None if self._version else self._answers.find(MODERN, method, client)
        if not self._version or not _is_bare(parameters):
            return None
        return "{}" if method == "ping" else self._answers.find(self._version, method, self._client)

    def _handshake(self, parameters: object) -> str | None:
        if self._version or not isinstance(parameters, dict) or parameters.keys() != _HANDSHAKE:
            raise _DoubtError
        version, information = parameters["protocolVersion"], parameters["clientInfo"]
        if not isinstance(version, str) or not _is_known(parameters["capabilities"], information):
            raise _DoubtError
        client = _client(parameters["capabilities"], information)
        result = self._answers.find(version, "initialize", client)
        if result is None:
            raise _DoubtError
        self._version, self._client = version, client
        return result


class _DoubtError(Exception):
    """What came in is not what clients say first: from here on the framework answers."""


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _DoubtError from error
    if not isinstance(message, dict):
        raise _DoubtError
    return message


def _is_plain(request: object) -> bool:
    """Whether an id is written in one way only."""
    if isinstance(request, str):
        plain = request.isascii() and request.isprintable() and not {'"', "\\"} & set(request)
        return plain and len(request) <= _LONGEST_ID
    return isinstance(request, int) and not isinstance(request, bool) and abs(request) < _MOST_ID


def _modern_client(parameters: object) -> Client | None:
    """The client where a request of the newer era says nothing but who asks; else None."""
    meta = _meta_alone(parameters)
    if meta is None or meta.get(_VERSION) != MODERN or meta.keys() - _ENVELOPE:
        return None
    information, capabilities = meta.get(_INFORMATION), meta.get(_CAPABILITIES)
    if not isinstance(information, dict) or not _is_known(capabilities, information):
        return None
    return _client(capabilities, information)


def _client(capabilities: Any, information: Mapping[str, str]) -> Client:
    """A client that describes itself in a known form, see `_is_known`."""
    return Client(information["name"], APPS in capabilities.get("extensions", {}))


def _meta_alone(parameters: object) -> dict[str, Any] | None:
    """What stands in `_meta`, where nothing else is there."""
    if not isinstance(parameters, dict) or parameters.keys() != {"_meta"}:
        return None
    meta = parameters["_meta"]
    return meta if isinstance(meta, dict) else None


def _is_known(capabilities: object, information: object) -> bool:
    """Whether a client describes itself in the forms that the framework is sure to take."""
    if not isinstance(information, dict) or not {"name", "version"} <= information.keys():
        return False
    return isinstance(capabilities, dict) and _are_known(capabilities) and _are_texts(information.values())


def _are_known(capabilities: Mapping[str, object]) -> bool:
    """Whether capabilities are objects and switches alone; an extension of Apps may name media types besides."""
    extensions = capabilities.get("extensions", {})
    if not isinstance(extensions, dict) or not all(isinstance(each, dict) for each in extensions.values()):
        return False
    plain = extensions | {APPS: {name: _is_names(given) or given for name, given in extensions.get(APPS, {}).items()}}
    return _is_tree({**capabilities, "extensions": plain})


def _is_names(value: object) -> bool:
    return isinstance(value, list) and _are_texts(value)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_tree(value: object) -> bool:
    """Whether it is made of objects and switches alone, as capabilities are."""
    return isinstance(value, bool) or (isinstance(value, dict) and all(_is_tree(inner) for inner in value.values()))


def _is_bare(parameters: object) -> bool:
    """Whether a request of the older era asks for a list as such, from its beginning."""
    meta = _meta_alone(parameters)
    return parameters is None or parameters == {} or (meta is not None and not meta.keys() - {"progressToken"})


def write_whole(number: int, data: bytes) -> None:
    """Write all of it; one call may write less."""
    while data:
        data = data[os.write(number, data) :]
