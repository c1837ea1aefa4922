"""Checks for every ledger on policies and on the lease of the planner."""

from __future__ import annotations

from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import LEASE, StoredPolicy
from askwise.testing.ledger_entries import (
    FIRST,
    MakesLedger,
    append,
    changes_nothing,
    event,
    new_name,
    new_project,
    opened,
)


def publish(ledger: Ledger, project: int, version: int, fence: int) -> bool:
    """Whether a policy of that version, planned under that lease, has become the current one."""
    with ledger.transaction() as transaction:
        return transaction.publish(
            project, StoredPolicy(version, 2, fence, 6, b"policy %d" % version)
        )


def check_versions_follow_each_other(make: MakesLedger) -> None:
    """Version v + 1 becomes current only where v is; those that came before are kept."""
    with opened(make) as ledger:
        project = new_project(ledger)
        append(ledger, project, event(1), event(2), event(3))
        fence = ledger.take_lease("planner").fence
        for version in (0, 1, 3):
            with changes_nothing(ledger):
                assert not publish(ledger, project, version, fence), f"1 was current: {version}"
        assert publish(ledger, project, 2, fence)
        with changes_nothing(ledger):
            assert not publish(ledger, project, 2, fence), "2 is current already"
            assert not publish(ledger, 99, 2, fence), "there is no such project"
        row = ledger.project("clinic")
        assert row is not None
        assert (row.version, row.watermark, row.planned) == (2, 2, 6)
        assert ledger.snapshot(project)[:3] == (3, 3, 2)
        second = StoredPolicy(2, 2, fence, 6, b"policy 2")
        assert list(ledger.policies(project)) == [FIRST, second]
        assert (ledger.policy(project, 1), ledger.policy(project, 2)) == (FIRST, second)
        assert ledger.policy(project, 3) is None
        append(ledger, project, event(4))
        assert ledger.snapshot(project)[:3] == (4, 4, 2), "an event has changed the version"


def check_only_the_newest_lease_publishes(make: MakesLedger) -> None:
    """A holder whose lease was taken over publishes nothing, whatever it planned."""
    with opened(make) as ledger:
        project = new_project(ledger)
        old = ledger.take_lease("slow").fence
        ledger.release_lease("slow")
        new = ledger.take_lease("quick").fence
        assert new > old, "another holder has no higher fencing number"
        with changes_nothing(ledger):
            assert not publish(ledger, project, 2, old), "the old holder has published"
            assert not publish(ledger, project, 2, new + 1), "a lease that never was"
        assert publish(ledger, project, 2, new)


def check_a_lease_is_held_by_one(make: MakesLedger) -> None:
    """A lease is its holder's until given up, renewed with its number, and known when reopened."""
    name = new_name()
    with opened(make, name) as ledger:
        first = ledger.take_lease("a")
        assert first.holder == "a"
        assert first.is_good
        assert ledger.take_lease("b")[:2] == first[:2], "it was taken from its holder"
        ledger.release_lease("b")
        assert ledger.lease()[:2] == first[:2], "another has given it up"
        assert ledger.take_lease("a").fence == first.fence, "renewed, it is the same lease"
    with opened(make, name) as ledger:
        found = ledger.lease()
        assert found[:2] == first[:2]
        assert 0 < found.left <= LEASE
        ledger.release_lease("a")
        assert not ledger.lease().is_good
        second = ledger.take_lease("b")
        assert (second.holder, second.is_good) == ("b", True)
        assert second.fence > first.fence


def check_a_failure_is_kept_until_the_next_policy(make: MakesLedger) -> None:
    """Checks that the reason of a failed plan is kept until a policy is published."""
    with opened(make) as ledger:
        project, other = new_project(ledger), new_project(ledger, "other")
        ledger.record_plan_failure(project, "why")
        assert [p.failure for p in ledger.projects()] == ["why", ""]
        fence = ledger.take_lease("planner").fence
        assert publish(ledger, other, 2, fence)
        assert [p.failure for p in ledger.projects()] == ["why", ""]
        assert publish(ledger, project, 2, fence)
        assert [p.failure for p in ledger.projects()] == ["", ""]
