"""Tokens: what settings may say of them, which are taken, and by what name whoever has one is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from unittest.mock import patch

import pytest
from fastmcp.tools import Tool

import holdfast.tools.auth
from holdfast.errors import SettingsError
from holdfast.http.connections import HttpConnection, Places, network_of
from holdfast.http.limits import GUESSES, Guesses
from holdfast.model.access import ADMIN, READ, SHORTEST_TOKEN, WRITE, allows, read_tokens, signed_principal
from holdfast.settings import Settings, load_settings
from holdfast.tools.auth import _needed, principal_of, space_of, verifier_of
from issuer import Issuer, issuing

pytestmark = pytest.mark.anyio

ENTRY = {"token": "zanzibar", "client_id": "ann", "scopes": ["memory:read"]}
SHA = hashlib.sha256(b"zanzibar").hexdigest()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as found:
        yield found


def given(tmp_path: Path, **environment: str) -> Settings:
    return load_settings({"HOLDFAST_HOME": str(tmp_path), **environment})


def test_a_token_is_kept_as_its_hash_alone(tmp_path: Path) -> None:
    settings = given(tmp_path, HOLDFAST_AUTH_TOKENS=json.dumps([ENTRY]))
    assert "zanzibar" not in repr(settings)
    assert settings.authenticates
    hashed = [{"token_sha256": SHA, "client_id": "ann", "scopes": ["memory:read"]}]
    assert settings.auth_tokens == read_tokens(json.dumps(hashed))


def test_tokens_may_stand_in_the_configuration_and_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "auth:\n  tokens:\n    - {token: '${ANNS}', client_id: ann, scopes: [memory:read], space: Quay}\n"
        f"    - token_sha256: {SHA}\n      client_id: bob\n      scopes: [memory:read, memory:write]\n      space:\n"
    )
    ann, bob = given(tmp_path, ANNS="t1").auth_tokens
    assert (ann.client_id, ann.scopes, ann.space) == ("ann", (READ,), "quay")
    assert (bob.client_id, bob.scopes, bob.space) == ("bob", (READ, WRITE), None)
    assert given(tmp_path, ANNS="t1").unknown == ()


@pytest.mark.parametrize(
    "wrong",
    [
        "zanzibar",
        '{"token": "zanzibar"}',
        '["zanzibar"]',
        json.dumps([ENTRY | {"zanzibar": 1}]),
        json.dumps([{"token": "zanzibar", "scopes": ["memory:read"]}]),
        json.dumps([{"client_id": "zanzibar", "scopes": ["memory:read"]}]),
        json.dumps([ENTRY | {"token": ""}]),
        json.dumps([ENTRY | {"token_sha256": SHA}]),
        json.dumps([{"token_sha256": "zanzibar", "client_id": "ann", "scopes": ["memory:read"]}]),
        json.dumps([ENTRY | {"scopes": []}]),
        json.dumps([ENTRY | {"scopes": "memory:read"}]),
        json.dumps([ENTRY | {"scopes": ["memory:zanzibar"]}]),
        json.dumps([ENTRY | {"client_id": "local"}]),
        json.dumps([ENTRY | {"client_id": "sub_zanzibar"}]),
        json.dumps([ENTRY | {"client_id": "zanzi\nbar"}]),
        json.dumps([ENTRY | {"client_id": "zanzibar" * 20}]),
        json.dumps([ENTRY | {"space": "///"}]),
        json.dumps([ENTRY, ENTRY | {"client_id": "bob"}]),
    ],
)
def test_tokens_that_cannot_be_used_are_refused_and_not_repeated(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SettingsError) as told:
        given(tmp_path, HOLDFAST_AUTH_TOKENS=wrong)
    assert "HOLDFAST_AUTH_TOKENS" in str(told.value)
    assert "zanzibar" not in str(told.value)


@pytest.mark.parametrize("length", [1, 31, 32, 64])
def test_a_token_that_opens_the_admin_namespace_is_long(tmp_path: Path, length: int) -> None:
    tokens = [ENTRY, ENTRY | {"token": "x" * length, "scopes": ["memory:read", "memory:admin"]}]
    if length >= SHORTEST_TOKEN:
        assert given(tmp_path, HOLDFAST_AUTH_TOKENS=json.dumps(tokens)).authenticates
        return
    with pytest.raises(SettingsError, match=r"entry 2 .* needs a token of 32 characters or more"):
        given(tmp_path, HOLDFAST_AUTH_TOKENS=json.dumps(tokens))


def test_other_tokens_that_are_short_are_warned_of_and_hashes_cannot_be_measured(tmp_path: Path) -> None:
    hashed = {"token_sha256": "ab" * 32, "client_id": "bob", "scopes": ["memory:admin"]}
    long = ENTRY | {"token": "x" * SHORTEST_TOKEN}
    ((warned),) = given(tmp_path, HOLDFAST_AUTH_TOKENS=json.dumps([hashed, long, ENTRY])).remarks
    assert "entry 3." in warned
    assert given(tmp_path, HOLDFAST_AUTH_TOKENS=json.dumps([hashed, long])).remarks == ()


def test_who_guesses_waits_and_who_shares_the_address_does_not() -> None:
    now = 0.0
    guesses = Guesses(lambda: now)
    guesses.tried("a", b"good", good=True)

    def wrong(address: str, number: int) -> bool:
        token = b"wrong %d" % number
        if allowed := guesses.may_try(address, token):
            guesses.tried(address, token, good=False)
        return allowed

    assert all(wrong("b", 7) for _ in range(10 * GUESSES)), "one old token again and again is no guessing"
    assert all(wrong("a", number) for number in range(GUESSES))
    assert not wrong("a", GUESSES)
    assert guesses.may_try("a", b"good")
    assert wrong("c", 0)
    now = 2.0
    assert [wrong("a", 1000 + number) for number in range(3)] == [True, True, False]
    for number in range(30_000):
        guesses.tried(f"address {number}", b"x", good=False)
        guesses.tried("a", b"good %d" % number, good=True)
    assert max(len(guesses._of), len(guesses._good)) <= 10_000


def test_a_connection_that_is_gone_takes_no_place() -> None:
    """Whoever hangs up before the request of a proxy is looked at must not count for ever."""
    places, gone = Places(1, lambda _address: True), cast("HttpConnection", object())
    assert places.refused(gone, "192.0.2.1") == ""
    places.leave(gone)
    assert places.hand_over(gone, "192.0.2.2")
    assert places.refused(cast("HttpConnection", object()), "192.0.2.1") == ""


class Busy:
    """A connection on which a request is being answered."""

    is_idle = False


def test_all_addresses_together_have_no_more_places_than_there_are() -> None:
    places = Places(200, lambda _address: False)
    told = [places.refused(cast("HttpConnection", Busy()), f"192.0.2.{number % 5}") for number in range(260)]
    assert told[:200] == [""] * 200
    assert set(told[200:]) == {"The server has 200 connections already."}


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("unknown", "unknown"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_an_address_counts_for_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize("left_out", ["HOLDFAST_AUTH_JWKS_URL", "HOLDFAST_AUTH_ISSUER", "HOLDFAST_AUTH_AUDIENCE"])
def test_signed_tokens_need_keys_issuer_and_audience(tmp_path: Path, issuer: Issuer, left_out: str) -> None:
    with pytest.raises(SettingsError, match=left_out):
        given(tmp_path, **{key: value for key, value in issuer.settings().items() if key != left_out})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOLDFAST_AUTH_ALGORITHM", "HS256"),
        ("HOLDFAST_AUTH_ALGORITHM", "none"),
        ("HOLDFAST_PUBLIC_URL", "ftp://zanzibar.example"),
        ("HOLDFAST_PUBLIC_URL", "https://user@zanzibar.example"),
        ("HOLDFAST_AUTH_JWKS_URL", "file:///zanzibar.example"),
        ("HOLDFAST_RATE_LIMIT", "-1"),
    ],
)
def test_what_would_weaken_the_guard_is_refused(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=variable) as told:
        given(tmp_path, **{variable: value})
    assert "zanzibar" not in str(told.value)


def test_who_administers_may_do_all_and_who_writes_may_not_read() -> None:
    assert [allows([ADMIN], scope) for scope in (READ, WRITE, ADMIN)] == [True] * 3
    assert [allows([WRITE], scope) for scope in (READ, WRITE, ADMIN)] == [False, True, False]
    assert [allows([READ], scope) for scope in (READ, WRITE, ADMIN)] == [True, False, False]


def test_principals_of_other_issuers_or_subjects_are_others() -> None:
    pairs = [("a", "b"), ("ab", ""), ("", "ab"), ('a", "b', ""), ("b", "a"), ("a", "b\0")]
    assert len({signed_principal(*pair) for pair in pairs}) == len(pairs)
    assert signed_principal("a", "b") == signed_principal("a", "b")


async def test_a_token_names_its_client_and_space(tmp_path: Path) -> None:
    verifier = verifier_of(given(tmp_path, HOLDFAST_AUTH_TOKENS=json.dumps([ENTRY | {"space": "quay"}])))
    assert verifier is not None
    found = await verifier.verify_token("zanzibar")
    assert (principal_of(found), space_of(found)) == ("ann", "quay")
    for wrong in ("", "Zanzibar", "zanzibar ", SHA, "z\udcff"):
        assert await verifier.verify_token(wrong) is None


async def test_nobody_has_to_say_who_they_are_where_nothing_is_set(tmp_path: Path) -> None:
    assert verifier_of(given(tmp_path)) is None
    assert principal_of(None) == "local"


async def test_a_signed_token_is_taken_beside_the_others(tmp_path: Path, issuer: Issuer) -> None:
    tokens = json.dumps([ENTRY])
    verifier = verifier_of(given(tmp_path, HOLDFAST_AUTH_TOKENS=tokens, **issuer.settings()))
    assert verifier is not None
    signed = await verifier.verify_token(issuer.token(scope="memory:read memory:write other"))
    assert signed is not None
    assert principal_of(signed) == signed_principal("https://issuer.example", "ann")
    assert set(signed.scopes) >= {READ, WRITE}
    assert principal_of(await verifier.verify_token("zanzibar")) == "ann"
    other = await verifier.verify_token(issuer.token(sub="bob", client_id="ann", azp="ann"))
    assert principal_of(other) == signed_principal("https://issuer.example", "bob")


async def test_no_forged_token_is_taken(tmp_path: Path, issuer: Issuer) -> None:
    verifier = verifier_of(given(tmp_path, **issuer.settings()))
    assert verifier is not None
    assert await verifier.verify_token(issuer.token()) is not None
    taken = [name for name, token in issuer.forgeries().items() if await verifier.verify_token(token) is not None]
    assert taken == []
    assert await verifier.verify_token(issuer.token()) is not None


async def test_a_new_key_is_known_soon_and_unknown_ones_do_not_ask_again_and_again(tmp_path: Path) -> None:
    with issuing() as issuer:
        with patch.object(holdfast.tools.auth, "KEYS_SECONDS", 600.0):  # however long these fifty take
            verifier = verifier_of(given(tmp_path, **issuer.settings()))
        assert verifier is not None
        assert await verifier.verify_token(issuer.token()) is not None
        for _ in range(50):
            assert await verifier.verify_token(issuer.token(kid="unknown")) is None
        assert issuer.fetched == 1
        before = issuer.token()
        issuer.rotate()
        with patch.object(holdfast.tools.auth, "KEYS_SECONDS", 0.0):
            verifier = verifier_of(given(tmp_path, **issuer.settings()))
        assert verifier is not None
        assert await verifier.verify_token(before) is not None
        issuer.rotate()
        assert await verifier.verify_token(issuer.token()) is not None


def test_maintenance_without_verdicts_is_reading() -> None:
    tool = Tool(name="run_maintenance", parameters={})
    assert _needed(tool, {"limit": 5}) == READ
    assert _needed(tool, {"results": {"edges": []}}) == WRITE
