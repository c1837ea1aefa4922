"""Tokens are read by several threads, and an older reading never replaces a newer one."""

import threading
from types import SimpleNamespace

from askwise.service.tokens import TokenCache, new_token
from waiting import PATIENCE


def test_a_revoked_token_does_not_come_back_with_an_older_reading():
    secret, kept = new_token("admin")
    reading, revoked = threading.Event(), threading.Event()
    readings = iter([[kept], []])

    def tokens():
        found = next(readings)
        if found:  # the first reading takes long: meanwhile the token is revoked
            reading.set()
            revoked.wait(0.2)
        else:
            revoked.set()
        return found

    cache = TokenCache(SimpleNamespace(tokens=tokens))
    slow = threading.Thread(target=cache.refresh)
    slow.start()
    assert reading.wait(PATIENCE)
    cache.refresh()
    slow.join()
    assert cache.find(b"Bearer " + secret.encode()) is None
