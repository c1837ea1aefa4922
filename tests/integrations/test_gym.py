import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import askwise as aw
import askwise.gym
from askwise.errors import CaseError, ModelError, OptionError
from askwise.simulation.environments import Population, Staked, Table, random_model
from askwise.testing.playing import models

MODELS = list(models())
ID = "askwise/CostlyObservations-v0"


@pytest.mark.parametrize("model", MODELS)
def test_gymnasium_has_nothing_to_object(model):
    check_env(gymnasium.make(ID, model=model).unwrapped)
    check_env(gymnasium.make(ID, environment=Population(model), render_mode="ansi").unwrapped)


def test_a_table_is_an_environment_too():
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=9)],
        actions=["wait", "treat"],
        reward_value=100.0,
    )
    table = Table(problem, {"mri": ["neg", "pos"], "wait": [1, 0], "treat": [0.25, 0.75]})
    env = gymnasium.make(ID, environment=table)
    env.reset(seed=0)
    seen, reward, *_ = env.step(0)
    assert reward == -9.0
    _, reward, terminated, truncated, info = env.step(2)
    assert (reward, terminated, truncated) == ({1: 25.0, 2: 75.0}[seen[0]], True, False)
    assert info["cost"] == 9.0


def episode(env, choose, seed=None):
    """What was seen, done and earned in one episode."""
    seen, info = env.reset(seed=seed)
    rows, over = [], False
    while not over:
        action = choose(seen, info)
        before = seen
        seen, reward, over, _, info = env.step(action)
        rows.append((tuple(before.tolist()), int(action), reward, tuple(seen.tolist())))
    return rows, info


def at_random(rng):
    return lambda seen, info: int(rng.choice(np.flatnonzero(info["action_mask"])))


@pytest.mark.parametrize("model", MODELS)
def test_the_rewards_of_an_episode_are_the_gain_of_the_case(model):
    env, lattice = gymnasium.make(ID, model=model).unwrapped, aw.states.Lattice(model.problem)
    rng = np.random.default_rng(0)
    env.reset(seed=1)
    for _ in range(200):
        rows, info = episode(env, at_random(rng))
        state = lattice.index(info["known"])
        last = rows[-1][1] - lattice.buyable
        assert last >= 0
        assert len(rows) - 1 == len(lattice.domain(state)) <= lattice.m
        gain = model.problem.reward_value * env._rewards[last] - lattice.spent(state)
        assert sum(reward for _, _, reward, _ in rows) == pytest.approx(gain)


@pytest.mark.parametrize("model", MODELS)
def test_same_seed_same_episodes(model):
    runs = []
    for _ in range(2):
        env = gymnasium.make(ID, model=model)
        rng = np.random.default_rng(0)
        runs.append([episode(env, at_random(rng), seed)[0] for seed in (5, None, None, 7)])
    assert runs[0] == runs[1]
    env = gymnasium.make(ID, model=model)
    assert [env.reset(seed=s)[0].tolist() for s in (5, 5)] == [list(runs[0][0][0][0])] * 2


def test_a_look_that_is_not_possible_closes_the_case():
    model = MODELS[0]  # three observations, at most two of them
    for looks in ([0, 0], [0, 1, 2]):
        env = gymnasium.make(ID, model=model, render_mode="ansi").unwrapped
        _, info = env.reset(seed=0)
        for i in looks[:-1]:
            assert info["action_mask"][i] == 1
            seen, reward, over, _, info = env.step(i)
            assert (over, reward < 0, "invalid" in info) == (False, True, False)
        assert info["action_mask"][looks[-1]] == 0
        after, reward, over, truncated, info = env.step(looks[-1])
        assert (reward, over, truncated, info["invalid"]) == (0.0, True, False, True)
        assert np.array_equal(after, seen)
        assert "closed" in env.render()
        with pytest.raises(CaseError, match=r"no open case: call reset\(\)"):
            env.step(0)


def test_the_text_of_a_case():
    model = MODELS[3]
    env = gymnasium.make(ID, model=model, render_mode="ansi").unwrapped
    env.reset(seed=0)
    age = env.render().splitlines()
    assert age[0] in ("age: young", "age: old")
    assert age[1] == "spent: 0"
    env.step(2)
    env.step(3)
    assert env.render().splitlines()[-1] in ("wait: 0", "wait: 1")
    assert gymnasium.make(ID, model=model).unwrapped.render() is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, OptionError, "one of them"),
        ({"model": MODELS[0], "environment": Population(MODELS[0])}, OptionError, "one of them"),
        ({"model": 3}, ModelError, "expected a Model, got int"),
        ({"environment": 3}, OptionError, "expected a Population or a Table, got a int"),
        ({"model": MODELS[0], "render_mode": "human"}, OptionError, "'ansi' or None, got 'human'"),
    ],
)
def test_bad_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        askwise.gym.CostlyObservations(**arguments)


def test_an_unknown_action_changes_nothing():
    env = askwise.gym.CostlyObservations(model=MODELS[1])
    env.reset(seed=0)
    for action in (-1, 3, 0.5, "wait", None):
        with pytest.raises(CaseError, match="expected a number from 0 to 2"):
            env.step(action)
    assert env.step(0)[2] is False


