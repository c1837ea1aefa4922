"""The versions of a project's policy: each is a learner as the library saves it, never changed.

A version is planned by going on from the one before it, with the counters of now. What the file
holds beside the policy (where a model's estimates stand, the random state) is what the next plan
goes on from; the rest is what cases follow.
"""

from __future__ import annotations

import io
import threading
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from askwise.errors import LedgerError, LedgerUnavailableError, OptionError
from askwise.learners import LEARNERS, make
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.learners.saving import Check, from_bytes
from askwise.policy import Policy
from askwise.problem import Problem
from askwise.service.ledger.contract import Ledger, Project, Snapshot
from askwise.service.operations.logging import log
from askwise.service.replanning.counters import fill

T = TypeVar("T")

NOT_SERVED = {
    "policy-ucb": "it learns from more than counters hold",
    "epoch-greedy": "it plans anew for every case",
    "random-choice": "it plans anew for every case",
}
FORGETS = {"window": None, "detect": False}
"""Options of learners that forget, and what they are for one that does not."""

LOOKS_BACK = 8
"""Versions that are tried, where the newest ones cannot be read."""

AGAIN = 10.0
"""Seconds after which a version that could not be read is tried again: it may have been mended."""

MOST_HELD, MOST_BYTES = 256, 256 * 2**20
"""How many versions a process keeps at hand beside the newest of each project, and how large they
are together, unpacked."""


class Planned(NamedTuple):
    """A version, ready to be followed."""

    version: int
    learner: BaseLearner
    policy: Policy


def new_learner(problem: Problem, name: str, options: dict[str, Any], seed: int) -> BaseLearner:
    """The learner that a project asks for, or one error that says what cannot be."""
    if name in NOT_SERVED:
        raise OptionError(f"learner {name!r} cannot be served: {NOT_SERVED[name]}")
    for option, value in options.items():
        if option in FORGETS and value != FORGETS[option]:
            raise OptionError(
                f"option {option!r}: the service keeps every event and cannot forget yet, "
                f"expected {msgspec.json.encode(FORGETS[option]).decode()}"
            )
    return make(name, problem, options, rng=seed)


def served() -> list[str]:
    """The names of the learners that can be served."""
    return [name for name in LEARNERS if name not in NOT_SERVED]


def learner_of(project: Project) -> BaseLearner:
    """The project's learner before its first case."""
    problem = msgspec.json.decode(project.problem, type=Problem)
    return new_learner(problem, project.learner, msgspec.json.decode(project.options), project.seed)


def next_plan(learner: BaseLearner, now: Snapshot, start: BaseLearner) -> bytes:
    """The version after the learner's, planned with the counters of now; the learner is of it then.

    A project may have begun with what a learner knew: that is in its first version, and stays.
    """
    fill(learner, now.counters)
    rounds, before = rounds_of(learner), rounds_of(start)
    rounds.now.statistics += before.now.statistics
    tallies = rounds.strategy.tallies()
    for name, array in before.strategy.tallies().items():
        tallies[name][...] += array
    rounds.strategy.restored()
    rounds.count_anew(rounds.now.statistics, now.opened + before.now.opened)
    learner.replan()
    return learner.to_bytes()


def first_plan(learner: BaseLearner) -> bytes:
    """The first version; cases that the learner had open elsewhere are not the project's."""
    learner.cases.clear()
    rounds_of(learner).looking.clear()
    learner.replan()
    return learner.to_bytes()


def from_blob(blob: bytes, check: Check | None = None) -> BaseLearner:
    """The learner of these bytes; the library checks all that it reads."""
    return from_bytes(blob, LEARNERS, check)


def read_version(ledger: Ledger, project: int, version: int) -> BaseLearner:
    """The learner of this version."""
    return _read_version(ledger, project, version)[0]


def _read_version(ledger: Ledger, project: int, version: int) -> tuple[BaseLearner, int]:
    """The learner of this version, and the bytes that it has unpacked."""
    plan = ledger.plan(project, version)
    if plan is None:
        raise LedgerError(f"project {project} has no policy of version {version}")
    try:
        learner = from_blob(plan.blob)
        with zipfile.ZipFile(io.BytesIO(plan.blob)) as archive:
            return learner, sum(part.file_size for part in archive.infolist())
    except Exception as error:  # whatever is in there, it is this project's alone
        log("error", "a policy cannot be read", project=project, version=version, error=str(error))
        raise LedgerError(f"the policy of version {version} cannot be read") from error


def newest_readable(ledger: Ledger, project: int, version: int) -> tuple[int, BaseLearner]:
    """The newest version that can be read, up to this one, and its learner."""
    return _newest_readable(version, lambda number: read_version(ledger, project, number))


def _newest_readable(version: int, read: Callable[[int], T]) -> tuple[int, T]:
    why = LedgerError(f"there is no policy of version {version}")
    for number in range(version, max(0, version - LOOKS_BACK), -1):
        try:
            return number, read(number)
        except LedgerUnavailableError:
            raise
        except LedgerError as error:
            why = error if number == version else why
    raise why


class Versions:
    """The versions at hand. Any thread may ask."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[int, int], Planned] = OrderedDict()
        self._sizes: dict[tuple[int, int], int] = {}
        """Bytes of each of those, unpacked."""
        self._newest: dict[int, int] = {}
        self._unreadable: dict[tuple[int, int], tuple[float, str]] = {}
        """Versions that could not be read: when, and why."""

    def newest(self, project: int, at_least: int) -> Planned:
        """The newest version at hand; if there is none, the one that is named is fetched.

        A version that was just published is fetched aside, by `prepare`: no case waits for it.
        """
        newest = self._newest.get(project)
        if newest is None:
            return self.prepare(project, at_least)
        return self.version(project, newest)

    def version(self, project: int, version: int) -> Planned:
        """This version, fetched if it is not at hand."""
        held = self._held.get((project, version))
        return held if held is not None else self._fetch(project, version)

    def prepare(self, project: int, version: int) -> Planned:
        """From now on this version is the newest, unless a newer one was prepared before.

        If it cannot be read, the newest one before it that can be.
        """
        number, planned = _newest_readable(version, lambda n: self.version(project, n))
        with self._lock:
            self._newest[project] = max(number, self._newest.get(project, 0))
        return planned

    def _fetch(self, project: int, version: int) -> Planned:
        since, error = self._unreadable.get((project, version), (-AGAIN, ""))
        if error and time.monotonic() - since < AGAIN:
            raise LedgerError(error)
        try:
            learner, size = _read_version(self._ledger, project, version)
        except LedgerUnavailableError:
            raise
        except LedgerError as unreadable:
            self._unreadable[project, version] = (time.monotonic(), str(unreadable))
            raise
        planned = Planned(version, learner, learner.policy)
        with self._lock:
            self._unreadable.pop((project, version), None)
            self._held[project, version] = planned
            self._sizes[project, version] = size
            self._let_go((project, version))
        return planned

    def _let_go(self, new: tuple[int, int]) -> None:
        """Keep what was fetched last, and the newest version of each project."""
        older = [key for key in self._held if key != new and self._newest.get(key[0]) != key[1]]
        held = sum(self._sizes[key] for key in older)
        for place, key in enumerate(older):
            if held <= MOST_BYTES and len(older) - place <= MOST_HELD:
                return
            held -= self._sizes.pop(key)
            del self._held[key]
