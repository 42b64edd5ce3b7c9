"""Secrets known by form where no prefix begins them: tokens of protocols, headers, cookies, commands, addresses.

Every pattern runs in linear time: quantifiers are possessive or bounded, and what may stand before a secret is looked
at backwards from a hint, over a bounded stretch. Whether a value looks like a secret (drawn at random, or chosen as a
password, and not merely a word or a reference) is judged by its first characters, so that each judgement costs the same
however long a value is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.model.words import regex

JUDGED: Final = 64  # characters
_STRETCH: Final = 32_768  # characters that one call into `re` looks at: other threads wait for it


def words_of(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


MASK: Final = regex(r"x{4}|X{4}|\*{3}|\.{3}|…|•|\[redacted: ")
_REFERENCE: Final = regex(
    r"\$[{(]|\$\w+$|%\w+%|\{[{\w]|<|!\w+$|[(\[]"  # ${VAR} $VAR %VAR% {{ var }} {var} <token> !vault (none)
    r"|%\w+\(|[A-Za-z_]\w{0,40}+(?>(?:\.\w{1,40}+){1,6})\("  # %env(VAR)%, base64.b64decode(...)
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
_SEPARATORS: Final = regex(r"[\s./_:@~-]+")
_WORD: Final = regex(r"[A-Z]?[a-z]+\d{0,5}(?:[A-Z][a-z]{2,}\d{0,5})*|[A-Z]+\d{0,5}|\d{1,4}")
_APART: Final = regex(r"[\s./_:@~+&-]+")
_COUNTED: Final = regex(r"\d{1,3}[^\W\d_]{1,4}")
_HUMP: Final = regex(r"[A-Z]?[a-z]+|[A-Z]+")
_DIGITS_AROUND: Final = regex(r"\d{0,4}([^\W\d_]*)\d{0,5}")
_PHRASE: Final = regex(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,9}|[A-Z][a-z]{2,11}(?:-[A-Z][a-z]{2,11}){3,9}")

_FEWEST_CHARACTERS: Final = 5
_LONGEST_COUNT: Final = 20
_SHORTEST_LETTERS: Final = 12
_LONGEST_HUMP_OF_VALUE: Final = 3  # letters on average
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
    longest = _LONGEST_HUMP_OF_VALUE if letters < _MANY_LETTERS else _LONGEST_HUMP_OF_VALUE + 1
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


QUOTE: Final = r"""[\\"'`*]{0,3}+"""
_LONGEST: Final = 8192  # characters of what has such a form, for which it is looked at in one go
_LINE: Final = 400  # characters of a command before its credentials


@dataclass(frozen=True, slots=True)
class Shape:
    """A secret known by its form.

    Attributes:
        label: what stands in the placeholder.
        hints: texts of which one must be present, lower case: sparing most texts the pattern.
        pattern: the whole secret, or the group `secret` where more is needed to know it.
        accepts: the last word, on the secret's beginning.
    """

    label: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] = is_given


def _is_anything(_value: str) -> bool:
    return True


_AUTH: Final = (
    rf"(?i:(?:proxy-)?authorization){QUOTE}[ \t]{{0,8}}+[:=]{QUOTE}[ \t]{{0,8}}+{QUOTE}"
    r"(?>(?:(?i:bearer|basic|token|bot|apikey|api-key|key|geniekey|ssws|digest|negotiate|zoho-oauthtoken|splunk|vault)"
    r"[ \t]{1,8}+(?i:token=)?\"?)?)"
)
_USERS: Final = r"[A-Za-z0-9._%+@-]{1,64}"

