"""The services that encode: Ollama, and any that speaks OpenAI's `/embeddings`."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread

from holdfast.encode.builtin import AnswerReader, BuiltinEncoder, MultilingualEncoder, PairReader
from holdfast.encode.provider import Provider, VectorSet
from holdfast.encode.remote import (
    BATCH_SECONDS,
    LARGEST_ANSWER,
    Numbers,
    RemoteEncoder,
    UnreachableError,
    failure,
    is_embedding_model,
)
from holdfast.errors import EncoderError
from holdfast.model.access import THIS_MACHINE, is_in_clear, is_this_machine
from holdfast.settings import Settings

if TYPE_CHECKING:
    import httpx
    from ollama import AsyncClient

LOOK_SECONDS: Final = 1.0
_PLAIN: Final = re.compile(r"[A-Za-z0-9._:/-]{1,80}")


async def local_model(host: str) -> str:
    """The name of a model for embeddings that an Ollama on this machine has; empty where there is none at once."""
    if not is_this_machine(host):
        return ""
    endpoint = OllamaEndpoint(host)
    try:
        with anyio.fail_after(LOOK_SECONDS):
            names = await endpoint.models()
    except (EncoderError, TimeoutError):
        return ""
    finally:
        with anyio.CancelScope(shield=True):
            await endpoint.aclose()
    return next((name for name in sorted(names) if is_embedding_model(name) and _is_better(name)), "")


def _is_better(name: str) -> bool:
    """Whether a model is another one than the built-in, and has a name that can be repeated."""
    return "minilm" not in name.lower() and _PLAIN.fullmatch(name) is not None


MODEL: Final = "nomic-embed-text"
MULTILINGUAL: Final = "bge-m3"  # reads some hundred languages; see HOLDFAST_MULTILINGUAL
_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - where a server listens, which is no place to ask
KEEP_ALIVE: Final = "30m"  # the model stays loaded between two prompts
_SUCCESS: Final = 200


class OllamaEndpoint:
    """A model of an Ollama server.

    Args:
        host: as `OLLAMA_HOST` has it: an address, a port, a URL; empty for this machine's usual port.
        model: the model's name, with or without a tag.
        dimensions: how long its vectors shall be, for models that can shorten them.
    """

    name = "Ollama"
    provider = "ollama"

    def __init__(self, host: str = "", model: str = MODEL, dimensions: int | None = None) -> None:
        self._host = host
        self.model = model
        self._dimensions = dimensions
        self._client: AsyncClient | None = None

    async def examine(self) -> int:
        """See that the model is there and embeds; how many tokens it reads at once, 0 where that is not told."""
        await self.digest()
        async with self._asking() as client:
            shown = await client.show(self.model)
        if shown.capabilities and "embedding" not in shown.capabilities:
            raise EncoderError("Ollama's model makes no embeddings.", f"Set HOLDFAST_ENCODER_MODEL, to {MODEL} say.")
        lengths = [value for key, value in (shown.modelinfo or {}).items() if key.endswith(".context_length")]
        return next((length for length in lengths if isinstance(length, int) and length > 0), 0)

    async def digest(self) -> str:
        """The digest of the model that Ollama has under this name now.

        Raises:
            EncoderError: it has none, or does not answer.
        """
        wanted = _tagged(self.model)
        for name, digest in (await self.models()).items():
            if _tagged(name) == wanted:
                return digest
        raise EncoderError(f"Ollama has no model {self.model}.", f"Run `ollama pull {self.model}`.")

    async def models(self) -> dict[str, str]:
        """The digest of each model that Ollama has, by name."""
        async with self._asking() as client:
            listed = (await client.list()).models
        return {model.model: model.digest or "" for model in listed if model.model}

    async def embed(self, texts: Sequence[str], *, query: bool) -> Numbers:  # noqa: ARG002 - one kind for both
        async with self._asking() as client:
            answer = await client.embed(
                self.model, list(texts), truncate=True, keep_alive=KEEP_ALIVE, dimensions=self._dimensions
            )
        return answer.embeddings

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()  # type: ignore[no-untyped-call] # the client's own

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[AsyncClient]:
        """The client; whatever goes wrong with it becomes an `EncoderError` that repeats nothing of the answer."""
        if self._client is None:
            self._client = await to_thread.run_sync(_connect, self._host)
        import httpx  # noqa: PLC0415 - start-up stays light
        from ollama import ResponseError  # noqa: PLC0415 - start-up stays light

        try:
            yield self._client
        except ResponseError as error:
            raise failure(self.name, error.status_code, None) from None
        except (httpx.ConnectError, ConnectionError) as error:
            raise UnreachableError("Ollama is not running, or not where OLLAMA_HOST says.") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise EncoderError("Ollama broke off its answer.") from error
        except (ValueError, TypeError, AttributeError, RecursionError):  # texts of these repeat what was sent
            raise EncoderError("Ollama answered with something that is no answer.") from None


def _tagged(model: str) -> str:
    """A model's name with its tag, as Ollama lists it."""
    name = model.lower()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _connect(host: str) -> AsyncClient:
    """A client that reads no more than it should, goes nowhere else, and uses no proxy."""
    import httpx  # noqa: PLC0415 - start-up stays light
    from ollama import AsyncClient  # noqa: PLC0415 - start-up stays light

    try:
        return AsyncClient(
            host.replace(_EVERYWHERE, THIS_MACHINE) or THIS_MACHINE,
            follow_redirects=False,
            headers={"Accept-Encoding": "identity"},
            transport=_bounded(httpx.AsyncHTTPTransport()),
        )
    except (ValueError, TypeError, httpx.InvalidURL):
        raise EncoderError("OLLAMA_HOST cannot be used.", "Write it as 127.0.0.1:11434 or as a URL.") from None


