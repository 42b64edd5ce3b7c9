"""The one door for secrets: what looks like a credential is replaced before it reaches disk or log.

Looked for are specific shapes (a vendor's prefix, a key block, a header) and assignments to names such as
`password` or `api_key`, whose values must look drawn at random rather than written in words. Every pattern
runs in linear time: quantifiers are possessive or bounded. A token takes the whole run of its characters, and a
placeholder is never part of a secret, so redacting twice changes nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# What stands beside a secret can look like one only once that is gone: the second pass finds it, if any does.
_MOST_PASSES: Final = 4


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a secret stands, and of what kind it is; never the secret itself."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text without its secrets, and the kind of each one that was replaced."""

    text: str
    labels: tuple[str, ...]


def redact(text: str) -> Redaction:
    """Replace each secret with a placeholder such as `[redacted: GitHub token]`."""
    labels: list[str] = []
    for _ in range(_MOST_PASSES):
        findings = find(text)
        if not findings:
            break
        text = _replaced(text, findings)
        labels += [finding.label for finding in findings]
    return Redaction(text, tuple(labels))


def _replaced(text: str, findings: list[Finding]) -> str:
    parts: list[str] = []
    kept = 0
    for finding in findings:
        parts += text[kept : finding.start], f"[redacted: {finding.label}]"
        kept = finding.end
    return "".join([*parts, text[kept:]])


def find(text: str) -> list[Finding]:
    """Every secret in `text`, in order and without overlaps."""
    found = [*_key_blocks(text), *_shapes(text), *_assignments(text)]
    found.sort(key=lambda finding: finding.start)
    separate: list[Finding] = []
    for finding in found:
        if separate and finding.start < separate[-1].end:
            last = separate.pop()
            finding = Finding(last.start, max(last.end, finding.end), last.label)  # noqa: PLW2901 - joined
        separate.append(finding)
    return separate


# --- does a value look like a secret? -------------------------------------------------------------


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_MASK: Final = re.compile(r"x{4}|X{4}|\*{3}|\.{3}|…|\[redacted: ")
_REFERENCE: Final = re.compile(
    r"\$[{(]|\$\w+$|%\w+%|\{[{\w]|<|!\w+$|[(\[]"  # ${VAR} $VAR %VAR% {{ var }} {var} <token> !vault (none)
    r"|\d{4}-\d\d-\d\d"
    r"|&?[A-Za-z_.]++(?:\d{1,5}[A-Za-z_.]*+)?[\[(]"  # os.environ[...], getenv(...), ENC[...]
    r"|\w{2,12}://"  # op://vault/item; a password inside a URL has its own shape
    r"|(?i:env|vault|file|ssm|sops|arn|ref|aws|gcp|azure|keyring|keychain|bw|pass):"
    r"|\$(?:2[abxy]|argon2\w{0,2}|[156y]|scrypt)\$|(?i:sha\d{1,3}|md5)[:-]"  # hashes of passwords
)
_STAND_INS: Final = _words(
    "password passwd pass pwd passphrase onepassword lastpass bitwarden secret token apikey key changeme"
    " changeit change example sample dummy fake test testing todo placeholder redacted hidden removed none"
    " null undefined true false string required optional empty default foo bar foobar foobarbaz abc abcdef"
    " insert replace replaceme mypassword mysecret mytoken myapikey sha md bcrypt argon argonid scrypt pbkdf"
    " base oauth aes rsa ed hmac utf hs rs es"
)
_SEPARATORS: Final = re.compile(r"[\s./_:@~-]+")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+\d{0,5}(?:[A-Z][a-z]{2,}\d{0,5})*|[A-Z]+\d{0,5}|\d{1,4}")
_HUMP: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

_FEWEST_CHARACTERS: Final = 5
_LONGEST_COUNT: Final = 20
_SHORTEST_LETTERS: Final = 12
_LONGEST_HUMP: Final = 3


def _is_stand_in(value: str) -> bool:
    """Whether the value only holds the place of a secret, or says where it is kept."""
    if _MASK.search(value) or _REFERENCE.match(value):
        return True
    letters = "".join(filter(str.isalpha, value)).lower()
    return letters in _STAND_INS or letters.startswith(("your", "example"))


def _is_random(value: str) -> bool:
    """Whether the value looks drawn at random: not a word, a name, a path, a date or a count."""
    if len(set(value)) < _FEWEST_CHARACTERS or _is_stand_in(value):
        return False
    if all(_WORD.fullmatch(word) for word in _SEPARATORS.split(value) if word):
        return False
    letters = sum(map(str.isalpha, value))
    if any(map(str.isdigit, value)):
        return letters > 0 or len(value) >= _LONGEST_COUNT
    humps = len(_HUMP.findall(value))
    return letters >= _SHORTEST_LETTERS and letters < humps * _LONGEST_HUMP