SHAPES: Final = (
    Shape(
        "AWS secret key",
        ("secret",),
        regex(
            rf"(?i:secret_?access_?key){QUOTE}[ \t]{{0,8}}+(?:=>|[:=]){QUOTE}[ \t]{{0,8}}+{QUOTE}"
            r"(?P<secret>[A-Za-z0-9/+]{40,}+=*+)"
        ),
        _is_anything,
    ),
    Shape(
        "AWS secret key",
        ("akia", "asia", "secret", "aws"),
        regex(
            r"(?:(?:AKIA|ASIA)[A-Z0-9]{16}|(?i:aws|amazon|secret)[\w -]{0,24}?(?i:key|secret))"
            r"[^A-Za-z0-9+\n]{1,12}(?:(?i:and|with|secret|is|key|the|access)[^A-Za-z0-9/+]{1,4}){0,5}"
            r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        is_random,
    ),
    Shape("Telegram bot token", (":aa",), regex(r"(?<![A-Za-z0-9])\d{8,10}+:AA[\w-]{32,}+"), _is_anything),
    Shape(
        "Azure secret",
        ("q~",),
        regex(r"(?<![\w~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![\w~-])"),
        is_random,
    ),
    Shape(
        "Discord token",
        (".",),
        regex(r"(?<![\w.+/-])(?:mfa\.[\w-]{80,}+|[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{25,}+)"),
        is_random,
    ),
    Shape(
        "Terraform Cloud token",
        (".atlasv1.",),
        regex(r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+"),
    ),
    Shape("Mailchimp key", ("-us",), regex(r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])")),
    Shape("Mailgun key", ("mailgun",), regex(r"(?<![A-Za-z0-9-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])")),
    Shape("MaxMind key", ("_mmk",), regex(r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk")),
    Shape("Facebook token", ("|",), regex(r"(?<![A-Za-z0-9])\d{15,16}\|[\w-]{27,40}(?![\w-])"), is_random),
    Shape(
        "Azure signature",
        ("sig=",),
        regex(r"(?<![A-Za-z0-9])sig=(?P<secret>[A-Za-z0-9%/+_-]{36,}+=*+)"),
        is_random,
    ),
    Shape(
        "signed URL",
        ("-signature=",),
        regex(r"(?i:x-(?:amz|goog)-signature)=(?P<secret>[0-9a-fA-F]{40,}+)"),
        lambda value: not is_masked(value),
    ),
    # The look ahead makes sure of the three parts once for each run, or every `eyJ` in it would read them again.
    Shape(
        "JWT",
        ("eyj",),
        regex(
            r"(?<![\w-])(?=[\w-]++\.[\w-]{8,}+\.[\w-]{8,}+)"
            r"[\w-]*?(?<![A-Za-z0-9])(?P<secret>eyJ[\w-]{8,}+\.[\w-]++\.[\w-]++)"
        ),
        _is_anything,
    ),
    # With five parts it is encrypted; its second part may be empty.
    Shape(
        "JWT",
        ("eyj",),
        regex(r"(?<![\w.-])eyJ[\w-]{8,}+\.[\w-]*+\.[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,}+"),
        _is_anything,
    ),
    Shape(
        "JSON web key",
        ('"kty"',),
        regex(r'"(?:d|k|p|q|dp|dq|qi)"\s{0,4}+:\s{0,4}+"(?P<secret>[\w-]{20,}+)"'),
        is_random,
    ),
    Shape(
        "authorization header",
        ("authorization",),
        regex(rf"{_AUTH}(?P<secret>[\w.~+/=:-]{{8,}}+)"),
        is_password,
    ),
    Shape("bearer token", ("bearer",), regex(r"(?i:\bbearer)[ \t]{1,8}+(?P<secret>[\w.~+/=-]{20,}+)"), is_random),
    Shape(
        "session cookie",
        ("cookie", "sess", "sid="),
        regex(
            r"(?i:\b(?:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid"
            r"|_?[a-z_.-]{0,24}?sess(?:ion)?(?:[_-]?id)?|sid))"
            r"=(?P<secret>[\w%.~+/:-]{16,}+=*+)"
        ),
        is_random,
    ),
    Shape(
        "registry password",
        ('auth"', "_auth", "_password"),
        regex(
            r"""(?:"auth"\s{0,4}+:\s{0,4}+"|_(?:auth|password)\s{0,4}+=\s{0,4}+"?)(?P<secret>[\w+/-]{8,}+=*+)"""
        ),
        is_random,
    ),
    Shape(
        "URL password",
        ("://",),
        regex(r"""://[^\s/:@"'<>`]{0,128}+:(?P<secret>[^\s/"'<>`]{1,256})@"""),
    ),
    Shape(
        "URL token",
        ("://",),
        regex(r"""://(?P<secret>[\w-]{20,128}+)@[A-Za-z0-9]"""),
        is_random,
    ),
    Shape(
        "password",
        ("@",),
        regex(
            r"(?<![\w/@.:-])[A-Za-z][\w.-]{0,31}+:(?P<secret>[^\s:@/'\"`<>]{5,64}+)"
            r"@(?:[A-Za-z][\w-]{0,62}+(?>(?:\.[\w-]{1,63}+){1,6})|(?:\d{1,3}\.){3}\d{1,3}|localhost)(?![\w@])"
        ),
        is_password,
    ),
    Shape(
        "password",
        (":543", ":*:"),
        regex(r"(?m)^[\w.*-]{1,128}+:(?:543\d|\*):[\w.*-]{1,64}+:[\w.-]{1,64}+:(?P<secret>\S{4,128}+)$"),
    ),
    Shape(
        "password",
        ("pass:",),
        regex(r"""-pass(?:in|out)?[ =]["']?pass:(?P<secret>[^\s"']{4,128}+)"""),
    ),
    Shape("password", ("identified",), regex(
        r"""(?i:identified\s{1,4}+(?:with\s{1,4}+\w{1,40}+\s{1,4}+)?by\s{1,4}+)["'](?P<secret>[^"'\n]{4,128}+)["']""")),
    Shape(
        "password",
        ("auth",),
        regex(r"""(?i:auth)\s?=?\s?\(\s?["'][^"'\n]{1,64}["'],\s?["'](?P<secret>[^"'\n]{4,128}+)["']\s?\)"""),
    ),
    Shape("password", ("chpasswd",), regex(
        rf"""(?<![A-Za-z0-9._%+@-]){_USERS}:(?P<secret>[^\s"':]{{4,128}}+)["']?\s{{1,4}}+\|"""
        r"""\s{0,4}+(?:sudo\s{1,4}+)?chpasswd"""
    )),
    Shape("password", ("sudo -s", "--password-stdin", "--passphrase-fd"), regex(
        r"""(?:echo|printf)\s{1,4}+(?:-n\s{1,4}+)?["']?(?P<secret>[^\s"'|]{4,128}+)["']?\s{0,4}+\|\s{0,4}+"""
        r"""(?=[^\n|]{0,80}(?:sudo -S|-stdin|passphrase-fd))"""
    )),
)  # fmt: skip


def shapes(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Where a secret stands that has one of these forms, and what it is."""
    for shape in SHAPES:
        if any(hint in lowered for hint in shape.hints):
            group = "secret" if "secret" in shape.pattern.groupindex else 0
            for match in matches(shape.pattern, text, _LONGEST):
                start, end = match.span(group)
                if shape.accepts(text[start : min(end, start + JUDGED)]):
                    yield start, end, shape.label
    yield from _cookies(text, lowered)
    yield from _credentials(text, lowered)
    yield from _putty(text)


# --- cookies --------------------------------------------------------------------------------------

_COOKIE: Final = regex(
    rf"(?:set-)?cookies?{QUOTE}[ \t]{{0,4}}+[:=]{QUOTE}[ \t]{{0,4}}+{QUOTE}|(?:-b|--cookie)[ =][\"']?"
)
_PAIR: Final = regex(r"""(?:^|(?<=[;\s"'`]))([!#$%&*+.^|~\w-]{1,64}+)=("?[^\s;,"'`\\]{8,4096}+)""")
_ATTRIBUTES: Final = words_of("path expires domain max-age samesite version priority _ga _gid _gat _fbp _gcl_au")
_LONGEST_HEADER: Final = 4096


def _cookies(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    if "cookie" not in lowered and "-b " not in lowered:
        return
    end = 0
    for head in _COOKIE.finditer(lowered):
        if head.end() < end:
            continue
        line = text.find("\n", head.end(), head.end() + _LONGEST_HEADER)
        end = line if line >= 0 else min(len(text), head.end() + _LONGEST_HEADER)
        for pair in _PAIR.finditer(text, head.end(), end):
            if pair[1].lower() not in _ATTRIBUTES and is_random(pair[2][:JUDGED]):
                yield *pair.span(2), "cookie"


# --- `curl -u user:password` ----------------------------------------------------------------------

_CLIENTS: Final = regex(r"\b(?:curl|wget|https?|xh|ab|httpie)\b")
_USER: Final = regex(
    rf"""(?<!\S)(?:-u|-U|-a|--user|--proxy-user|--auth)[ =]?["']?{_USERS}:(?P<secret>[^\s"'`]{{3,256}}+)"""
    r"""|(?<!\S)--(?:http-)?password[ =]["']?(?P<other>[^\s"'`-][^\s"'`]{3,255}+)"""
)
_DATABASES: Final = regex(
    r"\b(?:mysql\w{0,8}|mariadb(?:-\w{1,8})?|sshpass|redis-cli|docker|podman|az|7z|zip"
    r"|unzip|smbclient|ldapsearch|htpasswd)\b"
)
_ARGUMENT: Final = regex(r"""(?<!\S)(?:-p|-a|-P|-w|-b)(?P<gap> ?)["']?(?P<secret>[^\s"'`-][^\s"'`]{3,127}+)""")
_GAPLESS: Final = words_of("mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump 7z")


def _credentials(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    if "-u" in lowered or "--user" in lowered or "--auth" in lowered or "password" in lowered or " -a" in lowered:
        for match in matches(_USER, text, _LONGEST):
            group = "secret" if match["secret"] else "other"
            value = match[group][:JUDGED]
            known = bool(_CLIENTS.search(lowered, max(0, match.start() - _LINE), match.start()))
            if is_given(value) and not value.isdigit() and (known or (group == "other" and is_password(value))):
                yield *match.span(group), "password"
    if " -p" in lowered or " -a" in lowered:
        yield from _arguments(text, lowered)


def _arguments(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """As in `mysql -u root -px7f9q2` and `sshpass -p x7f9q2`."""
    for match in matches(_ARGUMENT, text, _LONGEST):
        begin = max(0, match.start() - _LINE // 4, text.rfind("\n", max(0, match.start() - _LINE), match.start()) + 1)
        names = _DATABASES.findall(lowered, begin, match.start())
        if names and is_password(match["secret"][:JUDGED]) and ":" not in match["secret"]:
            glued = any(name in _GAPLESS for name in names)
            if glued != bool(match["gap"]) and (
                glued or "docker" not in names or "login" in lowered[begin : match.start()]
            ):
                yield *match.span("secret"), "password"


# --- PuTTY's key files ----------------------------------------------------------------------------

_PUTTY: Final = regex(
    r"Private-Lines: \d{1,5}+(?>(?:\s|\\[nr])+)(?P<secret>(?>(?:[A-Za-z0-9+/=]{4,}+(?>(?:\s|\\[nr])*))+)"
    r"(?:Private-(?:MAC|Hash): [0-9a-f]++)?)"
)


def _putty(text: str) -> Iterator[tuple[int, int, str]]:
    if "Private-Lines: " in text:
        for match in _PUTTY.finditer(text):
            secret = match["secret"].rstrip()
            yield match.start("secret"), match.start("secret") + len(secret), "private key"


def matches(pattern: re.Pattern[str], text: str, longest: int) -> Iterator[re.Match[str]]:
    """As `finditer`, in calls that are each short. What is longer than `longest` is looked at once more."""
    at = 0
    while at < len(text):
        until = min(at + _STRETCH, len(text))
        for match in pattern.finditer(text, at, until + longest):
            if match.start() >= until or match.start() < at:
                break
            if match.end() == until + longest:  # it may go on
                match = pattern.match(text, match.start()) or match  # noqa: PLW2901 - the whole of it
            yield match
            at = max(at, match.end())
        at = max(at, until)
