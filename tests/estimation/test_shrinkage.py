"""States with few records lean on those with one observation less, given ones included."""

import itertools

import numpy as np
import pytest

import askwise as aw
from askwise.estimation.shrinkage import PARENT_RECORDS, shrink_to_parents
from askwise.states import Lattice

VALUES = {"city": 5, "age": 3, "bank": 2, "bureau": 3}


def lattice_of(given, m):
    observations = [
        aw.Observation(name, values=[f"{name}{v}" for v in range(k)], given=name in given, cost=0.0)
        for name, k in VALUES.items()
    ]
    return Lattice(aw.Problem(observations=observations, actions=["no", "yes"], max_observations=m))


def counted(lattice, rows, rewards):
    """N and Σr of every state, by comparing every row with every state."""
    counts, sums = np.zeros((2, lattice.size, 2))
    for state in range(lattice.size):
        known = lattice.state(state)
        for row, reward in zip(rows, rewards, strict=True):
            if known.items() <= row.items():
                counts[state] += 1
                sums[state] += reward
    return counts, sums


@pytest.fixture(scope="module", name="records")
def records_fixture():
    rng = np.random.default_rng(3)
    rows = [{name: f"{name}{rng.integers(k)}" for name, k in VALUES.items()} for _ in range(60)]
    return rows, rng.random((60, 2))


@pytest.mark.parametrize("given", [["city"], ["city", "age"], ["city", "age", "bank"]])
def test_what_is_given_is_pooled_like_what_is_bought(records, given):
    """The estimates do not depend on whether an observation is given or bought."""
    fewer, every = lattice_of(given, 4 - len(given)), lattice_of([], 4)
    own = shrink_to_parents(fewer, *counted(fewer, *records))
    bought = shrink_to_parents(every, *counted(every, *records))
    for state in range(fewer.size):
        assert own[state] == pytest.approx(bought[every.index(fewer.state(state))])


def test_by_hand(records):
    """One bought observation beside one that is given: its parents are both of them alone."""
    lattice = lattice_of(["city"], 1)
    rows, rewards = records
    counts, sums = counted(lattice, rows, rewards)
    reward = shrink_to_parents(lattice, counts, sums)

    def shrunk(known, prior):
        agree = [r for row, r in zip(rows, rewards, strict=True) if known.items() <= row.items()]
        return (sum(agree) + PARENT_RECORDS * prior) / (len(agree) + PARENT_RECORDS)

    overall = shrunk({}, (rewards.sum(axis=0) + 0.5) / (len(rows) + 1))
    for c, b in itertools.product(range(5), range(2)):
        city, bank = {"city": f"city{c}"}, {"bank": f"bank{b}"}
        prior = (shrunk(city, overall) + shrunk(bank, overall)) / 2
        assert reward[lattice.index(city | bank)] == pytest.approx(shrunk(city | bank, prior))


def test_more_than_three_are_dropped_together(records):
    lattice = lattice_of(list(VALUES), 0)
    counts, sums = counted(lattice, *records)
    reward = shrink_to_parents(lattice, counts, sums)
    rows, rewards = records
    prior = (rewards.sum(axis=0) + 0.5) / (len(rows) + 1)
    overall = (rewards.sum(axis=0) + PARENT_RECORDS * prior) / (len(rows) + PARENT_RECORDS)
    expected = (sums + PARENT_RECORDS * overall) / (counts + PARENT_RECORDS)
    assert reward == pytest.approx(expected)


def test_a_given_column_of_noise_costs_little():
    """Thirty values that say nothing: what is recommended gains nearly what it gains without."""

    def cases(n, rng):
        bad = rng.random(n) < 0.25
        table = {"city": [f"c{v}" for v in rng.integers(0, 30, n)]}
        for name, strength in (("bank", 1.0), ("bureau", 0.7), ("noise", 0.0)):
            shown = 1.5 + np.where(bad, -strength, strength) + rng.normal(0, 1, n)
            table[name] = [f"{v}" for v in np.clip(np.round(shown), 0, 3).astype(int)]
        return table | {
            "pay": np.where(bad, -400.0, 90.0).tolist(),
            "ask": np.where(bad, -100.0, 40.0).tolist(),
            "stop": [0.0] * n,
        }

    prices = {"bank": 3.0, "bureau": 1.0, "noise": 0.5}
    bought = [
        aw.Observation(name, values=["0", "1", "2", "3"], cost=cost)
        for name, cost in prices.items()
    ]
    city = aw.Observation("city", values=[f"c{v}" for v in range(30)], given=True)
    table, fresh = cases(3_000, np.random.default_rng(1)), cases(20_000, np.random.default_rng(2))

    def gain(observations):
        terms = {"actions": ["pay", "ask", "stop"], "rewards": (-400.0, 90.0)}
        problem = aw.Problem(observations=observations, **terms)
        return aw.fit(table, problem).recommend().evaluate(fresh).gain.value

    without = gain(bought)
    assert without > 20
    assert gain([city, *bought]) > 0.85 * without
