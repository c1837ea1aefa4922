"""What operators should look at, project by project.

| alarm | when |
| --- | --- |
| `plan_behind` | events have waited for a plan for more than two minutes, or a plan failed |
| `policy_unreadable` | the newest policy cannot be read, and an older one is followed |
| `drift_found` | a change was found today or yesterday, and what was before it is forgotten |
| `rewards_overdue` | a case has waited for its reward for more than 30 days |
| `gain_below_nothing` | the newest cases gained less than buying nothing is believed to |
| `exploration_collapsed` | the policy tries nothing, though there is still much to learn |
| `learned_enough` | perfect knowledge would add next to nothing: the learning can end |

The last three go by what observations are worth, as far as that was worked out for the newest
policy: whoever opens the dashboard, or asks for the summary, has it worked out.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from askwise.counting import PAID_UNIT, UNIT
from askwise.problem import Problem
from askwise.service.api.messages import WorthAnswer
from askwise.service.dashboard.summaries import awaited
from askwise.service.decisions.stored_cases import decode_case
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import BY_BLOCK, DAY, DRIFT, reward_of, spend_of
from askwise.service.ledger.rows import Project
from askwise.service.logging import log

OVERDUE = 30 * DAY
"""Microseconds after which a reward is overdue."""

FEWEST = 200
"""Rewarded cases whose gain is compared with that of buying nothing."""

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
    """What a worker knows of a project beside its ledger."""

    is_late: bool = False
    unreadable: str = ""
    worth: WorthAnswer | None = None
    explores: bool = True
    """Whether the policy tries anything beside what it believes best."""


def find_alarms(ledger: Ledger, project: Project, facts: Facts) -> dict[str, str]:
    """The alarms of a project by name, and a sentence for each."""
    found: dict[str, str] = {}
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
    if facts.worth is not None:
        found |= _from_worth(ledger, project, facts, facts.worth)
    return found


def _from_worth(
    ledger: Ledger, project: Project, facts: Facts, worth: WorthAnswer
) -> dict[str, str]:
    found: dict[str, str] = {}
    gained = _recent_gain(ledger, project)
    if gained is not None and worth.gain_of_nothing is not None and gained < worth.gain_of_nothing:
        found["gain_below_nothing"] = (
            f"the newest cases gained {gained:,.4g} each, buying nothing would gain "
            f"{worth.gain_of_nothing:,.4g}"
        )
    left, gain = worth.still_to_learn, abs(worth.gain or 0.0)
    if left is not None and gain:
        if left.high < LITTLE * gain:
            found["learned_enough"] = f"perfect knowledge would add {left.value:,.2g} a case"
        elif left.low > MUCH * gain and not facts.explores:
            found["exploration_collapsed"] = (
                f"the policy tries nothing, and {left.value:,.2g} a case is still to learn"
            )
    return found


def _recent_gain(ledger: Ledger, project: Project) -> float | None:
    """What the newest cases that have their reward gained, in the mean; None if they are few."""
    blocks: dict[int, dict[str, int]] = {}
    for (block, place), amount in ledger.counter_values(project.id, "block").items():
        blocks.setdefault(block, dict.fromkeys(BY_BLOCK, 0))[BY_BLOCK[place]] = amount
    problem = msgspec.json.decode(project.problem, type=Problem)
    rewarded, gain = 0, 0.0
    for _, of_block in sorted(blocks.items(), reverse=True):
        if of_block["awaited"]:
            continue  # what it spent is known, and not what it will earn
        rewarded += of_block["rewarded"]
        gain += problem.reward_value * reward_of(of_block) * UNIT - spend_of(of_block) * PAID_UNIT
        if problem.rewards is not None:
            gain += problem.lowest_reward * of_block["rewarded"]
        if rewarded >= FEWEST:
            return gain / rewarded
    return None


class AlarmLog:
    """Says in the log when an alarm is raised, and when it is over: once each."""

    def __init__(self) -> None:
        self._raised: dict[str, set[str]] = {}

    def note(self, project: str, found: dict[str, str]) -> None:
        """The alarms of a project are these now."""
        before = self._raised.get(project, set())
        for name in found.keys() - before:
            log("warning", "alarm", project=project, alarm=name, detail=found[name])
        for name in before - found.keys():
            log("info", "alarm is over", project=project, alarm=name)
        self._raised[project] = set(found)
