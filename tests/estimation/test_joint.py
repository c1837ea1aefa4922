"""The joint model against plain numpy, and the learner that plans with it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import askwise as aw
from askwise.counting import UNIT, Statistics
from askwise.errors import FileError, OptionError, TooLargeError
from askwise.estimation.anova import first_variances
from askwise.estimation.joint import FLOOR, MASS, JointModel
from askwise.learners import Learner
from askwise.learners.saving import read
from askwise.simulation import simulate
from askwise.simulation.environments import Population, breast_cancer, random_model
from askwise.states import Lattice
from askwise.testing import check_learner, play
from effects import plain_prior

VALUES = [2, 3, 2]


def some_counts(seed, values=VALUES, m=2, actions=2, cases=60):
    """A lattice and counters filled by chance."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, values, actions=actions, max_observations=m)
    lattice = Lattice(model.problem)
    statistics = Statistics(lattice)
    for state, action in zip(
        rng.integers(lattice.size, size=cases), rng.integers(actions, size=cases), strict=True
    ):
        statistics.count_reward(int(state), int(action), float(rng.random()))
    return lattice, statistics


def cells_of(lattice, state):
    """Which of all full states agree with a state, as 0 and 1."""
    full = itertools.product(*(range(x) for x in lattice.layout.radices))
    return np.array([lattice.consistent(dict(enumerate(f)), state) for f in full], float)


# --- the population -------------------------------------------------------------------------------


def plain_step(lattice, seen, p):
    """One step of EM, as it is written."""
    shape = tuple(lattice.layout.radices)
    expected = np.full(len(p), FLOOR / len(p))
    product = np.ones(shape)
    for i in range(len(shape)):
        others = tuple(j for j in range(len(shape)) if j != i)
        product = product * p.reshape(shape).sum(axis=others, keepdims=True)
    expected += MASS * product.ravel()
    for state, n in enumerate(seen):
        inside = cells_of(lattice, state) * p
        expected += n * inside / inside.sum()
    return expected / expected.sum()


def test_a_step_of_em(kernels):
    from askwise._kernels.estimation.joint_population import improve_population, marginals

    lattice, statistics = some_counts(0)
    model = JointModel(lattice)
    layout = lattice.layout
    seen = statistics.action_counts.sum(axis=1)
    p = np.random.default_rng(1).dirichlet(np.ones(12))
    expected = plain_step(lattice, seen, p)
    nothing = np.zeros(12)
    improve_population(
        model._order, layout.offsets, model._digits, layout.radices, seen, nothing, MASS, FLOOR, p
    )
    assert np.allclose(p, expected)
    marginal = np.empty(lattice.size)
    marginals(model._order, layout.offsets, p, marginal)
    assert np.allclose(marginal, [cells_of(lattice, s) @ p for s in range(lattice.size)])


def test_what_was_not_looked_at_does_not_bias_the_population():
    """The second look is only bought after a 1: its share of ones among all cases is found."""
    truth = np.array([[0.45, 0.05], [0.1, 0.4]])  # frequent together
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1) for n in "ab"], actions=["x"]
    )
    lattice = Lattice(problem)
    statistics = Statistics(lattice)
    for (first, second), share in np.ndenumerate(truth):
        bought = {"a": 0} if first == 0 else {"a": 1, "b": second}
        statistics.action_counts[lattice.index(bought)] += round(800_000 * share)
        statistics.action_counts[lattice.index({"b": second})] += round(200_000 * share)
    model = JointModel(lattice)
    for _ in range(50):
        model.update(statistics)
    assert np.abs(model.population.reshape(2, 2) - truth).max() < 0.002


# --- the rewards ----------------------------------------------------------------------------------


