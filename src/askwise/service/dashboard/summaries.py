"""What the dashboard and its users ask of a project: its cases, what was earned, all events."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from askwise.counting import PAID_UNIT, UNIT
from askwise.counting.overrides import Overrides
from askwise.problem import Problem
from askwise.service.api.messages import (
    BlockSummary,
    CaseStory,
    DaySummary,
    EventLine,
    OverruledAnswer,
    Summary,
)
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.ledger.case_blocks import cases_of
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import BY_BLOCK, DAILY, DAY, reward_of, spend_of
from askwise.service.ledger.event_pages import pages_of_events
from askwise.service.ledger.rows import Event, Project, Status, StoredCase
from askwise.service.logging import timestamp


def case_story(decider: CaseDecider, case: StoredCase) -> CaseStory:
    """A case as it stands, and how it came there."""
    served = decider.resume(case)
    found = served.case
    return CaseStory(
        case=case.id,
        status=served.status.name.lower(),
        wanted=found.wanted,
        action=found.action,
        cost=served.spent,
        policy_version=served.version,
        known=found.state,
        path=decider.lattice.names_of(tuple(i for i, _ in found.path)),
        reward=found.earned,
        by_default=found.is_by_default,
        opened=timestamp(served.opened),
        stake=found.stake,
        overruled=found.is_overruled,
    )


def summary(ledger: Ledger, decider: CaseDecider) -> Summary:
    """What a project has earned and spent, day by day and block by block."""
    project, problem = decider.project.id, decider.lattice.problem
    rows = [_day(day, of_day, problem) for day, of_day in _rows(ledger, project, "day", DAILY)]
    people = overrides(ledger, decider)
    statuses = ledger.counter_values(project, "status")
    return Summary(
        cases=sum(row.opened for row in rows),
        statuses={s.name.lower(): statuses.get((int(s), 0), 0) for s in Status},
        reward=sum(row.reward for row in rows),
        spend=sum(row.spend for row in rows),
        gain=sum(row.gain for row in rows),
        bought=bought(ledger, decider),
        days=rows,
        blocks=[_block(*row, problem) for row in _rows(ledger, project, "block", BY_BLOCK)],
        overruled=[OverruledAnswer(*row) for row in people.by_action()],
        unasked=people.looks(),
    )


def overrides(ledger: Ledger, decider: CaseDecider) -> Overrides:
    """What people did without being asked, as the library counts it."""
    people = Overrides(decider.lattice)
    for name, array in people.arrays():
        for (cell, place), amount in ledger.counter_values(decider.project.id, name).items():
            array[(cell, place) if array.ndim == 2 else cell] = amount
    return people


def _rows(
    ledger: Ledger, project: int, kind: str, names: tuple[str, ...]
) -> list[tuple[int, dict[str, int]]]:
    """The counters of a kind: of each cell, in order, what is counted there by name."""
    found: dict[int, dict[str, int]] = {}
    for (cell, place), amount in ledger.counter_values(project, kind).items():
        found.setdefault(cell, dict.fromkeys(names, 0))[names[place]] = amount
    return sorted(found.items())


def _reward(amounts: dict[str, int], problem: Problem) -> float:
    """The sum of rewards, in the currency if they are money."""
    shares = reward_of(amounts) * UNIT
    if problem.rewards is None:
        return shares
    return problem.lowest_reward * amounts["rewarded"] + problem.reward_value * shares


def _block(block: int, amounts: dict[str, int], problem: Problem) -> BlockSummary:
    cases = cases_of(block)
    return BlockSummary(
        first=cases.start,
        last=cases.stop - 1,
        acted=amounts["acted"],
        rewarded=amounts["rewarded"],
        awaited=amounts["awaited"],
        reward=_reward(amounts, problem),
        spend=spend_of(amounts) * PAID_UNIT,
    )


def awaited(ledger: Ledger, project: int, limit: int) -> list[StoredCase]:
    """The oldest cases whose reward is awaited; only blocks that have some are looked through."""
    found: list[StoredCase] = []
    for block, amounts in _rows(ledger, project, "block", BY_BLOCK):
        if amounts["awaited"] > 0:
            wanted = limit - len(found)
            found += ledger.cases_in(project, Status.ACTED, cases_of(block), wanted)
        if len(found) >= limit:
            break
    return found


def _day(day: int, amounts: dict[str, int], problem: Problem) -> DaySummary:
    reward, spend = _reward(amounts, problem), spend_of(amounts) * PAID_UNIT
    worth = reward if problem.rewards else problem.reward_value * reward
    return DaySummary(
        day=time.strftime("%Y-%m-%d", time.gmtime(day * DAY // 1_000_000)),
        opened=amounts["opened"],
        acted=amounts["acted"],
        rewarded=amounts["rewarded"],
        cancelled=amounts["cancelled"],
        reward=reward,
        spend=spend,
        gain=worth - spend,
    )


def ledger_totals(ledger: Ledger, project: Project) -> tuple[float, float]:
    """What all cases of a project gained, and what they spent."""
    problem = msgspec.json.decode(project.problem, type=Problem)
    days = [_day(*row, problem) for row in _rows(ledger, project.id, "day", DAILY)]
    return sum(day.gain for day in days), sum(day.spend for day in days)


def bought(ledger: Ledger, decider: CaseDecider) -> dict[str, int]:
    """How often each observation was bought."""
    counts = ledger.counter_values(decider.project.id, "bought")
    observations = decider.lattice.observations[: decider.lattice.buyable]
    return {o.name: counts.get((i, 0), 0) for i, o in enumerate(observations)}


def event_line(event: Event) -> bytes:
    """An event as a line of JSON."""
    line = EventLine(
        seq=event.seq,
        key=event.key,
        kind=event.kind,
        case=event.case or None,
        at=timestamp(event.at),
        status=event.status,
        body=msgspec.Raw(event.body or b"null"),
        answer=msgspec.Raw(event.answer or b"null"),
    )
    return msgspec.json.encode(line) + b"\n"


def pages_of_lines(ledger: Ledger, project: Project, after: int) -> Iterator[bytes]:
    """The lines of all these events, some at a time."""
    for page in pages_of_events(ledger, project, after):
        yield b"".join(map(event_line, page))
