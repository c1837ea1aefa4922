"""A bar for work that reports no steps itself: a thread asks how far it is."""

import contextlib
import threading

import pytest

import askwise as aw
from askwise._support import progress
from askwise.logs import files
from waiting import PATIENCE


class Recorded:
    """A bar that notes what it shows."""

    def __init__(self, what, done, total):
        self.what, self.shown, self.is_closed = what, [(done, total)], False

    def update(self, done):
        self.shown.append((done, 100))

    def close(self):
        self.is_closed = True


@pytest.fixture
def bars(monkeypatch):
    made = []

    def bar(*what):
        made.append(Recorded(*what))
        return made[-1]

    monkeypatch.setattr(progress, "_bar", bar)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress, "OFTEN", 0.001)
    return made


def test_a_bar_follows_work_that_reports_no_steps(bars):
    told, last = iter((-1.0, 30.5, 20.0, 250.0)), threading.Event()

    def per_cent():
        found = next(told, None)
        if found is None:
            last.set()
            return 100.0
        return found

    with progress.polled("reading", per_cent):
        assert last.wait(PATIENCE)
    (bar,) = bars
    assert bar.what == "reading, per cent"
    assert [done for done, _ in bar.shown][:4] == [0, 30, 30, 100]
    assert bar.is_closed


def test_the_bar_ends_with_work_that_fails(bars):
    asked = threading.Event()

    def per_cent():
        asked.set()
        return 1.0

    def fail():
        with progress.polled("reading", per_cent):
            assert asked.wait(PATIENCE)
            raise OSError("no such disk")

    with pytest.raises(OSError, match="no such disk"):
        fail()
    assert all(bar.is_closed for bar in bars)


def test_a_file_is_read_below_a_bar(tmp_path, monkeypatch):
    used = []

    @contextlib.contextmanager
    def polled(what, per_cent):
        yield
        used.append((what, per_cent()))

    monkeypatch.setattr(files, "polled", polled)
    (tmp_path / "log.csv").write_text("mri,best\nneg,wait\npos,treat\n")
    mri = aw.Observation("mri", values=["neg", "pos"], cost=0.1)
    aw.fit(
        tmp_path / "log.csv",
        aw.Problem(observations=[mri], actions=["wait", "treat"]),
        label="best",
    )
    assert [what for what, _ in used] == ["reading the log"]
    assert all(isinstance(done, float) for _, done in used)
