"""Plays a learner case by case and keeps what happened as plain lists, for those who check it."""

import copy
import itertools
from typing import NamedTuple

import numpy as np

from askwise.testing import random_model
from askwise.testing.playing import begin, see
from inside import now_of


class Done(NamedTuple):
    """One case: {name: value} as seen, the action's name, its reward, and its round."""

    state: dict
    action: str
    reward: float
    round: int


class Round(NamedTuple):
    """A round as it begins."""

    number: int
    t: int
    policy: object
    history: list
    rng: np.random.Generator
    """As it was just before the round was planned."""


def rounds_in(learner, model, cases, seed=0):
    """Yields every round as it begins, while so many cases are played."""
    rng, history, number = np.random.default_rng(seed), [], 0
    for full in model.sample(rng, cases).tolist():
        drawn = copy.deepcopy(now_of(learner).rng)
        case = begin(learner, full)
        if now_of(learner).round != number:
            number = now_of(learner).round
            yield Round(number, len(history) + 1, learner.policy, list(history), drawn)
        see(case, model.problem, full)
        reward = float(rng.random() < model.reward[tuple(full)][case.action_index])
        case.reward(reward)
        history.append(Done(dict(case.state), case.action, reward, number))


def small_model(seed=0, radices=(2, 3, 2), **how):
    how = {"actions": 3, "highest_cost": 0.1} | how
    return random_model(np.random.default_rng(seed), list(radices), **how)


def states_of(problem, names):
    """Every {name: value} of these observations."""
    found = [{}]
    for o in problem.observations:
        if o.name in names:
            found = [s | {o.name: x} for s in found for x in o.outcomes]
    return found


def agrees(state, part):
    """Whether a state knows all of the part, and agrees with it."""
    return all(name in state and state[name] == x for name, x in part.items())


def every_policy(problem):
    """(set of names, {state as sorted pairs: action}) of all there are."""
    names = [o.name for o in problem.observations]
    for k in range(problem.m + 1):
        for bought in itertools.combinations(names, k):
            states = [tuple(sorted(s.items())) for s in states_of(problem, bought)]
            for actions in itertools.product(problem.action_names, repeat=len(states)):
                yield bought, dict(zip(states, actions, strict=True))


def tiny_model(seed):
    return small_model(seed, radices=(2, 2), max_observations=1, actions=2, highest_cost=0.2)
