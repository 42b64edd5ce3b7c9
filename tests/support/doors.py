"""Ways into a server as a client meets them on the wire: pipes and HTTP, in both eras, with a token or without."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from processes import HOLDFAST, INITIALIZE, MODERN, PATIENCE, stdio

KEEPER = "keeper-of-the-lighthouse-at-the-quay"  # a token that opens the admin namespace is long
TOKENS = {
    "reader": ["memory:read"],
    "writer": ["memory:read", "memory:write"],
    KEEPER: ["memory:admin"],
}
TLS = httpx.create_ssl_context()  # made once: it takes longer than a request
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def with_tokens(environment: dict[str, str]) -> dict[str, str]:
    """An environment whose server knows a reader, a writer and a keeper; each one's token is their name."""
    tokens = [{"token": name, "client_id": name, "scopes": scopes} for name, scopes in TOKENS.items()]
    return environment | {"HOLDFAST_AUTH_TOKENS": json.dumps(tokens)}


class Pipe:
    """A server over stdio."""

    def __init__(self, server: Any) -> None:
        self.server = server
        server.begin()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result, or the error, of a request."""
        asked = self.server.send(method, **parameters)
        while (answer := self.server.read()).get("id") != asked:
            pass
        return {key: answer[key] for key in ("result", "error") if key in answer}

    def listen(self, uris: Sequence[str]) -> list[str]:
        """Which of these a listener of the newer era is promised."""
        asked = self.server.send("subscriptions/listen", notifications={"resourceSubscriptions": list(uris)})
        promised = self.server.read()["params"]["notifications"].get("resourceSubscriptions") or []
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked}}
        self.server.write(json.dumps(cancel))
        return list(promised)


class Web:
    """A server over HTTP. `status` and `headers` are those of the last answer."""

    def __init__(self, url: str, era: str, token: str | None, client: httpx.Client | None = None) -> None:
        self._era, self._url, self._last = era, url, 0
        self._client = client or httpx.Client(trust_env=False, verify=TLS, timeout=PATIENCE)
        self.say(**ACCEPT, **(bearer(token) if token else {}))
        self.status = 0
        self.headers = httpx.Headers()
        if era == "legacy":
            answer = self._post("initialize", INITIALIZE, {})
            if "mcp-session-id" in answer.headers:
                self._client.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
                self._client.headers["mcp-protocol-version"] = INITIALIZE["protocolVersion"]

    @property
    def has_session(self) -> bool:
        return "mcp-session-id" in self._client.headers

    def become(self, token: str) -> None:
        """Go on with another token."""
        self.say(**bearer(token))

    def say(self, **headers: str) -> None:
        """Have these in every request from now on."""
        self._client.headers.update(headers)

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Keep the stream of a session of the older era open."""
        with self._client.stream("GET", self._url) as answer:
            assert answer.status_code == 200
            yield

    def close(self) -> None:
        self._client.close()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """As `Pipe.ask`; only the status where that is all there is."""
        answer = self._post(method, *self._framed(method, parameters))
        if answer.status_code != 200 or answer.headers["content-type"] != "application/json":
            found = {"status": answer.status_code, "text": answer.text}
            return found if "jsonrpc" not in answer.text else _outcome(_message(answer))
        return _outcome(_message(answer))

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.ask("tools/call", name=name, arguments=arguments)["result"])

    def listen(self, uris: Sequence[str]) -> list[str]:
        method = "subscriptions/listen"
        parameters, headers = self._framed(method, {"notifications": {"resourceSubscriptions": list(uris)}})
        with self._client.stream("POST", self._url, json=self._message(method, parameters), headers=headers) as answer:
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    found = json.loads(line[5:])["params"]["notifications"].get("resourceSubscriptions") or []
                    return list(found)
        return []

    def _framed(self, method: str, parameters: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        if self._era == "legacy":
            return parameters, {}
        headers = {"mcp-protocol-version": self._era, "mcp-method": method}
        name = parameters.get("name", parameters.get("uri"))
        return parameters | MODERN, headers | ({"mcp-name": str(name)} if name is not None else {})

    def _message(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        return {"jsonrpc": "2.0", "id": self._last, "method": method, "params": parameters}

    def _post(self, method: str, parameters: dict[str, Any], headers: dict[str, str]) -> httpx.Response:
        answer = self._client.post(self._url, json=self._message(method, parameters), headers=headers)
        self.status, self.headers = answer.status_code, answer.headers
        return answer


def _message(answer: httpx.Response) -> dict[str, Any]:
    """The answer's message: plain, or the last one of a stream."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        return dict(answer.json())
    told = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    return dict(json.loads(told[-1]))


def _outcome(message: dict[str, Any]) -> dict[str, Any]:
    return {key: message[key] for key in ("result", "error") if key in message}


@contextmanager
def pipe(environment: dict[str, str], era: str, *arguments: str) -> Iterator[Pipe]:
    with stdio(environment, era, (*HOLDFAST, *arguments)) as server:
        yield Pipe(server)


@contextmanager
def web(port: int, path: str, era: str, token: str | None) -> Iterator[Web]:
    door = Web(f"http://127.0.0.1:{port}{path}", era, token)
    try:
        yield door
    finally:
        door.close()
