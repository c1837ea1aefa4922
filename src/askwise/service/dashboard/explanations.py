"""Why a policy decides as it does: its tree, and what each observation is worth."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from askwise.errors import OptionError
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
from askwise.service.api.refusals import Refusal
from askwise.service.decisions.case_terms import policy_at_stake
from askwise.service.logging import log_failure
from askwise.service.priority import ReportThread
from askwise.service.replanning.policy_versions import PolicyVersion
from askwise.states import Lattice

MOST_KEPT = 64
"""Answers that are kept, of all projects together."""

MOST_WAITING = 2
"""Answers for stakes other than 1 that are worked out at a time, or wait for it: all other projects
wait behind them."""


class Explanations:
    """Works out explanations, one after the other in a thread of its own, once for each version.

    They take long, and every dashboard that shows a project asks for the same ones: all of them
    wait for one answer.
    """

    def __init__(self) -> None:
        self._thread = ReportThread("explanations")
        self._loop = asyncio.get_running_loop()
        self._found: OrderedDict[tuple[str, int, int, float], asyncio.Future[Any]] = OrderedDict()
        self._worth: dict[int, WorthAnswer] = {}
        self._begun: dict[int, tuple[int, asyncio.Task[None]]] = {}
        """By project, the version for which a summary was last begun."""

    def close(self) -> None:
        """Begin to work out nothing more."""
        for _, task in self._begun.values():
            task.cancel()
        self._thread.shutdown()

    async def tree(self, project: int, planned: PolicyVersion, stake: float = 1.0) -> PolicyAnswer:
        """Returns the policy that cases with a stake follow, and the recommended one."""
        answer: PolicyAnswer = await self._once("tree", project, planned, stake, policy_tree)
        return answer

    async def worth(self, project: int, planned: PolicyVersion, stake: float = 1.0) -> WorthAnswer:
        """Returns the worth of each observation in cases with a stake."""
        answer: WorthAnswer = await self._once("worth", project, planned, stake, worth)
        if stake == 1.0:
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

    async def _work_out(self, project: int, planned: PolicyVersion) -> None:
        try:
            await self.worth(project, planned)
        except Exception as error:  # no caller waits for it, so it is logged here
            log_failure("what observations are worth could not be worked out", error)

    async def _once(
        self,
        what: str,
        project: int,
        planned: PolicyVersion,
        stake: float,
        work: Callable[[PolicyVersion, float], Any],
    ) -> Any:
        key = (what, project, planned.version, stake)
        if key not in self._found:
            self._check_waiting(stake)
            self._found[key] = self._loop.run_in_executor(self._thread, work, planned, stake)
            if len(self._found) > MOST_KEPT:
                self._forget_one()
        try:
            return await asyncio.shield(
                self._found[key]
            )  # a client that leaves does not cancel it for others
        except OptionError as error:  # a stake that cannot be
            raise Refusal(422, str(error), "query:stake") from None
        except Exception:
            self._found.pop(key, None)  # it may work the next time
            raise

    def _forget_one(self) -> None:
        """Drops the oldest answer for a stake other than 1, because a client may request thousands
        of them. If there is none, it drops the oldest of all.
        """
        staked = (key for key in self._found if key[3] != 1.0)
        del self._found[next(staked, next(iter(self._found)))]

    def _check_waiting(self, stake: float) -> None:
        """Refuses another stake while many are worked on: there are more of them than versions."""
        if stake == 1.0:
            return
        waiting = sum(key[3] != 1.0 and not found.done() for key, found in self._found.items())
        if waiting >= MOST_WAITING:
            raise Refusal(503, "too many stakes are being worked out", retry=1)


def policy_tree(planned: PolicyVersion, stake: float = 1.0) -> PolicyAnswer:
    """Returns the policy that cases follow now, which may explore, and the recommended one."""
    recommended = planned.learner.recommend(stake=stake)

    def answer(policy: Policy) -> TreeAnswer:
        tree = policy.tree(recommended.evidence)
        reason = tree.root.reason
        gain = None if reason is None else reason.gain
        return TreeAnswer(_finite(gain), str(tree), tree.to_dict())

    follows = policy_at_stake(planned, stake)
    return PolicyAnswer(planned.version, answer(follows), answer(recommended), stake)


def worth(planned: PolicyVersion, stake: float = 1.0) -> WorthAnswer:
    """Returns what each observation adds, and its break-even price, by the current estimates."""
    lattice, known = planned.learner.statistics.lattice, worth_of(planned.learner, stake=stake)
    rows = {row.name: row for row in known}  # of many observations, just those that matter

    def answer(name: str, price: float, row: ObservationWorth | None) -> ObservationAnswer:
        if row is None:
            return ObservationAnswer(name, price)
        return ObservationAnswer(
            name,
            row.price,
            share=row.bought,
            adds=_finite(row.adds),
            adds_low=_finite(row.adds_low),
            adds_high=_finite(row.adds_high),
            adds_if_free=_finite(row.adds_if_free),
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
        stake=stake,
        cost_of_everything=_cost_of_everything(lattice),
    )


def _cost_of_everything(lattice: Lattice) -> float | None:
    most = lattice.problem.max_observations
    buys_all = most is None or most >= lattice.buyable
    return lattice.tariff.cost_of(range(lattice.buyable)) if buys_all else None


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