@given(st.integers(1, 13), st.integers(0, 13), st.integers(0, 1000))
def test_factors(n, rows, seed):
    from askwise._kernels.estimation.joint_rewards import factorise, solve_lower, solve_upper

    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, n))
    matrix = half @ half.T + np.eye(n)
    factor = matrix.copy()
    factorise(factor, n)
    upper = np.triu(factor)
    assert np.allclose(upper, np.linalg.cholesky(matrix).T)
    x = rng.normal(size=n)
    lower, back = x.copy(), x.copy()
    solve_lower(factor, lower, n)
    solve_upper(factor, back)
    assert np.allclose(upper.T @ lower, x)
    assert np.allclose(upper @ back, x)
    rows = min(rows, n)
    rest, left = matrix.copy(), x.copy()
    factorise(rest, rows)
    solve_lower(rest, left, rows)
    taken = matrix[rows:, :rows] @ np.linalg.inv(matrix[:rows, :rows])
    schur = matrix[rows:, rows:] - taken @ matrix[:rows, rows:]
    assert np.allclose(np.triu(rest[rows:, rows:]), np.triu(schur))
    assert np.allclose(left[rows:], x[rows:] - taken @ x[:rows])


def plain_posterior(model, statistics, action, covariance, before, expected):
    """Mean and covariance of one action's rewards, by numpy.linalg alone.

    `before` and `expected` are p(φ) and r(a, φ) before the update.
    """
    lattice, rows, seen, weights = model.lattice, [], [], []
    taken = statistics.action_counts.sum(axis=0)
    earned = statistics.reward_sums.sum(axis=0) * UNIT
    graded = statistics.graded_sums.sum(axis=0)[action] * UNIT
    own, n_a = statistics.reward_sums[:, action] * UNIT, statistics.action_counts[:, action]
    coins = sum(s - s * s / n for s, n in zip(own, n_a, strict=True) if n)
    rho = 1 - graded / (coins + 0.25)
    usual = (earned[action] + rho) / (taken[action] + 2 * rho)
    usually_graded = graded / (taken[action] + 2 * rho)
    least = min(0.0475 * rho, usual * (1 - usual) - usually_graded)
    centre = (((earned + 0.5) / (taken + 1)).sum() + 0.5) / (len(taken) + 1)
    for state in range(lattice.size):
        n = int(statistics.action_counts[state, action])
        if n:
            total = statistics.reward_sums[state, action] * UNIT
            mean = (total + 1000 * usual) / (n + 1000)
            inside = cells_of(lattice, state) * model.population
            rows.append(inside / inside.sum())
            seen.append(total / n - centre)
            squares = total - statistics.graded_sums[state, action] * UNIT
            second = (squares + 1000 * (usual - usually_graded)) / (n + 1000)
            relative = (second - mean**2) / (mean - mean**2)
            within = cells_of(lattice, state) * before
            fitted = (n * (within @ expected[action]) / within.sum() + 10 * usual) / (n + 10)
            weights.append(n / max(fitted * (1 - fitted) * relative, least))
    rows, seen, noise = np.array(rows), np.array(seen), np.diag(1 / np.array(weights))
    spread = rows @ covariance @ rows.T + noise
    gain = covariance @ rows.T @ np.linalg.inv(spread)
    return gain @ seen, covariance - gain @ rows @ covariance


@pytest.mark.parametrize("seed", range(3))
def test_the_posterior_of_the_rewards(seed, kernels):
    lattice, statistics = some_counts(seed)
    model = JointModel(lattice)
    prior = plain_prior(VALUES, first_variances(np.array(VALUES)))
    for _ in range(2):
        before, expected = model.population.copy(), model.expected.copy()
        model.update(statistics)
        for action in range(2):
            mean, covariance = plain_posterior(model, statistics, action, prior, before, expected)
            assert np.allclose(model._mean[action], mean)
            upper = np.triu(model._factor[action])
            assert np.allclose(np.linalg.inv(upper.T @ upper), covariance)


