"""One server's entry in a client's file: put in, taken out, and everything else left as it is.

A change is first made to the text and then read back: what comes out must be what was there, but for the entry.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from holdfast.cli import jsontext, toml
from holdfast.cli.clients import Client
from holdfast.errors import ClientConfigError

Data = dict[str, Any]


def read(client: Client, text: str) -> Data:
    """What a client's file says.

    Raises:
        ClientConfigError: the client could not read it either, or it has forms that cannot be kept.
    """
    try:
        data = tomllib.loads(text) if client.form == "toml" else _json(_plain(client, text))
    except (ValueError, RecursionError) as error:
        form = {"toml": "TOML", "json": "plain JSON", "jsonc": "JSON"}[client.form]
        raise ClientConfigError(
            f"The client's file is no {form}; nothing was changed.",
            f"Mend it, or add by hand what `{_printing(client)}` shows.",
        ) from error
    if not isinstance(data, dict) or not isinstance(data.get(client.key, {}), dict):
        raise ClientConfigError(
            f"The client's file has no list of servers under {client.key}; nothing was changed.", "Mend it by hand."
        )
    return data


def entry_in(client: Client, text: str, name: str) -> Data | None:
    """A server's entry, or None.

    Raises:
        ClientConfigError: as for `read`.
    """
    found = read(client, text).get(client.key, {}).get(name)
    return found if isinstance(found, dict) else None


def arguments_in(client: Client, text: str, name: str) -> list[Any]:
    """With which arguments a server's entry starts it; none where there is no entry.

    Raises:
        ClientConfigError: as for `read`.
    """
    given = (entry_in(client, text, name) or {}).get("args")
    return given if isinstance(given, list) else []


def with_entry(client: Client, text: str, name: str, entry: Mapping[str, Any]) -> str:
    """The text with an entry. Keys and variables of an earlier one that this one does not speak of stay.

    Raises:
        ClientConfigError: as for `read`, or the file's form does not let an entry be added.
    """
    data = read(client, text)
    old = data.get(client.key, {}).get(name)
    merged = _merged(old, entry) if isinstance(old, dict) else dict(entry)
    if old == merged:
        return text
    wanted = {**data, client.key: {**data.get(client.key, {}), name: merged}}
    path = (client.key, name)
    if client.form != "toml":
        return _checked(client, jsontext.with_member(text, _plain(client, text), path, merged), wanted)
    for made in (toml.with_table(text, path, merged), toml.appended(toml.without_table(text, path), path, merged)):
        if _says(made, wanted):
            return made
    raise _unchangeable(client)


def without_entry(client: Client, text: str, name: str) -> str:
    """The text without that entry; the same text where there is none.

    Raises:
        ClientConfigError: as for `with_entry`.
    """
    data = read(client, text)
    if name not in data.get(client.key, {}):
        return text
    servers = {key: value for key, value in data[client.key].items() if key != name}
    wanted = {**data, client.key: servers}
    path = (client.key, name)
    rest = wanted if servers else {key: value for key, value in data.items() if key != client.key}
    if client.form != "toml":
        made = jsontext.without_member(text, _plain(client, text), path)
        return _checked(client, made, rest if client.key not in read(client, made) else wanted)
    made = toml.without_table(text, path)
    if _says(made, wanted) or _says(made, rest):
        return made
    raise _unchangeable(client)


def shown(client: Client, name: str, entry: Mapping[str, Any]) -> str:
    """An entry as the client's file has it, to be put there by hand."""
    if client.form == "toml":
        return toml.appended("", (client.key, name), entry)
    return jsontext.with_member("", "", (client.key, name), entry)


def _merged(old: Data, entry: Mapping[str, Any]) -> Data:
    variables = {**old.get("env", {}), **entry.get("env", {})}
    kept = {key: value for key, value in old.items() if key != "env"}
    return {**kept, **entry} | ({"env": variables} if variables or "env" in old else {})


def _checked(client: Client, text: str, wanted: Data) -> str:
    """A text that says what is wanted.

    Raises:
        ClientConfigError: it does not.
    """
    said, meant = (json.dumps(data, sort_keys=True) for data in (read(client, text), wanted))
    if said != meant:  # compared as text, since NaN does not equal itself
        raise _unchangeable(client)
    return text


def _says(text: str, wanted: Data) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _unchangeable(client: Client) -> ClientConfigError:
    return ClientConfigError(
        "The client's file is written in a way that this command cannot change safely; nothing was changed.",
        f"Change the entry by hand; `{_printing(client)}` shows one.",
    )


def _printing(client: Client) -> str:
    return "holdfast install print" if client.name == "print" else f"holdfast install {client.name} --print"


def _plain(client: Client, text: str) -> str:
    return jsontext.plain(text) if client.form == "jsonc" else text


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique) if text.strip() else {}


def _unique(pairs: list[tuple[str, Any]]) -> Data:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found
