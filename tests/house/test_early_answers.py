"""The answers that are given before the framework is there are those that it gives, byte for byte.

    python tests/house/test_early_answers.py

writes `server/holdfast/early.json` anew, from what the framework says.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests" / "support")]

import pytest  # noqa: E402 - the paths come first

from holdfast.early import LISTS, MODERN, STORED, key_of, made_for  # noqa: E402
from processes import MODERN as ENVELOPE  # noqa: E402
from processes import environment_in, stdio  # noqa: E402

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENTS = {True: "test", False: "claude-code"}  # by whether they get structured content
LATE = """
import sys
import holdfast.early
holdfast.early.stored_answers = lambda *_, **__: None
from holdfast.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
Line = dict[str, Any]


def asked(version: str, client: str) -> list[Line]:
    """What a client of this version asks first, all that can be answered early."""
    information = {"name": client, "version": "1"}
    if version == MODERN:
        meta = ENVELOPE["_meta"] | {"io.modelcontextprotocol/clientInfo": information}
        return [request(number, name, _meta=meta) for number, name in enumerate(("server/discover", *LISTS))]
    handshake = request(0, "initialize", protocolVersion=version, capabilities={}, clientInfo=information)
    return [handshake, *(request(number, name) for number, name in enumerate(LISTS, 1))]


def request(number: int, method: str, **parameters: Any) -> Line:
    return {"jsonrpc": "2.0", "id": number, "method": method} | ({"params": parameters} if parameters else {})


def framework_says(
    home: Path, version: str, *, structured: bool, admin: bool, presence: bool
) -> Iterator[tuple[str, str]]:
    """Each answer's key and its result as it stands on the wire."""
    command = (sys.executable, "-c", LATE, *(["--admin"] if admin else []))
    requests = asked(version, CLIENTS[structured])
    environment = environment_in(home) | ({"HOLDFAST_PRESENCE": "on"} if presence else {})
    with stdio(environment, command=command) as server:
        for message in requests:
            server.write(json.dumps(message))
            assert server.process.stdout is not None
            line = server.process.stdout.readline().decode()
            before = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":'
            assert line.startswith(before), line[:200]
            key = key_of(version, message["method"], structured=structured, admin=admin, presence=presence)
            yield key, line.removeprefix(before).removesuffix("}\n")


def everything(home: Path) -> dict[str, str]:
    """All answers by key. One key is asked for in several ways, which must give the same."""
    found: dict[str, str] = {}
    either = (True, False)
    for version, structured, admin, presence in product((*LEGACY, MODERN), either, either, either):
        for key, text in framework_says(home, version, structured=structured, admin=admin, presence=presence):
            assert found.setdefault(key, text) == text, key
    return found


def written(found: dict[str, str]) -> str:
    texts = sorted(set(found.values()))
    answers = {key: texts.index(text) for key, text in sorted(found.items())}
    stored = {"made_for": made_for(), "answers": answers, "texts": texts}
    return json.dumps(stored, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.timeout(600)
def test_the_stored_answers_are_those_of_the_framework_and_made_for_what_is_here(tmp_path: Path) -> None:
    stored = json.loads(STORED.read_text("utf-8"))
    again = "If this is meant: python tests/house/test_early_answers.py"
    found = everything(tmp_path)
    assert {key: stored["texts"][number] for key, number in stored["answers"].items()} == found, again
    assert stored["made_for"] == made_for(), again


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        STORED.write_text(written(everything(Path(folder))), "utf-8")
