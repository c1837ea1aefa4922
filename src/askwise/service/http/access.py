"""Whether a request is allowed: its host, where its page is from, and its token."""

from __future__ import annotations

import ipaddress
import re

from askwise.service.api.refusals import Refusal
from askwise.service.backend.rate_limits import RateLimits
from askwise.service.http.requests import Request
from askwise.service.http.threads import ReaderThreads
from askwise.service.ledger.rows import StoredToken
from askwise.service.settings import Settings
from askwise.service.tokens import FULL_ACCESS, TokenCache, check_scope

READS = ("GET", "HEAD")

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

    def check_host(self, request: Request, *, is_probe: bool = False) -> None:
        """Refuse a request that is meant for another host.

        A probe may ask by an address: what probes do not have is a name, and an address is nothing
        that a page from elsewhere could make point here.
        """
        host = request.headers.get(b"host", b"").lower()
        found = _HOST.fullmatch(host)
        if found is None:
            raise Refusal(400, "header Host is not a host and a port", "header:Host")
        name = found["name"]
        if name not in self._hosts and not (is_probe and _is_address(name)):
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
                await self._readers.run(tokens.search)
                found = tokens.find(header)
            if found is None:
                why = "this token is not known, has expired, or was revoked"
                raise Refusal(401, why, "header:Authorization")
            token = found
            self._limits.charge(token)
        if scope:
            check_scope(token, scope, project)
        return token


def _is_address(name: bytes) -> bool:
    try:
        ipaddress.ip_address(name.decode("latin-1").strip("[]"))
    except ValueError:
        return False
    return True