def _is_password(value: str) -> bool:
    """As `_is_random`, but people choose passwords: `hunter2` and `12345678` are some, `dark-mode` is not."""
    if len(set(value)) < _FEWEST_CHARACTERS or _is_stand_in(value):
        return False
    words = [word for word in _SEPARATORS.split(value) if word]
    if len(words) > 1 and all(_WORD.fullmatch(word) for word in words):
        return False
    symbols = sum(not character.isalnum() and character not in "-_./:" for character in value)
    return any(map(str.isdigit, value)) or (symbols > 0 and len(value) - symbols > symbols) or _is_random(value)


def _is_given(value: str) -> bool:
    return not _is_stand_in(value)


def _is_anything(_value: str) -> bool:
    return True


# --- shapes that vendors and protocols give their secrets -----------------------------------------


@dataclass(frozen=True, slots=True)
class _Shape:
    """A secret known by its form.

    Attributes:
        label: what stands in the placeholder.
        hints: texts of which one must be present, lower case: sparing most texts the pattern.
        pattern: the whole secret, or the group `secret` where more is needed to know it.
        accepts: the last word, on the secret.
    """

    label: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] = _is_anything


def _token(label: str, hints: str, body: str, accepts: Callable[[str], bool] = _is_anything) -> _Shape:
    """A token that does not begin inside a word."""
    return _Shape(label, tuple(hints.split()), re.compile(rf"(?<![A-Za-z0-9])(?:{body})"), accepts)


