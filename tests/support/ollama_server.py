"""An Ollama on a loopback port: its routes, its shapes, its errors, and every way to fail when it is told to.

As the real one it answers OpenAI's `/v1/embeddings` too.
"""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from holdfast.model.words import query_terms

MODEL = "nomic-embed-text"
DIMENSION = 512
ENDLESS = 64 << 20  # bytes, if nobody stops it


@dataclass
class Ollama:
    """What the server is told, and what it was asked. `alike` names words that mean another."""

    models: dict[str, str] = field(default_factory=lambda: {f"{MODEL}:latest": "d1" * 32})
    alike: dict[str, str] = field(default_factory=dict)
    capabilities: list[str] | None = field(default_factory=lambda: ["embedding"])
    dimension: int = DIMENSION
    trouble: str = ""  # a key of TROUBLES
    retry_after: str = ""
    poison: str = ""  # texts with this word are refused
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    before_embed: Callable[[], None] = lambda: None
    port: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def texts(self) -> list[str]:
        """All texts that it was given to embed."""
        return [text for path, body in self.asked if path == "/api/embed" for text in _inputs(body)]

    def recover(self) -> None:
        self.trouble = ""
        self.released.set()

    def vector(self, text: str, model: str = f"{MODEL}:latest") -> list[float]:
        """The same for the same words; another model, or another version of it, puts the same words elsewhere."""
        bare = text.rpartition(": ")[2]  # behind the prefix
        words = [self.alike.get(word, word) for word in query_terms(bare)] or [bare]
        total = sum(_direction(f"{self.models[model]} {word}", self.dimension) for word in words)
        return [float(number) for number in total / np.linalg.norm(total)]


@functools.cache
def _direction(word: str, dimension: int) -> Any:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=dimension)


def close_to(vector: bytes, expected: list[float]) -> bool:
    return bool(np.allclose(np.frombuffer(vector, "<f4"), expected, atol=1e-6))


