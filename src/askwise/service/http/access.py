"""Whether a request is allowed: its host, where its page is from, and its token."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time

from askwise.service.api.refusals import Refusal
from askwise.service.backend.rate_limits import RateLimits
from askwise.service.http.requests import Request
from askwise.service.http.threads import ReaderThreads
from askwise.service.ledger.rows import StoredToken
from askwise.service.settings import Settings
from askwise.service.tokens import FULL_ACCESS, TokenCache, check_scope

READS = ("GET", "HEAD")

UNKNOWN = "this token is not known, has expired, or was revoked"

SEARCHED_EVERY = 0.05
"""Seconds between two searches for tokens that are not known: a client may be guessing."""

_HOST = re.compile(rb"(?P<name>\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::[0-9]*)?")


class Access:
    """Checks the head of a request, before its body is read."""

    def __init__(
        self, settings: Settings, tokens: TokenCache, limits: RateLimits, readers: ReaderThreads
    ) -> None:
        self._hosts = {host.encode() for host in settings.answers_to}
        self._authenticates = settings.authenticates
        self._tokens = tokens
        self._limits = limits
        self._readers = readers
        self._search: asyncio.Future[None] | None = None
        """The next search for tokens that are not known, if it has not begun."""
        self._searched = -SEARCHED_EVERY

    def check_host(self, request: Request, *, by_address: bool = False) -> None:
        """Refuse a request that is meant for another host.

        What watches a server may ask by an address: it knows no name. An address is nothing that a
        page from elsewhere could make point here.
        """
        host = request.headers.get(b"host", b"").lower()
        found = _HOST.fullmatch(host)
        if found is None:
            raise Refusal(400, "header Host is not a host and a port", "header:Host")
        name = found["name"]
        if name not in self._hosts and not (by_address and _is_address(name)):
            asked = f"this server does not answer to the host {host.decode('latin-1')!r}"
            raise Refusal(421, f"{asked}; --allow-host adds one", "header:Host")

    def check_origin(self, request: Request) -> None:
        """Refuse to let a page from elsewhere write, even where no token is asked for.

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

    async def check_token(self, request: Request, scope: str, project: str) -> StoredToken:
        """The token of a request; a refusal if it is not good, or does not allow this."""
        token = FULL_ACCESS
        if self._authenticates:
            tokens, header = self._tokens, request.headers.get(b"authorization")
            found = tokens.find(header)
            if found is None:  # it may have been made just now, by another process
                await self._next_search()
                found = tokens.find(header)
            if found is None:
                raise Refusal(401, UNKNOWN, "header:Authorization")
            token = found
            self._limits.charge(token)
        check_scope(token, scope, project)
        return token

    def check_again(self, request: Request, scope: str, project: str) -> StoredToken:
        """The token of a request that was found before, as it is now; it is not charged again."""
        token = FULL_ACCESS
        if self._authenticates:
            found = self._tokens.find(request.headers.get(b"authorization"))
            if found is None:
                raise Refusal(401, UNKNOWN, "header:Authorization")
            token = found
        check_scope(token, scope, project)
        return token

    async def _next_search(self) -> None:
        """Wait for a search that begins after this; it is one for all requests that wait.

        One that has begun may have missed the token. However many tokens are guessed, no more than
        one thread is asked to read the database, every `SEARCHED_EVERY` seconds.
        """
        if self._search is None:
            self._search = asyncio.ensure_future(self._search_tokens())
        await asyncio.shield(self._search)

    async def _search_tokens(self) -> None:
        await asyncio.sleep(max(0.0, self._searched + SEARCHED_EVERY - time.monotonic()))
        self._search, self._searched = None, time.monotonic()
        await self._readers.run(self._tokens.refresh)


def _is_address(name: bytes) -> bool:
    try:
        ipaddress.ip_address(name.decode("latin-1").strip("[]"))
    except ValueError:
        return False
    return True
