"""The alarms for operators, by project.

| alarm | when |
| --- | --- |
| `plan_behind` | events have waited for a plan for more than two minutes, or a plan failed |
| `policy_unreadable` | the newest policy cannot be read, and an older one is followed |
| `drift_found` | a change was found today or yesterday, and what was before it is forgotten |
| `rewards_overdue` | a case has waited for its reward for more than 30 days |
| `gain_below_nothing` | the newest cases gain clearly less than buying nothing would |
| `exploration_collapsed` | the policy tries nothing, though there is still much to learn |
| `learned_enough` | perfect knowledge would add next to nothing: the learning can end |

The last three use the worth of observations. The replanner computes it about once a minute
(`replanning/outlook.py`), so that all workers raise the same alarms.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from askwise.service.dashboard.summaries import awaited
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import DAY, DRIFT
from askwise.service.ledger.rows import Project
from askwise.service.logging import log
from askwise.service.replanning.outlook import Outlook, outlook_of
from askwise.service.replanning.recent_gain import OVERDUE

LITTLE, MUCH = 0.002, 0.05
"""Of what a case gains: with less still to learn it is learned enough, with more it is not."""

NAMES = (
    "plan_behind",
    "policy_unreadable",
    "drift_found",
    "rewards_overdue",
    "gain_below_nothing",
    "exploration_collapsed",
    "learned_enough",
)


class Facts(NamedTuple):
    """The facts of a project that a worker has beside the ledger."""

    is_late: bool = False
    unreadable: str = ""


def find_alarms(ledger: Ledger, project: Project, facts: Facts) -> dict[str, str]:
    """The alarms of a project by name, and a sentence for each; an archived one has none."""
    found: dict[str, str] = {}
    if project.archived:
        return found
    if project.failure:
        found["plan_behind"] = f"the newest plan failed: {project.failure}"
    elif facts.is_late:
        unplanned = project.seq - project.watermark
        found["plan_behind"] = f"{unplanned:,} events wait for a plan"
    if facts.unreadable:
        found["policy_unreadable"] = facts.unreadable
    now = time.time_ns() // 1000
    drifts = ledger.counter_values(project.id, DRIFT)
    if any(day >= now // DAY - 1 for day, _ in drifts):
        found["drift_found"] = "the world has changed: what was before is forgotten"
    oldest = awaited(ledger, project.id, 1)
    if oldest and now - decode_case(oldest[0]).opened > OVERDUE:
        days = (now - decode_case(oldest[0]).opened) // DAY
        found["rewards_overdue"] = f"case {oldest[0].id} has waited for its reward for {days} days"
    outlook = outlook_of(project)
    if outlook is not None:
        found |= _from_outlook(outlook)
    return found


def _from_outlook(worth: Outlook) -> dict[str, str]:
    found: dict[str, str] = {}
    gained, nothing = worth.gained, worth.gain_of_nothing
    if worth.is_below_nothing and gained is not None and nothing is not None:
        each = "for each unit of stake" if gained.is_staked else "each"
        found["gain_below_nothing"] = (
            f"the newest {gained.cases:,} cases gained {gained.of_unit:,.4g} ± {gained.error:,.2g} "
            f"{each}, buying nothing would gain {nothing:,.4g}"
        )
    left, gain = worth.still_to_learn, abs(worth.gain or 0.0)
    if left is not None and gain:
        if left.high < LITTLE * gain:
            found["learned_enough"] = f"perfect knowledge would add {left.value:,.2g} a case"
        elif left.low > MUCH * gain and not worth.explores:
            found["exploration_collapsed"] = (
                f"the policy tries nothing, and {left.value:,.2g} a case is still to learn"
            )
    return found


class AlarmLog:
    """Says in the log when an alarm is raised, and when it is over: once each.

    folder: shared by all workers of a server, and kept when one of them is started again; of those
    that see an alarm, the one that makes a file for it there says so.
    """

    def __init__(self, folder: str = "") -> None:
        self._folder = Path(folder) if folder else None
        self._raised: dict[str, set[str]] = {}

    def note(self, project: Project, found: Mapping[str, str]) -> None:
        """The alarms of a project are these now."""
        before = self._raised.get(project.name, set())
        for name in sorted(found.keys() - before):
            if self._is_first(project, name):
                log("warning", "alarm", project=project.name, alarm=name, detail=found[name])
        for name in sorted(before - found.keys()):
            if self._is_first_to_end(project, name):
                log("info", "alarm is over", project=project.name, alarm=name)
        self._raised[project.name] = set(found)

    def _is_first(self, project: Project, name: str) -> bool:
        try:
            if self._folder is not None:
                self._file(self._folder, project, name).touch(exist_ok=False)
        except FileExistsError:
            return False
        except OSError:  # a full disk: rather twice than never
            return True
        return True

    def _is_first_to_end(self, project: Project, name: str) -> bool:
        try:
            if self._folder is not None:
                self._file(self._folder, project, name).unlink()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return True

    @staticmethod
    def _file(folder: Path, project: Project, name: str) -> Path:
        return folder / f"{project.id}.{name}.alarm"
