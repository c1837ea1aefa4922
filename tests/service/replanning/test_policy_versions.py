"""Versions of policies in memory: each is read once, whoever asks."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from askwise.errors import LedgerError
from askwise.learners.learner import rounds_of
from askwise.service.api.messages import Opening
from askwise.service.backend.backend import Backend
from askwise.service.decisions.case_terms import Terms, policy_for
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning import policy_versions
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from askwise.service.settings import Settings
from serving import ask, create
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


def test_an_unreadable_policy_is_logged_with_the_name_of_its_project(tmp_path, capfd):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    create(Writer(ledger, PolicyCache(ledger)))
    project = ledger.project("clinic").id
    with ledger.transaction() as transaction:
        transaction.replace_policy(project, 1, b"half a file")
    with pytest.raises(LedgerError, match="version 1 cannot be read"):
        PolicyCache(ledger).version(project, 1)
    (line,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert (line["what"], line["project"]) == ("a policy cannot be read", "clinic")
    with pytest.raises(LedgerError, match="'clinic' has no policy of version 9"):
        PolicyCache(ledger).version(project, 9)
    ledger.close()


def test_plans_for_single_cases_are_bounded_over_all_versions(tmp_path, monkeypatch):
    """Each version keeps its own, and 256 older versions stay in memory."""
    backend = Backend(Settings(db=str(tmp_path / "ledger.db")))
    ledger, cache = backend.ledger, backend.policy_cache
    writer, replanner = backend.writer, Replanner(ledger)
    create(writer)
    terms = [Terms({"mri": 3.0 + k / 64}) for k in range(20)]

    def plan_all(version):
        planned = cache.version(1, version)
        return [policy_for(planned, 0, 0, own).values.tolist() for own in terms]

    def kept(version):
        return rounds_of(cache.version(1, version).learner).case_policies

    found = []
    for _ in range(4):
        ask(writer, Opening())
        replanner.step()
        newest = ledger.project("clinic").version
        cache.prepare(1, newest)
        found.append(plan_all(newest))
    versions = range(newest - 3, newest + 1)
    one = kept(newest).bytes
    assert [len(kept(version)) for version in versions] == [20] * 4
    cache.drop_plans()
    assert [len(kept(version)) for version in versions] == [20] * 4  # there is room
    monkeypatch.setattr(policy_versions, "MOST_PLANS", one)
    backend.refresh()
    assert [len(kept(version)) for version in versions] == [0, 0, 0, 20]
    assert [plan_all(version) for version in versions] == found
    monkeypatch.setattr(policy_versions, "MOST_PLANS", one - 1)
    cache.drop_plans()
    assert sum(kept(version).bytes for version in versions) == 0
    ledger.close()
