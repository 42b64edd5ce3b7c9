"""The recipe of docs/reverse-proxy.md works as it stands, with a real nginx. Where there is none, it is not tried."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from doors import Web, with_tokens
from processes import PATIENCE, ROOT, environment_in, http, listens, own_port, until

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
RECIPE = (ROOT / "docs" / "reverse-proxy.md").read_text("utf-8")
NAME = "memory.example"

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: docs/reverse-proxy.md was not tried")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", RECIPE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def certificate_in(folder: Path) -> None:
    """A certificate for the name of the recipe, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "fullchain.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "privkey.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))


def configured(folder: Path, port: int, behind: int) -> Path:
    """The recipe with a port and a folder of its own, and what nginx needs around it."""
    recipe = block("nginx").replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
    recipe = recipe.replace(f"/etc/ssl/{NAME}", str(folder)).replace("127.0.0.1:8765", f"127.0.0.1:{behind}")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n"
        f"events {{}}\nhttp {{ access_log off;\n{places}\n{recipe} }}\n"
    )
    return file


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of the proxy, and the certificate that it shows."""
    folder = tmp_path_factory.mktemp("nginx")
    certificate_in(folder)
    exported = dict(re.findall(r"^export (\w+)=(?!')(\S+)$", block("sh"), re.MULTILINE))
    assert set(exported) == {"HOLDFAST_PUBLIC_URL", "HOLDFAST_TRUSTED_PROXIES"}
    environment = with_tokens(environment_in(tmp_path_factory.mktemp("served"))) | exported
    with http(environment | {"HOLDFAST_RATE_LIMIT": "4"}) as (_, behind), own_port() as port:
        file = configured(folder, port, behind)
        nginx = subprocess.Popen([str(NGINX), "-c", str(file), "-e", str(folder / "errors")], stderr=subprocess.DEVNULL)
        try:
            until(lambda: listens(port, nginx))
            yield port, folder / "fullchain.pem"
        finally:
            nginx.kill()
            nginx.wait()


@contextmanager
def through(proxy: tuple[int, Path], era: str, token: str | None) -> Iterator[Web]:
    port, certificate = proxy
    trusting = ssl.create_default_context(cafile=str(certificate))
    with httpx.Client(trust_env=False, verify=trusting, timeout=PATIENCE, headers={"Host": NAME}) as client:
        client.event_hooks = {"request": [_name_it]}
        yield Web(f"https://127.0.0.1:{port}/mcp", era, token, client)


def _name_it(request: httpx.Request) -> None:
    request.extensions["sni_hostname"] = NAME


def test_notes_are_stored_and_found_through_it(proxy: tuple[int, Path], era: str) -> None:
    with through(proxy, era, "writer") as door:
        stored = door.ask("tools/call", name="remember", arguments={"content": f"The {era} crane."})["result"]
        found = door.ask("tools/call", name="recall", arguments={"query": f"crane {era}"})["result"]
    assert stored["structuredContent"]["id"] in [hit["id"] for hit in found["structuredContent"]["results"]]


def test_a_subscriber_is_answered_at_once(proxy: tuple[int, Path]) -> None:
    with through(proxy, "2026-07-28", "reader") as door:
        assert door.listen(["memory://self"]) == ["memory://self"]


def test_it_is_known_by_its_public_address(proxy: tuple[int, Path]) -> None:
    with through(proxy, "2026-07-28", None) as door:
        assert "result" not in door.ask("tools/list")
        where = f"https://{NAME}/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in door.headers["WWW-Authenticate"]


def test_limits_count_the_clients_that_nginx_names_and_not_those_that_a_client_names(proxy: tuple[int, Path]) -> None:
    with through(proxy, "2026-07-28", "zanzibar") as door:
        found = set()
        for number in range(60):
            door.say(**{"X-Forwarded-For": f"10.0.0.{number}"})
            door.ask("tools/list")
            found.add(door.status)
    assert found == {401, 429}
