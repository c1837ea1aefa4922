"""Problems with many observations, and their counters by state, however they are stored."""

import numpy as np

import askwise as aw
from askwise.counting.row_counters import BY_ROW
from askwise.simulation.environments.base import Draws

KINDS = [aw.SimOOS, aw.SeqOOS]
CLOCKS = ["doubling", "exact"]
MOST_NUMBER = 2**61


def problem_of(radices, m, *, actions=2, reward_value=1.0, costs=None):
    costs = [0.1] * len(radices) if costs is None else costs
    return aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(n)), cost=cost)
            for i, (n, cost) in enumerate(zip(radices, costs, strict=True))
        ],
        actions=[f"a{a}" for a in range(actions)],
        max_observations=m,
        reward_value=reward_value,
    )


class Wide:
    """Cases of a problem too wide for a model: independent values, of which three matter."""

    def __init__(self, problem, *, rare=1.0):
        self.problem = problem
        self.rare = rare
        """How often a value is not the first."""
        self.radices = [len(o.values) for o in problem.observations]

    def draw(self, rng, cases):
        values = rng.integers(0, self.radices, (cases, len(self.radices))).astype(np.int16)
        values *= rng.random(values.shape) < self.rare
        actions = np.arange(len(self.problem.actions))
        best = values[:, [1, 3, 4]].sum(axis=1) % len(actions)
        mean = np.where(actions == best[:, None], 0.8, 0.3)
        return Draws(values, (rng.random(mean.shape) < mean).astype(float))


def by_state(statistics, name):
    """An array of counters with a line for every state, read through the rows."""
    array = getattr(statistics, name)
    if not statistics.is_sparse:
        return array
    lines = np.zeros((statistics.lattice.size, *array.shape[1:]), array.dtype)
    for row, state in enumerate(statistics.states.tolist()[1:], start=1):
        assert statistics.row(state) == row
        lines[state] = array[row]
    return lines


def assert_same_content(one, other):
    """Every counter of every state is the same, whichever row it is in."""
    assert one.lattice.problem == other.lattice.problem
    assert one.cases == other.cases
    assert one.subset_visits.tobytes() == other.subset_visits.tobytes()
    for name in BY_ROW:
        assert by_state(one, name).tobytes() == by_state(other, name).tobytes(), name
