"""An authorization server as far as a server that checks its tokens can see it: keys at an address, and tokens."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding
from joserfc import jwt
from joserfc.jwk import RSAKey

NAME = "https://issuer.example"
AUDIENCE = "https://memory.example/mcp"


class Issuer:
    """Signs with its newest key; `fetched` counts how often its keys were asked for."""

    def __init__(self) -> None:
        self.fetched = 0
        self.url = ""
        self._keys: list[RSAKey] = []
        self.rotate()

    def rotate(self) -> None:
        """Sign with a new key; the one before is still published."""
        number = str(len(self._keys))
        self._keys.append(RSAKey.generate_key(2048, {"kid": number}, private=True))

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": NAME, "aud": AUDIENCE, "sub": "ann", "scope": "memory:read", "exp": now + 600, "nbf": now - 5}
        return {key: value for key, value in {**usual, **changed}.items() if value is not None}

    def token(self, *, key: RSAKey | None = None, kid: str | None = None, **changed: Any) -> str:
        """A token, valid but for what is changed; None takes a claim away."""
        key = key or self._keys[-1]
        return jwt.encode({"alg": "RS256", "kid": kid or str(key.kid)}, self.claims(**changed), key)

    def unsigned(self) -> str:
        return _signed({"alg": "none", "kid": "0"}, self.claims(), lambda _: b"")

    def signed_with_the_public_key(self) -> str:
        """As an attacker signs who hopes that the public key is taken for a shared secret."""
        public = self._keys[-1].as_pem(private=False)
        head = {"alg": "HS256", "kid": str(self._keys[-1].kid)}
        return _signed(head, self.claims(), lambda text: hmac.digest(public, text, "sha256"))

    def forgeries(self) -> dict[str, str]:
        """Tokens that must not be taken."""
        now = int(time.time())
        good = self.token()
        head, body, signature = good.split(".")
        return {
            "other audience": self.token(aud="https://other.example"),
            "no audience": self.token(aud=None),
            "other issuer": self.token(iss="https://evil.example"),
            "expired": self.token(exp=now - 60),
            "without an end": self.token(exp=None),
            "not yet valid": self.token(nbf=now + 300),
            "a beginning that is no time": self.token(nbf="soon"),
            "nobody": self.token(sub=None),
            "no signature": self.unsigned(),
            "empty signature": f"{head}.{body}.",
            "another's signature": f"{head}.{body}.{signature[:-8]}AAAAAAAA",
            "public key as a secret": self.signed_with_the_public_key(),
            "another key of the same name": self.token(key=RSAKey.generate_key(2048, {"kid": "0"}, private=True)),
            "a key that there is not": self.token(kid="../../etc/passwd"),
            "no token": "a.b.c",
            **self._strange_headers(),
            **self._strange_claims(),
        }

    def _strange_headers(self) -> dict[str, str]:
        """Tokens whose header no verifier should have to think about; some of them are well signed."""
        nested = b"[" * 3000 + b"]" * 3000
        _, body, signature = self.token().split(".")
        kid, usual = str(self._keys[-1].kid), b'{"alg":"RS256","kid":"0"}'
        return {
            f"header {name}": f"{_encoded(head)}.{body}.{signature}"
            for name, head in {
                "nested 3,000 deep": nested,
                "with a key nested 3,000 deep": b'{"alg":"RS256","kid":' + nested + b"}",
                "nested 2,000 objects deep": b'{"a":' * 2000 + b"1" + b"}" * 2000,
                "of a number of 5,000 digits": b'{"alg":"RS256","kid":' + b"9" * 5000 + b"}",
                "that is a list": b'["RS256"]',
                "that is null": b"null",
                "that is no text": b"\xff\xfe\x00",
                "of two objects": usual + usual,
                "of two algorithms": b'{"alg":"none","alg":"RS256","kid":"0"}',
                "of a key that is a list": b'{"alg":"RS256","kid":["0"]}',
                "of a key that is an object": b'{"alg":"RS256","kid":{"0":"0"}}',
                "of a key that is null": b'{"alg":"RS256","kid":null}',
                "of a key of its own": json.dumps({"alg": "RS256", "jwk": {"kty": "oct"}, "kid": kid}).encode(),
                "of no algorithm": b'{"kid":"0"}',
                "of a list of algorithms": b'{"alg":["RS256"],"kid":"0"}',
                "in other letters": b'{"alg":"rs256","kid":"0"}',
            }.items()
        }

    def _strange_claims(self) -> dict[str, str]:
        """Tokens that are well signed, and whose claims say what no token should."""
        now = int(time.time())
        good = self.claims()
        written = {
            "ends in 10^400 seconds": {"exp": "1" + "0" * 400},
            "ends in 10^20 seconds": {"exp": "1" + "0" * 20},
            "ends in 10^5000 seconds": {"exp": "1" + "0" * 5000},
            "ends in infinity": {"exp": "Infinity"},
            "ends in 1e400 seconds": {"exp": "1e400"},
            "ends never": {"exp": "NaN"},
            "ends at a text": {"exp": f'"{now + 600}"'},
            "ends at a list": {"exp": f"[{now + 600}]"},
            "ends at null": {"exp": "null"},
            "ends at true": {"exp": "true"},
            "ends twice": {"exp": f'1,"exp":{now + 600}'},
            "begins never": {"nbf": "NaN"},
            "began before all time": {"nbf": "-Infinity"},
            "began in -10^400 seconds": {"nbf": "-1" + "0" * 400},
            "begins at null": {"nbf": "null"},
            "begins at a text": {"nbf": '"0"'},
            "begins at true": {"nbf": "true"},
            "begins at an object": {"nbf": "{}"},
            "was issued never": {"iat": "NaN"},
            "was issued in 10^400 seconds": {"iat": "1" + "0" * 400},
            "was issued at a text": {"iat": '"now"'},
            "was issued at a list": {"iat": "[0]"},
            "of a list of subjects": {"sub": '["ann"]'},
            "of an object as subject": {"sub": "{}"},
            "of a number as subject": {"sub": "7"},
            "of an empty subject": {"sub": '""'},
            "of two subjects": {"sub": '"ann","sub":"bob"'},
            "of a list of issuers": {"iss": f'["{NAME}"]'},
            "of an object as audience": {"aud": "{}"},
            "with something nested 3,000 deep": {"x": "[" * 3000 + "]" * 3000},
            "of a number of 5,000 digits": {"x": "9" * 5000},
        }
        texts = {name: _claims(good, changed) for name, changed in written.items()}
        texts |= {"claims that are a list": "[]", "claims that are null": "null", "no claims": "", "half of one": "{"}
        return {name: self.signed(text) for name, text in texts.items()} | {
            "a token of 20 kB": self.token(x="x" * 15_000),
            "a signature in other letters": self.token().replace("-", "+").replace("_", "/") + "==",
            "four parts": f"{self.token()}.e30",
            "two parts": self.token().rpartition(".")[0],
        }

    def signed(self, claims: str) -> str:
        """A token of these claims as they are written, well signed."""
        key = self._keys[-1]
        head = _encoded(json.dumps({"alg": "RS256", "kid": str(key.kid)}).encode())
        text = f"{head}.{_encoded(claims.encode())}"
        private: Any = serialization.load_pem_private_key(key.as_pem(private=True), None)
        return f"{text}.{_encoded(private.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def keys(self) -> bytes:
        return json.dumps({"keys": [key.as_dict(private=False) for key in self._keys[-2:]]}).encode()

    def settings(self) -> dict[str, str]:
        return {
            "HOLDFAST_AUTH_JWKS_URL": self.url,
            "HOLDFAST_AUTH_ISSUER": NAME,
            "HOLDFAST_AUTH_AUDIENCE": AUDIENCE,
        }


def _signed(head: dict[str, Any], claims: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    text = f"{_encoded(json.dumps(head).encode())}.{_encoded(json.dumps(claims).encode())}"
    return f"{text}.{_encoded(sign(text.encode()))}"


def _claims(good: dict[str, Any], changed: dict[str, str]) -> str:
    """Claims as JSON, in which some values are written as they are given."""
    kept = {key: json.dumps(value) for key, value in good.items()} | changed
    return "{" + ",".join(f'"{key}":{value}' for key, value in kept.items()) + "}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer whose keys can be fetched."""
    issuer = Issuer()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetched += 1
            body = issuer.keys()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}/keys"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield issuer
        server.shutdown()
        thread.join()
