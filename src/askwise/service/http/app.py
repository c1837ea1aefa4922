"""The application checks a request, calls its handler and handles failures.

The table of `api/calls.py` has everything under /v1. The rest is here: the dashboard's files, the
paths for monitoring (/healthz, /readyz, /metrics), and /openapi.json.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from askwise.errors import LedgerError
from askwise.service.api.calls import CALLS
from askwise.service.api.openapi import document
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.backend.metrics import CONTENT_TYPE
from askwise.service.http.access import READS, Access
from askwise.service.http.handlers import Handlers
from askwise.service.http.requests import (
    Answering,
    DisconnectedError,
    Request,
    Response,
    refused,
)
from askwise.service.http.routing import Router, wrong_method
from askwise.service.http.static_files import static_files
from askwise.service.ledger.rows import StoredToken
from askwise.service.logging import log, log_failure

ASKED_BY_ADDRESS = ("/healthz", "/readyz", "/metrics")
"""The paths for load balancers and Prometheus, which may use any address of this server."""


class App:
    """Answers the requests of one process."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._loop = asyncio.get_running_loop()
        self._handlers = Handlers(backend)
        self._router = Router(CALLS, self._handlers.find)
        self._access = Access(
            backend.settings, backend.tokens, backend.limits, self._handlers.readers
        )
        self._files = static_files()
        openapi = Response(
            200, msgspec.json.encode(document(authenticates=backend.settings.authenticates))
        )
        self._monitoring: dict[str, Callable[[Request], Answering]] = {
            "/healthz": lambda _: Response(200, b'{"status":"ok"}'),
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/openapi.json": lambda _: openapi,
        }

    async def watch_alarms(self) -> None:
        """Logs alarms as they start and end, until the server closes."""
        await self._handlers.watch_alarms()

    def end_streams(self) -> None:
        """Ends the streams, because the server is closing."""
        self._handlers.end_streams()

    def close(self) -> None:
        """End the threads of the handlers."""
        self._handlers.close()

    async def __call__(
        self, request: Request, read: Callable[[StoredToken], Awaitable[bytes]]
    ) -> Response:
        """The response; `read` gives the body, once the head was found to be allowed."""
        began = self._loop.time()
        name = "other"
        try:
            self._access.check_host(request, by_address=request.path in ASKED_BY_ADDRESS)
            self._access.check_origin(request)
            answer = self._answer_outside(request)
            if answer is not None:
                name = request.path
            else:
                route, target = self._router.find(request)
                name = route.path
                project = target.project if route.is_for_one else ""
                token = await self._access.check_token(request, route.scope, project)
                if request.method not in READS:
                    request.body = await read(token)
                    # a body may take its time: meanwhile the token may have been revoked, or the
                    # project renamed
                    token = self._access.check_again(request, route.scope, project)
                answer = route.handler(request, target._replace(token=token))
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
        self._backend.metrics.count_answer(name, answer.status, self._loop.time() - began)
        return answer

    def _answer_outside(self, request: Request) -> Answering | None:
        """The answer to what is not under /v1; all of it but the metrics needs no token."""
        path = request.path
        file = self._files.get(path)
        monitoring = self._monitoring.get(path)
        if file is None and monitoring is None:
            return None
        if request.method not in READS:
            raise wrong_method(["GET", "HEAD"])
        return file if monitoring is None else monitoring(request)

    def _ready(self, request: Request) -> Response:
        obstacles = self._backend.readiness.obstacles()
        if obstacles:
            return refused(Refusal(503, "; ".join(obstacles), retry=1))
        return Response(200, self._backend.readiness.answer())

    async def _metrics(self, request: Request) -> Response:
        await self._access.check_token(request, "read", "")
        text = await self._handlers.readers.run(self._handlers.metrics_text)
        return Response(200, text, CONTENT_TYPE)
