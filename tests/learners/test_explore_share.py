"""Learners of which a share of the cases explores, and the rest follows what is recommended."""

import functools

import numpy as np
import pytest

import askwise as aw
from askwise.errors import OptionError
from askwise.simulation.environments import Population, breast_cancer
from askwise.testing import LEARNER_CHECKS
from inside import rounds_of
from log_worlds import Effects, complete_log


def with_a_share(model):
    """A learner of which 3 in 10 cases explore, after 1,000 cases: recommending each round takes
    seconds, so it is learned once.

    After 400 it may still recommend to buy nothing, and a case that acts at once has no policy.
    """
    return aw.learners.from_bytes(_with_a_share(model))


@functools.cache
def _with_a_share(model):
    patients = Population(breast_cancer(cost=5.0))
    learner = aw.Learner(patients.problem, explore=0.3, model=model, rng=1)
    aw.simulate(learner, patients, steps=1_000, rng=2)
    return learner.to_bytes()


@pytest.mark.parametrize("model", ["joint", "additive"])
@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
def test_without_exploring_every_case_follows_the_recommendation(model, acquisition):
    patients = Population(breast_cancer(cost=5.0))
    options = {"model": model, "acquisition": acquisition}
    learner = aw.Learner(patients.problem, explore=False, **options, rng=1)
    teacher = aw.Learner(patients.problem, **options, rng=1)
    aw.simulate(teacher, patients, steps=3_000, rng=2)
    learner = aw.learners.from_bytes(teacher.to_bytes())
    rounds_of(learner).strategy.explore = 0.0
    policy = learner.replan()
    assert policy.mixture is None
    parts = [part.exploration for _, part in policy.parts]
    assert all(nothing_tried(part) for part in parts)
    found, best = policy.evaluate(patients.model), learner.recommend().evaluate(patients.model)
    assert found == pytest.approx(best, rel=0.03)


@pytest.mark.parametrize("share", [False, 0.2])
@pytest.mark.parametrize(("size", "seeds"), [(4, 8), (20, 12)])  # the model is joint, or additive
def test_cases_that_do_not_explore_follow_what_is_recommended(size, seeds, share):
    """Another fit of the same counters once followed another policy, with one seed in six."""
    world, rng = Effects(7, size=size, m=3), np.random.default_rng(1)
    fit = aw.fit(complete_log(world, 150, rng), world.problem)
    for seed in range(seeds):
        learner = fit.learner(rng=seed, explore=share)
        for _ in range(2):
            followed = learner.replan().parts[0][1]
            best = learner.recommend()
            assert followed.tree().outline() == best.tree().outline(), seed
            aw.simulate(learner, world, steps=40, rng=seed)


def nothing_tried(exploration):
    if hasattr(exploration, "replacing"):
        return exploration.replacing == exploration.beside == 0.0
    return not any(
        getattr(exploration, name, np.zeros(1)).any()
        for name in ("look_probability", "set_probability", "action_probability")
    )


def test_a_share_explores_and_says_how_likely_its_steps_were():
    learner = with_a_share("joint")
    policy = learner.replan()
    (most, own), (share, _) = policy.parts
    assert (most, share) == pytest.approx((0.7, 0.3))
    assert nothing_tried(own.exploration)
    likely = 0
    for _ in range(300):
        case = learner.open()
        own_look = case.lattice.names_of(own.looks(0))
        if case.wanted == own_look:
            likely += 1
            assert case.propensity[0] > 0.7
        else:
            assert 0 < case.propensity[0] <= 0.3
    assert likely > 200


@pytest.mark.parametrize("terms", [{"stake": 2.0}, {"prices": {"WHO score": 3.0}}], ids=str)
@pytest.mark.parametrize("model", ["joint", "additive"])
def test_a_share_of_the_cases_with_terms_of_their_own_explores_too(model, terms):
    learner = with_a_share(model)
    (most, own), (share, other) = learner.open(**terms).policy.parts
    assert (most, share) == pytest.approx((0.7, 0.3))
    assert nothing_tried(own.exploration)
    assert not nothing_tried(other.exploration)
    firsts = [learner.open(**terms) for _ in range(50)]
    assert all(0 < case.propensity[0] < 1 for case in firsts if case.wanted)


def test_stakes_of_a_share_are_planned_alike_after_loading():
    learner = with_a_share("joint")
    other = aw.learners.from_bytes(learner.to_bytes())
    stakes = np.random.default_rng(0).uniform(0.1, 5.0, 50).tolist()
    exact = aw.learners.from_bytes(learner.to_bytes())
    for stake in stakes:
        one, same = learner.open(stake=stake), other.open(stake=stake)
        rounds_of(exact).case_policies.clear()  # planned for this very stake
        planned = exact.open(stake=stake)
        assert one.wanted == same.wanted == planned.wanted
        assert one.propensity == same.propensity == pytest.approx(planned.propensity)
        assert one.action == same.action == planned.action


def test_it_learns_with_a_share_nearly_as_with_all():
    patients = Population(breast_cancer(cost=5.0))
    best = aw.oracle.sequential(patients.model).value
    learner = aw.Learner(patients.problem, explore=0.2, rng=3)
    aw.simulate(learner, patients, steps=8_000, rng=4)
    assert learner.recommend().evaluate(patients.model) > 0.95 * best


def test_with_a_budget_too():
    patients = Population(breast_cancer(cost=5.0))
    budget = aw.Budget(spend_per_case=6.0)
    learner = aw.Learner(patients.problem, explore=0.3, budget=budget, rng=3)
    run = aw.simulate(learner, patients, steps=10_000, rng=4)
    assert run.cost.mean() == pytest.approx(6.0, rel=0.02)
    assert len(learner.policy.parts) > 2
    assert sum(share for share, _ in learner.policy.parts) == pytest.approx(1.0)


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("model", "acquisition", "explore"),
    [("joint", "sequential", 0.2), ("additive", "simultaneous", 0.5)],
)
def test_conformance_with_a_share(model, acquisition, explore, check):
    options = {"acquisition": acquisition, "model": model, "explore": explore}
    check(lambda problem, *, rng: aw.Learner(problem, rng=rng, **options))


@pytest.mark.parametrize("explore", [-0.1, 1.5, "some", None, float("nan")])
def test_a_share_that_cannot_be(explore):
    with pytest.raises(OptionError, match="explore must be True, False, or a share"):
        aw.Learner(breast_cancer().problem, explore=explore)