def _bounded(inner: Any) -> Any:
    """A transport that refuses at the header what is no success, and stops an answer that does not end."""
    import httpx  # noqa: PLC0415 - start-up stays light

    class Bounded(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response: httpx.Response = await inner.handle_async_request(request)
            if response.status_code != _SUCCESS or response.headers.get("content-encoding", "identity") != "identity":
                await response.aclose()
                raise failure("Ollama", response.status_code, response.headers.get("retry-after"))
            return httpx.Response(response.status_code, headers=response.headers, stream=Body(response))

        async def aclose(self) -> None:
            await inner.aclose()

    class Body(httpx.AsyncByteStream):
        def __init__(self, response: httpx.Response) -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for piece in self._response.stream:  # type: ignore[union-attr] # of an async transport
                size += len(piece)
                if size > LARGEST_ANSWER:
                    raise EncoderError("Ollama's answer is larger than any answer should be.")
                yield piece

        async def aclose(self) -> None:
            await self._response.aclose()

    return Bounded()


_MODEL_UNKNOWN: Final = 404
IN_CLEAR: Final = "Use https or a tunnel to this machine; where no key is needed, give none."


@dataclass(frozen=True, slots=True)
class Service:
    """What is known of a provider. `variable` is where its key is looked for."""

    provider: str
    name: str
    url: str
    model: str
    variable: str


OPENAI: Final = Service("openai", "OpenAI", "https://api.openai.com/v1", "text-embedding-3-small", "OPENAI_API_KEY")
NIM: Final = Service("nim", "NIM", "https://integrate.api.nvidia.com/v1", "baai/bge-m3", "NIM_API_KEY")


@dataclass(frozen=True, slots=True)
class Account:
    """How a service is used: empty `url` and `model` are its own. The key is never shown."""

    service: Service
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)
    dimensions: int | None = None


class OpenAIEndpoint:
    """One model of such a service."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._url = (account.url or account.service.url).rstrip("/")
        self.model = account.model or account.service.model
        self._client: httpx.AsyncClient | None = None

    @property
    def name(self) -> str:
        return self._account.service.name

    @property
    def provider(self) -> str:
        return self._account.service.provider

    async def examine(self) -> int:
        """See that there is a key where one is needed; what the model reads is not told."""
        if not self._account.key and not self._account.url:
            raise EncoderError(f"{self.name} needs a key.", f"Set {self._account.service.variable} in the environment.")
        return 0

    async def digest(self) -> str:
        """Nothing: these services tell no more than the model's name."""
        return ""

    async def embed(self, texts: Sequence[str], *, query: bool) -> Numbers:
        asked: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self._account.dimensions and self.provider == "openai":
            asked["dimensions"] = self._account.dimensions
        if self.model.startswith("nvidia/"):
            asked |= {"input_type": "query" if query else "passage", "truncate": "END"}
        return self._read(await self._post(asked), len(texts))

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _read(self, body: bytes, count: int) -> Numbers:
        try:
            rows = {int(row["index"]): row["embedding"] for row in json.loads(body)["data"]}
            if len(rows) == count:
                return [[float(number) for number in rows[place]] for place in range(count)]
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):  # texts of these repeat what was sent
            raise EncoderError(f"{self.name} answered with something that is no answer.") from None
        raise EncoderError(f"{self.name} answered with {len(rows)} vectors for {count} texts.")

    async def _post(self, asked: dict[str, Any]) -> bytes:
        if self._client is None:
            self._client = await to_thread.run_sync(self._connect)
        import httpx  # noqa: PLC0415 - start-up stays light

        try:
            async with self._client.stream("POST", f"{self._url}/embeddings", json=asked) as response:
                if response.status_code == _MODEL_UNKNOWN:
                    raise EncoderError(f"{self.name} knows no such model, or has no embeddings at this URL.")
                if response.status_code != _SUCCESS:
                    raise failure(self.name, response.status_code, response.headers.get("retry-after"))
                return await self._whole(response)
        except httpx.ConnectError as error:
            raise UnreachableError(f"{self.name} cannot be reached.") from error
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise EncoderError(f"{self.name} broke off its answer.") from error
        except (httpx.InvalidURL, ValueError):
            raise EncoderError(f"{self.name} has no usable URL.", "Set HOLDFAST_ENCODER_URL.") from None

    async def _whole(self, response: httpx.Response) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise EncoderError(f"{self.name} packed its answer, which was not asked for.")
        body = bytearray()
        async for piece in response.aiter_raw():
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise EncoderError(f"{self.name}'s answer is larger than any answer should be.")
        return bytes(body)

    def _connect(self) -> httpx.AsyncClient:
        """The client, whose requests carry the key: here nobody else may read them."""
        if (self._account.key or "@" in self._url) and is_in_clear(self._url):
            raise EncoderError(f"{self.name}'s key is not sent over plain http to another machine.", IN_CLEAR)
        import httpx  # noqa: PLC0415 - start-up stays light

        headers = {"Accept-Encoding": "identity"}
        if self._account.key:
            headers["Authorization"] = f"Bearer {self._account.key}"
        try:
            return httpx.AsyncClient(headers=headers, timeout=BATCH_SECONDS, follow_redirects=False)
        except (ValueError, httpx.InvalidURL):  # a key that no header can hold
            raise EncoderError(f"{self.name}'s key is none.", f"Check {self._account.service.variable}.") from None


