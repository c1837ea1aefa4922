"""The default learner's strategy for many observations of which few matter.

It draws a world of a shortlist and plans for it. It also explores sets
(`estimation/sets_to_try.py`), in place of the plan or beside it (`_kernels/policy/tree_cases.py`).

**The cost of exploration** a case, in units of β, is at most the larger of

    ½ ALLOWANCE / √t     and     ⅔ min(MOST_OF_EARNINGS, 2 w) min(1, LEFT (1 − v)) / t^(1/3),

where v is the value of the plan, and w is its advantage over acting without observations. If
nothing is ever found, the cost goes to zero like 1/√t. Where information pays, there is more to
find, unless nearly all that can be earned is earned already. The cost includes the observations,
the loss from other actions, and the lost part of the plan. Half of it goes to each of the two ways
of exploring.

**After a log** it follows its recommendation, first by the log alone, and draws no worlds beside
the shortlist. Once it has had as many cases as there were logged decisions, it continues as if all
had been its own. After complete records it uses the table of `estimation/tabular_posterior.py`.
Exploration then costs at most half a per cent of β a case.
"""

from __future__ import annotations

import numpy as np

from askwise._kernels.radii import Radii
from askwise._support.sums import dot
from askwise._support.typing import Choices, Floats, Integers
from askwise.counting import Statistics
from askwise.estimation.additive import AdditiveModel
from askwise.estimation.beliefs import additive_beliefs
from askwise.estimation.complete_records import MOST_RECORDS, Log
from askwise.estimation.estimates import Estimates
from askwise.estimation.evidence import Beliefs
from askwise.learners.cases import Case
from askwise.learners.exploration_costs import most_spent_among_many
from askwise.learners.explore_budget import affordable_cases
from askwise.learners.model_strategy import MOST_LOST, ModelOptions, ModelStrategy
from askwise.learners.screened_worlds import Screened, at_stake_of, blindly
from askwise.learners.strategy import Progress
from askwise.planning.trees import compact_tree
from askwise.policy import PathTable, Policy, SetTable
from askwise.policy.acquisition import Acquisition, tie_margin
from askwise.policy.budgeted import Line, line_of, mean_line
from askwise.policy.counting_cases import Pairs
from askwise.policy.tree_table import TreeExploration, TreeTable
from askwise.states import Lattice

MOST_TRYING = 0.5
"""The largest share of the cases that explore."""

POOR = 0.3
"""An action that earns so much less than the best is explored half as often."""

LEAST_PRICE = 0.001
"""The least cost of an observation, in units of β, so that nothing is explored in every case."""

LOST_BESIDE = 0.25
"""The part of the plan's value that is lost where a set is explored beside it."""

SPREAD = 0.4
ROUNDS = 50
"""A round lasts t / ROUNDS cases, and at least SHORTEST."""

SHORTEST = 10

SWEEPS = 20
"""The sweeps from the start, or over a log. Later the learner sweeps once in a round."""


