"""What the default learner tries beside its plan, what that costs, and what it finds."""

import numpy as np
import pytest

import askwise as aw
from askwise.learners.exploration_costs import most_spent, near_spread
from askwise.policy.expected_gain import expected_gain
from askwise.simulation.environments import Population, breast_cancer
from inside import strategy_of

ACQUISITIONS = ("sequential", "simultaneous")


def flat(rewards, values=(2, 3, 2, 4), price=2.0):
    """Rewards are the same whatever is seen: information is worth nothing."""
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=range(x), cost=price) for i, x in enumerate(values)
        ],
        actions=[f"a{i}" for i in range(len(rewards))],
        max_observations=3,
        reward_value=100.0,
    )
    p = np.random.default_rng(111).dirichlet(np.full(int(np.prod(values)), 2.0))
    reward = np.broadcast_to(rewards, (*values, len(rewards)))
    return aw.Model(problem, p.reshape(values), reward)


def trained(model, cases, acquisition="sequential", seed=0):
    learner = aw.Learner(model.problem, acquisition=acquisition, rng=seed)
    run = aw.simulate(learner, Population(model), steps=cases, rng=seed)
    return learner, run


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
@pytest.mark.parametrize("cases", [50, 400, 3_000])
def test_trying_costs_no_more_than_it_may(acquisition, cases):
    learner, _ = trained(breast_cancer(5.0), cases, acquisition)
    policy, model = learner.policy, strategy_of(learner).model
    mean = model.mean_rewards()
    gain, less = (expected_gain(policy, model.probability, mean, part) for part in (0.0, 1.0))
    assert gain - less <= 100.0 * most_spent(cases) * 1.1


def test_trying_costs_ever_less():
    cost = [most_spent(t) for t in (0, 200, 1_000, 100_000, 10**9)]
    assert cost == sorted(cost, reverse=True)
    assert 0 < cost[-1] < 1e-5


def test_draws_widen_to_whole_ones():
    spread = [near_spread(t) for t in (0, 1_000, 10_000, 100_000, 10**9)]
    assert spread == sorted(spread)
    assert (spread[0], spread[-1]) == (0.5, 1.0)


def test_every_look_and_action_may_be_tried_where_the_plan_looks_and_where_it_acts():
    learner, _ = trained(breast_cancer(5.0), 5_000)
    policy, lattice = learner.policy, learner.statistics.lattice
    tables, below = policy.exploration, lattice.layout.offsets[lattice.layout.levels[lattice.m]]
    assert (tables.look_probability[:below] > 0).all()
    assert (tables.action_probability > 0).all()
    planned = policy.looks(0)
    tags = np.random.default_rng(0).integers(1 << 62, size=200_000).tolist()
    tried = {policy.looks_in_case(0, tag) for tag in tags}
    assert planned
    assert tried >= {(i,) for i in range(lattice.buyable)}


@pytest.mark.parametrize("acquisition", ACQUISITIONS)
def test_where_information_is_worth_nothing_little_is_lost(acquisition):
    """Six actions, of which one is the best: most is lost by trying the others again and again."""
    _, run = trained(flat((0.2, 0.3, 0.4, 0.5, 0.6, 0.7)), 5_000, acquisition)
    assert 70.0 - run.gain.mean() < 4.0


def test_a_dear_look_that_decides_is_found():
    """One observation tells the best of three actions, for 30; the others tell nothing."""
    problem = aw.Problem(
        observations=[
            aw.Observation("tells", values=range(3), cost=30.0),
            *(aw.Observation(f"o{i}", values=range(2), cost=2.0) for i in range(3)),
        ],
        actions=["a", "b", "c"],
        max_observations=3,
        reward_value=100.0,
    )
    shape = (3, 2, 2, 2)
    reward = np.where(np.arange(3) == np.arange(3)[:, None, None, None, None], 0.97, 0.05)
    model = aw.Model(problem, np.full(shape, 1 / 24), np.broadcast_to(reward, (*shape, 3)))
    for seed in range(3):
        learner, _ = trained(model, 10_000, seed=seed)
        assert learner.recommend().observations == ("tells",)


def test_an_action_with_a_bad_start_is_tried_again():
    """The model is sure of an action after a few rewards of 0. One run in sixteen never bought a
    test that is worth three times its price.
    """
    test = aw.Observation("test", values=["-", "+"], cost=4.0)
    problem = aw.Problem(observations=[test], actions=["ignore", "dig"], rewards=(-100.0, 100.0))
    ill, well = np.array([0.06, 0.24]), np.array([0.56, 0.14])
    p = ill + well
    model = aw.Model(problem, p, np.stack([-60 * ill / p, 40 * (ill - well) / p], axis=-1))
    best = aw.oracle.sequential(model).value
    for seed in (2, 39, 50, 91, 95, 104, 108, 121):  # of 200, fifteen were wrong after 4,000 cases
        learner = aw.Learner(problem, rng=1_000_000 + seed)
        aw.simulate(learner, Population(model), steps=4_000, rng=seed)
        assert learner.recommend().evaluate(model) == pytest.approx(best), seed
