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
        }

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
