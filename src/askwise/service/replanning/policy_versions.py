"""The versions of a project's policy. Each is a saved learner, and is never changed.

A version is planned from the learner of the version before it, with the counters of now. The saved
learner has the policy, which cases follow. It also has the state of the model's estimates and of
the random generator, which the next plan starts from.
"""

from __future__ import annotations

import io
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypeVar
from weakref import WeakValueDictionary

import msgspec

from askwise.errors import LedgerError, LedgerUnavailableError
from askwise.learners import LEARNERS
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.learners.saving import Check, from_bytes
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.service.api.served_learners import new_learner
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project, Snapshot
from askwise.service.logging import log
from askwise.service.replanning.counter_rows import fill_counters
from askwise.service.replanning.memory import Blocks, memory_of
from askwise.service.replanning.prices import follow_prices
from askwise.service.replanning.thinning import MOST_BEHIND, THIN, ThinVersion, read_thinned
from askwise.states import Lattice

T = TypeVar("T")

MOST_TRIED = 8
"""How many versions are tried if the newest ones cannot be read."""

RETRIED_AFTER = 10.0
"""Seconds after which an unreadable version is tried again: it may have been repaired."""

MOST_KEPT, MOST_BYTES = 256, 256 * 2**20
"""How many versions a process keeps in memory beside the newest of each project, and how many bytes
they may have together, unpacked."""

MOST_PLANS = 128 * 2**20
"""Bytes of plans for single cases that a process keeps, over all versions of all projects: twice
what one version may keep."""


@dataclass(frozen=True, eq=False)
class PolicyVersion:
    """A version of a project's policy, in memory and ready to be followed."""

    version: int
    learner: BaseLearner
    policy: Policy
    case_policies: WeakValueDictionary[Hashable, Policy] = field(
        default_factory=WeakValueDictionary
    )
    """Policies of cases on their own terms that are in use. They are found here without the lock of
    the learner, which is held as long as a plan takes."""

    @property
    def lattice(self) -> Lattice:
        """The states, with the prices that the version was planned with."""
        return self.learner.statistics.lattice


AnyVersion = PolicyVersion | ThinVersion
"""A version that cases can follow, or a thinned one that no case follows."""


def learner_of(project: Project) -> BaseLearner:
    """The project's learner before its first case."""
    problem = msgspec.json.decode(project.problem, type=Problem)
    return new_learner(problem, project.learner, msgspec.json.decode(project.options), project.seed)


def next_plan(
    learner: BaseLearner, now: Snapshot, start: BaseLearner, declared: Problem | None = None
) -> bytes:
    """Plan the next version with the counters of now; changes the learner and returns its bytes.

    `start` is the learner of the first version. A project may begin with a learner that knows
    something already. The counters of `start` are then added, unless the learner forgets and has
    forgotten the first block. `declared` has the prices that were declared last.
    """
    rounds, before = rounds_of(learner), rounds_of(start)
    blocks = Blocks.of(start)
    fill_counters(learner, now.counters if blocks is None else blocks.remembered(now))
    knows_start = blocks is None or not memory_of(now).first
    if knows_start:
        rounds.now.statistics += before.now.statistics
        tallies = rounds.strategy.tallies()
        for name, array in before.strategy.tallies().items():
            tallies[name][...] += array
    if declared is not None:
        follow_prices(learner, start if knows_start else None, now, declared)
    rounds.strategy.restored()
    rounds.count_anew(rounds.now.statistics, now.opened + before.now.opened)
    learner.replan()
    return learner.to_bytes()


def first_plan(learner: BaseLearner) -> bytes:
    """The first version. Cases that the learner had open do not become cases of the project."""
    rounds = rounds_of(learner)
    rounds.cases.clear()
    rounds.looking.clear()
    if rounds.forgetting is not None:  # all that it remembers counts as the project's first block
        rounds.forgetting.begin_anew()
    learner.replan()
    return learner.to_bytes()


def from_blob(blob: bytes, check: Check | None = None) -> BaseLearner:
    """The learner of these bytes. The library checks everything that it reads."""
    return from_bytes(blob, LEARNERS, check)


def read_version(ledger: Ledger, project: int, version: int) -> BaseLearner:
    """The learner of this version."""
    return _read_version(ledger, project, version)[0]


def _read_version(ledger: Ledger, project: int, version: int) -> tuple[BaseLearner, int]:
    """The learner of this version, and the number of its bytes when unpacked."""
    stored = ledger.policy(project, version)
    if stored is None:
        name = _name_of(ledger, project)
        raise LedgerError(f"the project {name!r} has no policy of version {version}")
    if stored.blob.startswith(THIN):
        raise LedgerError(f"the policy of version {version} was thinned: only its prices are kept")
    try:
        learner = from_blob(stored.blob)
        with zipfile.ZipFile(io.BytesIO(stored.blob)) as archive:
            return learner, sum(part.file_size for part in archive.infolist())
    except Exception as error:  # broken bytes are an error of this project alone
        name = _name_of(ledger, project)
        log("error", "a policy cannot be read", project=name, version=version, error=str(error))
        raise LedgerError(f"the policy of version {version} cannot be read") from error


