"""The answers that are given before the framework is there are those that it gives, byte for byte.

    python tests/house/test_early_answers.py

writes `server/holdfast/early.json` anew, from what the framework says.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests" / "support")]

import pytest  # noqa: E402 - the paths come first

from forked import begin_program  # noqa: E402
from holdfast.early import DEFINING, LISTS, MODERN, STORED, key_of, made_for, stored_answers  # noqa: E402
from holdfast.model.access import APPS  # noqa: E402
from holdfast.settings import load_settings  # noqa: E402
from processes import MODERN as ENVELOPE  # noqa: E402
from processes import environment_in, stdio  # noqa: E402

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENTS = {True: "test", False: "claude-code"}  # by whether they get structured content
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LATE = """
import sys
import holdfast.early
holdfast.early.stored_answers = lambda *_, **__: None
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
PACKAGE = ROOT / "server" / "holdfast"
UNSEEN = {
    "holdfast.encode.provider",
    "holdfast.engine.admin",
    "holdfast.engine.ports",
    "holdfast.engine.tenants",
    "holdfast.errors",
    "holdfast.settings",
}
Line = dict[str, Any]
Asking = tuple[bool, bool]  # whether a client gets structured content, and whether it shows Apps
Answered = Iterator[tuple[str, str]]
SHOWING = {"extensions": {APPS: {"mimeTypes": ["text/html;profile=mcp-app"]}}}  # as clients declare that show Apps


def asked(version: str, client: str, capabilities: Line, first: int = 0) -> list[Line]:
    """What a client of this version asks first, all that can be answered early."""
    information = {"name": client, "version": "1"}
    if version == MODERN:
        own = {"io.modelcontextprotocol/clientInfo": information, CAPABILITIES: capabilities}
        meta = ENVELOPE["_meta"] | own
        return [request(number, name, _meta=meta) for number, name in enumerate(("server/discover", *LISTS), first)]
    handshake = request(0, "initialize", protocolVersion=version, capabilities=capabilities, clientInfo=information)
    return [handshake, *(request(number, name) for number, name in enumerate(LISTS, 1))]


def request(number: int, method: str, **parameters: Any) -> Line:
    return {"jsonrpc": "2.0", "id": number, "method": method} | ({"params": parameters} if parameters else {})


def framework_says(home: Path, version: str, clients: Sequence[Asking], *, admin: bool, presence: bool) -> Answered:
    """Each answer's key and its result as it stands on the wire, of one process: in the older era it has one client."""
    command = (sys.executable, "-c", LATE, *(["--admin"] if admin else []))
    environment = environment_in(home) | ({"HOLDFAST_PRESENCE": "on"} if presence else {})
    with stdio(environment, command=command, begin=begin_program) as server:
        for turn, (structured, apps) in enumerate(clients):
            for message in asked(version, CLIENTS[structured], SHOWING if apps else {}, 10 * turn):
                server.write(json.dumps(message))
                assert server.process.stdout is not None
                line = server.process.stdout.readline().decode()
                before = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":'
                assert line.startswith(before), line[:200]
                served = {"structured": structured, "admin": admin, "presence": presence, "apps": apps}
                yield key_of(version, message["method"], **served), line.removeprefix(before).removesuffix("}\n")


def everything(home: Path) -> dict[str, str]:
    """All answers by key. One key is asked for in several ways, which must give the same."""
    found: dict[str, str] = {}
    either = (True, False)
    kinds: list[Asking] = list(product(either, either))
    runs: list[tuple[str, list[Asking]]] = [(MODERN, kinds), *((LEGACY[-1], [kind]) for kind in kinds)]
    runs += [(version, [(structured, False)]) for version in LEGACY[:-1] for structured in either]
    for (version, clients), admin, presence in product(runs, either, either):
        for key, text in framework_says(home, version, clients, admin=admin, presence=presence):
            assert found.setdefault(key, text) == text, key
    return found


def written(found: dict[str, str]) -> str:
    """Lists for clients that show Apps are those of others and something more, which is all that is stored of them."""
    longer = {
        key: parted(found[key.removesuffix(" apps")], text) for key, text in found.items() if key.endswith(" apps")
    }
    whole = {key: text for key, text in found.items() if key not in longer}
    texts = sorted({*whole.values(), *(more for _, more in longer.values())})
    stored = {
        "made_for": made_for(),
        "answers": {key: texts.index(text) for key, text in sorted(whole.items())},
        "longer": {
            key: [key.removesuffix(" apps"), place, texts.index(more)] for key, (place, more) in sorted(longer.items())
        },
        "texts": texts,
    }
    return json.dumps(stored, indent=1, ensure_ascii=False) + "\n"


def parted(text: str, longer: str) -> tuple[int, str]:
    """Where something was put into a text, and what."""
    place = next((at for at, (one, other) in enumerate(zip(text, longer, strict=False)) if one != other), len(text))
    more = longer[place : place + len(longer) - len(text)]
    assert text[:place] + more + text[place:] == longer
    return place, more


@pytest.mark.timeout(600)
def test_the_stored_answers_are_those_of_the_framework_and_made_for_what_is_here(tmp_path: Path) -> None:
    again = "If this is meant: python tests/house/test_early_answers.py"
    assert json.loads(STORED.read_text("utf-8"))["made_for"] == made_for(), again
    stored = stored_answers(load_settings({"HOLDFAST_HOME": str(tmp_path)}), admin=False, environ={})
    assert stored is not None
    assert stored.texts == everything(tmp_path), again


def values_in(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions whose values a client reads: of registered functions, of fields, and a module's constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (line.annotation for line in node.body if isinstance(line, ast.AnnAssign))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(registers, node.decorator_list)):
            yield from node.decorator_list
            yield from (each.annotation for each in (*node.args.args, *node.args.kwonlyargs) if each.annotation)
            yield from (each for each in (*node.args.defaults, *node.args.kw_defaults) if each)
    yield from (line.value for line in tree.body if isinstance(line, ast.Assign | ast.AnnAssign) and line.value)


def registers(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in {"tool", "_inside", "resource", "prompt"}


def test_all_modules_whose_values_stand_in_definitions_are_hashed() -> None:
    found = {"__init__.py", "app.py"}
    for path in (PACKAGE / "app.py", *sorted((PACKAGE / "tools").rglob("*.py"))):
        tree = ast.parse(path.read_text("utf-8"))
        origin = {
            name.asname or name.name: line.module
            for line in ast.walk(tree)
            if isinstance(line, ast.ImportFrom) and line.module and line.module.startswith("holdfast.")
            for name in line.names
        }
        names = {node.id for value in values_in(tree) for node in ast.walk(value) if isinstance(node, ast.Name)}
        modules = {origin[name] for name in names & origin.keys()} - UNSEEN
        found |= {
            f"{module.removeprefix('holdfast.').replace('.', '/')}.py"
            for module in modules
            if not module.startswith("holdfast.tools")
        }
    assert set(DEFINING) == found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        STORED.write_text(written(everything(Path(folder))), "utf-8")
