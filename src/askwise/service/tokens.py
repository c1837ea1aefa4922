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

SIGN_IN = "sign-in"
"""The scope of a link: it can be changed for a token once, and is good for nothing else."""

LINK_GOOD_FOR = 600
SIGNED_IN_FOR = 12 * 3600
"""Seconds that a link is good for, and the token that it is changed for."""


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
        lasts=expires_in * 1_000_000,
    )
    return token, stored


def digest_of(token: str) -> bytes:
    """Returns the digest of a token, which is stored."""
    return hashlib.sha256(token.encode()).digest()


class TokenCache:
    """Keeps the good tokens in memory; `refresh` is called every fraction of a second."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._good: dict[bytes, StoredToken] = {}

    def refresh(self) -> None:
        """Reads new and revoked tokens."""
        now = time.time_ns() // 1000
        with self._lock:  # what was read before a token was revoked is not kept after it
            self._good = {t.digest: t for t in self._ledger.tokens() if t.is_good(now)}

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


def new_link() -> tuple[str, StoredToken]:
    """Returns the secret part of a link, to be shown once, and what to store of it."""
    text, kept = new_token("read", expires_in=LINK_GOOD_FOR)
    return text, kept._replace(scope=SIGN_IN)


def link_used(ledger: Ledger, link: StoredToken) -> tuple[str, StoredToken] | None:
    """A token for everything, to be shown once, and what is kept of it; None if it was used."""
    if not ledger.revoke_token(link.id, time.time_ns() // 1000):
        return None
    token, kept = new_token("admin", expires_in=SIGNED_IN_FOR)
    ledger.add_token(kept)
    return token, kept


def check_scope(token: StoredToken, scope: str, project: str) -> None:
    """Refuse what the token does not allow; an empty scope is any."""
    if (token.scope == SIGN_IN) != (scope == SIGN_IN):
        why = "a link is good for POST /v1/sign-in, and nothing else is"
        raise Refusal(403, why, "header:Authorization")
    if scope in ("", SIGN_IN):
        return
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
