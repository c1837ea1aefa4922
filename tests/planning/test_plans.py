"""Planners against a linear-programming solver, compiled and interpreted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from askwise import Observation, Problem
from askwise._kernels.planning.optimism import FEW
from askwise._kernels.radii import Radii
from askwise.estimation.estimates import Estimates
from askwise.planning import look_values, plan_sequential, plan_simultaneous
from askwise.planning.trees import without_idle_looks
from askwise.states import Lattice
from askwise.testing import random_model

BATCHES = 4
PER_BATCH = 100


def random_instance(rng, most_states=500):
    """A lattice, estimates for both planners, and the same as dictionaries by state."""
    while True:
        radices = rng.integers(2, 6, rng.integers(1, 7)).tolist()
        m = int(rng.integers(0, len(radices) + 1))
        beta = float(rng.choice([1.0, 7.5, 100.0]))
        model = random_model(
            rng, radices, max_observations=m, reward_value=beta, highest_cost=beta / 4
        )
        lattice = Lattice(model.problem)
        if lattice.size <= most_states:
            break
    n = lattice.size
    reward = rng.random(n)
    reward[rng.random(n) < rng.random()] = 1.0  # never tried
    most = int(rng.choice([1, 3, 30, 1000]))
    sparse = rng.random() < 0.5
    visits = rng.integers(0, most + 1, n) * (rng.random(n) < 0.5 if sparse else 1)
    steps = rng.integers(0, most + 1, (n, m)) * (rng.random((n, m)) < 0.5 if sparse else 1)
    # widths from none to so wide that conf₂ is 2 even for large counts
    radii = Radii(
        outcomes=float(rng.choice([0.0, rng.random(), 10 * rng.random() * most])),
        per_outcome=float(rng.choice([0.0, rng.random()])),
        cap=float(rng.choice([1.0, 2.0, 2.0])),
    )
    return radices, lattice, reward, visits, steps, radii


def by_state(radices, lattice, array):
    states = reference.all_states(radices, lattice.problem.m)
    return dict(zip(states, array.tolist(), strict=True))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_plans_equal_linear_programming(batch):
    rng = np.random.default_rng(batch)
    looks = 0
    for _ in range(PER_BATCH):
        radices, lattice, reward, visits, steps, radii = random_instance(rng)
        problem, n = lattice.problem, lattice.size
        rewards = by_state(radices, lattice, reward)
        action = np.zeros(n, np.int16)

        plan = plan_simultaneous(lattice, Estimates(reward, action, visits, radii))
        weight = by_state(radices, lattice, visits)
        expected = reference.plan_simultaneous(problem, radices, rewards, weight, radii)
        np.testing.assert_allclose(
            plan.values / problem.reward_value, expected / problem.reward_value, atol=1e-9
        )
        assert plan.values[plan.sets[0]] == plan.values.max()
        assert plan.sets[0] == np.argmax(plan.values)

        plan = plan_sequential(lattice, Estimates(reward, action, steps, radii))
        weight = {
            (frozenset(lattice.digits(s)), i, frozenset(lattice.digits(c))): int(
                steps[c, lattice.slot(c, i)]
            )
            for s in range(n)
            for i in range(len(radices))
            for c in lattice.children(s, i)
        }
        expected = reference.plan_sequential(problem, radices, rewards, weight, radii)
        got = by_state(radices, lattice, plan.values)
        for state, value in expected.items():
            assert abs(got[state] - value) <= 1e-9 * problem.reward_value
        assert ((plan.look < 0) == (plan.values == problem.reward_value * reward)).all()
        looks += int((plan.look >= 0).sum())
    assert looks > 200  # the instances were not all trivial


def test_compiled_and_interpreted_give_the_same_bits(monkeypatch, request):
    rng = np.random.default_rng(77)
    instances = [random_instance(rng, most_states=150) for _ in range(25)]

    def plans():
        results = []
        for _, lattice, reward, visits, steps, radii in instances:
            action = np.zeros(lattice.size, np.int16)
            results.append(plan_simultaneous(lattice, Estimates(reward, action, visits, radii)))
            results.append(plan_sequential(lattice, Estimates(reward, action, steps, radii)))
        return results

    compiled = plans()
    request.getfixturevalue("plain_kernels")
    for one, other in zip(compiled, plans(), strict=True):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


def mean_of(value, weight, width, cap=2.0):
    from askwise._kernels.planning.optimism import FEW, optimistic_mean

    return optimistic_mean(value, weight, 0, 1, 0, 1, len(value), width, cap, len(value) <= FEW)


outcomes = st.lists(
    st.tuples(st.floats(0, 100) | st.integers(0, 9).map(float), st.integers(0, 40)),
    min_size=1,
    max_size=40,
)


@given(outcomes=outcomes, width=st.floats(0, 50), cap=st.sampled_from([1.0, 2.0]))
def test_optimistic_mean_equals_linear_programming(outcomes, width, cap):
    value = np.array([v for v, _ in outcomes])
    weight = np.array([w for _, w in outcomes])
    got = mean_of(value, weight, width, cap)
    radius = reference.radius(width, int(weight.sum()), cap)
    [expected] = reference.l1_programs([(value, reference.proportions(weight), radius)])
    assert abs(got - expected) <= 1e-8
    assert got <= value.max()


@given(outcomes=outcomes, width=st.floats(0, 50), data=st.data())
def test_optimistic_mean_ignores_outcomes_never_seen_that_are_no_better(outcomes, width, data):
    """An outcome never counted, as good as the best, changes no bit: sparse equals dense."""
    value = np.array([100.0] + [v for v, _ in outcomes])
    weight = np.array([0] + [w for _, w in outcomes])
    place = data.draw(st.integers(0, len(value)))
    more_value, more_weight = np.insert(value, place, 100.0), np.insert(weight, place, 0)
    if (len(value) <= FEW) == (len(more_value) <= FEW):  # one way to sum or the other
        assert mean_of(more_value, more_weight, width) == mean_of(value, weight, width)


def test_by_hand():
    """p̂ = (.5, .3, .2), values (1, 2, 4), conf₂ = .4: .2 moves from the worst to the best."""
    value, weight = np.array([1.0, 2.0, 4.0]), np.array([5, 3, 2])
    width = 0.4**2 * 10
    assert mean_of(value, weight, width) == pytest.approx(0.3 + 0.6 + 1.6)
    assert mean_of(value, weight, 0.0) == pytest.approx(0.5 + 0.6 + 0.8)
    assert mean_of(value, 0 * weight, 0.0) == 4.0  # nothing counted
    assert mean_of(value, weight, 1.0**2 * 10) == pytest.approx(0.3 * 2 + 0.7 * 4)
    assert mean_of(value, weight, 1.4**2 * 10) == pytest.approx(0.1 * 2 + 0.9 * 4)
    assert mean_of(value, weight, 2.0**2 * 10) == 4.0  # no two distributions are further apart
    assert mean_of(value, weight, 1e9) == 4.0


def test_ties_go_to_fewer_observations_then_to_the_first(kernels):
    model = random_model(np.random.default_rng(0), [2, 2, 2], highest_cost=0.0)
    lattice = Lattice(model.problem)
    reward = np.full(lattice.size, 0.5)
    visits, steps = np.ones(lattice.size, np.int64), np.ones((lattice.size, 3), np.int64)
    action = np.zeros(lattice.size, np.int16)
    radii = Radii(outcomes=0.3)
    assert plan_simultaneous(lattice, Estimates(reward, action, visits, radii)).sets[0] == 0
    assert (plan_sequential(lattice, Estimates(reward, action, steps, radii)).look == -1).all()
    reward[0] = 0.4  # now any one look is better than none, and all are equal
    first = lattice.subset((0,))
    assert plan_simultaneous(lattice, Estimates(reward, action, visits, radii)).sets[0] == first
    assert plan_sequential(lattice, Estimates(reward, action, steps, radii)).look[0] == 0


NO_OFFSETS = np.zeros(2, np.int64), np.empty((0, 0))
"""Of actions that cost nothing and require nothing."""


def test_optimistic_rewards_are_capped_and_untried_ones_count_one(kernels):
    from askwise._kernels.planning.optimism import optimistic_rewards
    from askwise.counting import UNIT

    counts = np.array([[4, 4], [0, 9], [9, 0], [1, 1], [100, 1]])
    means = np.array([[0.25, 0.5], [0.0, 1.0], [1.0, 0.0], [0.9, 0.9], [0.5, 0.0]])
    sums = (means * counts / UNIT).astype(np.int64)
    reward, action = np.empty(5), np.empty(5, np.int16)
    graded = np.zeros_like(sums)
    optimistic_rewards(counts, sums, graded, UNIT, 0.04, 0.0, 1.0, *NO_OFFSETS, reward, action)
    # r̂ + √(.04 / n): .5 + .1; untried counts 1 and the first of equals wins; capped at 1
    assert reward.tolist() == pytest.approx([0.6, 1.0, 1.0, 1.0, 0.52])
    assert action.tolist() == [1, 0, 0, 0, 0]
    # what an action costs comes off after the cap; one that is not allowed is not taken
    offsets = np.array([0, 2, 5]), np.array([[-0.5, -np.inf], [-0.3, -0.2]])
    optimistic_rewards(counts, sums, graded, UNIT, 0.04, 0.0, 1.0, *offsets, reward, action)
    assert reward.tolist() == pytest.approx([-0.15, 0.5, 0.8, 0.8, 0.22])
    assert action.tolist() == [0, 0, 1, 1, 0]


@given(rewards=st.lists(st.floats(0, 1), min_size=1, max_size=30), width=st.floats(0.001, 2))
def test_measured_radii_are_those_of_how_much_rewards_varied(rewards, width):
    """By the rewards one by one; those of 0 or 1 have the radius of a coin."""
    from askwise._kernels.planning.optimism import optimistic_rewards
    from askwise.counting import UNIT, units_of

    units = np.array([units_of(r) for r in rewards])
    r = units[:, 0] * UNIT
    graded = units[:, 1].sum() * UNIT
    coin = r.sum() - r.sum() ** 2 / len(r)
    part = 1 - graded / (coin + 1)
    sums = units.sum(axis=0)
    given = np.array([[len(r)]]), np.array([[sums[0]]]), np.array([[sums[1]]])
    reward, action = np.empty(1), np.empty(1, np.int16)
    optimistic_rewards(*given, UNIT, width, 0.0, 1.0, *NO_OFFSETS, reward, action)
    assert reward[0] == pytest.approx(min(1, r.mean() + math.sqrt(width * part / len(r))))
    assert 0 < part <= 1
    # all that rewards varied by is what a coin would, less what was graded
    assert coin - graded == pytest.approx(((r - r.mean()) ** 2).sum(), abs=1e-6)
    ignored = np.empty(1)
    optimistic_rewards(*given, UNIT, width, 0.0, 0.0, *NO_OFFSETS, ignored, action)
    assert ignored[0] >= reward[0]
    if set(rewards) <= {0.0, 1.0}:
        assert ignored[0] == reward[0]


@given(
    n=st.integers(1, 10**6),
    share=st.floats(0, 1),
    width=st.floats(0.01, 60),
)
def test_rewards_by_variance_hold_all_means_that_chernoff_allows(n, share, width):
    """Every μ above r̂ with n kl(r̂, μ) ≤ width is within the radius: kl solved by bisection."""
    from askwise._kernels.planning.optimism import optimistic_rewards
    from askwise.counting import UNIT

    sums = np.array([[round(share * n / UNIT)]])
    mean = sums.item() * UNIT / n
    reward, action = np.empty(1), np.empty(1, np.int16)
    counted = np.array([[n]]), sums, np.zeros_like(sums)
    optimistic_rewards(*counted, UNIT, width, 1.0, 0.0, *NO_OFFSETS, reward, action)

    def kl(p, q):
        inside = 0.0 if p == 0 else p * math.log(p / q)
        return inside + (0.0 if p == 1 else (1 - p) * math.log((1 - p) / (1 - q)))

    low, high = mean, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if low < middle < high:
            low, high = (middle, high) if n * kl(mean, middle) <= width else (low, middle)
    assert reward[0] >= low - 1e-9
    # and with r̂ = ½ it is Hoeffding's, of half the width
    hoeffding = mean + math.sqrt(width / (2 * n))
    assert reward[0] <= min(1.0, max(hoeffding, mean + 2 * width / n + math.sqrt(width / n)))


@given(
    rewards=st.lists(st.floats(0, 1), min_size=1, max_size=12),
    times=st.integers(1, 3000),
    width=st.floats(0.01, 20),
)
def test_rewards_by_variance_are_as_in_the_docstring_of_tight_radii(rewards, times, width):
    """Both forms written out from the rewards themselves; graded ones have the narrower one."""
    from askwise._kernels.planning.optimism import optimistic_rewards
    from askwise.counting import UNIT
    from askwise.counting.units import units_of

    units = [units_of(r) for r in rewards]
    n, graded = len(rewards) * times, sum(g for _, g in units) * times
    counted = np.array([[n]]), np.array([[sum(u for u, _ in units) * times]]), np.array([[graded]])
    reward, action = np.empty(1), np.empty(1, np.int16)
    optimistic_rewards(*counted, UNIT, width, 1.0, 0.0, *NO_OFFSETS, reward, action)
    mean, missing = np.mean(rewards), np.mean([r * (1 - r) for r in rewards])
    eps = width / n
    missing = max(0.0, missing - math.sqrt(eps * missing / 2))
    radii = []
    for variance, lean in ((mean * (1 - mean), 1.0), (mean * (1 - mean) - missing, 4 / 3)):
        b = eps * max(0.0, lean - 2 * mean)
        radii.append(b + math.sqrt(b * b + 2 * eps * max(0.0, variance)))
    wide, narrow = radii
    expected = mean + (min(wide, narrow) if graded else wide)
    assert reward[0] == pytest.approx(min(1.0, expected), abs=1e-6)


def test_the_threshold_is_the_one_that_sorting_finds_to_the_bit(kernels):
    from askwise._kernels.planning.optimism import remaining_loss

    rng = np.random.default_rng(5)
    for _ in range(300):
        n = int(rng.integers(FEW + 1, 60))
        value = np.round(rng.random(n) * 50, int(rng.integers(0, 3)))
        weight = rng.integers(0, 5, n)
        weight[0] += 1
        budget = float(rng.random() * weight.sum() * rng.choice([1e-9, 0.1, 0.5, 1.0]))
        deficit = value.max() - value
        mass, threshold = 0, 0.0
        for x in np.argsort(-deficit):
            mass += weight[x]
            if mass >= budget:
                threshold = deficit[x]
                break
        expected = -threshold * budget
        for d, w in zip(deficit, weight, strict=True):
            expected += w * min(d, threshold)
        args = (value, weight, 0, 1, 0, 1, n, value.max(), budget, False)
        assert remaining_loss(*args) == max(0.0, expected)


def test_look_values_are_those_of_the_plan_to_the_bit(kernels):
    """F̂(ψ) = max(β r̂*(ψ), max_i Q̂(ψ, i)), and ĝ is the first i that reaches it."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        _, lattice, reward, _, steps, radii = random_instance(rng, most_states=300)
        estimates = Estimates(reward, np.zeros(lattice.size, np.int16), steps, radii)
        plan = plan_sequential(lattice, estimates)
        worth = look_values(lattice, estimates, plan.values)
        stop = lattice.problem.reward_value * reward
        best = np.maximum(stop, worth.max(axis=1, initial=-np.inf))
        assert np.array_equal(best, plan.values)
        looks = plan.look >= 0
        assert (worth[looks].argmax(axis=1) == plan.look[looks]).all()
        assert (stop[~looks] == plan.values[~looks]).all()
        for state in range(lattice.size):
            domain = set(lattice.domain(state))
            possible = set() if len(domain) == lattice.m else set(range(lattice.buyable)) - domain
            assert set(np.flatnonzero(np.isfinite(worth[state])).tolist()) == possible