def _name_of(ledger: Ledger, project: int) -> str:
    """The name of a project; its number if it has none any more."""
    return next((p.name for p in ledger.projects() if p.id == project), str(project))


def newest_readable(ledger: Ledger, project: int, version: int) -> tuple[int, BaseLearner]:
    """The newest readable version up to this one, and its learner."""
    return _newest_readable(version, lambda number: read_version(ledger, project, number))


def _newest_readable(version: int, read: Callable[[int], T]) -> tuple[int, T]:
    why = LedgerError(f"there is no policy of version {version}")
    for number in range(version, max(0, version - MOST_TRIED), -1):
        try:
            return number, read(number)
        except LedgerUnavailableError:
            raise
        except LedgerError as error:
            why = error if number == version else why
    raise why


class PolicyCache:
    """Keeps policy versions in memory, and reads others from the ledger. It is thread-safe."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], PolicyVersion] = OrderedDict()
        self._sizes: dict[tuple[int, int], int] = {}
        """Bytes of each of those, unpacked."""
        self._newest: dict[int, int] = {}
        self._unreadable: dict[tuple[int, int], tuple[float, str]] = {}
        """Versions that could not be read, with the time and the error."""

    def newest(self, project: int, at_least: int) -> PolicyVersion:
        """The newest version in memory; if there is none, the named version is read.

        A version that was just published is read in another thread, by `prepare`, so that no case
        waits for it. A case waits only if that thread is so far behind that its version may be
        thinned.
        """
        newest = self._newest.get(project)
        if newest is None or newest < at_least - MOST_BEHIND:
            return self.prepare(project, at_least)
        return self.version(project, newest)

    def version_or_thin(self, project: int, lattice: Lattice, version: int) -> AnyVersion:
        """This version, whole or thinned."""
        kept = self._kept.get((project, version))
        if kept is not None:
            return kept
        stored = self._ledger.policy(project, version)
        if stored is not None and stored.blob.startswith(THIN):
            return read_thinned(version, stored.blob, lattice)
        return self._read(project, version)

    def version(self, project: int, version: int) -> PolicyVersion:
        """This version, read from the ledger if it is not in memory."""
        kept = self._kept.get((project, version))
        return kept if kept is not None else self._read(project, version)

    def prepare(self, project: int, version: int) -> PolicyVersion:
        """Make this version the newest one, unless a newer one was prepared before.

        If it cannot be read, take the newest readable one before it.
        """
        number, planned = _newest_readable(version, lambda n: self.version(project, n))
        with self._lock:
            self._newest[project] = max(number, self._newest.get(project, 0))
        return planned

    def drop_plans(self) -> None:
        """Drop plans for single cases if there are too many: those of older versions first.

        Cases that need them again are planned again, with the same result.
        """
        with self._lock:
            kept = [(self._newest.get(p) == n, found) for (p, n), found in self._kept.items()]
        size = sum(rounds_of(found.learner).case_policies.bytes for _, found in kept)
        for _, found in sorted(kept, key=itemgetter(0)):
            if size <= MOST_PLANS:
                return
            rounds = rounds_of(found.learner)
            if rounds.lock.acquire(blocking=False):  # whoever plans just now is not waited for
                size -= rounds.case_policies.bytes
                rounds.case_policies.clear()
                rounds.lock.release()

    def _read(self, project: int, version: int) -> PolicyVersion:
        since, error = self._unreadable.get((project, version), (-RETRIED_AFTER, ""))
        if error and time.monotonic() - since < RETRIED_AFTER:
            raise LedgerError(error)
        try:
            learner, size = _read_version(self._ledger, project, version)
        except LedgerUnavailableError:
            raise
        except LedgerError as unreadable:
            self._unreadable[project, version] = (time.monotonic(), str(unreadable))
            raise
        planned = PolicyVersion(version, learner, learner.policy)
        with self._lock:
            self._unreadable.pop((project, version), None)
            first = self._kept.get((project, version))
            if first is not None:  # another thread has read it meanwhile
                return first
            self._kept[project, version] = planned
            self._sizes[project, version] = size
            self._drop_older((project, version))
        return planned

    def _drop_older(self, new: tuple[int, int]) -> None:
        """Keep the versions that were read last, and the newest version of each project."""
        older = [key for key in self._kept if key != new and self._newest.get(key[0]) != key[1]]
        size = sum(self._sizes[key] for key in older)
        for place, key in enumerate(older):
            if size <= MOST_BYTES and len(older) - place <= MOST_KEPT:
                return
            size -= self._sizes.pop(key)
            del self._kept[key]
