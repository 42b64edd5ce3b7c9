"""Real forms of credentials are found in every setting, texts without any are left alone, and both in linear time."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from benches import loaded
from holdfast.model import secret_formats
from holdfast.model.secret_formats import BY_PREFIX, FORMATS, body_of
from holdfast.model.secrets import find, redact

SEEDS = [1, 20261122]

texts = loaded("credential_texts")


def missed(items: Iterable[Any]) -> list[str]:
    """Texts of which a part of the credential is still there."""
    wrong = []
    for item in items:
        left, middle = redact(item.text).text, len(item.secret) // 2
        if item.secret[-6:] in left or item.secret[middle : middle + 6] in left:
            wrong.append(f"{item.kind}: {item.text[:120]}")
    return wrong


def test_there_are_more_than_a_hundred_forms_and_five_hundred_innocent_texts() -> None:
    assert len(texts.FORMS) >= 150
    assert len(list(texts.innocents(1))) >= 1000


@pytest.mark.parametrize("held", [False, True], ids=["known frames", "other frames"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_vendors_credential_is_found_wherever_it_stands(seed: int, held: bool) -> None:
    assert missed(texts.forms(seed, held=held)) == []


@pytest.mark.parametrize("held", [False, True], ids=["known phrases", "other phrases"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_password_or_key_is_found_by_what_is_said_of_it(seed: int, held: bool) -> None:
    assert missed(texts.phrases(seed, held=held)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_taken_out_of_texts_without_credentials(seed: int) -> None:
    assert [item.text[:120] for item in texts.innocents(seed) if redact(item.text).labels] == []


def test_redacting_what_people_write_twice_changes_nothing() -> None:
    for item in (*texts.phrases(3), *texts.forms(3)):
        once = redact(item.text).text
        assert redact(once).text == once


def test_an_embedded_file_is_left_whole_whatever_it_holds_by_chance() -> None:
    picture = f"![](data:image/png;base64,iVBORw0KGgo{'A' * 40}/{'AKI' + 'A' + 'Q7' * 8}+{'Zz9' * 30}==)"
    assert find(picture) == []


def test_what_stands_for_a_token_is_none() -> None:
    assert find("gh" + "p_" + "x" * 36) == []
    assert find("sk" + "-proj-" + "*" * 40) == []


def test_each_row_of_the_table_has_a_name_of_its_own_and_a_pattern() -> None:
    names = [row.id for row in FORMATS]
    assert len(names) == len(set(names))
    for row in FORMATS:
        assert row.prefixes, row.id
        assert body_of(row).match("") is None, row.id


def test_only_rows_whose_prefix_is_seen_are_compiled() -> None:
    secret_formats.body_of.cache_clear()
    redact("nothing but words here, and a number: 42")
    assert secret_formats.body_of.cache_info().currsize == 0


# --- the work grows with the text and no faster ---------------------------------------------------

PIECES = [
    *"=aA09-_. '\"`\\{[(\n",
    *("api_key=", "password=", "password is ", "password for ", "the password ", "is the password ", "pw:", "sk-"),
    *("sk-a1B2", "ghp_", "secret_", "eyJ", "-eyJ", "eyJaaaaaaaa.eyJaaaaaaaa-", "://", "://u:", "AKIA", "aws secret "),
    *("curl -u a:b ", "-u a:", "mysql -pabc12 ", "cookie: ", "Cookie: a=a1b2c3d4e5f6g7h8; ", "session=", "sid="),
    *("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----", "Private-Lines: 1\n", "authorization: "),
    *("bearer ", "пароль ", "密码是", "é", "e\u0301", "\u0301", "\u200b", "\u0130", "😀", "login: a/"),
    *(
        "seed phrase ",
        "abc ",
        "identified by ",
        "chpasswd",
        "a:b@",
        "MNO",
        ";base64,",
        "1//0",
        "u+",
        "0/",
        "sig=",
        "Q~",
    ),
    *("password\n", "| password | ", 'password("', "[redacted: ", "xxxx", "...", "$", "<password>", "\"a'`"),
    *BY_PREFIX,
]


def calls(text: str) -> int:
    """How many calls it takes to look for secrets; what a call costs is bounded, for each reads a bounded stretch."""
    count = 0

    def counted(_frame: object, _event: str, _argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        find(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("piece", PIECES)
def test_twice_the_hostile_text_takes_twice_the_work(piece: str) -> None:
    size = 8192
    find((piece * size)[:size])  # what is compiled and remembered once
    assert calls((piece * 2 * size)[: 2 * size]) <= 2.3 * calls((piece * size)[:size]) + 200


def test_many_names_with_different_values_take_work_in_proportion() -> None:
    drawn = random.Random(4)  # noqa: S311 - no secrets

    def text(count: int) -> str:
        return "".join(f"api_key={drawn.getrandbits(20):x} the password {drawn.getrandbits(30)} " for _ in range(count))

    find(text(10))  # what is compiled and remembered once
    assert calls(text(800)) <= 2.5 * calls(text(400)) + 200
