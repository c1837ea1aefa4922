"""What to buy and what to do, as frozen tables.

A policy is a table for its acquisition (`tables.py`, `tree_table.py`) and, perhaps, an exploration
(`exploration.py`): what cases try beside, by their tags, and how likely. Another policy may be
mixed into it, which a share of the cases follows (`mixing.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from askwise._support.numbers import shown
from askwise._support.typing import AcquisitionName, Choices, Floats, RandomSource
from askwise.errors import ModelError
from askwise.estimation.evidence import Evidence
from askwise.estimation.models import Model
from askwise.policy.exploration import Exploration
from askwise.policy.followed_cases import FollowedCase
from askwise.policy.mixing import Mixture, mixed_propensities
from askwise.policy.rules import Rule, table_of_rule
from askwise.policy.tables import Path, Propensities, Table
from askwise.policy.trees import Tree
from askwise.policy.trees.figures import Figures
from askwise.policy.trees.folding import folded
from askwise.policy.trees.growing import START, root_of
from askwise.policy.trees.nodes import raised
from askwise.problem import Problem, Seen
from askwise.states import Lattice


class Policy:
    """Frozen; it can be followed, shown, evaluated. States are integers, unless they are mappings.

    >>> from askwise import oracle
    >>> from askwise.simulation.environments import breast_cancer
    >>> oracle.simultaneous(breast_cancer(cost=5.0))
    <Policy, simultaneous, of value 76.7>
    """

    _opens: ClassVar[Callable[[Policy, Mapping[str, Seen] | None, RandomSource], Any] | None] = None
    """Opens cases: `learners/following.py`, which is above this package, puts it here."""

    def __init__(
        self,
        table: Table,
        exploration: Exploration | None = None,
        *,
        frequency: Floats | None = None,
        mixture: Mixture | None = None,
    ) -> None:
        if exploration is not None:
            for array in exploration.arrays().values():
                array.setflags(write=False)
        self.table = table
        self.exploration = exploration
        self.lattice = table.lattice
        self.frequency = frequency
        """How often each context comes; None if there is one, or nothing is known of it."""
        self.mixture = mixture
        """The policies that shares of the cases follow instead; None if there is one policy."""
        self.shadow_price: float | None = None
        """What one more to spend on a case would add to its gain; None if there is no budget."""
        self.note = ""
        """What is to be known of its estimates, if they are not what one expects."""
        self._source: Callable[[], Evidence] | None = None
        self._is_recommended = False

    @property
    def problem(self) -> Problem:
        """The problem this is a policy for."""
        return self.lattice.problem

    @property
    def acquisition(self) -> AcquisitionName:
        """How it buys: "simultaneous" or "sequential"."""
        return self.table.acquisition

    @property
    def actions(self) -> Choices:
        """h(ψ), by row of the table."""
        return self.table.actions

    @property
    def values(self) -> Floats:
        """What the plan was made with: V̂(I) of every subset, or F̂(ψ) by row."""
        return self.table.values

    def exploring(self, exploration: Exploration | None) -> Policy:
        """The same policy, and what it tries beside."""
        return Policy(self.table, exploration, frequency=self.frequency)

    def mixed(self, other: Policy, share: float) -> Policy:
        """This policy, and in a share of the cases the other one."""
        (_, own), *rest = self.parts
        scaled = [((1.0 - share) * part, one) for part, one in rest]
        scaled += [(share * part, one) for part, one in other.parts]
        mixture = Mixture(tuple(scaled))
        found = Policy(own.table, own.exploration, frequency=self.frequency, mixture=mixture)
        found._source, found._is_recommended = self._source, self._is_recommended
        found.shadow_price, found.note = self.shadow_price, self.note
        return found

    def copy(self) -> Policy:
        """The same policy with tables of its own."""
        mixture = None
        if self.mixture is not None:
            mixture = Mixture(tuple((share, one.copy()) for share, one in self.mixture.others))
        tables = self.table.copy(), self.exploration
        return Policy(*tables, frequency=self.frequency, mixture=mixture)

    @property
    def parts(self) -> list[tuple[float, Policy]]:
        """The policies that cases follow, each with its share of them; one, if none is mixed in."""
        if self.mixture is None:
            return [(1.0, self)]
        own = Policy(self.table, self.exploration, frequency=self.frequency)
        own._source = self._source
        others = self.mixture.others
        return [(1.0 - sum(share for share, _ in others), own), *others]

    def each(self, change: Callable[[Policy], Policy]) -> Policy:
        """The same policy, of parts that were changed."""
        if self.mixture is None:
            return change(self)
        (_, own), *others = self.parts
        mixture = Mixture(tuple((share, change(other)) for share, other in others))
        first = change(own)
        found = Policy(first.table, first.exploration, frequency=first.frequency, mixture=mixture)
        found._source, found._is_recommended = first._source, first._is_recommended
        found.shadow_price, found.note = self.shadow_price, self.note
        return found

    # --- what it does ----------------------------------------------------------------------------

    def looks(self, state: int) -> tuple[int, ...]:
        """The observations to buy now; none means act."""
        return self.table.looks(state)

    def act(self, state: int) -> int:
        """h(ψ): what to do when nothing more is bought."""
        return self.table.act(state)

    def in_state(self, state: int) -> Policy:
        """The policy that a case in this state follows: itself, if it is good in every state."""
        return self

    def exact(self) -> Policy:
        """The same policy, good in every state: itself, if it is so."""
        return self

    def choice(self, state: int) -> int:
        """What happens in a state, as one integer: an action, or looking at i as −1 − i."""
        looks = self.table.looks(state)
        return -1 - looks[0] if looks else self.table.act(state)

    def followed_by(self, tag: int) -> Policy:
        """The policy that a case with that tag follows: this one, or the one that is mixed in."""
        other = None if self.mixture is None else self.mixture.other_of(tag)
        return self if other is None else other

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """What a case with that tag buys now; the tag matters only if there is chance in it."""
        followed = self if self.mixture is None else self.followed_by(tag)
        if followed.exploration is None:
            return followed.table.looks(state)
        return followed.exploration.looks(followed.table, state, tag)

    def action_in_case(self, state: int, tag: int) -> int:
        """What a case with that tag does when nothing more is bought."""
        followed = self if self.mixture is None else self.followed_by(tag)
        if followed.exploration is None:
            return followed.table.act(state)
        return followed.exploration.action(followed.table, state, tag)

    def propensities(
        self, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """How likely a case took each of its steps; None if that is not known.

        It began in a state, bought along a path, wants these looks now, or (−1: not yet) acted.
        """
        if self.mixture is not None:
            return mixed_propensities(self.parts, start, path, looks, action)
        if self.exploration is None:
            return self.table.propensities(path, looks, action)
        return self.exploration.propensities(self.table, start, path, looks, action)

    def wanted(self, state: Mapping[str, Seen]) -> tuple[str, ...]:
        """The names to buy when `state`, {name: value}, is known; none means act."""
        return self.lattice.names_of(self.looks(self.lattice.index(state)))

    def action(self, state: Mapping[str, Seen]) -> str:
        """What to do when `state` is known and nothing more is bought."""
        return self.problem.action_names[self.act(self.lattice.index(state))]

    @property
    def observations(self) -> tuple[str, ...]:
        """The names of all that it may buy in a case."""
        bought: set[int] = set()
        if self.mixture is not None:
            names = {name for _, part in self.parts for name in part.observations}
            return tuple(o.name for o in self.lattice.observations if o.name in names)
        open_states = list(range(self.lattice.contexts))
        while open_states:
            reached = [open_states.pop()]
            looks = self.looks(reached[0])
            bought.update(looks)
            for i in looks:
                reached = [child for s in reached for child in self.lattice.children(s, i)]
            open_states.extend(reached if looks else [])
        return self.lattice.names_of(tuple(sorted(bought)))

    # --- cases -----------------------------------------------------------------------------------

    def open(
        self, known: Mapping[str, Seen] | None = None, *, rng: RandomSource = None
    ) -> FollowedCase:
        """A case that follows this policy, as `learner.open()` gives one: nothing is learned.

        `known` has a value for all that is given; what else it has was on file. A reward may be
        told, or not. `rng` decides where the policy leaves something to chance.
        """
        assert Policy._opens is not None
        case: FollowedCase = Policy._opens(self, known, rng)
        return case

    @classmethod
    def from_rule(cls, problem: Problem, rule: Rule) -> Self:
        """The rule that is followed today, as a policy: to compare with, or to follow.

        `rule` is asked with what is known, {name: value}, and answers what to do next: the name of
        an observation to buy, or of an action. It is asked about every state that it leads to.

        >>> from askwise import Observation, Problem
        >>> mri = Observation("mri", values=["neg", "pos"], cost=9)
        >>> problem = Problem(observations=[mri], actions=["wait", "treat"])
        >>> def rule(known):
        ...     if "mri" not in known:
        ...         return "mri"
        ...     return "treat" if known["mri"] == "pos" else "wait"
        >>> print(Policy.from_rule(problem, rule).tree())
        buy mri (9)
        ├─ neg → wait
        └─ pos → treat
        """
        return cls(table_of_rule(Lattice(problem), rule))

    # --- what it is worth ------------------------------------------------------------------------

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
    def value(self) -> float:
        """The expected gain: exact for an oracle, optimistic for the policy of a learner's round.

        Of what is recommended it is the gain at the root of its tree.
        """
        return self.problem.lowest_reward + self.value_above_lowest

    @property
    def value_above_lowest(self) -> float:
        """Its value less the lowest reward, which is what plans reckon with."""
        gain = self._gain_at_root if self._is_recommended else None
        return self.planned_value if gain is None else gain

    @cached_property
    def _gain_at_root(self) -> float | None:
        reason = root_of(self, self.evidence).reason
        return None if reason is None else reason.gain

    @property
    def planned_value(self) -> float:
        """The expected gain that it was planned with, less the lowest reward."""
        if self.mixture is not None:
            return sum(share * part.planned_value for share, part in self.parts)
        contexts = range(self.lattice.contexts)
        if len(contexts) == 1:
            return self.table.value_from(START)
        values = [self.table.value_from(g) for g in contexts]
        return float(np.average(values, weights=self.frequency))

    def tree(
        self,
        evidence: Evidence | Model | None = None,
        *,
        max_depth: int | None = None,
        min_share: float = 0.0,
    ) -> Tree:
        """What it would buy and do, and why, by its own evidence or by another.

        Of a large tree `max_depth` leaves out what is bought after so many looks, `min_share` what
        is bought by less than that part of all cases; where something is left out, it is said.
        """
        if isinstance(evidence, Model):
            self._check_model(evidence)
            evidence = evidence.beliefs(self.lattice)
        elif evidence is not None and not hasattr(evidence, "outcome_distribution"):
            kind = type(evidence).__name__
            raise ModelError(
                f"expected a Model, or evidence such as learner.evidence(), got {kind}"
            )
        root = root_of(self, self.evidence if evidence is None else evidence)
        root = folded(raised(root, self.problem.lowest_reward), max_depth, min_share)
        costs = [o.cost for o in self.problem.observations]
        costs += [action.cost for action in self.problem.actions]
        return Tree(root, Figures.of(self.problem.reward_value, costs), self.note)

    def evaluate(self, model: Model, state: Mapping[str, Seen] | None = None) -> float:
        """ρ(π): its exact expected gain under a model.

        With a `state`, {name: value}, it is F^π(ψ): what a case gains from there on that knows just
        this, what it has paid already left out.
        """
        self._check_model(model)
        if self.mixture is not None:
            return sum(share * part.evaluate(model, state) for share, part in self.parts)
        probability, reward = model.marginals(self.lattice)
        open_states, before, total = list(range(self.lattice.contexts)), 0.0, 1.0
        if state is not None:
            known = self.lattice.index(state)
            open_states, before = [known], self.lattice.spent(known)
            total = float(probability[known])
            if total == 0.0:
                raise ModelError(f"{dict(state)!r} never comes in this model: its probability is 0")
        beta, gain = self.problem.reward_value, 0.0
        open_states = [s for s in open_states if probability[s] > 0]
        while open_states:
            reached = [open_states.pop()]
            looks = self.looks(reached[0])
            for i in looks:
                reached = [child for s in reached for child in self.lattice.children(s, i)]
            if looks:
                open_states.extend(s for s in reached if probability[s] > 0)
                continue
            (end,) = reached
            spent = self.lattice.spent(end) - before
            action = self.act(end)
            spent += self.problem.actions[action].cost
            gain += probability[end] * (beta * reward[end, action] - spent)
        return self.problem.lowest_reward + float(gain / total)

    def __repr__(self) -> str:
        note = self.note and f". {self.note}"
        kind = "planned value" if self._source is None else "value"
        worth = "" if math.isnan(self.value) else f", of {kind} {shown(self.value)}"
        return f"<Policy, {self.acquisition}{worth}{note}>"

    def _repr_html_(self) -> str:
        return self.tree().html()

    def _check_model(self, model: object) -> None:
        if not isinstance(model, Model):
            raise ModelError(f"expected a Model, such as table.model(), got {type(model).__name__}")
        if model.problem != self.problem:
            raise ModelError("the policy and the model are of two different problems")
