"""The paper in plain Python: slow, obvious, and written apart from the code it checks.

Partial states are frozensets of (observation, value) pairs.
"""

import itertools
import math
from collections import defaultdict

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

State = frozenset


class Sets:
    """The sets E of the paper, kept as sets of times τ."""

    def __init__(self, m):
        self.m = m
        self.of_subset = defaultdict(set)  # E(I)
        self.of_state = defaultdict(set)  # E(I, ψ); dom(ψ) = I
        self.of_action = defaultdict(set)  # E(a, ψ)
        self.of_step = defaultdict(set)  # E(ψ, i, ψ')
        self.rewards = {}
        self.t = 0

    def simultaneous(self, seen, action, reward):
        """Case t looked at dom(seen) at once."""
        self.t += 1
        for k in range(len(seen) + 1):
            for part in itertools.combinations(seen, k):
                self.of_state[State(part)].add(self.t)
                self.of_subset[State(i for i, _ in part)].add(self.t)
        self._acted(State(seen), action, reward)

    def sequential(self, steps, action, reward):
        """Case t looked at these (observation, value) pairs one after the other."""
        self.t += 1
        known = State()
        for pair in steps:
            self.of_step[known, pair[0], known | {pair}].add(self.t)
            known |= {pair}
        self._acted(known, action, reward)

    def _acted(self, state, action, reward):
        self.of_action[action, state].add(self.t)
        self.rewards[self.t] = reward


def all_states(radices, m):
    """Ψ: by size of the domain, then by the domain, then by the values."""
    for k in range(m + 1):
        for subset in itertools.combinations(range(len(radices)), k):
            for values in itertools.product(*(range(radices[i]) for i in subset)):
                yield State(zip(subset, values, strict=True))


def domain(state):
    return State(i for i, _ in state)


def children(state, i, radices):
    return [state | {(i, x)} for x in range(radices[i])]


def radius(width, n):
    return 2.0 if n == 0 else min(1.0, math.sqrt(width / max(1.0, n)))


def l1_programs(programs):
    """max Σ p v, s.t. Σ|p − p̂| ≤ radius, Σ p = 1, p ≥ 0: many of them as one linear program.

    Variables: every p, then every u ≥ |p − p̂|.
    """
    v = np.concatenate([values for values, _, _ in programs])
    centre = np.concatenate([p for _, p, _ in programs])
    radii = np.array([r for _, _, r in programs])
    n = len(v)
    member = sparse.block_diag([np.ones((1, len(values))) for values, _, _ in programs])
    eye, nothing = sparse.identity(n), sparse.csr_matrix(member.shape)
    result = linprog(
        np.concatenate([-v, np.zeros(n)]),
        A_ub=sparse.vstack(
            [
                sparse.hstack([eye, -eye]),
                sparse.hstack([-eye, -eye]),
                sparse.hstack([nothing, member]),
            ]
        ).tocsr(),
        b_ub=np.concatenate([centre, -centre, radii]),
        A_eq=sparse.hstack([member, nothing]).tocsr(),
        b_eq=np.ones(len(programs)),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status == 0, result.message
    return member @ (result.x[:n] * v)


def proportions(weights):
    total = sum(weights)
    if total == 0:
        return np.full(len(weights), 1 / len(weights))
    return np.array(weights, float) / total


def plan_simultaneous(problem, radices, reward, weight, radii):
    """V̂(I) of every subset by linear programming; reward and weight are dictionaries by state."""
    subsets = [
        subset
        for k in range(problem.m + 1)
        for subset in itertools.combinations(range(len(radices)), k)
    ]
    programs = []
    for subset in subsets:
        states = [
            State(zip(subset, values, strict=True))
            for values in itertools.product(*(range(radices[i]) for i in subset))
        ]
        weights = [weight[s] for s in states]
        width = radii.outcomes + radii.per_outcome * len(states)
        values = np.array([problem.reward_value * reward[s] for s in states])
        programs.append((values, proportions(weights), radius(width, sum(weights))))
    costs = [sum(problem.observations[i].cost for i in subset) for subset in subsets]
    return l1_programs(programs) - np.array(costs)


def plan_sequential(problem, radices, reward, weight, radii):
    """F̂(ψ) of every state by linear programming, level by level; weight by (ψ, i, ψ')."""
    states = list(all_states(radices, problem.m))
    value = {s: problem.reward_value * reward[s] for s in states}
    for level in range(problem.m - 1, -1, -1):
        pairs, programs = [], []
        for s in states:
            if len(s) != level:
                continue
            for i in set(range(len(radices))) - domain(s):
                kids = children(s, i, radices)
                weights = [weight[s, i, kid] for kid in kids]
                width = radii.outcomes + radii.per_outcome * radices[i]
                values = np.array([value[kid] for kid in kids])
                programs.append((values, proportions(weights), radius(width, sum(weights))))
                pairs.append((s, i))
        for (s, i), mean in zip(pairs, l1_programs(programs), strict=True):
            value[s] = max(value[s], mean - problem.observations[i].cost)
    return value


NOTHING = State()


def all_policies(radices, actions, m, known=NOTHING):
    """Every sequential policy from a state on: an action, or (i, a policy for each value)."""
    yield from range(actions)
    if len(known) == m:
        return
    for i in sorted(set(range(len(radices))) - domain(known)):
        below = [
            list(all_policies(radices, actions, m, kid)) for kid in children(known, i, radices)
        ]
        for chosen in itertools.product(*below):
            yield (i, chosen)


def gain_of(policy, model):
    """The expected gain of such a policy, full state by full state."""
    total = 0.0
    for full in np.ndindex(model.probability.shape):
        spent, node = 0.0, policy
        while isinstance(node, tuple):
            i, below = node
            spent += model.problem.observations[i].cost
            node = below[full[i]]
        earned = model.problem.reward_value * model.reward[full][node] - spent
        total += model.probability[full] * earned
    return total
