"""Bearer tokens: 256 random bits, shown once; the ledger keeps their SHA-256.

A token of so many random bits needs no salt and no slow hash: nobody finds it by trying.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time

from askwise.errors import OptionError
from askwise.service.http.problems import Refusal
from askwise.service.ledger.contract import Ledger, StoredToken

PREFIX = "askw_"
SCOPES = ("read", "decide", "admin")
"""Each may do what those before it may."""

AGAIN = 0.05
"""Seconds between two searches for tokens that nobody knows: somebody may be guessing."""


def new_token(scope: str, project: str = "") -> tuple[str, StoredToken]:
    """A token to be shown once, and what to keep of it."""
    if scope not in SCOPES:
        raise OptionError(f"unknown scope {scope!r}, expected one of: {', '.join(SCOPES)}")
    token = PREFIX + secrets.token_urlsafe(32)
    digest = digest_of(token)
    return token, StoredToken(
        digest.hex()[:12], digest, scope, project, time.time_ns() // 1000, revoked=0
    )


def digest_of(token: str) -> bytes:
    """What is kept of it."""
    return hashlib.sha256(token.encode()).digest()


class TokenBook:
    """The tokens that are good, at hand; `renew` is called every fraction of a second."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._good: dict[bytes, StoredToken] = {}
        self._searching = threading.Lock()
        self._searched = 0.0

    def renew(self) -> None:
        """Learn of new and of revoked tokens."""
        good = {t.digest: t for t in self._ledger.tokens() if not t.revoked}
        with self._lock:
            self._good = good

    def search(self) -> None:
        """Look for a token that is not known, which may have been made just now.

        That reads the database, so it is done aside, once for all who wait, and not too often.
        """
        with self._searching:
            if time.monotonic() - self._searched > AGAIN:
                self.renew()
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
        return found if found and hmac.compare_digest(found.digest, digest) else None

    def is_good(self, token: StoredToken) -> bool:
        """Whether a token that was found before is still good."""
        return token is EVERYTHING or token.digest in self._good


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


EVERYTHING = StoredToken("", b"", "admin", "", 0, 0)
"""What everybody may when tokens are switched off."""
