"""Makes requests from the table of calls in `api/calls.py`, and reads their answers."""

from __future__ import annotations

import secrets
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import httpx
import msgspec
import numpy as np

from askwise.errors import ServiceError
from askwise.service.api.call import Call
from askwise.service.api.messages import ProblemDetails

T = TypeVar("T")

RETRIED = (429, 502, 503, 504)
"""Statuses after which a request is sent again."""

NOT_TRUSTED = "CERTIFICATE_VERIFY_FAILED"
"""What OpenSSL says of a certificate that it cannot verify."""

LONGEST_WAIT = 5.0
"""Seconds."""


class ClientRequest(Generic[T]):
    """One request. It may be sent again, with the same idempotency key.

    project, case, token: The names in the path.
    query: Numbers by name; None is not sent.
    """

    def __init__(
        self,
        call: Call[T],
        *,
        project: str = "",
        case: int = 0,
        token: str = "",
        body: object = None,
        query: Mapping[str, float | None] | None = None,
    ) -> None:
        self.method = call.method
        names = {"project": quote(project, safe=""), "token": quote(token, safe="")}
        self.path = call.path.format(case=case, **names)
        given = {name: number for name, number in (query or {}).items() if number is not None}
        if given:
            self.path += f"?{urlencode(given)}"
        self.answer = call.answer
        self.headers: dict[str, str] = {}
        self.content = b""
        if call.method == "POST":
            self.content = msgspec.json.encode({} if body is None else body, enc_hook=_plain)
            self.headers["content-type"] = "application/json"
            self.headers["idempotency-key"] = new_key()

    def read(self, status: int, content: bytes) -> T:
        """Returns the answer, or raises `ServiceError` if the service refused."""
        if 200 <= status < 300:
            return msgspec.json.decode(content, type=self.answer)
        raise self.refusal(status, content)

    def refusal(self, status: int, content: bytes) -> ServiceError:
        """Returns the error that the service reports."""
        try:
            detail = msgspec.json.decode(content, type=ProblemDetails).detail
        except msgspec.MsgspecError:
            detail = "the answer is not one of askwise"
        return ServiceError(f"{self.method} {self.path}: {detail}", status)

    def no_answer(self, attempts: int, error: Exception) -> ServiceError:
        """Returns the error for a service that cannot be reached."""
        text = f"{type(error).__name__} {error}".strip()
        where = f"{self.method} {self.path}"
        if NOT_TRUSTED in text:
            remedy = "give the file of its certificate, or of its authority's, as verify="
            return ServiceError(
                f"{where}: the server's certificate is not trusted: {remedy} ({text})"
            )
        return ServiceError(
            f"{where}: no answer in {attempts} {'attempt' if attempts == 1 else 'attempts'}: {text}"
        )


def http_options(
    url: str, token: str, timeout: float, verify: str | Path | ssl.SSLContext | None
) -> dict[str, Any]:
    """Returns the options of a client of httpx."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    options = {"base_url": url, "headers": headers, "timeout": timeout}
    if verify is None:
        if not url.lower().startswith("http://"):
            return options
        # No certificate is looked at, so none need be read; that would take 30 milliseconds.
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not isinstance(verify, ssl.SSLContext):
        try:
            verify = ssl.create_default_context(cafile=verify)
        except OSError as error:  # ssl.SSLError is one
            raise ServiceError(
                f"verify: no certificates can be read from {verify}: {error}"
            ) from None
    return options | {"verify": verify}


def is_final(error: Exception) -> bool:
    """Returns whether it is useless to try again: the address or the certificate is wrong."""
    return isinstance(error, httpx.UnsupportedProtocol) or NOT_TRUSTED in str(error)


def new_key() -> str:
    """Returns a new unique idempotency key.

    It begins with the time, so that keys of the same hour are close together in the ledger's index.
    """
    return f"{time.time_ns() // 1000:014x}-{secrets.token_hex(12)}"


def wait_before(attempt: int, retry_after: str | None) -> float:
    """Returns how many seconds to wait before the next attempt."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), LONGEST_WAIT)
    return float(min(0.05 * 2**attempt, LONGEST_WAIT))


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise ServiceError(f"cannot be sent: {value!r}")