def random_value(lattice, model, state=0):
    """What choosing evenly among all that is valid is worth in a state, exactly."""
    probability, reward = model.marginals(lattice)
    beta, known = lattice.problem.reward_value, lattice.domain(state)
    worth = list(beta * reward[state])
    for i in range(lattice.buyable):
        if i in known or len(known) == lattice.m:
            continue
        children = [c for c in lattice.children(state, i) if probability[c] > 0]
        after = sum(
            probability[c]
            * (random_value(lattice, model, c) + lattice.spent(state) - lattice.spent(c))
            for c in children
        )
        worth.append(after / probability[state])
    return float(np.mean(worth))


@pytest.mark.parametrize("model", MODELS)
def test_a_random_agent_earns_what_it_is_worth(model):
    lattice = aw.states.Lattice(model.problem)
    probability, _ = model.marginals(lattice)
    exact = sum(probability[g] * random_value(lattice, model, g) for g in range(lattice.contexts))
    env = askwise.gym.CostlyObservations(model=model)
    env.reset(seed=3)
    rng = np.random.default_rng(1)
    sums = [sum(row[2] for row in episode(env, at_random(rng))[0]) for _ in range(2_000)]
    assert abs(np.mean(sums) - exact) < 4 * np.std(sums) / np.sqrt(len(sums))


def q_learning(env, episodes, rng):
    """Tabular, with a step of 1/n: values of what was seen, by what can be done."""
    worth, tried = {}, {}

    def table(seen, mask):
        if seen not in worth:
            worth[seen] = np.where(mask == 1, 0.0, -np.inf)
            tried[seen] = np.zeros(len(mask))
        return worth[seen]

    for _ in range(episodes):
        seen, info = env.reset()
        key, over = tuple(seen.tolist()), False
        while not over:
            values = table(key, info["action_mask"])
            valid = np.flatnonzero(info["action_mask"])
            action = int(rng.choice(valid)) if rng.random() < 0.4 else int(values.argmax())
            seen, reward, over, _, info = env.step(action)
            after = tuple(seen.tolist())
            target = reward + (0.0 if over else table(after, info["action_mask"]).max())
            tried[key][action] += 1
            values[action] += (target - values[action]) / tried[key][action] ** 0.7
            key = after
    return worth


def test_an_agent_that_knows_nothing_of_askwise_learns_to_buy():
    problem = aw.Problem(
        observations=[
            aw.Observation("mammogram", values=["low", "high"], cost=1.0),
            aw.Observation("mri", values=["neg", "pos"], cost=9.0),
        ],
        actions=["wait", "treat"],
        reward_value=100.0,
    )
    right = [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]
    model = aw.Model(problem, [[0.4, 0.05], [0.05, 0.5]], right)
    best = aw.oracle.sequential(model)
    blind = aw.oracle.fixed(model, [])
    env = askwise.gym.CostlyObservations(model=model)
    env.reset(seed=0)
    worth = q_learning(env, 3_000, np.random.default_rng(0))
    gain = 0.0
    for full in itertools.product(range(2), repeat=2):  # its greedy policy, exactly
        seen, spent = [0, 0], 0.0
        while (action := int(worth[tuple(seen)].argmax())) < 2:
            seen[action] = 1 + full[action]
            spent += problem.observations[action].cost
        earned = 100.0 * model.reward[full][action - 2]
        gain += model.probability[full] * (earned - spent)
    assert blind.value < 0.9 * best.value <= gain <= best.value + 1e-9


def test_flattened_it_is_one_hot():
    model = random_model(np.random.default_rng(0), [2] * 8, max_observations=2)
    env = gymnasium.make(ID, model=model)
    flat = gymnasium.wrappers.FlattenObservation(env)
    seen, _ = flat.reset(seed=0)
    assert seen.shape == (24,)
    assert seen.sum() == 8  # one-hot


def test_with_a_stake_the_reward_counts_that_many_times():
    """The policy that is best at the stake gains what its oracle says, and an invalid choice ends
    with the lowest reward, counted as often.
    """
    problem = aw.Problem(
        observations=[aw.Observation("bureau", values=["good", "poor"], cost=4.0)],
        actions=["approve", aw.Action("review", cost=2.0)],
        rewards=(-50.0, 10.0),
        max_observations=1,
    )
    model = aw.Model(problem, [0.9, 0.1], [[10.0, 3.0], [-20.0, 3.0]])
    best, env = aw.oracle.sequential(model, stake=10.0), gymnasium.make(ID, model=model, stake=10.0)
    gains = []
    _, info = env.reset(seed=3)
    for _ in range(6_000):
        total, over = 0.0, False
        while not over:
            wanted = best.wanted(info["known"])
            choice = 0 if wanted else 1 + problem.action_names.index(best.action(info["known"]))
            _, reward, over, _, info = env.step(choice)
            total += reward
        assert info["stake"] == 10.0
        gains.append(total)
        _, info = env.reset()
    error = np.std(gains) / np.sqrt(len(gains))
    assert best.value == pytest.approx(88.8)
    assert abs(np.mean(gains) - best.value) < 4 * error
    env.step(0)
    assert env.step(0)[1] == -500.0


def test_cases_of_a_staked_environment_have_their_own_stakes():
    drawn = Staked(Population(MODELS[0]), lambda rng, cases: np.full(cases, 7.0))
    assert gymnasium.make(ID, environment=drawn).reset(seed=0)[1]["stake"] == 7.0
    with pytest.raises(OptionError, match="stakes of its own"):
        gymnasium.make(ID, environment=drawn, stake=2.0).reset(seed=0)
    with pytest.raises(CaseError, match="stake must be"):
        gymnasium.make(ID, model=MODELS[0], stake=0.0)