def _builtin(settings: Settings) -> BuiltinEncoder:
    if settings.builtin_model is None:
        return BuiltinEncoder()
    return BuiltinEncoder(settings.builtin_model, settings.builtin_model_sha256)


def provider_of(settings: Settings) -> Provider | None:
    """What the settings name."""
    match settings.encoder:
        case "none":
            return None
        case "auto" | "builtin":
            return _builtin(settings)
        case _:
            return _remote(settings, settings.encoder, settings.encoder_model)


def pairs_reader(settings: Settings) -> PairReader | None:
    """What reads two notes together; None with another encoder."""
    return PairReader() if _is_packaged(settings) else None


def answers_reader(settings: Settings) -> AnswerReader | None:
    """What reads a question with a note; None with another encoder."""
    return AnswerReader() if _is_packaged(settings) else None


def _is_packaged(settings: Settings) -> bool:
    return settings.encoder in ("auto", "builtin") and settings.builtin_model is None


def provider_beside(settings: Settings) -> Provider | None:
    """What the settings want beside that, for other languages."""
    if settings.encoder == "none" or settings.multilingual == "off":
        return None
    if settings.multilingual == "e5":
        return MultilingualEncoder()
    model = settings.multilingual.partition(":")[2]
    return RemoteEncoder(OllamaEndpoint(settings.ollama_host, model or MULTILINGUAL))


def _remote(settings: Settings, provider: str, model: str) -> RemoteEncoder:
    url, dimensions = settings.encoder_url, settings.encoder_dimensions
    if provider == "ollama":
        host = url if url and settings.encoder == "ollama" else settings.ollama_host
        return RemoteEncoder(OllamaEndpoint(host, model or MODEL, dimensions))
    service = NIM if provider == "nim" else OPENAI
    key = settings.encoder_key.text or settings.keys.get(service.variable, "")
    return RemoteEncoder(OpenAIEndpoint(Account(service, url, model, key, dimensions)))


def provider_for(settings: Settings, vector_set: VectorSet) -> Provider | None:
    """An encoder for a set of other settings; it calls nobody but whom these name, and this machine."""
    provider = vector_set.provider
    if provider == "builtin":
        builtin = _builtin(settings)
        return builtin if builtin.vector_set.key == vector_set.key else None
    if provider == settings.encoder or (provider == "ollama" and is_this_machine(settings.ollama_host)):
        return _remote(settings, provider, vector_set.model)
    return None


async def look_around(settings: Settings) -> str:
    """A sentence, where this machine has a better encoder than the one that is built in."""
    model = await local_model(settings.ollama_host)
    if not model:
        return ""
    named = "" if model.partition(":")[0] == MODEL else f" and HOLDFAST_ENCODER_MODEL={model}"
    return (
        f"Ollama on this machine has {model}, which may find more by meaning than the built-in encoder: "
        f"HOLDFAST_ENCODER=ollama{named} uses it. This is said once."
    )
