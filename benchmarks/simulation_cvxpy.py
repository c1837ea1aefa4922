"""Sim-OOS in Python with CVXPY, as one would write it down from the paper; for `simulation.py`."""

import itertools
import math
from typing import Any

import numpy as np

from askwise import Problem

TIE = 1e-5  # sets whose values differ by less are equal to a solver

Decisions = list[tuple[int, int]]
"""The state acted in and the action, of each case."""


class Cvxpy:
    """Max Σ p v, s.t. Σ|p − p̂| ≤ radius, Σ p = 1, p ≥ 0: one problem kept for each size."""

    def __init__(self) -> None:
        import cvxpy

        self.cp = cvxpy
        self.problems: dict[int, Any] = {}

    def __call__(self, values: np.ndarray, centre: np.ndarray, radius: float) -> float:
        """The value of the program."""
        k = len(values)
        if k not in self.problems:
            cp = self.cp
            p = cp.Variable(k, nonneg=True)
            v, p_hat, r = cp.Parameter(k), cp.Parameter(k), cp.Parameter(nonneg=True)
            inside = [cp.norm1(p - p_hat) <= r, cp.sum(p) == 1]
            self.problems[k] = cp.Problem(cp.Maximize(v @ p), inside), v, p_hat, r
        problem, v, p_hat, r = self.problems[k]
        v.value, p_hat.value, r.value = values, centre, radius
        problem.solve()
        return float(problem.value)


class PlainSimOOS:
    """Algorithm 1 with the practical radii, in Python and NumPy; nothing of askwise is used."""

    def __init__(self, problem: Problem, program: Cvxpy, *, every_case: bool = False) -> None:
        self.program, self.every_case = program, every_case
        self.beta, self.actions = problem.reward_value, len(problem.actions)
        radices = [len(o.values) for o in problem.observations]
        sizes = range(problem.max_observations + 1)
        sets = [s for k in sizes for s in itertools.combinations(range(len(radices)), k)]
        self.costs = [sum(problem.observations[i].cost for i in s) for s in sets]
        ends = list(itertools.accumulate(math.prod(radices[i] for i in s) for s in sets))
        self.blocks = [slice(a, b) for a, b in itertools.pairwise([0, *ends])]
        self.places = [
            [(i, math.prod(radices[j] for j in s[n + 1 :])) for n, i in enumerate(s)] for s in sets
        ]
        self.parts = [[k for k, s in enumerate(sets) if {*s} <= {*whole}] for whole in sets]
        self.seen = [0] * ends[-1]
        self.tried = [[0] * self.actions for _ in range(ends[-1])]
        self.earned = [[0.0] * self.actions for _ in range(ends[-1])]

    def state(self, k: int, values: list[int]) -> int:
        """What is known of a case when set k is bought."""
        return self.blocks[k].start + sum(values[i] * stride for i, stride in self.places[k])

    def plan(self, t: int) -> tuple[int, list[int]]:
        """The set to buy and the action in every state."""
        held = 1 << (t - 1).bit_length()  # the doubling clock
        spread = math.log(max(2, held)) / 16
        tried, earned = np.array(self.tried), np.array(self.earned)
        reward = (earned + np.sqrt(spread * tried)) / np.maximum(1, tried)
        reward = np.where(tried > 0, np.minimum(1.0, reward), 1.0)
        value, seen = self.beta * reward.max(axis=1), np.array(self.seen)
        best, chosen = -math.inf, 0
        for k, block in enumerate(self.blocks):
            gain = self.mean(value[block], seen[block], spread) - self.costs[k]
            if gain > best + TIE:
                best, chosen = gain, k
        return chosen, reward.argmax(axis=1).tolist()

    def mean(self, values: np.ndarray, seen: np.ndarray, spread: float) -> float:
        """The optimistic mean; no program where any distribution is possible, or only one."""
        n, k = int(seen.sum()), len(values)
        if n == 0 or k == 1:
            return float(values.max())
        return self.program(values, seen / n, min(2.0, math.sqrt(k * spread / n)))

    def run(self, cases: list[tuple[list[int], list[float]]]) -> Decisions:
        """Decide them all."""
        over = True
        decisions: Decisions = []
        for t, (values, rewards) in enumerate(cases, start=1):
            if over or self.every_case:
                chosen, choice = self.plan(t)
                began: dict[int, int] = {}
            state = self.state(chosen, values)
            for part in self.parts[chosen]:
                self.seen[self.state(part, values)] += 1
            action = choice[state]
            n = began.setdefault(state, self.tried[state][action])
            self.tried[state][action] += 1
            self.earned[state][action] += rewards[action]
            over = self.tried[state][action] - n >= max(1, n)
            decisions.append((state, action))
        return decisions
