"""Any endpoint that speaks OpenAI's `/embeddings`: OpenAI itself, NVIDIA's NIM, a server of one's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from holdfast.encode.remote import BATCH_SECONDS, LARGEST_ANSWER, Numbers, UnreachableError, failure
from holdfast.errors import EncoderError
from holdfast.model.access import is_in_clear

if TYPE_CHECKING:
    import httpx

_SUCCESS: Final = 200
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
