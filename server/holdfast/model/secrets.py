# ruff: noqa: RUF001 - letters and signs of other scripts are the point
"""The one door for secrets: what looks like a credential is replaced before it reaches disk or log.

Looked for are the prefixes that vendors give (`secret_formats`), forms of protocols (`secret_shapes`), key blocks, and
values that are given a name such as `password`: `DB_PASS=…`, "the password is …", « mot de passe : … ». Such a name is
followed by what says that a value comes: a sign (`=`, `:`), a verb ("is", "lautet", 是), a quotation mark or, after the
option of a command, a blank. The more plainly it says so, the less the value itself must look like a secret.

The work grows with the length of the text and no faster, in calls that are each short. A token takes the whole run of
its characters, and a placeholder is never part of a secret, so redacting twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, starmap
from typing import Final

from holdfast.model.secret_formats import BY_PREFIX, Format, body_of, entropy
from holdfast.model.secret_shapes import (
    JUDGED,
    QUOTE,
    humps,
    is_given,
    is_masked,
    is_password,
    is_random,
    is_spoken_password,
    is_stand_in,
    matches,
    shapes,
    words_of,
)
from holdfast.model.words import any_of, regex

_PASSWORDS: Final = (
    "password|passwd|passphrase|pass phrase|passcode|pass code|pwd|pass word"
    "|passwort|kennwort|passwörter|zugangscode|mot de passe|mots de passe|phrase secrète|code d'accès"
    "|contraseña|contrasena|clave de acceso|clave secreta|senha|palavra-passe|palavra passe|parola d'ordine"
    "|wachtwoord|toegangscode|hasło|haslo|lösenord|passord|adgangskode|kodeord|salasana|lykilorð|jelszó|parolă"
    "|heslo|geslo|lozinka|şifre|sifre|parola|parool|slaptažodis|κωδικός πρόσβασης|κωδικός|κωδικό"
    "|пароль|пароля|паролем|парол|лозинка|密码|密碼|口令|パスワード|パスフレーズ|暗証番号|비밀번호|패스워드|암호"
    "|كلمة المرور|كلمة السر|סיסמה|סיסמא|पासवर्ड|mật khẩu|kata sandi|รหัสผ่าน|গোপন নম্বর|पासफ़्रेज़"
)
# Too short to stand within another word.
_SHORT: Final = "pass|pw|mdp|psw|pswd|clave|sandi|ключ|psk|пасс"
_TOKENS: Final = "token|jeton|токен|令牌|トークン|토큰|رمز الوصول|bearer key"
_SECRETS: Final = "secret|secret key|secret_key|secret-key|secretkey|geheimnis|segreto|секрет|シークレット|시크릿"
_KEYED: Final = (
    "api access private signing encryption decryption auth account master deploy subscription storage shared"
    " preshared webhook license licence unseal recovery functions consumer client app admin service integration"
    " ingest write hmac bot"
)
# Vendors whose keys have no form of their own, or had none once.
_VENDORS: Final = (
    "openai mistral cohere datadog dd algolia cloudflare heroku twilio pagerduty okta auth0 circleci netlify sonar"
    " mapbox discord deepseek anthropic claude groq gemini"
    " together fireworks perplexity pinecone weaviate qdrant langsmith"
    " stripe sendgrid mailgun mailchimp postmark sentry grafana rollbar bugsnag amplitude mixpanel segment airtable"
    " notion figma asana trello jira confluence bitbucket azure openweather alchemy infura etherscan coinbase binance"
    " kraken dropbox zendesk freshdesk intercom hubspot shopify square adyen mollie fastly akamai linode vultr hetzner"
    " scaleway snyk codecov travis drone launchdarkly nasa newsapi tmdb deepl elevenlabs replicate huggingface voyage"
)
_KEYS: Final = (
    "api-schlüssel|api schlüssel|zugangsschlüssel|clé api|clé d'api|clé secrète|clave api|clave de api|chave api"
    "|chave de api|chiave api|api-sleutel|klucz api|ключ api|api ключ|api-ключ|密钥|密鑰|秘钥|apiキー|api キー"
    "|秘密鍵|api 키|api키|مفتاح api"
)
_SEEDS: Final = "seed phrase|recovery phrase|mnemonic|wiederherstellungsphrase"


@cache
def _kinds() -> dict[str, str]:
    kinds = dict.fromkeys((_PASSWORDS + "|" + _SHORT).split("|"), "password")
    kinds |= dict.fromkeys(_TOKENS.split("|"), "token") | dict.fromkeys(_SECRETS.split("|"), "secret")
    kinds |= dict.fromkeys(_KEYS.split("|"), "key") | dict.fromkeys(_SEEDS.split("|"), "seed phrase")
    return kinds | {
        f"{word}{gap}key": "key" for word in (_KEYED + " " + _VENDORS).split() for gap in ("", "_", "-", " ")
    }


@cache
def _names() -> re.Pattern[str]:
    return re.compile(any_of(_kinds()))


_LONGEST_NAME: Final = 32
_SHORTER: Final = frozenset(_SHORT.split("|"))
_LEAST: Final = {"password": 6, "token": 12, "secret": 10, "key": 12}
_LEAST_SPOKEN: Final = 5
_LEAST_DIRECT: Final = 20
_LEAST_STRONG: Final = 8
_BEFORE: Final = 40  # characters

# The last word of a name that tells something about a secret, and is not one: `token_count`, `passwordFile`.
_ABOUT: Final = words_of(
    "id ids name names url uri path paths file files type types count counts limit limits expiry expires expiration"
    " expired ttl age length len policy policies endpoint hint hints env var vars ref arn hash hashes hashed digest"
    " sha md fingerprint field fields header headers size usage max min version date at manager managers store"
    " provider class regex pattern prefix suffix format algorithm encoding issuer audience scope scopes mode rules"
    " strength rotation reset rotate generator generation requirement requirements input prompt protection protected"
    " auth authentication authenticated authorization login management change changes entry entries vault based free"
    " less scanning scanner validation validator rotator budget bucket window windows stream embedding embeddings"
    " classification vocab vocabulary index position ids ratio rate price cost costs per and or must should can will"
    " may cannot does did has have had was were does not no in resolver service module schema refresh handling"
    " leak leaks detection door error errors failure test tests case cases status placeholder example kind"
    " label table column key_id pair pairs management metadata"
)
_ABOUT_SAID: Final = _ABOUT - {"was"}  # "the password was set to …"
_MORE: Final = regex(r"[_-][A-Za-z0-9_-]{1,32}+|[A-Z0-9][A-Za-z0-9]{0,32}+")
_SIGN: Final = regex(
    rf"{QUOTE}\]?[ \t]{{0,8}}+(?:=>|:=|={{1,3}}+|->|→|[:：＝])[*]{{0,2}}+[ \t]{{0,8}}+"
    r"|\s{0,2}(?:\(\"|\('|>)|[\"'] (?:value|content)=(?=[\"'])|[ \t]{0,4}\|[ \t]{1,4}"
)  # fmt: skip
_NEXT_LINE: Final = regex(r"[ \t]{0,4}:?[*]{0,2}+:?[ \t]{0,4}\r?\n\s{0,8}(?:```\w{0,12}\n)?(?=\S+[ \t]*(?:\n|$))")
_OF: Final = (
    r"(?:for|of|on|in|to|at|from|with|used|für|fürs|von|vom|zum|zur|des|der|auf|bei|am|im|du|de|del|da|do|di|per|para"
    r"|por|pour|sur|voor|van|dla|do|för|til|для|от|к|на|the|our|my|your)"
)
_ASIDE: Final = r"(?:[^\n.:=!?;,\"`'(]|\.(?=\w))"
_BRACKETED: Final = r"(?>(?:\s\([^()\n]{1,40}\)|\s\"[^\"\n]{1,40}\")?)"
_SAYS: Final = (
    r"(?:[ \t]{0,2}(?P<sign>:=|=>|->|→|[:=：])[*]{0,2}[ \t]{0,4}"
    r"|\s{1,2}(?P<verb>is|was|are|equals|remains|ist|war|lautet|lautete|heißt|heisst|est|était|es|era|è|é|jest|je|är|er"
    r"|это|теперь|—|–|→|là|adalah|to|has been set to|was set to|is set to|changed to)\s?:?\s{1,2}"
    r"(?>(?:(?:now|currently|still|just|simply|probably|actually|always|set to|literally|jetzt|aktuell|nun|derzeit|also"
    r"|maintenant|actuellement|ahora|actualmente|теперь|сейчас|called|as follows"
    r"|the string|the following)[:,]?\s{1,2})?))"
)  # fmt: skip
_VERBS: Final = (
    regex(_BRACKETED + _SAYS),
    regex(rf"{_BRACKETED}\s{_OF}\s{_ASIDE}{{1,48}}?{_SAYS}"),
    regex(rf"(?:\s[^\W\d_]{{2,16}}){{1,2}}?{_SAYS}"),
)
_UNSPACED_VERB: Final = regex(
    r"[^\x00-\x7f\n。，、：]{0,12}?\s{0,2}(?:现在是|現在は|是|为|為|は|が|은|는|이|を|[:：=]|הוא|היא|هي|هو|है|คือ|là)\s{0,2}(?:[:：]\s?)?"
)
_FOLLOWING: Final = regex(r"\s([^\W\d_]{2,16})\b(?!\s?[:=])")
_ARTICLE: Final = regex(r"\s(?:is|as|ist|als|est|es)\s(?:the|your|our|my|its|a|das|unser|mein|le|la|notre)\s")
_AHEAD: Final = regex(
    r"(?:^|(?<=[\s(]))[`\"']?(?P<secret>[^\s`\"']{6,64})[`\"']?\s(?:is|as|ist|als|est|es)\s"
    r"(?:the|your|our|my|its|a|das|unser|mein|le|la|notre)\s(?:[\w-]{1,20}\s){0,3}$"
)
_PAIR: Final = regex(r"(?:credential|cred|login|zugangsdaten|zugang|identifiant|credenciale|логин)[a-z]{0,3}")
_PAIR_VALUE: Final = regex(
    r"(?:\s(?:for|für|of|to|pour|para)\s[^\n:=.]{1,40}?)?"
    r"\s{0,2}(?::|=|\b(?:is|are|sind|lauten|sont|son)\b)\s{0,2}[`\"']?"
    r"[\w.@+-]{1,40}(?:\s?/\s?|:|\s\|\s)(?P<secret>[^\s`\"'/][^\s`\"']{4,63})"
)
_CHANGED: Final = regex(r"\b(?:chang|set|reset|rotat|updat|switch|geändert|gesetzt)\w{0,4}\b")
_USED: Final = regex(
    r"(?:\b(?:login|user|username|with|and|use|using|mit|und|avec|et|con|y|с|и)\b[^\n.;:]{0,32}|[/,]\s?)$"
)
_VENDORED: Final = regex(
    r"\b(?:api|access|auth|private|secret|client|deploy|signing|personal|bearer|refresh|bot|service|install|user)[ _-]$"
    r"|\b(?:use|using|with|mit|avec)\s$"
)

_MIXED: Final = regex(r"(?=[A-Za-z]*+\d)(?=\d*+[A-Za-z])(?=(?:[^\d]*\d){2})[A-Za-z0-9]{8,32}")

_EMPHASIS: Final = regex(r"[*_]{1,2}(?=\S)")
_CLOSING: Final = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』", "‘": "’", "‹": "›"}
_OPENING: Final = regex(r"""\\?(["'`])|(?:[“„«「『‘‹])[  ]?""")
_CLOSERS: Final = {**dict(zip("\"'`", "\"'`", strict=True)), **_CLOSING}
_QUOTED: Final = {opening: regex(rf"[^{closing}\n]++") for opening, closing in _CLOSERS.items()}
# A comma, semicolon or ampersand ends a value only where something else begins.
_BARE: Final = regex(r"""(?>(?:[^\s"'`,;&<>|\\\[]|\[(?!redacted: )|[,;&](?=[^\s"'`,;&<>|\\])(?![\w.-]{1,32}+[=:]))+)""")
_SPOKEN: Final = regex(r"""(?>(?:[^\s"'`<>|\\\[。，、；！？」』”»]|\[(?!redacted: )|'(?=\w))+)""")
_ASCII: Final = regex(r"[!-~]++")
_SEED: Final = regex(r"(?>(?:[a-z]{3,8}[ ,]{1,2}){11,23})[a-z]{3,8}")


@dataclass(frozen=True, slots=True)
class _Value:
    """Where a value begins, what it may consist of, and its beginning, by which it is judged."""

    start: int
    run: re.Pattern[str]
    judged: str

    def span(self, text: str) -> tuple[int, int]:
        return self.start, self.start + len(_trimmed(self.run, self.run.match(text, self.start)))

    @property
    def is_one_word(self) -> bool:
        return len(self.judged.split()) == 1


def _value(text: str, at: int, bare: re.Pattern[str]) -> _Value:
    """The value that begins there, in quotation marks or `bare`."""
    quote = _OPENING.match(text, at)
    start, run = (quote.end(), _QUOTED[quote[1] or quote[0][0]]) if quote else (at, bare)
    return _Value(start, run, _trimmed(run, run.match(text, start, start + JUDGED)))


def named(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Where a value stands that has the name of a secret, and what it is called. `lowered` is as long as `text`."""
    end, kinds = 0, _kinds()
    for name in matches(_names(), lowered, _LONGEST_NAME):
        if name.start() < end or _is_within(name, text):
            continue
        kind = kinds[name[0]]
        found = _valued(text, lowered, name.start(), name.end(), kind)
        if found is None:
            yield from _ahead(text, lowered, name.start(), name.end(), kind)
        else:
            yield *found, kind
            end = found[1]
    yield from _pairs(text, lowered)


def _is_within(name: re.Match[str], text: str) -> bool:
    """Whether a short name is only a part of another word: `compass`, but not `dbPass`."""
    if name[0] not in _SHORTER:
        return False
    before, first = text[name.start() - 1 : name.start()], text[name.start()]
    inside = before.isalnum() and not (before.islower() and first.isupper())
    return inside or text[name.end() : name.end() + 1].isalpha()


def _valued(text: str, lowered: str, begin: int, after: int, kind: str) -> tuple[int, int] | None:
    """Where the value of the name in these bounds stands, if it has one that is a secret."""
    more = _MORE.match(text, after)
    if more is not None:
        last = humps(more[0])
        if last and last[-1].lower() in _ABOUT:
            return None
        after = more.end()
    if kind == "seed phrase":
        return _seed(lowered, after)
    sign = _SIGN.match(text, after)
    if sign is not None:
        return _assigned(text, begin, sign, kind) or _below(text, after, kind)
    if not lowered[begin].isascii() or not lowered[after - 1].isascii():
        spoken = _UNSPACED_VERB.match(lowered, after) if more is None else None
        found = _spoken(text, spoken.end(), kind, _ASCII) if spoken else None
        if found:
            return found
    return _said(text, lowered, begin, after, kind) or _below(text, after, kind)


def _assigned(text: str, begin: int, sign: re.Match[str], kind: str) -> tuple[int, int] | None:
    value = _value(text, sign.end(), _BARE)
    if len(value.judged) < _LEAST[kind] or _is_other(text, begin, sign, value):
        return None
    plain = kind == "password" and _is_environment(text, begin, sign, value)
    good = _is_assigned(value.judged, kind) or (plain and is_given(value.judged))
    return value.span(text) if good else None


def _is_other(text: str, begin: int, sign: re.Match[str], value: _Value) -> bool:
    """Whether this is rather a table, a call or a test's result than a name that is given a value."""
    match sign[0].lstrip()[:1]:
        case "|":
            return not is_random(value.judged)
        case "(":
            return not value.is_one_word
        case ":" if text[begin : sign.start()] == "pass":  # "pass: test_login_2"
            return text[begin - 1 : begin] not in ("_", "-") and not is_random(value.judged)
        case _:
            return False


def _is_environment(text: str, begin: int, sign: re.Match[str], value: _Value) -> bool:
    """As in `DB_PASSWORD=swordfish`, alone: there a plain word is the password."""
    end = value.start + len(value.judged)
    if sign[0] != "=" or not text[begin : sign.start()].isupper() or text[begin - 1 : begin].islower():
        return False
    return not value.judged.startswith(("/", "~")) and not text[end : end + 1].strip()


def _is_assigned(value: str, kind: str) -> bool:
    words = value.split()
    if len(words) > 1 and is_stand_in(value):
        return False
    accepts = is_password if kind == "password" else is_random
    ends = ".,;:?!" if len(words) > 1 else ""
    return any(accepts(word.rstrip(ends) if ends else word) for word in words)


def _said(text: str, lowered: str, begin: int, after: int, kind: str) -> tuple[int, int] | None:
    """As in "the password for staging is …", or right behind the name."""
    following = _FOLLOWING.match(lowered, after)
    if following is not None and following[1] in _ABOUT_SAID:
        return None
    for pattern in _VERBS if kind == "password" else _VERBS[:2]:
        verb = pattern.match(lowered, after)
        if verb is None or (verb["verb"] == "to" and not _is_changed(lowered, begin)):
            continue
        found = _spoken(text, verb.end(), kind, _SPOKEN)
        if found:
            return found
    if lowered[after : after + 1] in (" ", "\t"):
        return _direct(text, lowered, begin, after + 1, kind)
    return None


def _is_changed(lowered: str, begin: int) -> bool:
    """As in "set the password to …"; in Polish "to" is a verb."""
    return lowered.startswith("has", begin) or _CHANGED.search(lowered, max(0, begin - _BEFORE), begin) is not None


def _spoken(text: str, start: int, kind: str, bare: re.Pattern[str]) -> tuple[int, int] | None:
    marked = _EMPHASIS.match(text, start)
    value = _value(text, marked.end() if marked else start, bare)
    return value.span(text) if _is_spoken(value, kind, quoted=value.run is not bare) else None


def _is_spoken(value: _Value, kind: str, *, quoted: bool) -> bool:
    judged = value.judged
    if kind != "password":
        return len(judged) >= _LEAST[kind] and value.is_one_word and is_random(judged)
    if len(judged) < _LEAST_SPOKEN:
        return False
    if not quoted:
        return is_spoken_password(judged)
    return is_given(judged) and (value.is_one_word or _is_assigned(judged, kind))


def _direct(text: str, lowered: str, begin: int, at: int, kind: str) -> tuple[int, int] | None:
    """Right behind the name: `--password x7f9q2`, "with the password `x7f9q2`", "the API key 3f2a…"."""
    option = lowered[begin - 1 : begin] == "-"
    value = _value(text, at, _SPOKEN)
    if not value.is_one_word or is_stand_in(value.judged) or (lowered[begin : at - 1] == "pass" and not option):
        return None  # "pass" is a verb
    marked = option or value.run is not _SPOKEN
    before = lowered[max(0, begin - _BEFORE) : begin]
    good = _is_direct_password if kind == "password" else _is_direct_key
    return value.span(text) if good(value.judged, before, kind, marked=marked) else None


def _is_direct_password(judged: str, before: str, _kind: str, *, marked: bool) -> bool:
    """Without a word between, only what can hardly be a word is taken for a password, unless something marks it."""
    if len(judged) < _LEAST_SPOKEN or not is_spoken_password(judged):
        return False
    return marked or _USED.search(before) is not None or _MIXED.fullmatch(judged) is not None or _is_strong(judged)


def _is_direct_key(judged: str, before: str, kind: str, *, marked: bool) -> bool:
    if not marked and kind != "key" and not _VENDORED.search(before):
        return False
    least = _LEAST[kind] if marked else _LEAST_DIRECT
    return len(judged) >= least and is_random(judged) and any(map(str.isalpha, judged))


def _is_strong(value: str) -> bool:
    """Whether it mixes so many kinds of characters that it can only be a password."""
    kinds = (str.islower, str.isupper, str.isdigit, _is_symbol)
    return len(value) >= _LEAST_STRONG and all(any(map(kind, value)) for kind in kinds)


def _is_symbol(character: str) -> bool:
    return not character.isalnum() and character not in "-_./:"


def _below(text: str, after: int, kind: str) -> tuple[int, int] | None:
    """On the next line, alone on it."""
    head = _NEXT_LINE.match(text, after) if kind == "password" else None
    if head is None:
        return None
    value = _value(text, head.end(), _SPOKEN)
    good = len(value.judged) >= _LEAST[kind] and value.is_one_word and is_spoken_password(value.judged)
    return value.span(text) if good else None


def _ahead(text: str, lowered: str, begin: int, after: int, kind: str) -> Iterator[tuple[int, int, str]]:
    """As in "x7f9q2 is the password for staging"."""
    first = max(0, begin - 2 * _BEFORE)
    if lowered[begin - 1 : begin] not in (" ", "") or not _ARTICLE.search(lowered, first, begin):
        return
    following = _FOLLOWING.match(lowered, after)
    found = _AHEAD.search(text, first, begin)
    if found is None or (following is not None and following[1] in _ABOUT):
        return
    secret = found["secret"][:JUDGED]
    if is_spoken_password(secret) if kind == "password" else len(secret) >= _LEAST_DIRECT and is_random(secret):
        yield *found.span("secret"), kind


def _seed(lowered: str, after: int) -> tuple[int, int] | None:
    found = _SEED.search(lowered, after, after + 300)
    return found.span() if found and found.start() <= after + 40 else None


def _pairs(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """As in "credentials: admin / x7f9q2"."""
    for head in _PAIR.finditer(lowered):
        found = _PAIR_VALUE.match(text, head.end())
        if found is not None:
            secret = found["secret"].rstrip(".,;:)]}")
            if is_spoken_password(secret):
                yield found.start("secret"), found.start("secret") + len(secret), "password"


def _trimmed(run: re.Pattern[str], value: re.Match[str] | None) -> str:
    if value is None:
        return ""
    if run is _BARE:
        return value[0].rstrip(")]}.*")
    if run in (_SPOKEN, _ASCII):
        return value[0].rstrip(".,;:?)]}*…")
    return value[0].rstrip("\\" + " \u00a0")


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
    lowered = text.replace("\u0130", "I").lower()  # the one letter whose lower case is longer
    others = chain(_prefixed(text), shapes(text, lowered), named(text, lowered))
    found = [*_key_blocks(text), *starmap(Finding, others)]
    if found and _EMBEDDED_HINT in text:
        files = [match.span() for match in _EMBEDDED.finditer(text)]
        found = [item for item in found if not any(first <= item.start < last for first, last in files)]
    found.sort(key=lambda finding: finding.start)
    separate: list[Finding] = []
    for finding in found:
        if separate and finding.start < separate[-1].end:
            last = separate.pop()
            finding = Finding(last.start, max(last.end, finding.end), last.label)  # noqa: PLW2901 - joined
        separate.append(finding)
    return separate


# --- what vendors' prefixes begin -----------------------------------------------------------------

# An embedded file is no place for keys, and long enough to hold by chance what looks like one.
_EMBEDDED_HINT: Final = ";base64,"
_EMBEDDED: Final = regex(r";base64,[A-Za-z0-9+/=%]++")
_LONGEST_PREFIX: Final = max(map(len, BY_PREFIX))
_JUDGED_BODY: Final = 512  # characters
_LONGEST_HUMP: Final = 4  # letters on average


@cache
def _prefixes() -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){any_of(BY_PREFIX)}")


@cache
def _rows(prefix: str) -> tuple[tuple[int, Format], ...]:
    """The rows that may begin with this text, those of longer prefixes first, each with its prefix's length."""
    lengths = range(len(prefix), 0, -1)
    return tuple((length, row) for length in lengths for row in BY_PREFIX.get(prefix[:length], ()))


def _prefixed(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a token of a vendor stands; a token does not begin inside a word."""
    end = 0
    for prefix in matches(_prefixes(), text, _LONGEST_PREFIX):
        if prefix.start() < end:
            continue
        for length, row in _rows(prefix[0]):
            start = prefix.start() + length
            body = body_of(row).match(text, start, start + _JUDGED_BODY)
            if body is not None and _is_drawn(body[0][:JUDGED], row):
                whole = body_of(row).match(text, start) or body
                end = whole.start() + len(whole[0].rstrip("."))  # the full stop of a sentence
                yield prefix.start(), end, row.label
                break


@lru_cache(4096)
def _is_drawn(body: str, row: Format) -> bool:
    """Whether what follows a prefix was drawn at random; what stands for an example was not."""
    if is_masked(body):
        return False
    if not row.entropy:
        return True
    mixed = body.isalpha() and len(body) < len(humps(body)) * _LONGEST_HUMP  # longer than that are words
    return entropy(body) >= row.entropy and (mixed or is_random(body))


# --- private keys ---------------------------------------------------------------------------------

_KEY_MARK: Final = regex(r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# What follows the first line of a block that was cut off: headers and base64, newlines perhaps escaped.
_KEY_BODY: Final = regex(
    r"(?>(?:\s|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):[^\n\\]*+"
    r"|[A-Za-z0-9+/]{16,}+=*+|[A-Za-z0-9+/]++={1,2})*)"
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