def test_states_without_a_rare_loss_yet_do_not_count_for_more():
    """They once did, because their own rewards hardly varied, so gains were overestimated."""
    values = [str(v) for v in range(40)]
    problem = aw.Problem(observations=[aw.Observation("o", values=values, cost=0.1)], actions=["x"])
    lattice, rng = Lattice(problem), np.random.default_rng(0)
    states = [lattice.index({"o": value}) for value in values]
    too_high = []
    for _ in range(20):
        statistics = Statistics(lattice)
        earned = rng.binomial(12, 0.9, size=40)
        statistics.action_counts[states, 0] = 12
        statistics.reward_sums[states, 0] = earned / UNIT
        model = JointModel(lattice)
        model.effect_variances[1:] *= 0.01  # it has learned that the value hardly matters
        for _ in range(3):
            model.update(statistics)
        too_high.append(model.mean_rewards()[0, 0] - earned.mean() / 12)
    assert np.mean(too_high) == pytest.approx(0.0, abs=0.01)  # it was 0.025


def test_a_draw_has_the_posterior_covariance():
    from askwise._kernels.estimation.joint_rewards import draw_effects

    lattice, statistics = some_counts(5)
    model = JointModel(lattice)
    rng = np.random.default_rng(0)
    model.update(statistics)
    factor, mean = model._factor, model._mean
    draws = np.empty((20_000, *mean.shape))
    for draw in draws:
        draw_effects(factor, mean, rng.standard_normal(mean.shape), 0.5, draw)
    upper = np.triu(factor[0])
    expected = 0.25 * np.linalg.inv(upper.T @ upper)
    assert np.allclose(draws[:, 0].mean(axis=0), mean[0], atol=0.02)
    assert np.abs(np.cov(draws[:, 0].T) - expected).max() < 0.05 * expected.max()


def test_in_the_limit_the_counts_decide():
    """Many cases in every state: its rewards are those that were counted."""
    model = random_model(np.random.default_rng(3), VALUES, actions=2)
    lattice = Lattice(model.problem)
    probability, reward = model.marginals(lattice)
    statistics = Statistics(lattice)
    full = probability * 1e9
    statistics.action_counts[:] = np.rint(full)[:, None]
    statistics.reward_sums[:] = np.rint(statistics.action_counts * reward / UNIT)
    joint = JointModel(lattice)
    for _ in range(30):
        joint.update(statistics)
    assert np.abs(joint.probability - probability).max() < 1e-4
    assert np.abs(joint.mean_rewards() - reward).max() < 1e-3


def test_too_many_cells_are_refused():
    problem = aw.Problem(
        observations=[aw.Observation(f"o{i}", values=[0, 1], cost=1) for i in range(10)],
        actions=["x"],
        max_observations=2,
    )
    with pytest.raises(TooLargeError, match="have 1,024 combinations of values, more than the 512"):
        Learner(problem, model="joint")


# --- tries ----------------------------------------------------------------------------------------


def test_uniform_numbers_of_a_tag(kernels):
    from askwise._kernels.learners.explored_runs import uniform

    tags = np.random.default_rng(0).integers(1 << 62, size=1_000).tolist()
    numbers = np.array([[uniform(tag, place) for place in range(8)] for tag in tags])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert np.abs(numbers.mean(axis=0) - 0.5).max() < 0.04
    assert np.abs(np.corrcoef(numbers.T) - np.eye(8)).max() < 0.13
    assert uniform(12345, 6) == 0.21587533596903086  # the same on every machine


def test_tries_are_as_likely_as_they_should_be():
    learner = Learner(random_model(np.random.default_rng(0), VALUES, max_observations=2).problem)
    policy = learner.policy
    lattice = learner.statistics.lattice
    policy.exploration.look_probability.setflags(write=True)
    policy.exploration.look_probability[:] = 0.5
    state = next(s for s in range(1, lattice.size) if not policy.looks(s))
    known = lattice.domain(state)
    tags = np.random.default_rng(1).integers(1 << 62, size=2_000).tolist()
    looks = [policy.looks_in_case(state, tag) for tag in tags]
    assert abs(np.mean([len(x) for x in looks]) - 0.5) < 0.05
    assert {i for x in looks for i in x} == set(range(3)) - set(known)