def test_looks_side_by_side_give_the_bits_of_one_look(kernels):
    from askwise._kernels.planning.optimism import optimistic_means

    rng = np.random.default_rng(6)
    for outcomes in range(1, FEW + 1):
        lanes, width = 20, float(rng.random() * 10)
        value = np.round(rng.random((outcomes, lanes)) * 50, 1)
        weight = rng.integers(0, 4, (outcomes, lanes))
        best, total, kept, out = np.empty((4, lanes))
        cap = 2.0 if outcomes % 2 else 1.0
        expected = [
            mean_of(value[:, k].copy(), weight[:, k].copy(), width, cap) for k in range(lanes)
        ]
        optimistic_means(
            value, weight.astype(float), outcomes, lanes, width, cap, best, total, kept, out
        )
        assert out.tolist() == expected


def test_looks_that_change_nothing_are_taken_out_from_the_last_ones_up():
    problem = Problem(
        observations=[Observation(n, values=[0, 1], cost=1) for n in "xy"], actions=["a", "b"]
    )
    lattice = Lattice(problem)
    look = np.full(lattice.size, -1, np.int16)
    action = np.zeros(lattice.size, np.int16)
    look[0] = 0  # x, and then y, after which the same is done where x is 0
    for x in (0, 1):
        look[lattice.index({"x": x})] = 1
    action[[lattice.index({"x": 0, "y": y}) for y in (0, 1)]] = 1
    action[lattice.index({"x": 1, "y": 1})] = 1
    pruned, acts = without_idle_looks(lattice, look, action)
    idle, useful = lattice.index({"x": 0}), lattice.index({"x": 1})
    assert (pruned[0], pruned[idle], pruned[useful]) == (0, -1, 1)
    assert acts[idle] == 1
    action[lattice.index({"x": 1, "y": 0})] = 1  # now nothing that is seen matters
    pruned, acts = without_idle_looks(lattice, look, action)
    assert pruned[0] == -1
    assert acts[0] == 1
