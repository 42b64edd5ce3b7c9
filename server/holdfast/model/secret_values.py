"""Whether a value looks like a secret: drawn at random, or chosen as a password, and not merely a word or a reference.

Values are judged by their first characters, so each judgement costs the same however long a value is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

JUDGED: Final = 64  # characters


def words_of(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


MASK: Final = re.compile(r"x{4}|X{4}|\*{3}|\.{3}|…|•|\[redacted: ")
_REFERENCE: Final = re.compile(
    r"\$[{(]|\$\w+$|%\w+%|\{[{\w]|<|!\w+$|[(\[]"  # ${VAR} $VAR %VAR% {{ var }} {var} <token> !vault (none)
    r"|%\w+\(|[A-Za-z_]\w{0,40}+(?:\.\w{1,40}+){1,6}+\("  # %env(VAR)%, base64.b64decode(...)
    r"|\$\w+(?:\[|->)|\w{0,20}[)\]}][=;,)]"  # $_POST["password"]; what is left of `{token: a}=b`
    r"|\d{4}-\d\d-\d\d"
    r"|&?[A-Za-z_.]++(?:\d{1,5}[A-Za-z_.]*+)?[\[(]"  # os.environ[...], getenv(...), ENC[...]
    r"|\w{2,12}://"  # op://vault/item; a password inside a URL has its own shape
    r"|(?i:env|vault|file|ssm|sops|arn|ref|aws|gcp|azure|keyring|keychain|bw|pass):"
    r"|\$(?:2[abxy]|argon2\w{0,2}|[156y]|scrypt)\$|(?i:sha\d{1,3}|md5)[:-]"  # hashes of passwords
    r"|(?i:process|import|os|self|this|config|cfg|settings|secrets|vars?|env|data|local|module|req|request|args)\."
)
_STAND_INS: Final = words_of(
    "password passwd pass pwd passphrase onepassword lastpass bitwarden secret token apikey key changeme"
    " changeit change example sample dummy fake test testing todo placeholder redacted hidden removed none"
    " null undefined true false string required optional empty default foo bar foobar foobarbaz abc abcdef"
    " insert replace replaceme mypassword mysecret mytoken myapikey sha md bcrypt argon argonid scrypt pbkdf"
    " base bcrypthash oauth aes rsa ed hmac utf hs rs es"
)
_SEPARATORS: Final = re.compile(r"[\s./_:@~-]+")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+\d{0,5}(?:[A-Z][a-z]{2,}\d{0,5})*|[A-Z]+\d{0,5}|\d{1,4}")
_APART: Final = re.compile(r"[\s./_:@~+&-]+")
_COUNTED: Final = re.compile(r"\d{1,3}[^\W\d_]{1,4}")
_HUMP: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS_AROUND: Final = re.compile(r"\d{0,4}([^\W\d_]*)\d{0,5}")
_PHRASE: Final = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,9}|[A-Z][a-z]{2,11}(?:-[A-Z][a-z]{2,11}){3,9}")

_FEWEST_CHARACTERS: Final = 5
_LONGEST_COUNT: Final = 20
_SHORTEST_LETTERS: Final = 12
_LONGEST_HUMP: Final = 3  # letters on average
_MANY_LETTERS: Final = 32
_DRAWN_PARTS: Final = 3


def is_masked(value: str) -> bool:
    """Whether somebody has taken the secret out already: `ghp_xxxxxxxx`, `sk-...`."""
    return MASK.search(value) is not None or len(set(value)) == 1


def is_stand_in(value: str) -> bool:
    """Whether the value only holds the place of a secret, or says where it is kept."""
    if MASK.search(value) or _REFERENCE.match(value):
        return True
    letters = "".join(filter(str.isalpha, value)).lower()
    return letters in _STAND_INS or letters.startswith(("your", "example"))


def humps(text: str) -> list[str]:
    """The words of a name: `tokenCount` and `token_count` have two."""
    return _HUMP.findall(text)


@lru_cache(4096)
def is_random(value: str) -> bool:
    """Whether the value looks drawn at random: not a word, a name, a path, a date or a count."""
    if len(set(value)) < _FEWEST_CHARACTERS or is_stand_in(value):
        return False
    if all(_WORD.fullmatch(word) for word in _SEPARATORS.split(value) if word):
        return False
    letters = sum(map(str.isalpha, value))
    if any(map(str.isdigit, value)):
        return letters > 0 or len(value) >= _LONGEST_COUNT
    longest = _LONGEST_HUMP if letters < _MANY_LETTERS else _LONGEST_HUMP + 1
    return letters >= _SHORTEST_LETTERS and letters < len(humps(value)) * longest


@lru_cache(4096)
def is_password(value: str) -> bool:
    """As `is_random`, but people choose passwords: `hunter2` and `12345678` are some, `dark-mode` is not."""
    if len(set(value)) < _FEWEST_CHARACTERS or is_stand_in(value):
        return False
    if _PHRASE.fullmatch(value):
        return True
    words = [word for word in _SEPARATORS.split(value) if word]
    if len(words) > 1 and all(_WORD.fullmatch(word) for word in words):
        return len(words) >= _DRAWN_PARTS and all(any(map(str.isdigit, word)) for word in words)
    symbols = sum(not character.isalnum() and character not in "-_./:" for character in value)
    return any(map(str.isdigit, value)) or (symbols > 0 and len(value) - symbols > symbols) or is_random(value)


def is_spoken_password(value: str) -> bool:
    """As `is_password`, for what follows "the password is", where most often a verb does."""
    if value[0] in "@#&~-+/\\" or not is_password(value):
        return False
    if len(parts := [part for part in _APART.split(value) if part]) == 1:
        return _is_one_word(value)
    return not all(map(_is_plain, parts)) or _PHRASE.fullmatch(value) is not None


def _is_plain(part: str) -> bool:
    """A part of what is said in a sentence: of `2FA-geschützt`, `12-stellig`, `user/pass`."""
    found = _DIGITS_AROUND.fullmatch(part)
    if found is None:
        return False
    letters = found[1]
    return not letters or letters.islower() or letters.isupper() or letters.istitle() or not letters.isascii()


def _is_one_word(value: str) -> bool:
    """`hunter2`, `Sommer2024`, `20394857`; but not `2FA`, `3rd`, `v12`, `12h`."""
    return len(value) > _FEWEST_CHARACTERS and not _COUNTED.fullmatch(value)


def is_given(value: str) -> bool:
    """Whether there is a value at all, and not a word that holds its place."""
    return not is_stand_in(value)