class AdditiveStrategy(ModelStrategy):
    """Counts rewards by state, and tallies. A round is a fiftieth of all cases before it."""

    model_name = "additive"
    honours_rules = True
    is_sparse = True
    """Its counters have a row for each state acted in; observations are tallied apart."""

    def __init__(
        self,
        lattice: Lattice,
        acquisition: Acquisition,
        options: ModelOptions,
    ) -> None:
        super().__init__(lattice, acquisition, options)
        self.model = AdditiveModel(lattice)
        _ = self.model.required  # raises if it cannot plan with what actions require
        self._world: tuple[Screened, Estimates] | None = None
        self._explored_world: tuple[Screened, Estimates] | None = None

    def begin_with(self, log: Log) -> None:
        """Begins with a log whose complete records are not in the statistics."""
        if log.records is not None:
            log = log._replace(records=log.records.sample(MOST_RECORDS))
        self._log, self.model.records = log, log.records

    def settle(self, now: Progress) -> None:
        """Fits the estimates to a log."""
        self.model.count_log(now.statistics)
        rng = np.random.default_rng(0)
        for _ in range(SWEEPS):
            self.model.screen(now.statistics, rng)

    def follows_log(self, opened: int) -> bool:
        """True after complete records: their table has more information than exploration."""
        return self.log.records is not None or super().follows_log(opened)

    # --- planning --------------------------------------------------------------------------------

    def plan_round(
        self, statistics: Statistics, opened: int, rng: np.random.Generator
    ) -> tuple[Policy, int]:
        """Returns the best policy of a world drawn near the mean, and the length of the round."""
        is_first, follows = opened == self.log.cases > 0, self.follows_log(opened)
        if is_first:  # follow the recommendation, and do not change the estimates
            screened, _ = self._means(statistics)
        else:
            screened = self.model.screen(statistics, rng)
        length = max(SHORTEST, opened // ROUNDS)
        if self.explore_budget is not None:
            mean = screened.draw_estimates(rng, spread=0.0)
            blind = self.lattice.problem.reward_value * blindly(screened, mean)
            affordable = affordable_cases(statistics, opened, blind, self.explore_budget)
            if affordable == 0:
                self._world = screened, mean
                return self._careful(screened, mean, statistics), length
            length = min(length, affordable)
        near = screened.draw_estimates(rng, spread=0.0 if follows else SPREAD)
        self._world = screened, near
        if follows:
            plan = self._recommended_now(screened, statistics)
        else:
            plan = self._best(screened, near)
        beta = self.lattice.problem.reward_value
        worth = plan.value_above_lowest / beta - blindly(screened, near)
        return plan.each(
            lambda part: part.exploring(self.exploration(screened, part, worth, opened))
        ), length

    def plan_recommended(self, statistics: Statistics) -> Policy:
        """Returns the recommendation of a round. Cases with their own prices follow it too."""
        self._explored_world = self._world
        screened, mean = self._means(statistics)
        self._world = screened, mean
        return self._recommended_now(screened, statistics)

    def _recommended_now(self, screened: Screened, statistics: Statistics) -> Policy:
        """Returns the recommendation that the cases of a round follow."""
        known = self._beliefs(screened, statistics)
        best, follow = self.recommended_now(known.standalone())
        follow()
        return self._whole(best, screened, known)

    def _best(self, screened: Screened, world: Estimates) -> Policy:
        """Returns the best policy of a world; within a budget, the best mixture."""
        if self.spending is None:
            return self._policy(screened, world, self._looks(screened, world))
        few = screened.shortlist.lattice
        p = world.weight / world.weight[: few.contexts].sum()
        kinds = self.spending.kinds.shares(few)
        shares = [share for share, _ in kinds]

        def line(at: Lattice, price: float) -> Line:
            near = at_stake_of(screened, world, at)[1]
            look = self.acquisition.path_plan(at.at_rate(1.0 + price), near)
            policy = Policy(PathTable(few, look, near.action, np.zeros(few.size)))
            return line_of(policy, at, p, near.reward)

        def plan(price: float) -> Line:
            return mean_line(shares, [line(at, price) for _, at in kinds], price)

        def finish(policy: Policy) -> Policy:
            assert isinstance(policy.table, PathTable)
            return self._policy(screened, world, policy.table.look)

        return self.spending.best(plan, finish, few.problem.reward_value)

    def plan_for_case(self, now: Progress, policy: Policy, lattice: Lattice, start: int) -> Policy:
        """Returns the best policy at these prices of the world that the round is planned for.

        A set that is bought at once keeps its tree, without the values on file.
        """
        return policy if start else super().plan_for_case(now, policy, lattice, start)

    def plan_own(
        self, now: Progress, policy: Policy, lattice: Lattice, start: int, *, explores: bool
    ) -> Policy:
        """The best policy at these prices of the world that the round is planned for."""
        exploration = policy.exploration
        assert isinstance(exploration, TreeExploration)
        # in a learner that was just loaded the world of its round is not known any more
        world = self._explored_world if explores else self._world
        screened, near = world or self._means(now.statistics)
        few = screened.shortlist
        names = {o.name for o in few.lattice.observations}
        prices = {o.name: o.cost for o in lattice.observations if o.name in names}
        filed = [j for j, i in enumerate(few.observations) if i in lattice.on_file]
        small = few.lattice.priced(prices, filed).at_stake(lattice.stake)
        screened, near = at_stake_of(screened, near, small)

        def plan(rate: float) -> Policy:
            at = small if rate == 1.0 else small.at_rate(rate)
            looks = self.acquisition.path_plan(at, near, margin=tie_margin(lattice))
            return self._policy(screened, near, looks, lattice).exploring(exploration)

        return plan(1.0) if self.spending is None else self.spending.planned(plan)

    def use(self, lattice: Lattice) -> None:
        """Have the same states at other prices."""
        self.lattice = lattice
        self.model.use(lattice)

    def tallies(self) -> dict[str, Integers]:
        """The tallies of observations, and of the spend if there is a budget."""
        return {**self.model.tallies._asdict(), **super().tallies()}

    def exploration(
        self, screened: Screened, plan: Policy, worth: float, opened: int
    ) -> TreeExploration:
        """Returns the exploration beside a plan with this advantage."""
        from askwise._kernels.policy.tree_cases import ACTING_BESIDE, ACTING_REPLACING

        table, beta = plan.table, self.lattice.problem.reward_value
        assert isinstance(table, TreeTable)
        base = self.model.effects.base - self.lattice.action_costs / beta
        gap = base.max() - base
        acts: Floats = 1.0 / (1.0 + (gap / POOR) ** 2)
        acts /= acts.sum()
        lost = max(0.0, worth) * beta
        acting = beta * dot(acts, gap) + lost
        looking = self.lattice.m * (LEAST_PRICE * beta + float(self.model.alone.mean()))
        value = plan.value_above_lowest / beta
        most, part = beta * most_spent_among_many(opened, worth, value), LOST_BESIDE
        if self.follows_log(opened):  # what may be lost at most is charged
            most, part = min(most, MOST_LOST * beta), 1.0
        replacing = 0.5 * most / (looking + ACTING_REPLACING * acting + lost)
        room = 1.0 if table.look[0] < 0 else 0.5  # for observations other than those of the plan
        beside = 0.5 * most / (room * looking + ACTING_BESIDE * acting + part * lost)
        scale = min(1.0, MOST_TRYING / (replacing + beside))
        return TreeExploration(screened.sets, acts, scale * replacing, scale * beside)

    def evidence(self, now: Progress) -> Beliefs:
        """Returns the posterior means. Nothing changes."""
        screened, _ = self._means(now.statistics)
        return self._beliefs(screened, now.statistics)

    def recommend(self, now: Progress, stake: float = 1.0) -> Policy:
        """Returns the best policy by cautious estimates, without exploration. Nothing changes."""
        screened, _ = self._means(now.statistics)
        known = self._beliefs(screened, now.statistics)
        best = self.recommended(known.standalone(), stake)
        return self._whole(best, screened, known.at_stake(stake))

    def _whole(self, best: Policy, screened: Screened, known: Beliefs) -> Policy:
        """Returns the recommendation for the few, as a policy of the whole problem."""
        few = screened.shortlist._replace(lattice=known.lattice)
        screened = screened._replace(shortlist=few)
        found = best.each(lambda part: self._of_whole(part, screened, known))
        found.shadow_price, found.note = best.shadow_price, best.note
        return found

    def _of_whole(self, best: Policy, screened: Screened, known: Beliefs) -> Policy:
        """Returns a policy for the few as one for the whole problem."""
        table = best.table
        assert isinstance(table, PathTable | SetTable)
        every = np.arange(known.lattice.size)
        reward = known.lattice.net(known.reward)[every, best.actions]
        earned = Estimates(reward, best.actions, known.probability, Radii())
        assert known.part_of is not None
        policy = self._policy(screened, earned, table.as_path(), known.part_of.lattice)
        return policy.recommended_by(known)

    def _beliefs(self, screened: Screened, statistics: Statistics) -> Beliefs:
        """The means for the few, after all cases so far and complete records."""
        cases = statistics.cases + (0 if self.log.records is None else self.log.cases)
        return additive_beliefs(self.lattice, screened, cases)

    def _means(self, statistics: Statistics) -> tuple[Screened, Estimates]:
        """Returns the world of the means. Nothing changes."""
        rng = np.random.default_rng(0)
        screened = self.model.apart().screen(statistics, rng)
        return screened, screened.draw_estimates(rng, spread=0.0)

    def _careful(self, screened: Screened, mean: Estimates, statistics: Statistics) -> Policy:
        """Returns what pays by a margin that shrinks with the rewards; else it buys nothing."""
        beta, rewarded = self.lattice.problem.reward_value, int(statistics.action_counts.sum())
        best = self._best(screened, mean)
        if best.planned_value > beta * (blindly(screened, mean) + (1 + rewarded) ** -0.5):
            return best
        nothing = np.full(screened.shortlist.lattice.size, -1, np.int16)
        return self._policy(screened, mean, nothing)

    def _looks(self, screened: Screened, world: Estimates) -> Choices:
        """Returns what to buy in each state of the few."""
        return self.acquisition.path_plan(screened.shortlist.lattice, world)

    def _policy(
        self,
        screened: Screened,
        world: Estimates,
        looks: Choices,
        lattice: Lattice | None = None,
    ) -> Policy:
        few, values = screened.shortlist, int(self.lattice.outcomes.max())
        plan = compact_tree(few.lattice, few.observations, looks, world, values)
        table = TreeTable(lattice or self.lattice, *plan, acquisition=self.acquisition.name)
        exploration = nothing_tried(screened.sets, len(self.lattice.problem.actions))
        return Policy(table, exploration, frequency=self._frequency())

    def _frequency(self) -> Floats | None:
        """The probability of each context, if there are several, for independent given values."""
        if self.lattice.contexts == 1:
            return None
        frequency = np.ones(1)
        for i in range(self.lattice.buyable, len(self.lattice.observations)):
            frequency = np.outer(frequency, self.model.marginal(i)).ravel()
        return frequency

    # --- counting, many cases, and what is saved -------------------------------------------------

    def count(self, now: Progress, case: Case) -> Pairs:
        """Tallies the observations of a case that acts now, if only its policy chose them."""
        self.count_spent_in(case)
        if case.unasked:
            now.statistics.count_case()
            return []
        assert case.policy is not None
        policy = case.policy.followed_by(case.tag)
        table, exploration = policy.table, policy.exploration
        assert isinstance(table, TreeTable)
        assert isinstance(exploration, TreeExploration)
        exploration.tally(table, case.start, case.state_index, case.tag, self.model.tallies)
        now.statistics.count_case()
        return []

    def count_stopped(self, now: Progress, case: Case, *, is_fair: bool) -> Pairs:
        """Counts no observations, because it is not known whether more would have followed."""
        self.count_spent_in(case)
        if is_fair:
            now.statistics.count_case()
        return []

    def run_cases(
        self,
        policy: Policy,
        statistics: Statistics,
        tags: Integers,
        values: Choices,
        rewards: Floats,
    ) -> tuple[Integers, Choices]:
        """Decide and count a case for each tag: the states acted in, and the actions."""
        table, exploration = policy.table, policy.exploration
        assert isinstance(table, TreeTable)
        assert isinstance(exploration, TreeExploration)
        cases = (tags, values, rewards)
        return exploration.run(table, statistics, self.model.tallies, *cases)

    def settle_anew(self, statistics: Statistics) -> None:
        """Sweeps from the counters alone. The draws are always the same."""
        rng, counted = np.random.default_rng(0), self.model.tallies
        self.model = AdditiveModel(self.lattice)
        self._world = self._explored_world = None
        self.model.tallies, self.model.records = counted, self.log.records
        for _ in range(SWEEPS):
            self.model.screen(statistics, rng)

    def model_arrays(self) -> dict[str, Floats | Integers]:
        """The arrays that the model keeps beside the statistics."""
        return self.model.arrays()

    def model_restored(self) -> None:
        """Checks the arrays after saved ones overwrote them."""
        self.model.restored()


def nothing_tried(sets: Integers, actions: int) -> TreeExploration:
    """Returns an exploration of the right shape with all probabilities 0."""
    return TreeExploration(sets, np.full(actions, 1.0 / actions), 0.0, 0.0)