def _inputs(body: dict[str, Any]) -> list[str]:
    given = body.get("input", "")
    return [given] if isinstance(given, str) else list(given)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    ollama: Ollama

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing."""

    def _answer(self, body: dict[str, Any]) -> None:
        self.ollama.asked.append((self.path, body))
        self.ollama.keys.append(self.headers["Authorization"])
        trouble = self.ollama.trouble
        route: Callable[[dict[str, Any]], tuple[int, Any]] | None = {
            "/api/version": self._version,
            "/api/tags": self._tags,
            "/api/show": self._show,
            "/api/embed": self._embed,
            "/v1/embeddings": self._embeddings,
        }.get(self.path)
        if route is None:
            self._send(404, b"404 page not found")
        elif trouble in RAW:
            with suppress(OSError):  # whoever asked gave up
                RAW[trouble](self)
        else:
            status, answer = route(body)
            self._send(status, json.dumps(answer).encode())

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        with suppress(OSError):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _version(self, _: dict[str, Any]) -> tuple[int, Any]:
        return 200, {"version": "0.12.6"}

    def _tags(self, _: dict[str, Any]) -> tuple[int, Any]:
        details = {"parent_model": "", "format": "gguf", "family": "nomic-bert", "families": ["nomic-bert"],
                   "parameter_size": "137M", "quantization_level": "F16"}  # fmt: skip
        return 200, {
            "models": [
                {"name": name, "model": name, "modified_at": "2026-11-01T10:00:00.123456789+01:00", "size": 274302450,
                 "digest": digest, "details": details}
                for name, digest in self.ollama.models.items()
            ]
        }  # fmt: skip

    def _show(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self._named(body) is None:
            return 404, {"error": f"model '{body['model']}' not found"}
        told = {"license": "Apache", "modelfile": "FROM x", "details": {"family": "nomic-bert"},
                "model_info": {"general.architecture": "nomic-bert", "nomic-bert.context_length": 2048,
                               "nomic-bert.embedding_length": self.ollama.dimension}}  # fmt: skip
        return 200, told if self.ollama.capabilities is None else told | {"capabilities": self.ollama.capabilities}

    def _embed(self, body: dict[str, Any]) -> tuple[int, Any]:
        model, texts = self._named(body), _inputs(body)
        if model is None:
            return 404, {"error": f'model "{body["model"]}" not found, try pulling it first'}
        if self.ollama.poison and any(self.ollama.poison in text for text in texts):
            return 400, {"error": "invalid input"}
        self.ollama.before_embed()
        vectors: list[Any] = [self.ollama.vector(text, model) for text in texts]
        vectors = VALUES.get(self.ollama.trouble, lambda vectors: vectors)(vectors)
        return 200, {"model": body["model"], "embeddings": vectors, "total_duration": 14143917,
                     "load_duration": 1019500, "prompt_eval_count": 8}  # fmt: skip

    def _embeddings(self, body: dict[str, Any]) -> tuple[int, Any]:
        status, answer = self._embed(body)
        if status != 200:
            return status, {"error": {"message": str(body), "type": "invalid_request_error"}}
        rows = [
            {"object": "embedding", "embedding": vector, "index": place}
            for place, vector in enumerate(answer["embeddings"])
        ]
        return 200, {"object": "list", "data": rows[::-1], "model": body["model"], "usage": {"prompt_tokens": 8}}

    def _named(self, body: dict[str, Any]) -> str | None:
        name = str(body["model"])
        tagged = name if ":" in name else f"{name}:latest"
        return tagged if tagged in self.ollama.models else None

    def hang(self) -> None:
        self.ollama.released.wait(60)
        self.close_connection = True

    def drip(self) -> None:
        """A byte now and then: every single read is answered in time."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        while not self.ollama.released.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(ENDLESS))
        self.end_headers()
        for _ in range(ENDLESS >> 16):
            self.wfile.write(b" " * (1 << 16))

    def break_off(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"embeddings": [[0.1')
        self.close_connection = True

    def hang_up(self) -> None:
        self.close_connection = True

    def redirect(self) -> None:
        self._send(307, b"", Location=f"http://{self.ollama.host}/elsewhere")

    def pack(self) -> None:
        self._send(200, b"\x1f\x8b" + b"\0" * 20, Content_Encoding="gzip")

    def status(self, status: int) -> None:
        headers = {"Retry_After": self.ollama.retry_after} if self.ollama.retry_after else {}
        self._send(status, b'{"error": "the model runner has unexpectedly stopped"}', **headers)


RAW: dict[str, Callable[[_Handler], None]] = {
    "hangs": _Handler.hang,
    "drips": _Handler.drip,
    "answers without end": _Handler.endless,
    "breaks off": _Handler.break_off,
    "hangs up": _Handler.hang_up,
    "redirects": _Handler.redirect,
    "packs": _Handler.pack,
    "fails with 500": lambda handler: handler.status(500),
    "fails with 503": lambda handler: handler.status(503),
    "limits the rate": lambda handler: handler.status(429),
    "wants a key": lambda handler: handler.status(401),
    "sends garbage": lambda handler: handler._send(200, b"<html>welcome</html>"),
    "sends a list": lambda handler: handler._send(200, b"[1, 2]"),
    "nests without end": lambda handler: handler._send(200, b"[" * 100_000),
}
VALUES: dict[str, Callable[[list[Any]], Any]] = {
    "sends numbers that are none": lambda vectors: [[float("nan"), *vector[1:]] for vector in vectors],
    "sends infinity": lambda vectors: [[float("inf"), *vector[1:]] for vector in vectors],
    "sends zeros": lambda vectors: [[0.0] * len(vector) for vector in vectors],
    "sends words": lambda vectors: [["one", *vector[1:]] for vector in vectors],
    "sends too few": lambda vectors: vectors[1:],
    "sends too many": lambda vectors: [*vectors, vectors[0]],
    "sends none": lambda vectors: vectors[:0],
    "sends uneven lengths": lambda vectors: [
        vector[: len(vector) - number % 2] for number, vector in enumerate(vectors, 1)
    ],
}
TROUBLES: Sequence[str] = (*RAW, *VALUES)


@contextmanager
def serving_ollama(ollama: Ollama, port: int = 0) -> Iterator[Ollama]:
    """Listen until the block ends; then nobody does, and what hangs is let go."""
    handler = type("Handler", (_Handler,), {"ollama": ollama})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    ollama.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ollama
    finally:
        ollama.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