_QUOTE: Final = r"""[\\"'`*]{0,3}+"""
_SHAPES: Final = (
    _token("AWS access key id", "akia asia", r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _Shape(
        "AWS secret key",
        ("secret",),
        re.compile(
            rf"(?i:secret_?access_?key){_QUOTE}[ \t]{{0,8}}+(?:=>|[:=]){_QUOTE}[ \t]{{0,8}}+{_QUOTE}"
            r"(?P<secret>[A-Za-z0-9/+]{40,}+=*+)"
        ),
    ),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_]{30,}+"),
    _token("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{30,}+"),
    _token(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt-",
        r"gl(?:pat|dt|rt|cbt|ptt)-[\w-]{20,}+(?:\.[\w-]++)*+",
    ),
    _token(
        "Slack token",
        "xox xapp-",
        r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}+",
        lambda value: bool(re.search(r"\d", value)),
    ),
    _token("Slack webhook", "hooks.slack.com", r"https?://hooks\.slack\.com/[a-z]{4,12}/[\w/-]{20,}+"),
    _token("Stripe key", "_live_ _test_ whsec_", r"(?:(?:sk|rk)_(?:live|test)|whsec)_[A-Za-z0-9]{16,}+"),
    _token("Anthropic key", "sk-ant-", r"sk-ant-[\w-]{16,}+"),
    _token("OpenAI key", "sk-", r"sk-(?!ant-)[\w-]{20,}+", _is_random),
    _token("Google key", "aiza", r"AIza[\w-]{35,}+"),
    _token("Google secret", "gocspx- ya29.", r"(?:GOCSPX-|ya29\.)[\w-]{20,}+"),
    _token("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _token("npm token", "npm_", r"npm_[A-Za-z0-9]{36,}+"),
    _token("PyPI token", "pypi-", r"pypi-[\w-]{50,}+"),
    _token("SendGrid key", "sg.", r"SG\.[\w-]{16,64}+\.[\w-]{16,}+"),
    _token("Twilio key", "sk", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("Telegram bot token", ":aa", r"\d{8,10}+:AA[\w-]{33,}+"),
    _token("DigitalOcean token", "_v1_", r"do[opr]_v1_[A-Za-z0-9]{40,}+"),
    # The look ahead makes sure of the three parts once for each run, or every `eyJ` in it would read them again.
    _Shape(
        "JWT",
        ("eyj",),
        re.compile(
            r"(?<![\w-])(?=[\w-]++\.[\w-]{8,}+\.[\w-]{8,}+)"
            r"[\w-]*?(?<![A-Za-z0-9])(?P<secret>eyJ[\w-]{8,}+\.[\w-]++\.[\w-]++)"
        ),
    ),
    _Shape(
        "authorization header",
        ("authorization",),
        re.compile(
            rf"(?i:authorization){_QUOTE}[ \t]{{0,8}}+[:=]{_QUOTE}[ \t]{{0,8}}+{_QUOTE}"
            r"(?i:bearer|basic|token|bot|apikey)[ \t]{1,8}+(?P<secret>[\w.~+/=-]{8,}+)"
        ),
        _is_password,
    ),
    _Shape(
        "bearer token",
        ("bearer",),
        re.compile(r"(?i:\bbearer)[ \t]{1,8}+(?P<secret>[\w.~+/=-]{20,}+)"),
        _is_random,
    ),
    _Shape(
        "URL password",
        ("://",),
        re.compile(r"""://[^\s/:@"'<>`]{0,128}+:(?P<secret>[^\s/"'<>`]{1,256})@"""),
        _is_given,
    ),
)


def _shapes(text: str) -> Iterator[Finding]:
    lowered = text.lower()
    for shape in _SHAPES:
        if any(hint in lowered for hint in shape.hints):
            for match in shape.pattern.finditer(text):
                group = "secret" if "secret" in shape.pattern.groupindex else 0
                if shape.accepts(match[group]):
                    yield Finding(*match.span(group), shape.label)


# --- private keys ---------------------------------------------------------------------------------

_KEY_MARK: Final = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# What follows the first line of a block that was cut off: headers and base64, newlines perhaps escaped.
_KEY_BODY: Final = re.compile(
    r"(?:\s|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]*+"
    r"|[A-Za-z0-9+/]{16,}+=*+|[A-Za-z0-9+/]++={1,2})*+"
)


def _key_blocks(text: str) -> Iterator[Finding]:
    opened: re.Match[str] | None = None
    for mark in _KEY_MARK.finditer(text):
        if opened is not None:
            end = mark.end() if mark[1] == "END" else _cut_off(text, opened)
            yield Finding(opened.start(), end, "private key")
        opened = mark if mark[1] == "BEGIN" else None
    if opened is not None:
        yield Finding(opened.start(), _cut_off(text, opened), "private key")


def _cut_off(text: str, opened: re.Match[str]) -> int:
    body = _KEY_BODY.match(text, opened.end())
    return opened.end() + len(body[0].rstrip()) if body else opened.end()


# --- assignments ----------------------------------------------------------------------------------

_NAME: Final = re.compile(
    r"(?i:(?P<password>password|passwd|passphrase|pwd)|(?P<token>token)|(?P<secret>secret)"
    r"|(?:api|access|private|signing|encryption|auth|account|master|deploy)[_-]?(?P<key>key))"
    r"(?P<more>(?:[_-][A-Za-z0-9_-]{1,32}+|[A-Z0-9][A-Za-z0-9]{0,32}+)?)"
    rf"{_QUOTE}[ \t]{{0,8}}+(?:=>|:=|={{1,3}}+|:)[*]{{0,2}}+[ \t]{{0,8}}+"
)
# The last word of a name that tells something about a secret, and is not one: `token_count`, `passwordFile`.
_ABOUT: Final = _words(
    "id ids name url uri path file type count limit expiry expires expiration ttl age length len policy"
    " endpoint hint env var ref arn hash digest sha md fingerprint field header size usage max min version"
    " date at manager store provider class regex pattern prefix format algorithm encoding issuer audience"
    " scope scopes"
)
_QUOTED: Final = {quote: re.compile(rf"[^{quote}\n]++") for quote in "\"'`"}
_OPENING: Final = re.compile(r"""\\?(["'`])""")
# A comma, semicolon or ampersand ends a value only where something else begins.
_BARE: Final = re.compile(
    r"""(?:[^\s"'`,;&<>|\\\[]|\[(?!redacted: )|[,;&](?=[^\s"'`,;&<>|\\])(?![\w.-]{1,32}+[=:]))++"""
)
_KINDS: Final = {"password": 6, "token": 12, "secret": 10, "key": 12}
_JUDGED: Final = 64


def _assignments(text: str) -> Iterator[Finding]:
    end = 0
    for name in _NAME.finditer(text):
        if name.start() < end or _is_about(name["more"]):
            continue
        kind, shortest = next((kind, shortest) for kind, shortest in _KINDS.items() if name[kind])
        start, run = _opening(text, name.end())
        # Judged by its beginning, so that names in a row do not each read the same long run.
        judged = _trimmed(run.match(text, start, start + _JUDGED))
        if len(judged) >= shortest and _is_assigned(judged, kind):
            end = start + len(_trimmed(run.match(text, start)))
            yield Finding(start, end, kind)


def _is_about(more: str) -> bool:
    words = _HUMP.findall(more)
    return bool(words) and words[-1].lower() in _ABOUT


def _opening(text: str, start: int) -> tuple[int, re.Pattern[str]]:
    """Where the value itself begins, and what it may consist of."""
    quote = _OPENING.match(text, start)
    return (quote.end(), _QUOTED[quote[1]]) if quote else (start, _BARE)


def _trimmed(value: re.Match[str] | None) -> str:
    if value is None:
        return ""
    return value[0].rstrip(")]}.*" if value.re is _BARE else "\\")


def _is_assigned(value: str, kind: str) -> bool:
    words = value.split()
    if len(words) > 1 and _is_stand_in(value):
        return False
    accepts = _is_password if kind == "password" else _is_random
    return any(accepts(word) for word in words)
