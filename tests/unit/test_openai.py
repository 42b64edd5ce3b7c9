"""Endpoints that speak as OpenAI's: what they should not have answered is not used, and keys stay where they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import httpx
import pytest

from holdfast.app import build_memory
from holdfast.encode import remote
from holdfast.encode.remote import RemoteEncoder
from holdfast.encode.services import NIM, OPENAI, Account, OpenAIEndpoint
from holdfast.errors import EncoderError
from holdfast.settings import load_settings
from ollama_server import DIMENSION, MODEL, TROUBLES, Ollama, close_to, serving_ollama
from processes import Stdio, stdio

pytestmark = pytest.mark.anyio

KEY = "sk-open-sesame-1234567890"
Make = Callable[..., RemoteEncoder]


@pytest.fixture
def server() -> Iterator[Ollama]:
    with serving_ollama(Ollama()) as running:
        yield running


@pytest.fixture
def account(server: Ollama) -> Account:
    return Account(OPENAI, f"http://{server.host}/v1/", MODEL, KEY)


@pytest.fixture
async def make(account: Account) -> AsyncIterator[Make]:
    made: list[RemoteEncoder] = []

    def build(clock: Callable[[], float] = anyio.current_time, given: Account = account) -> RemoteEncoder:
        made.append(RemoteEncoder(OpenAIEndpoint(given), clock))
        return made[-1]

    yield build
    for encoder in made:
        await encoder.aclose()


async def test_vectors_belong_to_their_texts_in_whatever_order_they_come(make: Make, server: Ollama) -> None:
    encoder = make()
    found = await encoder.identify()
    assert (found.provider, found.model, found.digest, found.dimension) == ("openai", MODEL, "", DIMENSION)
    texts = [f"Buoy {number} is red." for number in range(20)]
    vectors = await encoder.encode_documents(texts)
    assert all(close_to(chunks[0], server.vector(text)) for chunks, text in zip(vectors, texts, strict=True))
    assert close_to(await encoder.encode_query("buoy"), server.vector("buoy"))
    assert set(server.keys) == {f"Bearer {KEY}"}


@pytest.mark.parametrize("trouble", TROUBLES)
async def test_whatever_goes_wrong_is_an_encoder_error_in_time_and_over_when_it_is_over(
    make: Make, server: Ollama, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    encoder = make(lambda: now[0])
    await encoder.identify()
    server.trouble = trouble
    with monkeypatch.context() as hurry:
        hurry.setattr(remote, "QUERY_SECONDS", 0.5)
        hurry.setattr(remote, "BATCH_SECONDS", 0.5)
        for call in (partial(encoder.encode_query, "crane"), partial(encoder.encode_documents, ["A crane.", "A dog."])):
            with anyio.fail_after(20), pytest.raises(EncoderError) as error:
                await call()
            assert "crane" not in error.value.public
            assert KEY not in error.value.public
    server.recover()
    now[0] += 60.0
    assert close_to(await encoder.encode_query("crane"), server.vector("crane"))


async def test_an_answer_without_end_is_read_up_to_a_bound_only(make: Make, server: Ollama) -> None:
    server.trouble = "answers without end"
    with pytest.raises(EncoderError, match="larger than"):
        await make().identify()


async def test_without_a_key_the_services_own_place_is_not_asked(make: Make) -> None:
    for service in (OPENAI, NIM):
        with pytest.raises(EncoderError, match=service.variable):
            await make(given=Account(service)).identify()


async def test_a_server_of_ones_own_needs_no_key(make: Make, server: Ollama, account: Account) -> None:
    await make(given=replace(account, key="")).identify()
    assert set(server.keys) == {None}


@pytest.mark.parametrize("key", ["line\nbreak", "schlüssel-ü-€", "\0"])
async def test_a_key_that_no_header_can_hold_is_an_encoder_error_that_does_not_show_it(
    make: Make, account: Account, key: str
) -> None:
    with pytest.raises(EncoderError) as error:
        await make(given=replace(account, key=key)).identify()
    assert key not in error.value.public


async def test_the_length_that_is_wanted_is_asked_for(make: Make, server: Ollama, account: Account) -> None:
    await make(given=replace(account, dimensions=256)).identify()
    await make(given=replace(account, service=NIM, dimensions=256)).identify()
    assert [body.get("dimensions") for _, body in server.asked] == [256, None]


async def test_nvidias_own_models_are_told_what_is_a_query(make: Make, server: Ollama, account: Account) -> None:
    server.models["nvidia/nv-embedqa:latest"] = "f1" * 32
    encoder = make(given=replace(account, service=NIM, model="nvidia/nv-embedqa"))
    await encoder.encode_query("crane")
    assert [body["input_type"] for _, body in server.asked] == ["passage", "query"]


async def test_a_model_that_is_not_known_is_said(make: Make, account: Account) -> None:
    with pytest.raises(EncoderError, match="no such model"):
        await make(given=replace(account, model="unheard-of")).identify()


# --- From the settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoder", "provider", "model"),
    [("nim", "NIM", "baai/bge-m3"), ("openai", "OpenAI", "text-embedding-3-small"), ("ollama", "Ollama", MODEL)],
)
async def test_each_provider_has_a_model_unless_one_is_named(
    tmp_path: Path, encoder: str, provider: str, model: str
) -> None:
    for named in ("", "some-model"):
        environment = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": encoder, "HOLDFAST_ENCODER_MODEL": named}
        memory = build_memory(load_settings(environment))
        endpoint = memory.ports.encoder._provider._endpoint  # type: ignore[union-attr] # what was put together
        assert (endpoint.name, endpoint.model) == (provider, named or model)
        await memory.ports.encoder.aclose()  # type: ignore[union-attr] # there is one


@pytest.mark.parametrize("variable", ["OPENAI_API_KEY", "HOLDFAST_ENCODER_KEY"])
def test_a_server_encodes_with_the_key_of_its_environment_and_never_tells_it(
    environment: dict[str, str], server: Ollama, variable: str
) -> None:
    chosen = {
        "HOLDFAST_ENCODER": "openai",
        "HOLDFAST_ENCODER_URL": f"http://{server.host}/v1",
        "HOLDFAST_ENCODER_MODEL": MODEL,
        "HOLDFAST_LOG_LEVEL": "debug",
        variable: KEY,
    }
    with stdio(environment | chosen) as running:
        running.begin()
        said = [remembered(running, "A storm is coming.")]
        assert said[0]["indexed"]["vector"] is True
        server.trouble = "wants a key"
        said += [remembered(running, "A dog guards the pier."), running.tool("recall", query="storm")]
        assert KEY not in str(said)
        assert "does not accept the key" in str(said)
        assert KEY not in running.stderr
    assert set(server.keys) == {f"Bearer {KEY}"}
    files = [path for path in Path(environment["HOLDFAST_HOME"]).rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def remembered(running: Stdio, text: str) -> dict[str, object]:
    return dict(running.tool("remember", content=text)["structuredContent"])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    """Whatever leaves for a provider, which fails."""
    sent: list[httpx.Request] = []

    async def answer(_client: object, request: httpx.Request, **_options: object) -> httpx.Response:
        sent.append(request)
        return httpx.Response(500)

    monkeypatch.setattr(httpx.AsyncClient, "send", answer)
    return sent


@pytest.mark.parametrize(
    "url", ["http://models.example/v1", "HTTP://gpu.example:8000/v1", "http://127.0.0.1.example/v1"]
)
@pytest.mark.parametrize("key", [KEY, ""])
async def test_a_key_never_crosses_a_network_where_others_can_read_it(
    make: Make, url: str, key: str, asked: list[httpx.Request]
) -> None:
    encoder = make(given=Account(OPENAI, url if key else url.replace("//", f"//user:{KEY}@"), MODEL, key))
    for _ in range(4):  # also while it is left alone for that
        with pytest.raises(EncoderError, match="Use https or a tunnel"):
            await encoder.encode_query("crane")
    assert asked == []


@pytest.mark.parametrize("url", ["https://models.example/v1", "http://localhost:8000/v1", "http://[::1]:8000/v1"])
async def test_a_key_is_sent_where_nobody_else_can_read_it(make: Make, url: str, asked: list[httpx.Request]) -> None:
    with pytest.raises(EncoderError, match="cannot answer now"):
        await make(given=Account(OPENAI, url, MODEL, KEY)).identify()
    assert [request.headers["Authorization"] for request in asked] == [f"Bearer {KEY}"]
