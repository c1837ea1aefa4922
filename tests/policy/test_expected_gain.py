"""What a policy gains with its tries: case by case and try by try, for every full state."""

import numpy as np
import pytest

import askwise as aw
from askwise.policy.expected_gain import expected_gain
from askwise.simulation.environments import Population, random_model


def by_paths(policy, model, full, state):
    """Over everything that a case with these values may do from a state on."""
    lattice, tries, beta = policy.lattice, policy.exploration, policy.problem.reward_value
    known = lattice.domain(state)
    unknown = [i for i in range(lattice.buyable) if i not in known]

    def after(i):
        reached = lattice.children(state, i)[full[i]]
        return by_paths(policy, model, full, reached)

    def acting():
        usual, other = policy.act(state), tries.other_action[state]
        chance = tries.action_probability[state]
        reward = model.reward[full]
        gain = beta * ((1 - chance) * reward[usual] + chance * reward[other])
        return gain - lattice.spent(state)

    planned = policy.looks(state)
    usual = after(planned[0]) if planned else acting()
    chance = tries.look_probability[state]
    if not chance:
        return usual
    anything = np.mean([after(i) for i in unknown])
    other = tries.other_look[state]
    trying = anything if other < 0 else 0.5 * (after(other) + anything)
    return (1 - chance) * usual + chance * trying


def by_sets(policy, model, full):
    """Over every set that a case with these values may buy."""
    lattice, tries, beta = policy.lattice, policy.exploration, policy.problem.reward_value

    def after(subset):
        digits = {i: full[i] for i in lattice.members(subset)}
        state = lattice.index_of(digits)
        chance, reward = tries.action_probability[state], model.reward[full]
        usual, other = reward[policy.act(state)], reward[tries.other_action[state]]
        return beta * ((1 - chance) * usual + chance * other) - lattice.spent(state)

    chance = tries.set_probability[0]
    anything = np.mean([after(subset) for subset in range(lattice.subsets)])
    trying = 0.5 * (after(tries.other_set[0]) + anything)
    return (1 - chance) * after(policy.table.sets[0]) + chance * trying


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("acquisition", ["sequential", "simultaneous"])
def test_against_every_case_there_can_be(seed, acquisition):
    rng = np.random.default_rng(seed)
    model = random_model(rng, (2, 3, 2), actions=3, max_observations=2, highest_cost=4.0)
    learner = aw.Learner(model.problem, acquisition=acquisition, rng=seed)
    aw.simulate(learner, Population(model), steps=60, rng=seed)
    policy = learner.policy
    p, reward = model.marginals(policy.lattice)
    expected = sum(
        share
        * (
            by_paths(policy, model, full, 0)
            if acquisition == "sequential"
            else by_sets(policy, model, full)
        )
        for full, share in np.ndenumerate(model.probability)
    )
    assert expected_gain(policy, p, reward) == pytest.approx(expected)
    alone = policy.exploring(None)
    assert expected_gain(policy, p, reward, 0.0) == pytest.approx(alone.evaluate(model))
