"""Who asks over HTTP and what they may: tokens are verified, tools and resources ask for scopes, admin is hidden.

Over stdio nobody has a token: whoever starts the process owns the memory, and `--admin` is the gate.
"""

from __future__ import annotations

import binascii
import hmac
import json
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

from fastmcp.exceptions import ToolError
from fastmcp.prompts import Prompt
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token, get_http_request
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.server.transforms import (
    GetPromptNext,
    GetResourceNext,
    GetResourceTemplateNext,
    GetToolNext,
    Transform,
)
from fastmcp.tools import Tool
from fastmcp.utilities.versions import VersionSpec
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST
from starlette.requests import Request

from holdfast.errors import ScopeError
from holdfast.model.access import (
    ADMIN,
    LOCAL,
    READ,
    SCOPES,
    WRITE,
    StaticToken,
    allows,
    digest_of,
    signed_principal,
)
from holdfast.settings import Settings

Answer = TypeVar("Answer")
Call = Callable[[MiddlewareContext[Any]], Awaitable[Answer]]

SKEW_SECONDS = 30.0  # that other clocks may be ahead
KEYS_SECONDS = 5.0  # at least between two looks for the keys of signed tokens: that long a new one may be unknown
LONGEST_TOKEN: Final = 16 * 1024  # characters of a signed token
_LAST_TIME: Final = 253_402_300_799  # the end of the year 9999
_PART: Final = re.compile(r"[A-Za-z0-9_-]+")
_TIMES: Final = ("exp", "nbf", "iat")
SPACE: Final = "holdfast.space"  # where a request over HTTP has the space that its header names
_SPACE, _PRINCIPAL = "holdfast_space", "holdfast_principal"


