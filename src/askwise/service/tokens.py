"""Bearer tokens: 256 random bits, shown once; the ledger keeps their SHA-256.

A token of so many random bits needs no salt and no slow hash: it cannot be found by trying.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time

from askwise.errors import OptionError
from askwise.service.api.refusals import Refusal
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import StoredToken

PREFIX = "askw_"
SCOPES = ("read", "decide", "admin")
"""Each may do what those before it may."""

SEARCHED_EVERY = 0.05
"""Seconds between two searches for tokens that are not known: a client may be guessing."""


def new_token(
    scope: str, project: str = "", *, expires_in: int = 0, rate: int = 0
) -> tuple[str, StoredToken]:
    """A token to be shown once, and what to keep of it.

    expires_in: seconds that it is good for; 0: for ever. rate: requests a minute; 0: any number.
    """
    if scope not in SCOPES:
        raise OptionError(f"unknown scope {scope!r}, expected one of: {', '.join(SCOPES)}")
    token = PREFIX + secrets.token_urlsafe(32)
    digest, now = digest_of(token), time.time_ns() // 1000
    stored = StoredToken(
        id=digest.hex()[:12],
        digest=digest,
        scope=scope,
        project=project,
        created=now,
        revoked=0,
        expires=now + expires_in * 1_000_000 if expires_in else 0,
        rate=rate,
    )
    return token, stored


def digest_of(token: str) -> bytes:
    """What is kept of it."""
    return hashlib.sha256(token.encode()).digest()


class TokenCache:
    """Keeps the good tokens in memory; `refresh` is called every fraction of a second."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._good: dict[bytes, StoredToken] = {}
        self._searching = threading.Lock()
        self._searched = 0.0

    def refresh(self) -> None:
        """Learn of new and of revoked tokens."""
        now = time.time_ns() // 1000
        good = {t.digest: t for t in self._ledger.tokens() if t.is_good(now)}
        with self._lock:
            self._good = good

    def search(self) -> None:
        """Look for a token that is not known, which may have been made just now.

        That reads the database, so another thread does it, once for all requests that wait.
        """
        with self._searching:
            if time.monotonic() - self._searched > SEARCHED_EVERY:
                self.refresh()
                self._searched = time.monotonic()

    def find(self, header: bytes | None) -> StoredToken | None:
        """The token of an Authorization header, if it is known; a refusal does not repeat it."""
        if header is None:
            raise Refusal(401, "header Authorization: Bearer … is missing", "header:Authorization")
        kind, _, text = header.partition(b" ")
        if kind.lower() != b"bearer":
            raise Refusal(401, "expected a bearer token", "header:Authorization")
        digest = hashlib.sha256(text.strip()).digest()
        found = self._good.get(digest)
        if found is None or not hmac.compare_digest(found.digest, digest):
            return None
        return found if not found.expires or found.is_good(time.time_ns() // 1000) else None

    def is_good(self, token: StoredToken) -> bool:
        """Whether a token that was found before is still good."""
        return token is FULL_ACCESS or token.digest in self._good


def check_scope(token: StoredToken, scope: str, project: str) -> None:
    """Refuse what the token does not allow."""
    if SCOPES.index(token.scope) < SCOPES.index(scope):
        raise Refusal(
            403,
            f"this needs the scope {scope}, the token has {token.scope}",
            "header:Authorization",
        )
    if token.project and token.project != project:
        only = f"this token is for the project {token.project!r} only"
        raise Refusal(403, only, "header:Authorization")


FULL_ACCESS = StoredToken(id="", digest=b"", scope="admin", project="", created=0, revoked=0)
"""The token of every request when tokens are switched off."""
