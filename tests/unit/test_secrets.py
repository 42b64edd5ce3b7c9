"""Secrets are replaced, prose is left alone, and no text makes the search slow.

Every secret here is made up, and put together at run time so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.secrets import find, redact

_drawn = random.Random(20)  # noqa: S311 - made-up secrets


def drawn(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(_drawn.choices(alphabet, k=count - 2)) + "Z7"


HEX = "0123456789abcdef"
BASE64 = string.ascii_letters + string.digits + "+/"
URL_SAFE = string.ascii_letters + string.digits + "-_"
JWT = ".".join(["eyJ" + drawn(20, URL_SAFE), "eyJ" + drawn(60, URL_SAFE), drawn(43, URL_SAFE)])
KEY_LINES = "\n".join(drawn(64, BASE64) for _ in range(4))

TOKENS = [
    ("AWS access key id", "AKI" + "A" + "Q7" * 8),
    ("AWS access key id", "ASI" + "A" + "Q7" * 8),
    *(("GitHub token", f"gh{kind}" + "_" + drawn(36)) for kind in "pousr"),
    ("GitHub token", "github" + "_pat_" + drawn(22) + "_" + drawn(59)),
    ("GitLab token", "glp" + "at-" + drawn(20)),
    ("GitLab token", "glp" + "at-" + drawn(27) + ".01." + drawn(9)),
    ("Slack token", "xox" + "b-1234567890-" + drawn(24)),
    ("Slack token", "xap" + "p-1-A0123-" + drawn(24)),
    ("Slack webhook", "https://hooks.slack" + ".com/services/T0123/B0123/" + drawn(24)),
    ("Stripe key", "sk" + "_live_" + drawn(24)),
    ("Stripe key", "rk" + "_live_" + drawn(24)),
    ("Anthropic key", "sk" + "-ant-api03-" + drawn(90, URL_SAFE)),
    ("OpenAI key", "sk" + "-" + drawn(48)),
    ("OpenAI key", "sk" + "-proj-" + drawn(90, URL_SAFE)),
    ("Google key", "AI" + "za" + drawn(35, URL_SAFE)),
    ("Google secret", "GOC" + "SPX-" + drawn(28, URL_SAFE)),
    ("Hugging Face token", "h" + "f_" + drawn(34)),
    ("npm token", "np" + "m_" + drawn(36)),
    ("PyPI token", "py" + "pi-" + drawn(120, URL_SAFE)),
    ("SendGrid key", "S" + "G." + drawn(22, URL_SAFE) + "." + drawn(43, URL_SAFE)),
    ("Twilio key", "S" + "K" + "0a" * 16),
    ("Telegram bot token", "1234567890" + ":AA" + drawn(33, URL_SAFE)),
    ("DigitalOcean token", "dop" + "_v1_" + "0a" * 32),
    ("JWT", JWT),
]

FRAMES = [
    "{}",
    "use {} for it",
    "({})",
    "KEY_{}",
    "see {}, please",
    '"{}"',
    "`{}`",
    "<{}>",
    "a={};b",
    "{}\n",
    "{}.",
]

VALUE = drawn(24)
WEAK = "hunter" + "2"

ASSIGNMENTS = [
    ("password: ", WEAK, "", "password"),
    ("DB_PASSWORD=", WEAK, "", "password"),
    ("export PGPASSWORD='", WEAK, "'", "password"),
    ("pwd = ", "Tr0ub4dor" + "&3", "", "password"),
    ("passwd=", "p@ss" + "!word", "", "password"),
    ("**Password:** ", WEAK, "", "password"),
    ("passphrase: '", "Tr0ub4dor" + " & three", "'", "password"),
    ('{"password": "', WEAK, '", "user": "me"}', "password"),
    ('{\\"password\\": \\"', WEAK, '\\"}', "password"),
    ("Server=db;Password=", WEAK, ";User=me", "password"),
    ("https://example.org/?access_token=", VALUE, "&page=2", "token"),
    ("api_key=", VALUE, "", "key"),
    ("API-KEY: ", VALUE, "", "key"),
    ("X-Api-Key: ", VALUE, "", "key"),
    ('apiKey: "', VALUE, '",', "key"),
    ("apikey => '", VALUE, "'", "key"),
    ("SERVICE_ACCESS_KEY = ", VALUE, "", "key"),
    ("client_secret: ", drawn(32, HEX), "", "secret"),
    ("client-secret=", "8f14e45f-ceea-467f-" + "a9f1-2d5c3a2b1c0d", "", "secret"),
    ("SECRET_KEY_BASE=", drawn(64, HEX), "", "secret"),
    ("token := `", VALUE, "`", "token"),
    ("GRAFANA_TOKEN_PROD=", VALUE, "", "token"),
    ("(token: ", VALUE, ")", "token"),
    ("aws_secret_access_key = ", drawn(40, BASE64), "", "AWS secret key"),
    ('"SecretAccessKey": "', drawn(40, BASE64), '"', "AWS secret key"),
    ("Authorization: Bearer ", VALUE, "", "authorization header"),
    ("Authorization: Basic ", "dXNlcj" + "pwYXNz", "", "authorization header"),
    ("-H 'authorization: token ", VALUE, "'", "authorization header"),
    ('"Authorization": "Bearer ', VALUE, '"', "authorization header"),
    ("call it with bearer ", VALUE, "", "bearer token"),
    ("postgres://me:", WEAK, "@db.local:5432/app", "URL password"),
    ("redis://:", WEAK, "@cache:6379/0", "URL password"),
    ("https://me:", "p@" + "55word", "@example.org/path", "URL password"),
]

PROSE = [
    "",
    "the token expires after 15 minutes",
    "password: see 1Password",
    "Password: at least 12 characters, one digit",
    "The password is in the vault, entry wifi-2024.",
    "secret = ${VAULT}",
    "secret = $VAULT_SECRET",
    "token: {{ .Values.token }}",
    'api_key = os.environ["API_KEY"]',
    'api_key = os.getenv("SERVICE_KEY_2")',
    "password = settings.database.password2",
    "const token = await getToken(user1)",
    "password: str = Field(default='x')",
    'print(f"password={password!r}")',
    "password: !vault |",
    "password: ENC[AES256_GCM,data:abc123,type:str]",
    "passwordHash: $2b$12$abcdefghijk0123456789",
    "API_TOKEN=<your-token>",
    "API_TOKEN=your-token-here-123",
    "password: xxxxxxxx1",
    "password=changeme123",
    "password=********",
    "token: abcd1234...",
    'password = "required"',
    '{"type": "password", "name": "pwd1"}',
    "max_tokens=4096, tokens: 8192",
    "token_count: 123456789012",
    "token: 2026-02-01T15:10:00Z",
    "token_expires_at=2026-02-01T15:10:00Z",
    "tokenizer: bert-base-uncased-v2",
    "token: bert-base-uncased",
    "secret: my-app-v2-credentials",
    "secretName: wildcard-tls-2024",
    "secret_file: /run/secrets/db_password_1",
    "private_key: ~/.ssh/id_ed25519",
    "api_key: op://infra/grafana/key1",
    "password: env:DB_PASSWORD_2",
    "postgres://user:${DB_PASSWORD}@db/app",
    "postgres://user:password@localhost/app",
    "https://example.org:8080/@someone/post",
    "mail me at someone@example.org: thanks",
    "fixed in 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256: 8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "token_sha256: 8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "Authorization: Bearer your-token-here",
    "Authorization: Bearer $TOKEN",
    "Bearer authentication with short-lived-json-web-tokens",
    "sk-learn-something-very-long-name",
    "task-management-system-for-everyone-2",
    "ssh-keygen writes -----BEGIN OPENSSH PUBLIC KEY----- nowhere",
    "a secretary: Anna1234567890",
    "die Losung: ein Wort, das niemand kennt",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(("label", "token"), TOKENS)
def test_a_token_is_replaced_wherever_it_stands(label: str, token: str, frame: str) -> None:
    redaction = redact(frame.format(token))
    assert redaction.text == frame.format(f"[redacted: {label}]")
    assert redaction.labels == (label,)


@pytest.mark.parametrize(("before", "secret", "after", "label"), ASSIGNMENTS)
def test_only_the_value_of_an_assignment_is_replaced(before: str, secret: str, after: str, label: str) -> None:
    redaction = redact(f"{before}{secret}{after}")
    assert redaction.text == f"{before}[redacted: {label}]{after}"
    assert redaction.labels == (label,)


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_left_alone(text: str) -> None:
    assert redact(text).text == text
    assert find(text) == []


@pytest.mark.parametrize("kind", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"])
def test_a_whole_key_block_is_replaced(kind: str, newline: str) -> None:
    block = f"-----BEGIN {kind}-----\n{KEY_LINES}\nab==\n-----END {kind}-----".replace("\n", newline)
    assert redact(f"before {block} after").text == "before [redacted: private key] after"


def test_a_key_block_without_its_end_is_replaced_and_the_prose_behind_it_kept() -> None:
    block = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{KEY_LINES}"
    assert redact(block).text == "[redacted: private key]"
    assert redact(f"{block}\n\nThat was it.").text == "[redacted: private key]\n\nThat was it."


def test_two_cut_off_key_blocks_are_both_replaced() -> None:
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n"
    assert redact(block + "and\n" + block).text == "[redacted: private key]\nand\n[redacted: private key]\n"


def test_several_secrets_are_named_in_order() -> None:
    (_, aws), (_, github) = TOKENS[0], TOKENS[2]
    redaction = redact(f"{github} and {aws} and password={WEAK}")
    assert redaction.labels == ("GitHub token", "AWS access key id", "password")


def test_a_secret_that_is_found_twice_is_replaced_once() -> None:
    (label, token) = TOKENS[2]
    assert redact(f"GITHUB_TOKEN={token}").text == f"GITHUB_TOKEN=[redacted: {label}]"


def test_what_looks_like_a_secret_only_once_another_one_is_gone_is_replaced_too() -> None:
    (_, aws) = TOKENS[0]
    redaction = redact(f"bearer {VALUE}-{aws}... and so on")
    assert redaction.text == "bearer [redacted: bearer token][redacted: AWS access key id]... and so on"


def test_a_finding_says_where_and_what_but_not_the_secret() -> None:
    [finding] = find(f"password: {WEAK}")
    assert (finding.start, finding.end, finding.label) == (10, 17, "password")
    assert WEAK not in repr(finding)


FRAGMENTS = [
    *(
        "password=",
        "token: ",
        'pwd="',
        "secret_access_key=",
        "authorization: bearer ",
        "://u:",
        "xxxx",
        "...",
    ),
    *(
        "[redacted: ",
        "[redacted: token]",
        "a",
        "Z9",
        "eyJ",
        "-eyJ",
        "_eyJ",
        "eyJ.",
        "sk-",
        "ghp_",
        "AKIA",
        "SG.",
    ),
    *("1234567890:AA", "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"),
]

PIECES = [
    *(token for _, token in TOKENS),
    *(before + secret + after for before, secret, after, _ in ASSIGNMENTS),
    *PROSE,
    *FRAGMENTS,
    *"'`\\=:;,&]@\n .-_",
]


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=12).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text


@given(st.text(max_size=60), st.sampled_from(TOKENS), st.text(max_size=60))
def test_no_surroundings_hide_a_token_that_stands_free(before: str, token: tuple[str, str], after: str) -> None:
    assert token[1] not in redact(f"{before} {token[1]} {after}").text


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_findings_are_in_order_and_apart(text: str) -> None:
    findings = find(text)
    places = [place for finding in findings for place in (finding.start, finding.end)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "piece",
    [
        *FRAGMENTS,
        *'A-_.9"',
        "\n",
        "://",
        "pwd=x",
        "pwd=a1b2c3...",
        "token=token=aZ9k",
        "eyJaaaaaaaa.eyJaaaaaaaa-",
    ],
)
def test_the_time_grows_with_the_length_of_hostile_text_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        start = time.process_time()
        redact(text)
        return time.process_time() - start

    short, long = min(seconds(16_384) for _ in range(3)), seconds(262_144)
    # Sixteen times the text: quadratic time would be 256 times as much.
    assert long < 100 * short + 0.2
