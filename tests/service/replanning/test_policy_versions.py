"""Versions of policies in memory: each is read once, whoever asks."""

import threading
from concurrent.futures import ThreadPoolExecutor

from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning import policy_versions
from askwise.service.replanning.policy_versions import PolicyCache
from serving import create
from waiting import PATIENCE


def test_threads_that_read_a_version_at_once_share_one(tmp_path, monkeypatch):
    """What was planned aside for a case is kept with the version; a copy would not have it."""
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    create(Writer(ledger, PolicyCache(ledger)))
    cache, project, both = PolicyCache(ledger), ledger.project("clinic").id, threading.Barrier(2)
    real = policy_versions._read_version

    def read(*arguments):
        found = real(*arguments)
        both.wait(PATIENCE)
        return found

    monkeypatch.setattr(policy_versions, "_read_version", read)
    with ThreadPoolExecutor(2) as pool:
        one, other = (pool.submit(cache.version, project, 1) for _ in range(2))
        assert one.result() is other.result() is cache.version(project, 1)
    ledger.close()
