"""Populations that change at known times, each a row of worlds with exact oracles.

A hidden truth shows in signs that can be bought, each right with a probability of its own, and
decides what the actions earn. All that can change is a number of that description: how often each
truth comes, how good a sign is, what an action earns, what a sign costs.

Every population belongs to one half. Defaults of `detect` were chosen on "chosen-on" only; each
half has its own desk, and the kinds of change are dealt out between the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from askwise import Model, Observation, Problem, oracle

REWARD_VALUE = 100.0
STRETCH = 8_300
"""Cases between two changes."""
STEPS = 10
"""Of a gradual change."""
CHOSEN, ASIDE = "chosen-on", "kept-aside"


@dataclass(frozen=True)
class Desk:
    """A world by its numbers."""

    prior: tuple[float, ...]
    """How often each truth comes."""
    accuracy: tuple[float, ...]
    """How often each sign shows the truth; else it shows any other."""
    cost: tuple[float, ...]
    payoff: tuple[tuple[float, ...], ...]
    """What each action earns, a row for each truth."""

    @cached_property
    def model(self) -> Model:
        """The same as probabilities and rewards of full states."""
        truths, actions = len(self.prior), len(self.payoff[0])
        problem = Problem(
            observations=[
                Observation(f"sign{i}", values=list(range(truths)), cost=cost)
                for i, cost in enumerate(self.cost)
            ],
            actions=[f"a{a}" for a in range(actions)],
            reward_value=REWARD_VALUE,
        )
        shape = (truths,) * len(self.cost)
        p, reward = np.empty(shape), np.empty((*shape, actions))
        for full in np.ndindex(*shape):
            joint = np.array(self.prior)
            for shown, right in zip(full, self.accuracy, strict=True):
                joint *= np.where(np.arange(truths) == shown, right, (1 - right) / (truths - 1))
            p[full] = joint.sum()
            reward[full] = joint @ np.array(self.payoff) / joint.sum()
        return Model(problem, p / p.sum(), reward)

    @cached_property
    def blind(self) -> float:
        """The best gain without information."""
        return oracle.fixed(self.model, []).value

    @cached_property
    def best(self) -> float:
        """The best gain, looking at one thing after the other."""
        return oracle.sequential(self.model).value


@dataclass(frozen=True)
class Drift:
    """A population that changes: worlds, and for how many cases each lasts."""

    name: str
    half: str
    worlds: tuple[tuple[Desk, int], ...]
    changes: tuple[int, ...]
    """After how many cases the world changes, or has ceased to."""
    prices_are_told: bool = True
    """Whether a new price is known at once; else it shows when it is paid."""


FRAUD = Desk(
    prior=(0.7, 0.3),
    accuracy=(0.92, 0.8, 0.7, 0.5),
    cost=(9.0, 4.0, 1.5, 1.5),
    payoff=((0.95, 0.7, 0.1), (0.05, 0.6, 0.95)),
)
"""Honest or not: pass, call back, block."""

LOANS = Desk(
    prior=(0.5, 0.3, 0.2),
    accuracy=(0.9, 0.75, 0.6),
    cost=(8.0, 4.0, 2.0),
    payoff=((0.9, 0.5, 0.2, 0.1), (0.2, 0.85, 0.4, 0.3), (0.05, 0.2, 0.3, 0.9)),
)
"""Three sorts of borrowers, four answers."""


def swapped(desk: Desk, order: Sequence[int]) -> Desk:
    """Another action is the right one."""
    return replace(desk, payoff=tuple(tuple(row[a] for a in order) for row in desk.payoff))


def worse(desk: Desk, action: int, factor: float) -> Desk:
    """One action earns less."""
    payoff = np.array(desk.payoff)
    payoff[:, action] *= factor
    return replace(desk, payoff=tuple(map(tuple, payoff.tolist())))


def between(one: Desk, other: Desk, share: float) -> Desk:
    """So far on the way from one to the other."""
    return Desk(
        *(
            _mixed(getattr(one, name), getattr(other, name), share)
            for name in ("prior", "accuracy", "cost", "payoff")
        )
    )


def _mixed(one: tuple, other: tuple, share: float) -> tuple:
    if isinstance(one[0], tuple):
        return tuple(_mixed(a, b, share) for a, b in zip(one, other, strict=True))
    return tuple((1 - share) * a + share * b for a, b in zip(one, other, strict=True))


def sudden(name: str, half: str, *desks: Desk, told: bool = True) -> Drift:
    """One world after the other."""
    changes = tuple(STRETCH * k for k in range(1, len(desks)))
    return Drift(name, half, tuple((desk, STRETCH) for desk in desks), changes, told)


def gradual(name: str, half: str, one: Desk, other: Desk) -> Drift:
    """A world, then within as long a time slowly another, then that."""
    piece = STRETCH // STEPS // 100 * 100
    middle = tuple((between(one, other, (k + 0.5) / STEPS), piece) for k in range(STEPS))
    worlds = ((one, STRETCH), *middle, (other, STRETCH))
    return Drift(name, half, worlds, (STRETCH + STEPS * piece,))


def drifts() -> list[Drift]:
    """All of them; the last two do not change."""
    stale = replace(FRAUD, accuracy=(0.5, 0.8, 0.7, 0.92))
    dearer = replace(LOANS, cost=(35.0, 2.0, 1.0))
    shifted = replace(LOANS, prior=(0.1, 0.4, 0.5), accuracy=(0.6, 0.9, 0.75))
    unlike = replace(LOANS, prior=(0.05, 0.25, 0.7))
    costly = replace(FRAUD, cost=(40.0, 3.0, 1.5, 1.5))
    cheap = replace(FRAUD, cost=(2.0, 12.0, 10.0, 1.5))
    flipped = swapped(FRAUD, (2, 1, 0))
    return [
        sudden("actions swapped", CHOSEN, FRAUD, flipped, swapped(FRAUD, (1, 0, 2))),
        sudden("one action gets worse", ASIDE, LOANS, worse(LOANS, 0, 0.5), worse(LOANS, 3, 0.3)),
        sudden("other cases come", ASIDE, LOANS, unlike, shifted),
        sudden("a sign goes stale, another tells", CHOSEN, FRAUD, stale, FRAUD),
        gradual("slow change", ASIDE, LOANS, swapped(shifted, (3, 0, 1, 2))),
        sudden("there and back", ASIDE, LOANS, swapped(LOANS, (1, 2, 3, 0)), LOANS),
        sudden("prices change, known", CHOSEN, FRAUD, costly, cheap),
        sudden("prices change, found out", ASIDE, LOANS, dearer, LOANS, told=False),
        sudden("no change, frauds", CHOSEN, FRAUD, FRAUD, FRAUD),
        sudden("no change, loans", ASIDE, LOANS, LOANS, LOANS),
    ]