# --- the learner ----------------------------------------------------------------------------------


def test_conformance_with_an_explore_budget():
    check_learner(lambda problem, *, rng: Learner(problem, rng=rng, explore_budget=30.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acquisition": "both"}, "acquisition must be 'sequential' or 'simultaneous', got 'both'"),
        ({"explore_budget": -1}, "explore_budget must be a number from 0 to"),
        ({"explore_budget": float("nan")}, "got nan"),
        ({"explore_budget": True}, "got True"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(OptionError, match=message):
        Learner(breast_cancer().problem, **options)


def part_of_the_best(plan, seed, cases):
    """What the recommended policy is worth, as a part of what the best one is."""
    model = breast_cancer(5.0)
    learner = Learner(model.problem, acquisition=plan, rng=seed)
    simulate(learner, Population(model), steps=cases, rng=seed)
    return learner.recommend().evaluate(model) / getattr(aw.oracle, plan)(model).value


def test_learns_in_few_cases():
    assert part_of_the_best("sequential", seed=0, cases=5_000) > 0.97


def test_learns_which_set_to_buy_whatever_the_seed():
    """After 5,000 cases most seeds are still with the second-best set, at 0.907 of the best; twice
    the cases are enough in the mean."""
    parts = [part_of_the_best("simultaneous", seed, cases=10_000) for seed in range(4)]
    assert np.mean(parts) > 0.97


def useless(cost):
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=cost) for n in "ab"],
        actions=["x", "y"],
        reward_value=100,
    )
    return aw.Model(problem, np.full(4, 0.25), np.tile([0.6, 0.4], (4, 1)))


def test_stops_paying_for_what_is_worth_nothing():
    model = useless(cost=3.0)
    learner = Learner(model.problem, rng=0)
    run = simulate(learner, Population(model), steps=20_000, rng=0)
    assert run.cost[-5_000:].mean() < 0.2
    assert (run.action[-5_000:] == 0).mean() > 0.95


@pytest.mark.parametrize("budget", [0.0, 500.0])
def test_spends_no_more_on_trying_than_it_may(budget):
    model = useless(cost=30.0)
    spent = []
    for seed in range(3):
        learner = Learner(model.problem, explore_budget=budget, rng=seed)
        spent.append(simulate(learner, Population(model), steps=3_000, rng=seed).cost.sum())
    free = simulate(Learner(model.problem, rng=0), Population(model), steps=3_000, rng=0)
    assert max(spent) <= 2 * budget  # what was lost to luck and won back may be spent again
    assert max(spent) < free.cost.sum()


def test_a_budget_that_is_earned_back_does_not_stop_it():
    model = breast_cancer(5.0)
    learner = Learner(model.problem, explore_budget=2_000.0, rng=0)
    simulate(learner, Population(model), steps=10_000, rng=0)
    assert learner.policy.evaluate(model) > 0.95 * aw.oracle.sequential(model).value


def test_load_refuses_tries_that_lead_out_of_the_lattice(tmp_path, monkeypatch):
    model = random_model(np.random.default_rng(0), [2, 2])
    learner = Learner(model.problem, rng=0)
    play(learner, model, 20, np.random.default_rng(0))
    path = tmp_path / "learner.askwise"
    for name, value, message in [
        ("look_probability", 0.5, "looks at what is known already"),
        ("look_probability", np.nan, "probabilities are not all from 0 to 1"),
        ("other_look", 1, "looks at what is known already"),
        ("other_action", 99, "other_action are not all from 0"),
    ]:
        tries = learner.policy.exploration
        bad = getattr(tries, name).copy()
        bad[-1] = value
        monkeypatch.setattr(learner.policy, "exploration", tries._replace(**{name: bad}))
        learner.save(path)
        monkeypatch.setattr(learner.policy, "exploration", tries)
        with pytest.raises(FileError, match=message):
            read(path, {"learner": Learner})
