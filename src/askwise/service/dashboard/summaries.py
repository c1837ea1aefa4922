"""What people ask of a project: how it stands, a case's story, what was earned, all events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import cast

import msgspec

from askwise.counting import PAID_UNIT, UNIT
from askwise.problem import Problem
from askwise.service.dashboard.reward_blocks import cases_of
from askwise.service.decisions.deciding import Desk
from askwise.service.decisions.stored_cases import Status
from askwise.service.http.messages import (
    BlockSummary,
    CaseStory,
    ChosenLearner,
    DaySummary,
    EventLine,
    ProjectAnswer,
    Summary,
)
from askwise.service.ledger.contract import Event, Ledger, Project, StoredCase
from askwise.service.operations.logging import timestamp
from askwise.service.replanning.counters import BLOCKWISE, DAILY, DAY, spend_of

PAGE = 250
"""Events that are read at a time."""


def project_answer(project: Project) -> ProjectAnswer:
    """A project as it stands."""
    return ProjectAnswer(
        name=project.name,
        # as it was written: nobody else's answer depends on whether it can still be read
        problem=cast("Problem", msgspec.Raw(project.problem)),
        learner=ChosenLearner(project.learner, msgspec.json.decode(project.options)),
        created=timestamp(project.created),
        policy_version=project.version,
        cases=project.opened,
        events=project.seq,
        planned_events=project.watermark,
        planned=timestamp(project.planned),
        plan_failure=project.failure or None,
    )


def case_story(desk: Desk, case: StoredCase) -> CaseStory:
    """A case as it stands, and how it came there."""
    kept = desk.take(case)
    found = kept.case
    return CaseStory(
        case=case.id,
        status=kept.status.name.lower(),
        wanted=found.wanted,
        action=found.action,
        cost=kept.spent,
        policy_version=kept.version,
        known=found.state,
        path=desk.lattice.names_of(tuple(i for i, _ in found.path)),
        reward=found.earned,
        by_default=found.is_by_default,
        opened=timestamp(kept.opened),
    )


def summary(ledger: Ledger, desk: Desk) -> Summary:
    """What a project has earned and spent, day by day and block by block."""
    project, beta = desk.project.id, desk.lattice.problem.reward_value
    rows = [_day(day, of_day, beta) for day, of_day in _rows(ledger, project, "day", DAILY)]
    statuses = ledger.amounts(project, "status")
    return Summary(
        cases=sum(row.opened for row in rows),
        statuses={s.name.lower(): statuses.get((int(s), 0), 0) for s in Status},
        reward=sum(row.reward for row in rows),
        spend=sum(row.spend for row in rows),
        gain=sum(row.gain for row in rows),
        bought=bought(ledger, desk),
        days=rows,
        blocks=[_block(*row) for row in _rows(ledger, project, "block", BLOCKWISE)],
    )


def _rows(
    ledger: Ledger, project: int, kind: str, names: tuple[str, ...]
) -> list[tuple[int, dict[str, int]]]:
    """The counters of a kind: of each cell, in order, what is counted there by name."""
    found: dict[int, dict[str, int]] = {}
    for (cell, place), amount in ledger.amounts(project, kind).items():
        found.setdefault(cell, dict.fromkeys(names, 0))[names[place]] = amount
    return sorted(found.items())


def _block(block: int, amounts: dict[str, int]) -> BlockSummary:
    cases = cases_of(block)
    return BlockSummary(
        first=cases.start,
        last=cases.stop - 1,
        acted=amounts["acted"],
        rewarded=amounts["rewarded"],
        awaited=amounts["awaited"],
        reward=amounts["reward"] * UNIT,
        spend=spend_of(amounts) * PAID_UNIT,
    )


def awaited(ledger: Ledger, project: int, limit: int) -> list[StoredCase]:
    """The oldest cases whose reward is awaited; only blocks that have some are looked through."""
    found: list[StoredCase] = []
    for block, amounts in _rows(ledger, project, "block", BLOCKWISE):
        if amounts["awaited"] > 0:
            wanted = limit - len(found)
            found += ledger.cases_in(project, Status.ACTED, cases_of(block), wanted)
        if len(found) >= limit:
            break
    return found


def _day(day: int, amounts: dict[str, int], beta: float) -> DaySummary:
    reward, spend = amounts["reward"] * UNIT, spend_of(amounts) * PAID_UNIT
    return DaySummary(
        day=time.strftime("%Y-%m-%d", time.gmtime(day * DAY // 1_000_000)),
        opened=amounts["opened"],
        acted=amounts["acted"],
        rewarded=amounts["rewarded"],
        cancelled=amounts["cancelled"],
        reward=reward,
        spend=spend,
        gain=beta * reward - spend,
    )


def bought(ledger: Ledger, desk: Desk) -> dict[str, int]:
    """How often each observation was bought."""
    counts = ledger.amounts(desk.project.id, "bought")
    observations = desk.lattice.observations[: desk.lattice.buyable]
    return {o.name: counts.get((i, 0), 0) for i, o in enumerate(observations)}


def event_line(event: Event) -> bytes:
    """An event as a line of JSON."""
    line = EventLine(
        event.seq,
        event.key,
        event.kind,
        event.case or None,
        timestamp(event.at),
        event.status,
        msgspec.Raw(event.body),
        msgspec.Raw(event.answer),
    )
    return msgspec.json.encode(line) + b"\n"


def pages_of_lines(ledger: Ledger, project: Project, after: int) -> Iterator[bytes]:
    """The lines of all these events, some at a time."""
    for page in pages_of_events(ledger, project, after):
        yield b"".join(map(event_line, page))


def pages_of_events(ledger: Ledger, project: Project, after: int) -> Iterator[list[Event]]:
    """All events up to the newest one of now, some at a time."""
    while after < project.seq:
        events = ledger.events(project.id, after, min(PAGE, project.seq - after))
        if not events:
            return
        yield events
        after = events[-1].seq
