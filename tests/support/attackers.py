"""Those who mean no good, each kind on many connections at once, until their time is over.

    python tests/support/attackers.py KIND PORT CONNECTIONS SECONDS [TOKEN]

They speak to this machine alone. A line on stdout says when all connections were tried.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from processes import INITIALIZE, MODERN

STEP_SECONDS = 0.2  # between two letters of those who are slow
MOST_BODY = 4 * 1024 * 1024
Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter


class Attacker:
    """One connection of an attack, opened again whenever it is hung up on."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token

    def head(self, method: str, length: int, *, version: bool = True) -> bytes:
        said = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": str(length)}
        said |= {"Accept": "application/json, text/event-stream"}
        said |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method} if version else {}
        said |= {"Mcp-Name": "remember"} if method == "tools/call" else {}
        said |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        return ("POST /mcp HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in said.items())).encode()

    def request(self, method: str, **parameters: object) -> bytes:
        modern = method != "initialize"
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters | (MODERN if modern else {})}
        body = json.dumps(message).encode()
        return self.head(method, len(body), version=modern) + b"\r\n" + body

    async def slow_heads(self, _reader: Reader, writer: Writer) -> None:
        for letter in self.head("tools/list", 10):
            writer.write(bytes([letter]))
            await asyncio.sleep(STEP_SECONDS)

    async def slow_bodies(self, _reader: Reader, writer: Writer) -> None:
        writer.write(self.head("tools/list", 1000) + b"\r\n")
        for _ in range(1000):
            writer.write(b" ")
            await asyncio.sleep(STEP_SECONDS)

    async def silence(self, reader: Reader, _writer: Writer) -> None:
        await reader.read()

    async def half_open(self, reader: Reader, writer: Writer) -> None:
        writer.write(self.head("tools/list", 1000) + b"\r\n{")
        writer.write_eof()
        await reader.read()

    async def never_reading(self, _reader: Reader, writer: Writer) -> None:
        while True:
            writer.write(self.request("tools/list") * 20)
            await writer.drain()
            await asyncio.sleep(STEP_SECONDS)

    async def sessions(self, reader: Reader, writer: Writer) -> None:
        await self._asking(reader, writer, self.request("initialize", **INITIALIZE))

    async def big_bodies(self, reader: Reader, writer: Writer) -> None:
        content = "x" * (MOST_BODY - 2048)
        await self._asking(reader, writer, self.request("tools/call", name="remember", arguments={"content": content}))

    async def pipelining(self, reader: Reader, writer: Writer) -> None:
        await self._asking(reader, writer, self.request("tools/list") * 20)

    async def streams(self, reader: Reader, writer: Writer) -> None:
        listened = {"resourceSubscriptions": ["memory://self"]}
        writer.write(self.request("subscriptions/listen", notifications=listened))
        await reader.read()

    @staticmethod
    async def _asking(reader: Reader, writer: Writer, request: bytes) -> None:
        while True:
            writer.write(request)
            await writer.drain()
            if not await reader.read(65536):
                return

    async def run(self, kind: str, ready: Callable[[], None]) -> None:
        attack: Callable[[Reader, Writer], Awaitable[None]] = getattr(self, kind)
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                ready()
                with suppress(OSError):
                    await attack(reader, writer)
                writer.transport.abort()
            await asyncio.sleep(STEP_SECONDS)


async def attack(kind: str, port: int, connections: int, seconds: float, token: str) -> None:
    left = connections

    def ready() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            sys.stdout.write("ready\n")
            sys.stdout.flush()

    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(Attacker(port, token).run(kind, ready) for _ in range(connections)))


if __name__ == "__main__":
    named, at, count, lasting, *given = sys.argv[1:]
    asyncio.run(attack(named, int(at), int(count), float(lasting), given[0] if given else ""))
