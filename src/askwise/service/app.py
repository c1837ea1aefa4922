"""From a request to its handler: who may ask what, where."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import NamedTuple

import msgspec

from askwise.errors import LedgerError
from askwise.service.deciding import Target
from askwise.service.errors import Refusal
from askwise.service.house import House
from askwise.service.http import Answering, Request, Response, refused, segments
from askwise.service.ledger.contract import StoredToken
from askwise.service.logs import log, log_failure
from askwise.service.metrics import KIND
from askwise.service.openapi import CALLS, document
from askwise.service.routes import Routes
from askwise.service.tokens import EVERYTHING, check_scope

CSP = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)
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
        }
        self._document = msgspec.json.encode(document(authenticates=house.settings.authenticates))
        self._assets = _assets()

    def __call__(self, request: Request) -> Response | asyncio.Future[Response]:
        """The answer, or what will be it."""
        began = self._loop.time()
        name = "other"
        try:
            self._check_host(request)
            found = self._simple(request)
            if found is not None:
                name, answer = request.path, found
            else:
                route, target = self._route(request)
                name = route.name
                token = self._check_token(request, route.scope, target.project)
                answer = route.handle(request, target._replace(token=token))
        except Refusal as refusal:
            answer = refused(refusal)
        except Exception as error:
            answer = _failed(error)
        if isinstance(answer, Response):
            self._count(name, answer, began)
            return answer
        future = answer
        if not isinstance(future, asyncio.Future):
            future = self._loop.create_task(_safe(future))
        future.add_done_callback(lambda done: self._count(name, done.result(), began))
        return future

    def _count(self, name: str, answer: Response, began: float) -> None:
        self.house.metrics.answered(name, answer.status, self._loop.time() - began)

    # --- where -----------------------------------------------------------------------------------

    def _simple(self, request: Request) -> Answering | None:
        """What needs no token, and the metrics."""
        path = request.path
        is_asset = path in self._assets
        if path in self._open or is_asset or path == "/metrics":
            if request.method != "GET":
                raise _wrong_method(["GET"])
            if path == "/metrics":
                self._check_token(request, "read", "")
                projects = list(self.house.projects.values())
                return Response(200, self.house.metrics.text(projects), KIND)
            if is_asset:
                kind, content = self._assets[path]
                return Response(200, content, kind, (("content-security-policy", CSP),))
            return self._open[path](request)
        return None

    def _route(self, request: Request) -> tuple[Route, Target]:
        parts = segments(request.path)
        methods = self._table.get(_shape(parts))
        if methods is None:
            raise Refusal(404, "there is nothing at this path", "path")
        route = methods.get(request.method)
        if route is None:
            raise _wrong_method(sorted(methods))
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
        name, _, port = host.rpartition(b":")
        bare = name if name and port.isdigit() else host
        if bare not in self._hosts:
            asked = f"this server does not answer to the host {bare.decode('latin-1')!r}"
            raise Refusal(421, f"{asked}; --allow-host adds one", "header:Host")

    def _check_token(self, request: Request, scope: str, project: str) -> StoredToken:
        token = EVERYTHING
        if self.house.settings.authenticates:
            token = self.house.tokens.find(request.headers.get(b"authorization"))
        if scope:
            check_scope(token, scope, project)
        return token


def _wrong_method(allowed: list[str]) -> Refusal:
    return Refusal(405, f"expected {' or '.join(allowed)}", allowed=allowed)


async def _safe(answer: Awaitable[Response]) -> Response:
    """An answer, whatever happens."""
    try:
        return await answer
    except Refusal as refusal:
        return refused(refusal)
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> Response:
    if isinstance(error, LedgerError):
        log("error", "the ledger cannot be read", error=str(error))
        return refused(Refusal(503, "the ledger cannot be read now", retry=1))
    log_failure("a request failed", error)
    return refused(Refusal(500, "this request failed"))


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
    for file in resources.files("askwise.service").joinpath("static").iterdir():
        if file.is_file() and not file.name.startswith("."):
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            text = kind.startswith("text/") or kind.endswith("javascript")
            found[f"/{file.name}"] = (f"{kind}; charset=utf-8" if text else kind, file.read_bytes())
    found["/"] = found["/index.html"]
    return found
