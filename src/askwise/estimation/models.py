"""A known population: p(φ) and r̄(a, φ) over the full states."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from askwise._support.numbers import as_price
from askwise._support.typing import Floats, Integers
from askwise.errors import ModelError
from askwise.estimation.evidence import Beliefs
from askwise.problem import Problem
from askwise.problem.rewards import ROUNDING, all_money_of, remedy, shares_of
from askwise.states import Lattice


class Model:
    """A known population: a joint distribution over all observations, and the mean rewards of all
    actions.

    `probability[x_1, …, x_D]` is p(φ) and `reward[x_1, …, x_D, a]` is r̄(a, φ), with values and
    actions in the order of declaration. If an observation can fail, that is its last value. Both
    arrays may be flattened over the full states. Mean rewards are from 0 to 1, or money if the
    problem has `rewards`; they are stored from 0 to 1.

    >>> from askwise import Observation, Problem
    >>> model = Model(
    ...     Problem(
    ...         observations=[Observation("mri", values=["neg", "pos"], cost=9)],
    ...         actions=["wait", "treat"],
    ...     ),
    ...     probability=[0.8, 0.2],
    ...     reward=[[1.0, 0.5], [0.0, 1.0]],
    ... )
    >>> model.marginals(Lattice(model.problem))[1]
    array([[0.8, 0.6],
           [1. , 0.5],
           [0. , 1. ]])
    """

    def __init__(self, problem: Problem, probability: npt.ArrayLike, reward: npt.ArrayLike) -> None:
        if not isinstance(problem, Problem):
            raise ModelError(f"problem must be a Problem, got {type(problem).__name__}")
        shape = tuple(len(o.outcomes) for o in problem.observations)
        self.problem = problem
        self.probability = _array("probability", probability, shape)
        """p(φ), one axis for each observation."""
        self.reward = _shares(problem, _array("reward", reward, (*shape, len(problem.actions))))
        """r̄(a, φ) from 0 to 1, one axis for each observation, the last for the action."""
        if self.probability.min() < 0:
            raise ModelError(f"probability must not be negative, got {self.probability.min()}")
        total = self.probability.sum()
        if abs(total - 1.0) > 1e-9:
            raise ModelError(f"probability must sum to 1, got {total}")
        self._marginals: dict[int, tuple[Floats, Floats]] = {}  # by the m of the lattice

    def __repr__(self) -> str:
        observations, actions = len(self.problem.observations), len(self.problem.actions)
        states = self.probability.size
        return (
            f"<Model of {observations} observations and {actions} actions, {states:,} full states>"
        )

    def priced(self, prices: Mapping[str, float]) -> Model:
        """Returns the same population at other prices."""
        return Model.of_shares(self.problem.priced(prices), self.probability, self.reward)

    @classmethod
    def of_shares(
        cls, problem: Problem, probability: npt.ArrayLike, reward: npt.ArrayLike
    ) -> Model:
        """The model with these mean rewards from 0 to 1, also if the problem has `rewards`."""
        if problem.rewards is None:
            return cls(problem, probability, reward)
        money = all_money_of(np.asarray(reward, np.float64), problem.rewards)
        model = cls(problem, probability, money)
        model.reward = _frozen(np.asarray(reward, np.float64).reshape(model.reward.shape))
        return model

    def marginals(self, lattice: Lattice) -> tuple[Floats, Floats]:
        """p(ψ) and r̄(a, ψ) = E[r̄(a, Φ) | Φ ~ ψ] at [ψ, a]; 0 where p(ψ) = 0."""
        if lattice.per_unit.problem != self.problem:
            raise ModelError("the model and the lattice are of two different problems")
        if lattice.m not in self._marginals:
            # given values lead in every state
            axes = [*lattice.order[lattice.buyable :], *lattice.order[: lattice.buyable]]
            given, buyable = len(axes) - lattice.buyable, range(lattice.buyable)
            full = self.probability.transpose(axes)
            earned = full[..., None] * self.reward.transpose([*axes, len(axes)])
            probability = np.empty(lattice.size)
            reward = np.empty((lattice.size, len(self.problem.actions)))
            for subset in range(lattice.subsets):
                hidden = tuple(given + i for i in buyable if i not in lattice.members(subset))
                states = lattice.states(subset)
                block = slice(states.start, states.stop)
                probability[block] = full.sum(axis=hidden).ravel()
                reward[block] = earned.sum(axis=hidden).reshape(len(states), -1)
            possible = probability > 0
            reward[possible] /= probability[possible, None]
            self._marginals[lattice.m] = probability, np.clip(reward, 0.0, 1.0)
        return self._marginals[lattice.m]

    def beliefs(self, lattice: Lattice) -> Beliefs:
        """Returns the true probabilities and rewards in the form of a learner's estimates."""
        return Beliefs(lattice, *self.marginals(lattice))

    def sample(self, rng: np.random.Generator, size: int) -> Integers:
        """Draws full states: (size, D) values, each as its index among the values."""
        cumulative = np.cumsum(self.probability)
        drawn = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        return np.stack(np.unravel_index(drawn, self.probability.shape), axis=1).astype(np.int64)


def _array(name: str, given: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    try:
        array = np.array(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be an array of numbers: {error}") from None
    flat = (
        (int(np.prod(shape)),) if name == "probability" else (int(np.prod(shape[:-1])), shape[-1])
    )
    if array.shape not in (shape, flat):
        raise ModelError(f"{name} must have the shape {shape} or {flat}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    return _frozen(array.reshape(shape))


def _shares(problem: Problem, reward: Floats) -> Floats:
    """Mean rewards from 0 to 1. A value out of range raises an error that names it."""
    low, high = problem.rewards or (0.0, 1.0)
    slack = ROUNDING * (high - low)
    if reward.min() < low - slack or reward.max() > high + slack:
        extreme = reward.min() if reward.min() < low else reward.max()
        raise ModelError(
            f"reward must lie between {as_price(low)} and {as_price(high)}, got {extreme}; "
            f"{remedy(problem.rewards)}"
        )
    return _frozen(shares_of(np.clip(reward, low, high), problem.rewards))


def _frozen(array: Floats) -> Floats:
    array = np.array(array)
    array.setflags(write=False)
    return array
