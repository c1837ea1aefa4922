"""Lines of the log that come often."""

import msgspec

from askwise.service import logging


def test_a_sparse_log_says_how_many_lines_it_left_out(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(logging.time, "monotonic", lambda: now[0])
    sparse = logging.SparseLog(most=2, within=60.0)
    for _ in range(7):
        sparse.log("info", "a client is gone")
    now[0] += 60.0
    sparse.log("info", "a client is gone")
    sparse.log("info", "a client is gone")
    lines = [msgspec.json.decode(line) for line in capsys.readouterr().err.splitlines()]
    assert [line.get("left_out") for line in lines] == [None, None, 5, None]
    assert {line["level"] for line in lines} == {"info"}
