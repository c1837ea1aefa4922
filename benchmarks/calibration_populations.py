"""The populations on which `calibration.py` and its floor measure: drawn by kind and seed."""

import zlib
from typing import Any, NamedTuple

import numpy as np

import askwise as aw
from askwise.simulation.environments import Population
from askwise.simulation.environments.random_models import model_at_random
from families_many import FAMILIES as MANY
from families_many import drawn
from families_small import FAMILIES, population

OWN_KINDS = "random", "uneven", "given", "panels"
"""Of random models, beside the families."""


class Subject(NamedTuple):
    """A population, and the truth about it."""

    kind: str
    seed: int
    problem: aw.Problem
    environment: Any
    model: aw.Model
    """Of what matters."""


def random_problem(rng: np.random.Generator, kind: str) -> aw.Problem:
    """Three or four observations of two or three values, or as the kind says."""
    shape = rng.integers(2, 4, rng.integers(3, 5)).tolist()
    if kind == "uneven":
        shape = [int(rng.integers(5, 9)), *rng.integers(2, 4, 2).tolist()]
    given = int(rng.integers(len(shape))) if kind == "given" else -1
    fails = ["refunded", "charged", None] if kind == "panels" else [None]
    observations = [
        aw.Observation(
            f"o{i}",
            values=list(range(x)),
            cost=0.0 if i == given else round(float(rng.uniform(0.5, 4.0)), 2),
            given=i == given,
            fails=None if i == given else fails[int(rng.integers(len(fails)))],
        )
        for i, x in enumerate(shape)
    ]
    panels = [aw.Panel(observations=["o0", "o1"], fee=1.5)] if kind == "panels" else []
    return aw.Problem(
        observations=observations,
        actions=[f"a{a}" for a in range(int(rng.integers(2, 5)))],
        panels=panels,
        max_observations=min(len(shape) - (given >= 0), int(rng.integers(2, 5))),
        reward_value=100.0,
    )


def subject(kind: str, seed: int) -> Subject:
    """The population of a kind and a seed."""
    if kind in FAMILIES:
        model = population(kind, seed)
    elif kind in MANY:
        many = drawn(kind, seed).environment
        return Subject(kind, seed, many.problem, many, many.core)
    else:
        rng = np.random.default_rng([18, OWN_KINDS.index(kind), seed])
        model = model_at_random(rng, random_problem(rng, kind))
    return Subject(kind, seed, model.problem, Population(model), model)


def seed_of(one: Subject, *what: int) -> list[int]:
    """Of random numbers that no other population has."""
    return [zlib.crc32(one.kind.encode()), one.seed, *what]
