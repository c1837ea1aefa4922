"""The outlook of a project: the numbers behind its alarms, computed once for all workers.

The process that makes the plans computes the outlook. The ledger keeps it with the project. So
every worker raises the same alarms, also after a restart, and whether or not the dashboard is open.
The worth of observations takes far longer than a plan. It is computed in a separate thread, for one
project at a time, and at most once a minute for each project. The thread works at most a quarter of
the time. Plans do not wait for it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import Future

import msgspec

from askwise.explain import worth
from askwise.learners.learner import BaseLearner
from askwise.problem import Problem
from askwise.service.api.messages import EstimateAnswer
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import Project, StoredPolicy
from askwise.service.logging import log_failure
from askwise.service.priority import ReportThread, lower_priority
from askwise.service.replanning.policy_versions import from_blob
from askwise.service.replanning.recent_gain import RecentGain, recent_gain

RENEWED_AFTER = 60_000_000
"""The microseconds after which the outlook of an older version is computed anew."""

RESTS = 3.0
"""The pause after an outlook, as a multiple of the time that it took."""


class Outlook(msgspec.Struct):
    """The outlook of a version of the policy, for cases with a stake of 1."""

    version: int
    at: int
    """The time of its computation."""
    gain: float | None = None
    gain_of_nothing: float | None = None
    still_to_learn: EstimateAnswer | None = None
    explores: bool = True
    """Whether the policy explores."""
    gained: RecentGain | None = None
    """The gain of the newest cases; null if they are few."""
    is_below_nothing: bool = False
    """Whether that is less than buying nothing would gain, beyond chance and exploration."""


def outlook_of(project: Project) -> Outlook | None:
    """Returns the last outlook of a project; None if there is none."""
    return msgspec.json.decode(project.outlook, type=Outlook) if project.outlook else None


def outlook_now(learner: BaseLearner, version: int, at: int) -> Outlook:
    """Computes the outlook of a version."""
    known = worth(learner, stake=1.0)
    left = known.still_to_learn
    return Outlook(
        version,
        at,
        gain=_finite(known.gain),
        gain_of_nothing=_finite(known.blind_gain),
        still_to_learn=None if left is None else EstimateAnswer(*left),
        explores=learner.policy.exploration is not None,
    )


class Lookout:
    """Computes the outlook of one project after the other, and writes it to the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._thread = ReportThread("outlook", lower_priority)
        self._work: tuple[int, Future[Outlook]] | None = None
        """The project whose outlook is being computed. The thread does not use the ledger."""
        self._began = self._rests_until = 0.0
        """Times by the monotonic clock."""

    def close(self) -> None:
        """Starts nothing more, and does not wait for a computation that was started."""
        self._thread.shutdown()

    def wants(self, projects: Sequence[Project]) -> bool:
        """Whether there is an outlook to write, or a computation to start, now."""
        if self._work is not None:
            return self._work[1].done()
        return time.monotonic() >= self._rests_until and bool(_due(projects))

    def look(self, projects: Sequence[Project]) -> None:
        """Writes a finished outlook, or starts with the project that has waited longest."""
        if not self.wants(projects):
            return
        if self._work is not None:
            (project, work), self._work = self._work, None
            now = time.monotonic()
            self._rests_until = now + RESTS * (now - self._began)
            for found in (one for one in projects if one.id == project):
                outlook = _compared(work.result(), found, recent_gain(self._ledger, found))
                self._ledger.record_outlook(project, msgspec.json.encode(outlook).decode())
            return
        longest, self._began = min(_due(projects), key=_seen_at), time.monotonic()
        stored = self._ledger.policy(longest.id, longest.version)
        if stored is not None:
            self._work = longest.id, self._thread.submit(_outlook_of_version, stored)


def _outlook_of_version(stored: StoredPolicy) -> Outlook:
    try:
        return outlook_now(from_blob(stored.blob), stored.version, _now())
    except Exception as error:  # it is tried again with the next version
        log_failure("what alarms go by could not be worked out", error)
        return Outlook(stored.version, _now())


def _compared(new: Outlook, project: Project, gained: RecentGain | None) -> Outlook:
    """The outlook with the gain of the newest cases, compared with that of buying nothing."""
    before, nothing = outlook_of(project), new.gain_of_nothing
    if gained is not None and nothing is not None:
        was_below = before is not None and before.is_below_nothing
        reward_value = msgspec.json.decode(project.problem, type=Problem).reward_value
        new.gained = gained
        new.is_below_nothing = gained.is_below(nothing, reward_value, was_below=was_below)
    return new


def _due(projects: Sequence[Project]) -> list[Project]:
    now = _now()
    return [project for project in projects if _is_due(project, now)]


def _is_due(project: Project, now: int) -> bool:
    """Whether the outlook is of an older version, and older than `RENEWED_AFTER`.

    A project that has learned nothing yet has no outlook, and an archived one needs none.
    """
    if project.archived or not project.watermark:
        return False
    known = outlook_of(project)
    if known is None:
        return True
    # an outlook from the future was written before a clock was set back
    return known.version != project.version and not 0 <= now - known.at < RENEWED_AFTER


def _seen_at(project: Project) -> int:
    known = outlook_of(project)
    return 0 if known is None else known.at


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _now() -> int:
    return time.time_ns() // 1000
