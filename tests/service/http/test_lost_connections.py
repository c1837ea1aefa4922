"""A connection that is lost: all of its requests are told."""

from collections import deque
from types import SimpleNamespace

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from askwise.service.http.protocol import Protocol


class Event:
    is_set = False

    def set(self):
        self.is_set = True


def test_every_request_of_a_lost_connection_is_told_and_not_only_the_newest(monkeypatch):
    """uvicorn tells the newest; another one went on writing, which was logged as an error."""
    done, running, waiting = (
        SimpleNamespace(response_complete=is_done, disconnected=False, message_event=Event())
        for is_done in (True, False, False)
    )
    monkeypatch.setattr(HttpToolsProtocol, "connection_lost", lambda self, exc: None)
    protocol = Protocol.__new__(Protocol)
    protocol._running, protocol.pipeline = running, deque([(waiting, None)])
    protocol.connection_lost(None)
    assert running.disconnected
    assert waiting.disconnected
    assert running.message_event.is_set
    protocol._running = done
    protocol.connection_lost(None)
    assert not done.disconnected
