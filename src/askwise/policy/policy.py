"""A policy has frozen tables of what to buy and what to do.

It has a table for its acquisition (`tables.py`, `tree_table.py`). It may have an exploration
(`exploration.py`), which cases follow by their tags with known probabilities. It may be a mixture,
in which a share of the cases follows another policy (`mixing.py`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self, overload

import numpy as np

from askwise._support.numbers import shown
from askwise._support.typing import AcquisitionName, Choices, Floats, RandomSource
from askwise.errors import OptionError
from askwise.estimation.evidence import Evidence
from askwise.estimation.models import Model
from askwise.policy.evaluating import check_model, gain_under, observations_bought
from askwise.policy.exploration import Exploration
from askwise.policy.followed_cases import FollowedCase
from askwise.policy.mixing import Mixture, mixed_propensities, mixed_with, with_parts
from askwise.policy.rules import Rule, table_of_rule
from askwise.policy.scores import Score
from askwise.policy.tables import Path, Propensities, Table
from askwise.policy.trees import Tree
from askwise.policy.trees.growing import START, root_of, tree_of
from askwise.problem import Problem, Seen
from askwise.problem.stakes import for_stake
from askwise.states import Lattice


class Policy:
    """A frozen policy: what to buy and what to do in every state. You can follow, print and
    evaluate it.

    Methods take a state as a mapping {name: value}, or as an integer of the lattice where they say
    so.

    >>> from askwise import oracle
    >>> from askwise.simulation.environments import breast_cancer
    >>> oracle.simultaneous(breast_cancer(cost=5.0))
    <Policy, simultaneous, of value 76.7>
    """

    _opens: ClassVar[Callable[..., FollowedCase] | None] = None
    """Opens cases: `learners/following.py`, which is above this package, puts it here."""
    _scores: ClassVar[Callable[..., Score] | None] = None
    """Reads a table and follows the policy on it: `logs/scoring.py` puts it here."""

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
        """How often each context occurs; None if there is only one, or if that is unknown."""
        self.mixture = mixture
        """The policies that shares of the cases follow instead; None if there is one policy."""
        self.shadow_price: float | None = None
        """What one more unit of spend a case would add to the gain; None without a budget."""
        self.note = ""
        """A remark on its estimates, if they are not what a reader expects."""
        self.chosen_on = ""
        """The digest of the log that it was chosen on, if a fit recommended it."""
        self._source: Callable[[], Evidence] | None = None
        self._is_recommended = False

    @property
    def problem(self) -> Problem:
        """The problem that this policy is for."""
        return self.lattice.problem

    @property
    def acquisition(self) -> AcquisitionName:
        """How it buys: "simultaneous" (a set at once) or "sequential" (one after the other)."""
        return self.table.acquisition

    @property
    def actions(self) -> Choices:
        """h(ψ), by row of the table."""
        return self.table.actions

    @property
    def values(self) -> Floats:
        """The values of the plan: V̂(I) of every subset, or F̂(ψ) by row."""
        return self.table.values

    def exploring(self, exploration: Exploration | None) -> Policy:
        """Returns the same policy with this exploration."""
        return Policy(self.table, exploration, frequency=self.frequency)

    def mixed(self, other: Policy, share: float) -> Policy:
        """Returns this policy with another one that a share of the cases follows."""
        return mixed_with(self, other, share)

    def with_table(self, table: Table) -> Policy:
        """Returns the same policy, which has no mixture, with an equal table."""
        return Policy(table, self.exploration, frequency=self.frequency)

    def copy(self) -> Policy:
        """Returns the same policy with its own tables, without its note and its shadow price."""
        found = self.each(lambda part: part.with_table(part.table.copy()))
        found.shadow_price, found.note = None, ""
        return found

    @property
    def parts(self) -> list[tuple[float, Policy]]:
        """The policies that cases follow, each with its share of the cases."""
        if self.mixture is None:
            return [(1.0, self)]
        own = Policy(self.table, self.exploration, frequency=self.frequency)
        own._source = self._source
        others = self.mixture.others
        return [(1.0 - sum(share for share, _ in others), own), *others]

    def each(self, change: Callable[[Policy], Policy]) -> Policy:
        """Returns the same mixture with every part changed by a function."""
        return with_parts(self, change)

    # --- what it does ----------------------------------------------------------------------------

    def looks(self, state: int) -> tuple[int, ...]:
        """The observations to buy now in a state, as integers; none means act."""
        return self.table.looks(state)

    def act(self, state: int) -> int:
        """h(ψ): the action in a state, as an integer, once nothing more is bought."""
        return self.table.act(state)

    def in_state(self, state: int) -> Policy:
        """The policy that a case in this state follows: this one, if it covers every state."""
        return self

    def exact(self) -> Policy:
        """The same policy for every state: this one, if it covers all of them."""
        return self

    def choice(self, state: int) -> int:
        """The choice in a state as one integer: an action, or −1 − i for buying observation i."""
        looks = self.table.looks(state)
        return -1 - looks[0] if looks else self.table.act(state)

    def followed_by(self, tag: int) -> Policy:
        """The policy that a case with this tag follows: this one, or one that is mixed in."""
        other = None if self.mixture is None else self.mixture.other_of(tag)
        return self if other is None else other

    def looks_in_case(self, state: int, tag: int) -> tuple[int, ...]:
        """The observations that a case with this tag buys now; it matters if this randomises."""
        followed = self if self.mixture is None else self.followed_by(tag)
        if followed.exploration is None:
            return followed.table.looks(state)
        return followed.exploration.looks(followed.table, state, tag)

    def action_in_case(self, state: int, tag: int) -> int:
        """The action of a case with this tag, once nothing more is bought."""
        followed = self if self.mixture is None else self.followed_by(tag)
        if followed.exploration is None:
            return followed.table.act(state)
        return followed.exploration.action(followed.table, state, tag)

    def propensities(
        self, start: int, path: Path, looks: tuple[int, ...], action: int
    ) -> Propensities | None:
        """The probability of each step of a case; None if it is unknown.

        The case started in a state and bought along a path. It now wants these observations, or it
        took this action (−1: none yet).
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
        """The action to take when `state`, {name: value}, is known and nothing more is bought."""
        return self.problem.action_names[self.act(self.lattice.index(state))]

    @property
    def observations(self) -> tuple[str, ...]:
        """The names of all observations that the policy may buy in a case."""
        return observations_bought(self)

    # --- cases -----------------------------------------------------------------------------------

    def open(
        self,
        known: Mapping[str, Seen] | None = None,
        *,
        prices: Mapping[str, float] | None = None,
        stake: float | None = None,
        rng: RandomSource = None,
    ) -> FollowedCase:
        """Opens a case that follows this policy. It works as `learner.open()`, but nothing is
        learned.

        `known` has a value for every given observation; its other values are on file. `prices`,
        {name: cost}, are what this case pays. Neither they nor a `stake` change what it does. You
        may report a reward. `rng` decides where it randomises.
        """
        assert Policy._opens is not None
        return Policy._opens(self, known, prices, stake, rng)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy to one file. `askwise.load` returns one that decides the same. The
        evidence behind it is not saved, so its tree shows no reasons.
        """
        from askwise.policy.policy_files import write

        write(self, path)

    def to_bytes(self) -> bytes:
        """Returns the content of the file that `save` writes. `askwise.load` takes it, too."""
        from askwise.policy.policy_files import to_bytes

        return to_bytes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from askwise.policy.policy_files import from_bytes

        return from_bytes, (self.to_bytes(),)

    @classmethod
    def from_rule(cls, problem: Problem, rule: Rule) -> Self:
        """Makes a policy from a rule in use today, to compare with or to follow.

        `rule` gets the known values, {name: value}, and returns what to do next: the name of an
        observation to buy, or of an action. It is called for every state that it leads to.

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
        """Sets the source of its evidence, so that its tree can show reasons. Returns itself."""
        self._source = source
        return self

    def recommended_by(self, evidence: Evidence) -> Self:
        """Sets its evidence; its value becomes the gain at the root of its tree. Returns itself."""
        self._is_recommended = True
        return self.rests_on(lambda: evidence)

    def keep_value(self, gain: float) -> None:
        """Sets its expected gain above the lowest reward, known from where it was saved."""
        self._is_recommended, self._gain_at_root = True, gain

    @cached_property
    def evidence(self) -> Evidence | None:
        """The estimates that its tree shows, computed on first use; None if there are none."""
        return None if self._source is None else self._source()

    @property
    def value(self) -> float:
        """The expected gain: exact for an oracle, optimistic for the policy of a learner's round.

        For a recommended policy it is the gain at the root of its tree.
        """
        return self.problem.lowest_reward + self.value_above_lowest

    @property
    def has_known_value(self) -> bool:
        """Whether its value rests on evidence, and is not only that of its plan."""
        return self._source is not None or self._is_recommended

    @property
    def value_above_lowest(self) -> float:
        """The value less the lowest reward, as plans compute it."""
        gain = self._gain_at_root if self._is_recommended else None
        return self.planned_value if gain is None else gain

    @cached_property
    def _gain_at_root(self) -> float | None:
        reason = root_of(self, self.evidence).reason
        return None if reason is None else reason.gain

    @property
    def planned_value(self) -> float:
        """The expected gain of its plan, less the lowest reward."""
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
        """Returns the policy as a tree with the reasons at each node, by its own evidence or by
        another.

        `max_depth` and `min_share` shorten a large tree. They hide what is bought after that many
        observations, or by less than that share of all cases. The tree says where something is
        hidden.
        """
        if isinstance(evidence, Model):
            check_model(self, evidence)
            evidence = evidence.beliefs(self.lattice)
        return tree_of(self, evidence, max_depth, min_share)

    @overload
    def evaluate(
        self, on: Model, state: Mapping[str, Seen] | None = ..., *, stake: float | None = ...
    ) -> float: ...

    @overload
    def evaluate(
        self,
        on: Any,
        *,
        rewards: Mapping[str, str] | None = ...,
        label: str | None = ...,
        stake: str | float | None = ...,
        confidence: float = ...,
    ) -> Score: ...

    def evaluate(
        self,
        on: Any,
        state: Mapping[str, Seen] | None = None,
        *,
        rewards: Mapping[str, str] | None = None,
        label: str | None = None,
        stake: str | float | None = None,
        confidence: float = 0.95,
    ) -> float | Score:
        """ρ(π): returns the exact expected gain under a model, or the gain on the rows of a table.

        With a `state`, {name: value}, it is F^π(ψ): what a case gains under the model from there on
        if it knows only these values. What it has already paid is not included.

        A table has complete records that nothing was learned from, in whatever `aw.fit` reads:
        every observation is known, and what every action would have earned, in `rewards` =
        {action: column}, or by the `label` that names the right one. The policy is followed on
        every row, and gain, reward and spend come with intervals.

        `stake` is how many times the reward of a case counts; of a table it may be the column with
        the stake of each row. The default is the stake that the policy is for.
        """
        if not isinstance(on, Model):
            if state is not None:
                raise OptionError("state= goes with a model; of a table every row is a case")
            assert Policy._scores is not None
            return Policy._scores(self, on, rewards, label, stake, confidence)
        if rewards is not None or label is not None or isinstance(stake, str):
            raise OptionError(
                "rewards=, label= and a name as stake= are columns of a table, not of a model"
            )
        check_model(self, on)
        return sum(share * gain_under(part, on, state, stake) for share, part in self.parts)

    def __repr__(self) -> str:
        note = self.note and f". {self.note}"
        kind = "value" if self.has_known_value else "planned value"
        worth = "" if math.isnan(self.value) else f", of {kind} {shown(self.value)}"
        return f"<Policy, {self.acquisition}{for_stake(self.lattice.stake, ', ')}{worth}{note}>"

    def _repr_html_(self) -> str:
        return self.tree().html()
