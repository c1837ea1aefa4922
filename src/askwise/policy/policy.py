"""What to buy and what to do, as frozen tables.

A simultaneous policy is π = (I, h): buy the set I, then take h(ψ). A sequential policy is
π = (g, h): buy g(ψ) until it is nothing, then take h(ψ).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from askwise._support.numbers import shown
from askwise._support.typing import Choices, Floats, Integers
from askwise.errors import ModelError
from askwise.estimation.evidence import Distribution, Evidence
from askwise.estimation.models import Model
from askwise.policy.trees import Act, Look, Node, Reason, Stop, Tree, blended_reason, merge
from askwise.policy.trees.figures import Figures
from askwise.problem import Problem, Seen
from askwise.states import Lattice

START = 0
"""The empty state; of as many as there are contexts, the first."""

RowOf: TypeAlias = Callable[[int], int]

Path: TypeAlias = Sequence[tuple[int, int]]
"""What was bought, in order: (observation, the state it led to)."""

Propensities: TypeAlias = tuple[float, ...] | Callable[[], tuple[float, ...]]
"""A probability for each step, or what works them out, where that takes long and needs little."""


class Policy(ABC):
    """What both kinds share. States are integers of the lattice, unless they are mappings.

    `row_of` finds the row of a state in the tables (`states/rows.py`); without it they are indexed
    by the state itself. In a state without a row, which nobody has ever visited, the policy takes
    the first action.
    """

    def __init__(
        self,
        lattice: Lattice,
        actions: Choices,
        values: Floats,
        row_of: RowOf | None = None,
        frequency: Floats | None = None,
    ) -> None:
        for array in (actions, values):
            array.setflags(write=False)
        self.lattice = lattice
        self.frequency = frequency
        """How often each context comes; None if there is one, or nothing is known of it."""
        self._source: Callable[[], Evidence] | None = None
        self._is_recommended = False
        self.row_of = row_of
        self.note = ""
        """What is to be known of its estimates, if they are not what one expects."""
        self.actions = actions
        """h(ψ), indexed by row."""
        self.values = values
        """What the plan was made with: V̂(I) of every subset (in every context), or F̂(ψ) of every
        row."""

    def rests_on(self, source: Callable[[], Evidence]) -> Self:
        """Say what is known where it is used, so that its tree can say why; returns itself."""
        self._source = source
        return self

    def recommended_by(self, evidence: Evidence) -> Self:
        """It rests on this, and its value is the gain at the root of its tree; returns itself."""
        self._is_recommended = True
        return self.rests_on(lambda: evidence)

    @cached_property
    def evidence(self) -> Evidence | None:
        """What is known where it is used; worked out when first asked for."""
        return None if self._source is None else self._source()

    @property
    def problem(self) -> Problem:
        """The problem this is a policy for."""
        return self.lattice.problem

    @abstractmethod
    def value_from(self, context: int) -> float:
        """The expected gain that it was planned with, of cases that begin in that state."""

    @property
    def value(self) -> float:
        """The expected gain: exact for an oracle, optimistic for the policy of a learner's round.

        Of what is recommended it is the gain at the root of its tree.
        """
        gain = self._gain_at_root if self._is_recommended else None
        return self.planned_value if gain is None else gain

    @cached_property
    def _gain_at_root(self) -> float | None:
        reason = self.tree().root.reason
        return None if reason is None else reason.gain

    @property
    def planned_value(self) -> float:
        """The expected gain it was planned with."""
        contexts = range(self.lattice.contexts)
        if len(contexts) == 1:
            return self.value_from(START)
        return float(np.average([self.value_from(g) for g in contexts], weights=self.frequency))

    @abstractmethod
    def looks(self, state: int) -> tuple[int, ...]:
        """The observations to buy now; none means act."""

    @abstractmethod
    def nodes(
        self, state: int = START, evidence: Evidence | None = None, share: float = 1.0
    ) -> Node:
        """The policy from this state on, to which a share of the cases comes, as a tree."""

    @abstractmethod
    def copy(self) -> Policy:
        """The same policy with tables of its own."""

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """What a case with that tag buys now; the tag matters only to policies that try things."""
        return self.looks(state)

    def action_in_case(self, state: int, tag: int) -> int:
        """What a case with that tag does when nothing more is bought."""
        return self.act(state)

    def chances(
        self, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """How likely a case took each of its steps; None if the policy does not say.

        It began in a state, bought along a path, wants these looks now, or (−1: not yet) acted.
        A policy that tries things, or was drawn for one case, says how likely that was.
        """
        return None

    @property
    def is_sparse(self) -> bool:
        """Whether its tables hold only what was visited."""
        return self.row_of is not None

    def row(self, state: int) -> int:
        """Where in the tables a state is."""
        if self.row_of is None:
            return state
        row = self.row_of(state)
        return row if row < len(self.actions) else 0  # visited only after this was planned

    def act(self, state: int) -> int:
        """h(ψ): what to do when nothing more is bought."""
        return self.actions.item(self.row(state))

    def choice(self, state: int) -> int:
        """What happens in a state, as one integer: an action, or looking at i as −1 − i."""
        looks = self.looks(state)
        return -1 - looks[0] if looks else self.act(state)

    def wanted(self, state: Mapping[str, Seen]) -> tuple[str, ...]:
        """The names to buy when `state`, {name: value}, is known; none means act."""
        return self.lattice.names_of(self.looks(self.lattice.index(state)))

    def action(self, state: Mapping[str, Seen]) -> str:
        """What to do when `state` is known and nothing more is bought."""
        return self.problem.actions[self.act(self.lattice.index(state))]

    def tree(self, evidence: Evidence | Model | None = None) -> Tree:
        """What it would buy and do, and why, by its own evidence or by another."""
        if isinstance(evidence, Model):
            self._check_model(evidence)
            evidence = evidence.beliefs(self.lattice)
        elif evidence is not None and not hasattr(evidence, "outcome_distribution"):
            kind = type(evidence).__name__
            raise ModelError(
                f"expected a Model, or evidence such as learner.evidence(), got {kind}"
            )
        evidence = self.evidence if evidence is None else evidence
        often = None if evidence is None else evidence.contexts()
        root = self._from_given({}, self.lattice.buyable, evidence, often)
        costs = [o.cost for o in self.problem.observations]
        return Tree(root, Figures.of(self.problem.reward_value, costs), self.note)

    def evaluate(self, model: Model) -> float:
        """ρ(π): its exact expected gain under a model."""
        self._check_model(model)
        probability, reward = model.marginals(self.lattice)
        beta, gain = self.problem.reward_value, 0.0
        open_states = [g for g in range(self.lattice.contexts) if probability[g] > 0]
        while open_states:
            state = open_states.pop()
            looks = self.looks(state)
            if looks:
                reached = [state]
                for i in looks:
                    reached = [child for s in reached for child in self.lattice.children(s, i)]
                open_states.extend(s for s in reached if probability[s] > 0)
            else:
                spent = self.lattice.spent(state)
                gain += probability[state] * (beta * reward[state, self.act(state)] - spent)
        return float(gain)

    def __repr__(self) -> str:
        note = self.note and f". {self.note}"
        return f"<{type(self).__name__} of value {shown(self.value)}{note}>"

    def _repr_html_(self) -> str:
        return self.tree().html()

    def _check_model(self, model: object) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"expected a Model, such as table.model(), got {type(model).__name__}")
        if model.problem != self.problem:
            raise ModelError("the policy and the model are of two different problems")

    # --- the tree, and what is known of the cases that come to each node -------------------------

    def _act(self, state: int, evidence: Evidence | None, share: float) -> Act:
        action = self.problem.actions[self.act(state)]
        if evidence is None:
            return Act(action)
        earned, spent = evidence.mean_reward(state, self.act(state)), self.lattice.spent(state)
        if earned is None:
            return Act(action, Reason(share, spent, None, 0.0))
        beta = self.problem.reward_value
        return Act(
            action, Reason(share, spent, beta * earned.mean - spent, beta**2 * earned.variance)
        )

    def _look(
        self,
        state: int,
        i: int,
        bought: tuple[int, ...],
        children: list[Node],
        evidence: Evidence | None,
        share: float,
        cases: float,
    ) -> Look:
        """A node that looks at i; what its outcomes lead to rests on so many cases."""
        observation = self.lattice.observations[i]
        return Look(
            bought=self.lattice.names_of(bought),
            cost=self.lattice.price(state, bought),
            observation=observation.name,
            branches=merge(list(zip(observation.outcomes, children, strict=True))),
            reason=self._why_look(state, bool(bought), children, evidence, share, cases),
        )

    def _why_look(
        self,
        state: int,
        buys: bool,
        children: list[Node],
        evidence: Evidence | None,
        share: float,
        cases: float,
    ) -> Reason | None:
        if evidence is None:
            return None
        after = blended_reason([child.reason for child in children if child.reason is not None])
        variance, gain = after.variance, after.gain
        if after.share == 0 and share > 0:  # nobody ever looked here
            gain = None
        elif gain is not None and cases < np.inf and after.share > 0:
            # how often each outcome comes is itself an estimate
            between = sum(
                c.reason.share / after.share * (c.reason.gain - gain) ** 2
                for c in children
                if c.reason is not None and c.reason.gain is not None
            )
            variance += between / max(1.0, cases)
        if not buys:
            return Reason(share, after.spent, gain, variance)
        spent, action = self.lattice.spent(state), self.act(state)
        earned = evidence.mean_reward(state, action)
        beta = self.problem.reward_value
        stopped = None if earned is None else beta * earned.mean - spent
        stop = Stop(self.problem.actions[action], stopped)
        return Reason(share, spent, gain, variance, stop)

    def _from_given(
        self, known: dict[int, int], i: int, evidence: Evidence | None, often: Distribution | None
    ) -> Node:
        """One level for each given observation on which anything depends, then the policy."""
        if i == len(self.lattice.observations):
            start = self.lattice.index_of(known)
            share = 0.0 if often is None else float(often.probability[start])
            return self.nodes(start, evidence, share)
        observation = self.lattice.observations[i]
        outcomes = observation.outcomes
        children = [
            self._from_given(known | {i: x}, i + 1, evidence, often) for x in range(len(outcomes))
        ]
        branches = merge(list(zip(outcomes, children, strict=True)))
        if len(branches) == 1:
            return branches[0][1]
        share = sum(child.reason.share for child in children if child.reason is not None)
        cases = 0.0 if often is None else often.cases
        reason = self._why_look(START, False, children, evidence, share, cases)
        return Look((), 0.0, observation.name, branches, reason)


class SimultaneousPolicy(Policy):
    """Buy the set Î at once, then act on what it showed."""

    def __init__(
        self,
        lattice: Lattice,
        sets: Integers | int,
        actions: Choices,
        values: Floats,
        row_of: RowOf | None = None,
        frequency: Floats | None = None,
    ) -> None:
        super().__init__(lattice, actions, values, row_of, frequency)
        self.sets: Integers = np.broadcast_to(np.asarray(sets, np.int64), lattice.contexts).copy()
        """Î in each context."""
        self.sets.setflags(write=False)
        self._after = lattice.states(self.subset) if lattice.contexts == 1 else range(0)

    @property
    def subset(self) -> int:
        """Î, where there is one context; else that of the first."""
        return int(self.sets[0])

    @property
    def observations(self) -> tuple[str, ...]:
        """The names of what it buys; where something is given, in any context."""
        bought = {i for subset in set(self.sets.tolist()) for i in self.lattice.members(subset)}
        return self.lattice.names_of(tuple(sorted(bought)))

    def value_from(self, context: int) -> float:
        """V̂(Î)."""
        return float(self.values[self.lattice.context_subset(int(self.sets[context]), context)])

    def copy(self) -> SimultaneousPolicy:
        """The same policy with tables of its own."""
        tables = (self.sets.copy(), self.actions.copy(), self.values.copy())
        return SimultaneousPolicy(self.lattice, *tables, self.row_of, self.frequency)

    def looks(self, state: int) -> tuple[int, ...]:
        """What of the set is not known yet, as far as m allows."""
        if state in self._after:  # the usual case, fast
            return ()
        lattice = self.lattice
        if state < lattice.contexts:
            return lattice.members(self.sets.item(state))
        subset = lattice.subset_of(state)
        chosen = self.sets.item(lattice.context(state) if lattice.contexts > 1 else 0)
        if subset == chosen:
            return ()
        known = lattice.members(subset)
        rest = tuple(i for i in lattice.members(chosen) if i not in known)
        return rest[: lattice.m - len(known)]

    def chances(
        self, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """Certain: the set, if there is one to buy, then the action."""
        return (1.0,) * (bool(path or looks) + (action >= 0))

    def nodes(
        self, state: int = START, evidence: Evidence | None = None, share: float = 1.0
    ) -> Node:
        """The set, then one level for each of its members on which the action depends."""
        looks = self.looks(state)
        if not looks:
            return self._act(state, evidence, share)
        return self._split(state, looks, looks, evidence, share)

    def _split(
        self,
        state: int,
        looks: tuple[int, ...],
        bought: tuple[int, ...],
        evidence: Evidence | None,
        share: float,
    ) -> Node:
        if not looks:
            return self._act(state, evidence, share)
        shares, cases = shares_after(self.lattice, evidence, state, looks[0], share)
        children = [
            self._split(child, looks[1:], (), evidence, part)
            for child, part in zip(self.lattice.children(state, looks[0]), shares, strict=True)
        ]
        node = self._look(state, looks[0], bought, children, evidence, share, cases)
        return node.branches[0][1] if len(node.branches) == 1 and not bought else node


class SequentialPolicy(Policy):
    """Buy ĝ(ψ) one after the other until it is nothing, then act."""

    def __init__(
        self,
        lattice: Lattice,
        following: Choices,
        actions: Choices,
        values: Floats,
        row_of: RowOf | None = None,
        frequency: Floats | None = None,
    ) -> None:
        super().__init__(lattice, actions, values, row_of, frequency)
        following.setflags(write=False)
        self.following = following
        """g(ψ), indexed by row: an observation, or −1 to act."""

    def value_from(self, context: int) -> float:
        """F̂ of the state in which nothing was bought."""
        return float(self.values[self.row(context)])

    def copy(self) -> SequentialPolicy:
        """The same policy with tables of its own."""
        tables = (self.following.copy(), self.actions.copy(), self.values.copy())
        return SequentialPolicy(self.lattice, *tables, self.row_of, self.frequency)

    def looks(self, state: int) -> tuple[int, ...]:
        """The one observation to buy now."""
        i = self.following.item(state if self.row_of is None else self.row(state))
        return () if i < 0 else (i,)

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """The same: it tries nothing."""
        i = self.following.item(state if self.row_of is None else self.row(state))
        return () if i < 0 else (i,)

    def chances(
        self, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """Certain: every look, then the action."""
        return (1.0,) * (len(path) + len(looks) + (action >= 0))

    def nodes(
        self, state: int = START, evidence: Evidence | None = None, share: float = 1.0
    ) -> Node:
        """One level for each look."""
        looks = self.looks(state)
        if not looks:
            return self._act(state, evidence, share)
        shares, cases = shares_after(self.lattice, evidence, state, looks[0], share)
        children = [
            self.nodes(child, evidence, part)
            for child, part in zip(self.lattice.children(state, looks[0]), shares, strict=True)
        ]
        return self._look(state, looks[0], looks, children, evidence, share, cases)


def shares_after(
    lattice: Lattice, evidence: Evidence | None, state: int, i: int, share: float
) -> tuple[list[float], float]:
    """The share of the cases that each outcome of a look gets, and how many cases say so."""
    chances = None if evidence is None or share == 0 else evidence.outcome_distribution(state, i)
    if chances is None:
        return [0.0] * len(lattice.children(state, i)), 0.0
    return (share * chances.probability).tolist(), chances.cases
