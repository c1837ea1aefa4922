"""Makes random models of a given shape, for tests and benchmarks."""

from collections.abc import Sequence

import numpy as np

from askwise.estimation.models import Model
from askwise.problem import Observation, Problem


def random_model(
    rng: np.random.Generator,
    values: Sequence[int],
    *,
    actions: int = 3,
    max_observations: int | None = None,
    reward_value: float = 1.0,
    highest_cost: float = 0.2,
) -> Model:
    """Returns a uniformly drawn model of a problem with that many values for each observation."""
    problem = Problem(
        observations=[
            Observation(f"o{i}", values=list(range(n)), cost=round(rng.random() * highest_cost, 3))
            for i, n in enumerate(values)
        ],
        actions=[f"a{a}" for a in range(actions)],
        max_observations=max_observations,
        reward_value=reward_value,
    )
    return model_at_random(rng, problem)


def model_at_random(rng: np.random.Generator, problem: Problem) -> Model:
    """Returns a random model of a problem: p(φ) is uniform on the simplex, and every r̄(a, φ) is
    uniform between the lowest reward and the highest.
    """
    states = int(np.prod([len(o.outcomes) for o in problem.observations]))
    reward = rng.random((states, len(problem.actions)))
    return Model.of_shares(problem, rng.dirichlet(np.ones(states)), reward)
