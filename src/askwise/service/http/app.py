"""From a request to its handler: who may ask what, where."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import NamedTuple

import msgspec

from askwise.errors import LedgerError
from askwise.service.http.calls import CALLS, document
from askwise.service.http.case_handlers import Target
from askwise.service.http.handlers import Routes
from askwise.service.http.problems import Refusal
from askwise.service.http.requests import (
    Answering,
    DisconnectedError,
    Request,
    Response,
    refused,
    segments,
)
from askwise.service.ledger.contract import StoredToken
from askwise.service.operations.logging import log, log_failure
from askwise.service.operations.metrics import KIND
from askwise.service.operations.project_store import House
from askwise.service.operations.tokens import EVERYTHING, check_scope

CSP = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)
_HOST = re.compile(rb"(?P<name>\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::[0-9]*)?")
READS = ("GET", "HEAD")
PROJECT, CASE = 2, 4
"""Where in /v1/projects/P/cases/C they stand."""

Handle = Callable[[Request, Target], Answering]


class Route(NamedTuple):
    """A call, and who may make it."""

    name: str
    scope: str
    handle: Handle


class App:
    """Answers requests."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.routes = Routes(house)
        self._loop = asyncio.get_running_loop()
        self._hosts = {host.encode() for host in house.settings.answers_to}
        self._table: dict[tuple[str, ...], dict[str, Route]] = {}
        for call in CALLS:
            handle = getattr(self.routes, call.handler)
            route = Route(call.path, call.scope, handle)
            self._table.setdefault(_shape(call.path[1:].split("/")), {})[call.method] = route
        self._open: dict[str, Callable[[Request], Answering]] = {
            "/healthz": lambda _: Response(200, b'{"status":"ok"}'),
            "/readyz": self._ready,
            "/openapi.json": lambda _: Response(200, self._document),
            "/metrics": self._metrics,
        }
        self._document = msgspec.json.encode(document(authenticates=house.settings.authenticates))
        self._assets = _assets()

    async def __call__(self, request: Request, read: Callable[[], Awaitable[bytes]]) -> Response:
        """The answer; `read` gives the body, once the head was found to be allowed."""
        began = self._loop.time()
        name = "other"
        try:
            self._check_host(request)
            self._check_origin(request)
            simple = self._simple(request)
            if simple is not None:
                name = request.path
                answer = simple(request)
            else:
                route, target = self._route(request)
                name = route.name
                token = await self._check_token(request, route.scope, target.project)
                if request.method not in READS:
                    request.body = await read()
                answer = route.handle(request, target._replace(token=token))
            if not isinstance(answer, Response):
                answer = await answer
        except Refusal as refusal:
            answer = refused(refusal)
        except LedgerError as error:
            log("error", "the ledger cannot be read", error=str(error))
            answer = refused(Refusal(503, "the ledger cannot be read now", retry=1))
        except (asyncio.CancelledError, DisconnectedError):
            raise
        except Exception as error:
            log_failure("a request failed", error)
            answer = refused(Refusal(500, "this request failed"))
        self.house.metrics.answered(name, answer.status, self._loop.time() - began)
        return answer

    # --- where -----------------------------------------------------------------------------------

    def _simple(self, request: Request) -> Callable[[Request], Answering] | None:
        """What is not under /v1: all but the metrics needs no token."""
        path = request.path
        found = self._asset if path in self._assets else self._open.get(path)
        if found is not None and request.method not in READS:
            raise _wrong_method(["GET", "HEAD"])
        return found

    def _asset(self, request: Request) -> Response:
        kind, content = self._assets[request.path]
        return Response(200, content, kind, (("content-security-policy", CSP),))

    async def _metrics(self, request: Request) -> Response:
        await self._check_token(request, "read", "")
        return Response(200, self.house.metrics.text(list(self.house.projects.values())), KIND)

    def _route(self, request: Request) -> tuple[Route, Target]:
        parts = segments(request.path)
        methods = self._table.get(_shape(parts))
        if methods is None:
            raise Refusal(404, "there is nothing at this path", "path")
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise _wrong_method(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
        case = 0
        if len(parts) > CASE:
            case = _case_number(parts[CASE])
        return route, Target(parts[PROJECT] if len(parts) > PROJECT else "", case)

    def _ready(self, request: Request) -> Response:
        reasons = self.house.readiness.reasons()
        if reasons:
            return refused(Refusal(503, "; ".join(reasons), retry=1))
        return Response(200, self.house.readiness.answer())

    # --- who -------------------------------------------------------------------------------------

    def _check_host(self, request: Request) -> None:
        host = request.headers.get(b"host", b"").lower()
        found = _HOST.fullmatch(host)
        if found is None:
            raise Refusal(400, "header Host is not a host and a port", "header:Host")
        if found["name"] not in self._hosts:
            asked = f"this server does not answer to the host {host.decode('latin-1')!r}"
            raise Refusal(421, f"{asked}; --allow-host adds one", "header:Host")

    def _check_origin(self, request: Request) -> None:
        """A page from elsewhere may not write, not even where no token is asked for.

        A browser says with every request that changes something where its page is from.
        """
        if request.method in READS:
            return
        headers = request.headers
        origin = headers.get(b"origin")
        if origin is not None and origin.lower().partition(b"://")[2] != headers[b"host"].lower():
            raise Refusal(403, "a page from elsewhere may not ask this", "header:Origin")
        if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            raise Refusal(403, "a page from elsewhere may not ask this", "header:Sec-Fetch-Site")

    async def _check_token(self, request: Request, scope: str, project: str) -> StoredToken:
        token = EVERYTHING
        if self.house.settings.authenticates:
            tokens, header = self.house.tokens, request.headers.get(b"authorization")
            found = tokens.find(header)
            if found is None:  # it may have been made just now, by another process
                await self.routes.aside(tokens.search)
                found = tokens.find(header)
            if found is None:
                why = "this token is not known, or was revoked"
                raise Refusal(401, why, "header:Authorization")
            token = found
        if scope:
            check_scope(token, scope, project)
        return token


def _wrong_method(allowed: list[str]) -> Refusal:
    return Refusal(405, f"expected {' or '.join(allowed)}", allowed=allowed)


def _shape(parts: list[str]) -> tuple[str, ...]:
    """A path without what it names."""
    return tuple("" if k in (PROJECT, CASE) else part for k, part in enumerate(parts))


def _case_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and 0 < int(text) <= 2**53):
        raise Refusal(404, f"there is no case {text[:40]!r}", "path:case")
    return int(text)


def _assets() -> dict[str, tuple[str, bytes]]:
    """The files of the dashboard, by their path."""
    found = {}
    for file in resources.files("askwise.service.dashboard").joinpath("static").iterdir():
        if file.is_file() and not file.name.startswith("."):
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            text = kind.startswith("text/") or kind.endswith("javascript")
            found[f"/{file.name}"] = (f"{kind}; charset=utf-8" if text else kind, file.read_bytes())
    found["/"] = found["/index.html"]
    return found
