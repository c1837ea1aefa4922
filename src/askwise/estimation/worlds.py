r"""Worlds are whole populations p(ψ) and r(a, ψ), drawn together from the posterior.

A plan for the means alone has no uncertainty. So anything that depends on the best policy is
computed in many worlds. **With the joint model** (`joint_worlds`) they come from a Gibbs sampler,
which draws one part given the others:

    cells of cases that saw only ψ   ~ Multinomial(n(ψ), p(φ | ψ))
    p(φ)                             ~ Dirichlet(cells + imagined cases)
    r(a, φ)                          ~ the Gaussian of `joint_rewards.py`, by that p
    s²_J, the variances of effects   ~ given those rewards (`joint.py`)

There are three kinds of worlds, because no single prior is right for all of their uses:

- **learned** worlds have variances that were drawn, so effects are as large as the data make
  likely. Plans are made in them. With larger variances each world would have high rewards by
  chance wherever little was tried, and a plan would select them.
- **wide** worlds keep the variances of the first prior, so that counts dominate. They evaluate
  policies that were chosen before. With less shrinkage, the mean over many states is right even
  if each of them was hardly tried.
- **settled** worlds tell what is still to learn. In learned worlds the variances of effects that no
  case tells apart grow from draw to draw, so the best gain of such a world is too high. Here they
  do not (`draw_effect_variances`).

After complete records, the learned worlds are the settled ones too. After a log of decisions,
learned worlds would shrink the best of what was tried too much. *Halfway* worlds are used in their
place. Their variances are not drawn, but are geometric means of the first and the estimated ones.
Half of the settled worlds are then halfway ones, and half are learned ones. The evidence is in
docs/decisions-learning.md.

In a share of the worlds of every kind, an observation has no effect on rewards: as often as the
cases make likely (`no_effect.py`).

**With beliefs about states alone** (`worlds_by_states`) there is no model of how states depend on
each other. The error of a state is then the mean error of the states with one observation less,
plus as much independent error as its variance requires.

Draws begin with the same seed. So the same counters give the same worlds, and no learner's
generator is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from askwise._support.progress import ProgressBar
from askwise._support.typing import Flags, Floats
from askwise.counting import Statistics
from askwise.estimation.joint import JointModel
from askwise.estimation.no_effect import without_effects
from askwise.estimation.shrinkage import values_of_parents
from askwise.states import Lattice

SEED = 18
BURN_IN = 15
"""The draws until the variances of effects have settled; they start at the first prior."""
SWEEPS = 3
"""The draws of the population between two worlds, because unobserved values correlate successive
draws.
"""
FEW_CELLS = 100
DRAWS_OF_MANY = 4
"""With more than FEW_CELLS cells, so many draws of the rewards share one posterior, whose cost is
cubic.
"""


WorldKind = Literal["learned", "wide", "settled", "halfway"]
DRAWN: tuple[WorldKind, ...] = ("learned", "settled")
"""The worlds whose variances of effects are drawn."""


class World(NamedTuple):
    """A population that may be the true one."""

    probability: Floats
    """p(ψ)."""
    reward: Floats
    """r(a, ψ) at [ψ, a]."""


class Worlds(NamedTuple):
    """Worlds of all kinds, as many of each as requested."""

    learned: list[World]
    """For planning; none, if they were drawn state by state."""
    wide: list[World]
    """To judge policies that were chosen before."""
    settled: list[World]
    """For what is still to learn; none, if they were drawn state by state."""
    of_shortlist: bool = False
    """Whether they are of a few observations among many, most of which say nothing."""


def joint_worlds(
    model: JointModel, statistics: Statistics, number: int, kind: WorldKind, no_effect: Floats
) -> list[World]:
    """So many worlds by an updated joint model, which the draws change.

    `statistics` has a row for every state. Wide and halfway worlds keep the model's variances of
    effects. `no_effect` has the probability of each observation that it has none.
    """
    rng, draws_variances = np.random.default_rng((SEED, kind != "wide")), kind in DRAWN
    rng_of_effects = np.random.default_rng((SEED, 2))
    together = 1 if len(model.population) <= FEW_CELLS else DRAWS_OF_MANY
    seen = statistics.action_counts.sum(axis=1)
    burn_in = BURN_IN if draws_variances else 0
    steps = burn_in + -(-number // together)
    found: list[World] = []
    with ProgressBar("draws", steps) as progress:
        for step in range(steps):
            for _ in range(SWEEPS):
                model.draw_population(rng, seen)
            model.update(statistics, 0)
            if step >= burn_in:
                more = min(together, number - len(found))
                has_none = rng_of_effects.random(len(no_effect)) < no_effect
                found += _drawn_without(model, statistics, has_none, more, rng)
            if draws_variances:
                model.draw_effect_variances(rng, grow=kind == "learned")
            progress.advance(1)
    return found


def _drawn_without(
    model: JointModel,
    statistics: Statistics,
    observations: Flags,
    number: int,
    rng: np.random.Generator,
) -> list[World]:
    """Draws rewards in which these observations have no effect, for the model's population."""
    own = model.effect_variances.copy()
    if observations.any():
        model.effect_variances[:] = without_effects(model, observations)
        model.update(statistics, 0)
    found = [World(model.probability, model.draw_rewards(rng, 1.0)) for _ in range(number)]
    if observations.any():
        model.effect_variances[:] = own
        model.update(statistics, 0)
    return found


def mean_world(worlds: Sequence[World]) -> World:
    """The mean of worlds: E[p(ψ)], and E[p(ψ) r(a, ψ)] / E[p(ψ)]."""
    if len(worlds) == 1:
        return worlds[0]
    probability = np.mean([world.probability for world in worlds], axis=0)
    earned = np.zeros(worlds[0].reward.shape)
    for world in worlds:
        earned += world.probability[:, None] * world.reward / len(worlds)
    came = probability > 0
    earned[came] /= probability[came, None]
    earned[~came] = np.mean([world.reward[~came] for world in worlds], axis=0)
    return World(probability, earned)


def worlds_by_states(
    lattice: Lattice, probability: Floats, reward: Floats, variance: Floats, number: int
) -> list[World]:
    """So many worlds of states whose rewards have these means and variances."""
    rng = np.random.default_rng(SEED)
    # standard scores, a column for each action of each world
    scores = np.empty((lattice.size, number * reward.shape[1]))
    for subset in range(lattice.subsets):
        here = lattice.block(subset)
        own = rng.standard_normal((here.stop - here.start, scores.shape[1]))
        if lattice.members(subset):
            inherited = _mean_of_parents(lattice, subset, scores)
            inherited /= np.sqrt(np.mean(inherited**2))
            of_parents = _mean_of_parents(lattice, subset, variance)
            share = np.minimum(1.0, of_parents / np.maximum(variance[here], 1e-300))
            share = np.tile(share, number)
            own = np.sqrt(share) * inherited + np.sqrt(1.0 - share) * own
        scores[here] = own
    drawn = scores.reshape(lattice.size, number, -1)
    error = np.sqrt(variance)
    return [
        World(probability, np.clip(reward + error * drawn[:, world], 0.0, 1.0))
        for world in range(number)
    ]


def _mean_of_parents(lattice: Lattice, subset: int, values: Floats) -> Floats:
    """The mean entry of `values` over the parents of each state of a subset."""
    radices = lattice.layout.radices[list(lattice.members(subset))]
    parents = values_of_parents(lattice, subset, values)
    mean = np.zeros((lattice.contexts, *radices, values.shape[1]))
    for of_parent in parents:
        mean += of_parent / len(parents)
    return mean.reshape(-1, values.shape[1])