class StaticTokens(TokenVerifier):
    """Tokens from the settings. Each is compared by its hash, in a time that does not tell which came close."""

    def __init__(self, tokens: Sequence[StaticToken]) -> None:
        super().__init__()
        self._tokens = tuple(tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        presented = digest_of(token)
        found = [known for known in self._tokens if hmac.compare_digest(known.digest, presented)]
        if not found:
            return None
        client, space = found[0].client_id, found[0].space
        claims = {_PRINCIPAL: client, _SPACE: space}
        return AccessToken(token=token, client_id=client, scopes=list(found[0].scopes), claims=claims)


def signed_tokens(settings: Settings) -> TokenVerifier:
    """A verifier of tokens that an authorization server signed; without `exp` or a subject they are refused."""
    from fastmcp.server.auth.providers.jwt import JWTVerifier  # noqa: PLC0415 - brings cryptography

    class SignedTokens(JWTVerifier):
        async def load_access_token(self, token: str) -> AccessToken | None:
            if not is_well_formed(token):
                return None
            access = await super().load_access_token(token)
            return None if access is None else _checked(access)

    return SignedTokens(
        jwks_uri=settings.auth_jwks_url,
        issuer=settings.auth_issuer,
        audience=settings.auth_audience,
        algorithm=settings.auth_algorithm,
        jwks_refresh_interval=KEYS_SECONDS,
    )


def is_well_formed(token: str) -> bool:
    """Whether a signed token says plainly what it says, so that no two readers can take it for two things.

    Its header is flat and names its key by a text or not at all; no key is given twice; its times are numbers between
    1970 and the year 9999. Signature, issuer and audience are the framework's to check.
    """
    try:
        header, claims = map(_part, _parts(token))
    except (ValueError, RecursionError):
        return False
    if not isinstance(header.get("kid", ""), str) or any(isinstance(value, dict) for value in header.values()):
        return False
    return all(_is_time(claims[name]) for name in _TIMES if name in claims)


def _parts(token: str) -> list[str]:
    """Header and claims, still encoded."""
    parts = token.split(".")
    if len(token) > LONGEST_TOKEN or len(parts) != 3 or not all(map(_PART.fullmatch, parts)):  # noqa: PLR2004 - RFC 7515
        raise ValueError("it is no signed token")
    return parts[:2]


def _part(encoded: str) -> dict[str, Any]:
    try:
        text = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except binascii.Error as error:
        raise ValueError("it is no base64") from error
    found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    if not isinstance(found, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - one error for all that is no token
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that has a key twice is refused."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_number(_name: str) -> float:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError("it is no number")


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LAST_TIME


def _checked(access: AccessToken) -> AccessToken | None:
    """What the framework leaves open: an end, a beginning, and a subject."""
    subject, begins = access.subject, access.claims.get("nbf", 0)
    if not subject or access.expires_at is None or begins > time.time() + SKEW_SECONDS:
        return None
    principal = signed_principal(str(access.claims.get("iss")), subject)
    return access.model_copy(update={"claims": {"iss": access.claims.get("iss"), _PRINCIPAL: principal}})


class EitherToken(TokenVerifier):
    """Tokens that one of several verifiers knows."""

    def __init__(self, verifiers: Sequence[TokenVerifier]) -> None:
        super().__init__()
        self._verifiers = tuple(verifiers)

    async def verify_token(self, token: str) -> AccessToken | None:
        for verifier in self._verifiers:
            if access := await verifier.verify_token(token):
                return access
        return None


def verifier_of(settings: Settings) -> TokenVerifier | None:
    """What the settings know of tokens; None where nobody has to say who they are."""
    verifiers: list[TokenVerifier] = []
    if settings.auth_tokens:
        verifiers.append(StaticTokens(settings.auth_tokens))
    if settings.auth_jwks_url:
        verifiers.append(signed_tokens(settings))
    return EitherToken(verifiers) if verifiers else None


def principal_of(access: AccessToken | None) -> str:
    """The stable name of whoever asks: `local`, a client id, or `sub_` and a hash of issuer and subject."""
    return LOCAL if access is None else str(access.claims[_PRINCIPAL])


def principal() -> str:
    """The name of whoever asks now."""
    return principal_of(asking())


def known_principal() -> str:
    """The name of whoever asks now, for servers on which everybody has one.

    Raises:
        ScopeError: nobody knows who asks.
    """
    access = asking()
    if access is None:
        raise ScopeError("It is not known who asks.", "Use a token.")
    return principal_of(access)


def space_of(access: AccessToken | None) -> str | None:
    """The default space of a token."""
    return None if access is None else access.claims.get(_SPACE)


def asked_space(request: Request | None = None) -> str | None:
    """The space that a request over HTTP names in its header: this one, or the one that is being answered."""
    try:
        return (request or get_http_request()).scope.get(SPACE)
    except RuntimeError:  # it came over stdio
        return None


def asking() -> AccessToken | None:
    """The token of the request that is being answered; None over stdio and where there is no authentication."""
    return get_access_token()


def access_of(context: ServerRequestContext[Any, Any]) -> AccessToken | None:
    """The token of a request that the framework does not know of; None as for `asking`."""
    user = context.request.scope.get("user") if context.request is not None else None
    access = user.access_token if isinstance(user, AuthenticatedUser) else None
    return access if isinstance(access, AccessToken) else None


def is_admin(access: AccessToken | None) -> bool:
    return access is not None and ADMIN in access.scopes


def has_any_scope(granted: Sequence[str]) -> bool:
    return any(scope in granted for scope in SCOPES)


def missing(access: AccessToken | None, scope: str) -> ScopeError | None:
    """Why a token does not suffice; None where it does."""
    if access is not None and allows(access.scopes, scope):
        return None
    return ScopeError(f"This token does not have the scope {scope}.", "Use one that has it.")


def require_read(access: AccessToken | None) -> None:
    """Refuse a request of the protocol whose token does not suffice.

    Raises:
        MCPError: the scope is missing; it is named.
    """
    if (error := missing(access, READ)) is not None:
        raise MCPError(INVALID_REQUEST, error.public)


class Scopes(Middleware):
    """Every request of a server with authentication asks for the scope that it needs.

    Tools that a token may not use stay in the list: what is listed is the same for all, which clients keep, and the
    refusal names the scope that a client may then ask its user for.
    """

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: Call[Answer]) -> Answer:
        tool = await _tool(context)
        if tool is not None and (error := missing(asking(), _needed(tool, context.message.arguments or {}))):
            raise ToolError(error.public)
        return await call_next(context)

    async def on_read_resource(self, context: MiddlewareContext[Any], call_next: Call[Answer]) -> Answer:
        require_read(asking())
        return await call_next(context)

    async def on_get_prompt(self, context: MiddlewareContext[Any], call_next: Call[Answer]) -> Answer:
        require_read(asking())
        return await call_next(context)


async def _tool(context: MiddlewareContext[Any]) -> Tool | None:
    """What is called, as far as this token can see it: what it cannot see is unknown, not forbidden."""
    if context.fastmcp_context is None:
        return None
    return await context.fastmcp_context.fastmcp.get_tool(context.message.name)


def _needed(tool: Tool, arguments: dict[str, Any]) -> str:
    """The scope of a call: maintenance without verdicts only looks."""
    reads = tool.annotations is not None and tool.annotations.read_only_hint is True
    looks = tool.name == "run_maintenance" and not arguments.get("results")
    return READ if reads or looks else WRITE


class Gate(Transform):
    """Shows what it is put in front of to tokens with the scope `memory:admin`; for all others it is not there."""

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return tools if is_admin(asking()) else []

    async def get_tool(self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None) -> Tool | None:
        return await call_next(name, version=version) if is_admin(asking()) else None

    async def list_resources(self, resources: Sequence[Resource]) -> Sequence[Resource]:
        return resources if is_admin(asking()) else []

    async def get_resource(
        self, uri: str, call_next: GetResourceNext, *, version: VersionSpec | None = None
    ) -> Resource | None:
        return await call_next(uri, version=version) if is_admin(asking()) else None

    async def list_resource_templates(self, templates: Sequence[ResourceTemplate]) -> Sequence[ResourceTemplate]:
        return templates if is_admin(asking()) else []

    async def get_resource_template(
        self, uri: str, call_next: GetResourceTemplateNext, *, version: VersionSpec | None = None
    ) -> ResourceTemplate | None:
        return await call_next(uri, version=version) if is_admin(asking()) else None

    async def list_prompts(self, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
        return prompts if is_admin(asking()) else []

    async def get_prompt(
        self, name: str, call_next: GetPromptNext, *, version: VersionSpec | None = None
    ) -> Prompt | None:
        return await call_next(name, version=version) if is_admin(asking()) else None
