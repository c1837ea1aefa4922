"""Reports on a project: its cases, its earnings, all events."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence

import msgspec

from askwise.counting.overrides import Overrides
from askwise.learners.learner import BaseLearner, rounds_of
from askwise.learners.model_strategy import ModelStrategy
from askwise.learners.spending import UNITS
from askwise.problem import Problem
from askwise.service.api.messages import (
    BlockSummary,
    DaySummary,
    EventLine,
    OverruledAnswer,
    Summary,
)
from askwise.service.api.reports import BudgetAnswer, CaseStory
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.ledger.amounts import REWARD_DIGITS, Amounts, counted, total
from askwise.service.ledger.case_blocks import cases_of
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.counters import DAY
from askwise.service.ledger.event_pages import pages_of_events
from askwise.service.ledger.rows import Event, Project, Status, StoredCase
from askwise.service.logging import timestamp
from askwise.states import Lattice


def case_story(decider: CaseDecider, case: StoredCase) -> CaseStory:
    """A case as it stands, and how it came there."""
    served = decider.read(case)
    found = served.case
    bought = tuple(i for i, _ in found.path)
    paid = {i for i in found.lattice.charged(found.state_index) if i in bought}
    return CaseStory(
        case=case.id,
        status=served.status.name.lower(),
        wanted=found.wanted,
        action=found.action,
        cost=served.spent,
        policy_version=served.version,
        known=found.state,
        path=decider.lattice.names_of(bought),
        reward=found.earned,
        by_default=found.is_by_default,
        opened=timestamp(served.opened),
        stake=found.stake,
        overruled=found.is_overruled,
        prices=_next_prices(found.lattice, paid, found.wanted),
    )


def _next_prices(
    lattice: Lattice, paid: Collection[int], wanted: Sequence[str]
) -> dict[str, float]:
    """What each of these would cost after those before it, in the given prices.

    A panel whose only observation so far was refunded has its fee still due.
    """
    found = set(paid)
    prices: dict[str, float] = {}
    for name in wanted:
        before = lattice.tariff.cost_of(sorted(found))
        found.add(lattice.positions[name])
        prices[name] = round(lattice.tariff.cost_of(sorted(found)) - before, 9)
    return prices


def summary(ledger: Ledger, decider: CaseDecider) -> Summary:
    """Returns the earnings and the spend of a project, by day and by block."""
    project, amounts = decider.project.id, Amounts(decider.lattice.problem)
    rows = [_day(day, of_day, amounts) for day, of_day in counted(ledger, project, "day")]
    people = overrides(ledger, decider)
    statuses = ledger.counter_values(project, "status")
    return Summary(
        cases=sum(row.opened for row in rows),
        statuses={s.name.lower(): statuses.get((int(s), 0), 0) for s in Status},
        reward=total((row.reward for row in rows), REWARD_DIGITS),
        spend=total(row.spend for row in rows),
        gain=total(row.gain for row in rows),
        bought=bought(ledger, decider),
        days=rows,
        blocks=[_block(*row, amounts) for row in counted(ledger, project, "block")],
        overruled=[OverruledAnswer(*row) for row in people.by_action()],
        unasked=people.looks(),
    )


def budget_of_version(learner: BaseLearner) -> BudgetAnswer | None:
    """Returns the spend of a version's cases within their budget; None without a budget."""
    strategy = rounds_of(learner).strategy
    spending = strategy.spending if isinstance(strategy, ModelStrategy) else None
    if spending is None:
        return None
    units, cases = spending.tally.tolist()
    spent = spending.per_case * units / UNITS / max(1, cases)
    return BudgetAnswer(spent, spending.per_case, spending.shadow_price.item(0))


def overrides(ledger: Ledger, decider: CaseDecider) -> Overrides:
    """Returns the actions and observations of people, as the library counts them."""
    people = Overrides(decider.lattice)
    for name, array in people.arrays():
        for (cell, place), amount in ledger.counter_values(decider.project.id, name).items():
            array[(cell, place) if array.ndim == 2 else cell] = amount
    return people


def _block(block: int, of: dict[str, int], amounts: Amounts) -> BlockSummary:
    cases = cases_of(block)
    return BlockSummary(
        first=cases.start,
        last=cases.stop - 1,
        acted=of["acted"],
        rewarded=of["rewarded"],
        awaited=of["awaited"],
        reward=amounts.reward(of),
        spend=amounts.spend(of),
        stake=amounts.stake(of),
    )


def awaited(ledger: Ledger, project: int, limit: int) -> list[StoredCase]:
    """The oldest cases whose reward is awaited; only blocks that have some are looked through."""
    found: list[StoredCase] = []
    for block, of in counted(ledger, project, "block"):
        if of["awaited"] > 0:
            wanted = limit - len(found)
            found += ledger.cases_in(project, Status.ACTED, cases_of(block), wanted)
        if len(found) >= limit:
            break
    return found


def _day(day: int, of: dict[str, int], amounts: Amounts) -> DaySummary:
    return DaySummary(
        day=time.strftime("%Y-%m-%d", time.gmtime(day * DAY // 1_000_000)),
        opened=of["opened"],
        acted=of["acted"],
        rewarded=of["rewarded"],
        cancelled=of["cancelled"],
        reward=amounts.reward(of),
        spend=amounts.spend(of),
        gain=amounts.gain(of),
        stake=amounts.stake(of),
    )


def ledger_totals(ledger: Ledger, project: Project) -> tuple[float, float]:
    """Returns the gain and the spend of all cases of a project."""
    amounts = Amounts(msgspec.json.decode(project.problem, type=Problem))
    days = [of for _, of in counted(ledger, project.id, "day")]
    return total(map(amounts.gain, days)), total(map(amounts.spend, days))


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
