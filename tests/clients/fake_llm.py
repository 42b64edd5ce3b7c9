"""A model that plays a script of tool calls. Real clients reach it over Anthropic's or OpenAI's wire format."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

NEWEST = "$newest"  # in a call's arguments: the id of the note that the latest result names first
NOTE_ID = re.compile(r"mem_[0-9a-z]{16}")


@dataclass(frozen=True)
class Call:
    """The model asks for a tool, by the name that the server or the client itself gave it."""

    tool: str
    arguments: Json | Callable[[list[str]], Json]  # or what makes them of the results so far

    def finds(self, offered: str) -> bool:
        return offered == self.tool or offered.endswith(f"__{self.tool}")


@dataclass(frozen=True)
class Turn:
    """What a client sent: its tools' descriptions by name, the results of all calls so far, and the rest as text."""

    tools: dict[str, str]
    results: list[str]
    everything: str


@dataclass
class Model:
    """Where it listens, what it will ask for, and what it was told."""

    url: str
    script: tuple[Call, ...]
    turns: list[Turn] = field(default_factory=list)

    @property
    def results(self) -> list[str]:
        """One for each call of the script that the client carried out."""
        return max((turn.results for turn in self.turns), key=len, default=[])

    def asks(self, turn: Turn) -> tuple[str, Json] | None:
        """The next call of the script, if the client offers its tool."""
        self.turns.append(turn)
        done = len(turn.results)
        if done == len(self.script):
            return None
        call = self.script[done]
        offered = next((name for name in turn.tools if call.finds(name)), None)
        return (offered, _filled(call.arguments, turn.results)) if offered else None


def text_of(result: str) -> str:
    """What the model reads of a result: the text of its blocks, without what the wire format puts around it."""
    if not result.startswith('[{"type"'):
        return result
    return "\n".join(block["text"] for block in json.loads(result))


@contextmanager
def scripted(*script: Call) -> Iterator[Model]:
    """A model that listens on a free port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint) as server:
        model = Model(f"http://127.0.0.1:{server.server_port}", script)
        server.model = model  # type: ignore[attr-defined]
        listening = threading.Thread(target=server.serve_forever)
        listening.start()
        try:
            yield model
        finally:
            server.shutdown()
            listening.join()


class _Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        model: Model = self.server.model  # type: ignore[attr-defined]
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.startswith("/v1/messages"):
            events = _as_message(model.asks(_message_turn(request)), len(model.turns))
        elif self.path.startswith("/v1/responses"):
            events = _as_response(model.asks(_response_turn(request)), len(model.turns))
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_arguments: Any) -> None:
        """A test says what went wrong; this would only be in the way."""


def _filled(arguments: Json | Callable[[list[str]], Json], results: list[str]) -> Json:
    if callable(arguments):
        return arguments(results)
    named = NOTE_ID.search(results[-1]) if results else None
    return {key: named[0] if value == NEWEST and named else value for key, value in arguments.items()}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


def _message_turn(request: Json) -> Turn:
    contents = [part for message in request["messages"] for part in message["content"] if isinstance(part, dict)]
    return Turn(
        {tool["name"]: tool.get("description", "") for tool in request.get("tools", [])},
        [_text(part["content"]) for part in contents if part["type"] == "tool_result"],
        json.dumps(request),
    )


def _as_message(call: tuple[str, Json] | None, number: int) -> list[Json]:
    """The events of Anthropic's Messages: one block, which is a call or the end."""
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": "Done."}
    if call:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    used = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    stop = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": used}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": used},
        {"type": "message_stop"},
    ]


def _response_turn(request: Json) -> Turn:
    tools = {}
    for tool in request["tools"]:
        for inner in tool.get("tools", []):
            tools[f"{tool['name']}__{inner['name']}"] = inner.get("description", "")
        if tool["type"] == "function":
            tools[tool["name"]] = tool.get("description", "")
    outputs = [item["output"] for item in request["input"] if item["type"] == "function_call_output"]
    return Turn(tools, [_text(output) for output in outputs], json.dumps(request))


def _as_response(call: tuple[str, Json] | None, number: int) -> list[Json]:
    """The events of OpenAI's Responses: one item, which is a call or the end."""
    item: Json = {
        "type": "message",
        "id": f"msg_{number}",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
    }
    if call:
        namespace, _, name = call[0].rpartition("__")
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        item |= {"arguments": json.dumps(call[1])} | ({"namespace": namespace} if namespace else {})
    response = {"id": f"resp_{number}", "object": "response", "output": []}
    used = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response | {"output": [item], "usage": used}},
    ]
