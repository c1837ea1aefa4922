"""Why a policy decides as it does: its tree, and what each observation is worth."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from askwise.explain import ObservationWorth
from askwise.explain import worth as worth_of
from askwise.policy import Policy
from askwise.service.api.messages import (
    Demand,
    DemandBand,
    EstimateAnswer,
    ObservationAnswer,
    PolicyAnswer,
    TreeAnswer,
    WorthAnswer,
)
from askwise.service.logging import log_failure
from askwise.service.replanning.policy_versions import PolicyVersion

MOST_KEPT = 64
"""Answers that are kept, of all projects together."""


class Explanations:
    """Works out explanations, one after the other in a thread of its own, once for each version.

    They take long, and every dashboard that shows a project asks for the same ones: all of them
    wait for one answer.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "explanations")
        self._loop = asyncio.get_running_loop()
        self._found: OrderedDict[tuple[str, int, int], asyncio.Future[Any]] = OrderedDict()
        self._worth: dict[int, WorthAnswer] = {}
        self._begun: dict[int, tuple[int, asyncio.Task[None]]] = {}
        """What was last begun for a summary of each project: of which version."""

    def close(self) -> None:
        """Begin to work out nothing more."""
        for _, task in self._begun.values():
            task.cancel()
        self._thread.shutdown(cancel_futures=True)

    async def tree(self, project: int, planned: PolicyVersion) -> PolicyAnswer:
        """What cases follow, and what has been learned."""
        answer: PolicyAnswer = await self._once("tree", project, planned, policy_tree)
        return answer

    async def worth(self, project: int, planned: PolicyVersion) -> WorthAnswer:
        """What each observation is worth."""
        answer: WorthAnswer = await self._once("worth", project, planned, worth)
        self._worth[project] = answer
        return answer

    def still_to_learn(self, project: int, planned: PolicyVersion) -> EstimateAnswer | None:
        """As far as it was worked out; begins with this version, if none is being worked on.

        A summary is asked for often, and does not wait. What failed is tried again with the next
        version only: it would most likely fail again.
        """
        known = self._worth.get(project)
        version, task = self._begun.get(project, (0, None))
        tried = max(version, 0 if known is None else known.policy_version)
        if tried < planned.version and (task is None or task.done()):
            begun = self._loop.create_task(self._work_out(project, planned))
            self._begun[project] = (planned.version, begun)
        return None if known is None else known.still_to_learn

    def known_worth(self, project: int) -> WorthAnswer | None:
        """What observations are worth, as far as it was worked out."""
        return self._worth.get(project)

    async def _work_out(self, project: int, planned: PolicyVersion) -> None:
        try:
            await self.worth(project, planned)
        except Exception as error:  # nobody waits for it, so it is said here
            log_failure("what observations are worth could not be worked out", error)

    async def _once(
        self, what: str, project: int, planned: PolicyVersion, work: Callable[[PolicyVersion], Any]
    ) -> Any:
        key = (what, project, planned.version)
        if key not in self._found:
            self._found[key] = self._loop.run_in_executor(self._thread, work, planned)
            while len(self._found) > MOST_KEPT:
                self._found.popitem(last=False)
        try:
            return await asyncio.shield(
                self._found[key]
            )  # a client that leaves does not cancel it for others
        except Exception:
            self._found.pop(key, None)  # it may work the next time
            raise


def policy_tree(planned: PolicyVersion) -> PolicyAnswer:
    """What cases follow now (it may be exploring), and what has been learned."""
    recommended = planned.learner.recommend()

    def answer(policy: Policy) -> TreeAnswer:
        tree = policy.tree(recommended.evidence)
        reason = tree.root.reason
        gain = None if reason is None else reason.gain
        return TreeAnswer(_finite(gain), str(tree), tree.to_dict())

    return PolicyAnswer(planned.version, answer(planned.policy), answer(recommended))


def worth(planned: PolicyVersion) -> WorthAnswer:
    """By the best estimate of today what each observation adds, and what one may pay for it."""
    lattice, known = planned.learner.statistics.lattice, worth_of(planned.learner)
    rows = {row.name: row for row in known}  # of many observations, just those that matter

    def answer(name: str, price: float, row: ObservationWorth | None) -> ObservationAnswer:
        if row is None:
            return ObservationAnswer(name, price)
        return ObservationAnswer(
            name,
            price,
            share=row.bought,
            adds=row.adds,
            adds_low=row.adds_low,
            adds_high=row.adds_high,
            adds_if_free=row.free - row.without,
            break_even=_finite(row.break_even),
            break_even_low=_finite(row.break_even_low),
            break_even_high=_finite(row.break_even_high),
            verdict=row.verdict,
            cases_to_settle=_finite(row.cases_to_settle),
            fees=row.fees,
            demand=[Demand(piece.price, piece.bought) for piece in known.demand(name)],
            demand_band=[DemandBand(*piece) for piece in known.demand_band(name)],
        )

    learn = known.still_to_learn

    return WorthAnswer(
        planned.version,
        [answer(o.name, o.cost, rows.get(o.name)) for o in lattice.observations[: lattice.buyable]],
        gain=_finite(known.gain),
        gain_of_nothing=_finite(known.blind_gain),
        gain_of_everything=_finite(known.full_gain),
        still_to_learn=None if learn is None else EstimateAnswer(*learn),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
