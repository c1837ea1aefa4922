"""All events of a project, some at a time, and how far a command has come with them."""

import types

import pytest

from askwise._support import progress
from askwise.service.ledger.event_pages import PAGE, pages_of_events, watched_pages


class Events:
    """A ledger that has so many events, and no more."""

    def __init__(self, number):
        self.all = [types.SimpleNamespace(seq=k + 1) for k in range(number)]

    def events(self, project, after, limit):
        return self.all[after : after + limit]


@pytest.mark.parametrize("pages", [pages_of_events, watched_pages])
@pytest.mark.parametrize("number", [0, 1, PAGE, 2 * PAGE + 7])
def test_every_event_comes_once(pages, number):
    project = types.SimpleNamespace(id=1, seq=number)
    after = [0] if pages is pages_of_events else []
    found = [event.seq for page in pages(Events(number), project, *after) for event in page]
    assert found == list(range(1, number + 1))


def test_a_bar_shows_how_many_events_were_read(monkeypatch):
    shown = []
    bar = types.SimpleNamespace(update=shown.append, close=lambda: shown.append("closed"))

    def made(what, done, total):
        shown.append((what, done, total))
        return bar

    monkeypatch.setattr(progress, "_bar", made)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    project = types.SimpleNamespace(id=1, seq=2 * PAGE + 7)
    list(watched_pages(Events(project.seq), project))
    assert shown == [("events", PAGE, project.seq), 2 * PAGE, project.seq, "closed"]
