"""Those that draw: PSRL, RLSVI, budgeted regression; UCB over all policies; random choice."""

import copy
import math

import numpy as np
import pytest

import askwise as aw
import reference
from askwise.testing.playing import begin, see
from histories import Done, agrees, every_policy, rounds_in, small_model, states_of, tiny_model
from inside import now_of, strategy_of

B = aw.baselines


def known(problem, state):
    """A {name: value} as the reference's frozenset of places."""
    places = {o.name: k for k, o in enumerate(problem.observations)}
    return reference.State(
        (places[n], problem.observations[places[n]].outcomes.index(x)) for n, x in state.items()
    )


def paths_of(history, problem, orders):
    """N(ψ, i, ψ') and the rewards of each (ψ, a), from cases and the orders they looked in."""
    steps, rewards = {}, {}
    for done, order in zip(history, orders, strict=True):
        state = {}
        for name in order:
            before = known(problem, state)
            state = state | {name: done.state[name]}
            key = before, known(problem, state)
            steps[key] = steps.get(key, 0) + 1
        rewards.setdefault((known(problem, done.state), done.action), []).append(done.reward)
    return steps, rewards


def played_paths(kind, model, cases, **options):
    """Like `rounds_in`, with the order in which cases looked: (drawn before, policy, counters)."""
    learner, rng = kind(model.problem, rng=4, **options), np.random.default_rng(5)
    history, orders, number = [], [], 0
    for full in model.sample(rng, cases).tolist():
        drawn = copy.deepcopy(now_of(learner).rng)
        case = begin(learner, full)
        if now_of(learner).round != number:
            number = now_of(learner).round
            yield drawn, learner.policy, *paths_of(history, model.problem, orders)
        order = []
        while case.wanted:
            order += case.wanted
            case.observe({name: full[int(name[1])] for name in case.wanted})
        reward = float(rng.random() < model.reward[tuple(full)][case.action_index])
        case.reward(reward)
        history.append(Done(dict(case.state), case.action, reward, number))
        orders.append(order)


def decisions_of(policy, states):
    return [(policy.wanted(s), policy.action(s)) for s in states]


def best_decisions(problem, acting, look_value):
    """(look, action) of every state by recursion, and its value; the first of the best."""
    radices = [len(o.outcomes) for o in problem.observations]
    names = [o.name for o in problem.observations]
    value, decided = {}, {}
    for state in sorted(reference.all_states(radices, problem.m), key=len, reverse=True):
        action = max(range(len(problem.actions)), key=lambda a: (acting[state, a], -a))
        value[state], look = acting[state, action], ()
        if len(state) < problem.m:
            for i in sorted(set(range(len(radices))) - reference.domain(state)):
                worth = look_value(state, i, value) - problem.observations[i].cost
                if worth > value[state]:
                    value[state], look = worth, (names[i],)
        decided[state] = look, problem.action_names[action]
    return decided


def test_rlsvi_draws_the_regressions_of_its_paper():
    model = small_model(seed=6, max_observations=2)
    problem, noise, prior = model.problem, 0.4, 0.8
    radices = [len(o.outcomes) for o in problem.observations]
    ordered = list(reference.all_states(radices, problem.m))
    rounds = 0
    for drawn, policy, steps, rewards in played_paths(
        B.RLSVI, model, 120, noise=noise, prior=prior
    ):
        ridge = noise**2 / prior**2
        for_actions = drawn.standard_normal((len(ordered), len(problem.actions)))
        for_looks = drawn.standard_normal((len(ordered), len(radices)))
        acting = {}
        for row, state in enumerate(ordered):
            for a, name in enumerate(problem.action_names):
                seen = rewards.get((state, name), [])
                n = len(seen) + ridge
                acting[state, a] = sum(seen) / n + noise / math.sqrt(n) * for_actions[row, a]

        def look_value(state, i, value, steps=steps, ridge=ridge, for_looks=for_looks):
            kids = reference.children(state, i, radices)
            counts = [steps.get((state, kid), 0) for kid in kids]
            n = sum(counts) + ridge
            mean = sum(c * value[kid] for c, kid in zip(counts, kids, strict=True)) / n
            return mean + noise / math.sqrt(n) * for_looks[ordered.index(state), i]

        expected = best_decisions(problem, acting, look_value)
        for state in ordered:
            named = {problem.observations[i].name: x for i, x in state}
            assert (policy.wanted(named), policy.action(named)) == expected[state]
        rounds += 1
    assert rounds > 20


def test_psrl_draws_a_world_from_the_posterior():
    model = small_model(seed=7, max_observations=2)
    problem = model.problem
    radices = [len(o.outcomes) for o in problem.observations]
    ordered = list(reference.all_states(radices, problem.m))
    rounds = 0
    for drawn, policy, steps, rewards in played_paths(B.PSRL, model, 120):
        names = problem.action_names
        wins = np.array([[sum(rewards.get((s, a), [])) for a in names] for s in ordered])
        n = np.array([[len(rewards.get((s, a), [])) for a in names] for s in ordered])
        mean = drawn.beta(1 + wins, 1 + n - wins)
        weight = np.zeros((len(ordered), problem.m))
        for row, state in enumerate(ordered):
            for slot, i in enumerate(sorted(reference.domain(state))):
                before = reference.State(pair for pair in state if pair[0] != i)
                weight[row, slot] = steps.get((before, state), 0)
        gamma = drawn.standard_gamma(1.0 + weight)
        acting = {(s, a): mean[r, a] for r, s in enumerate(ordered) for a in range(mean.shape[1])}

        def look_value(state, i, value, gamma=gamma):
            kids = reference.children(state, i, radices)
            mass = [gamma[ordered.index(k), sorted(reference.domain(k)).index(i)] for k in kids]
            return sum(m * value[k] for m, k in zip(mass, kids, strict=True)) / sum(mass)

        expected = best_decisions(problem, acting, look_value)
        for state in ordered:
            named = {problem.observations[i].name: x for i, x in state}
            assert (policy.wanted(named), policy.action(named)) == expected[state]
        rounds += 1
    assert rounds > 20


# --- budgeted regression --------------------------------------------------------------------------


@pytest.mark.parametrize("m", [3, 2, 1, 0])
def test_budgeted_regression_is_attribute_efficient(m):
    """AERR on a list of examples, with the attributes that were drawn; then what it decides."""
    model = small_model(seed=10, max_observations=m)
    problem, examples = model.problem, 60
    names = [o.name for o in problem.observations]
    learner = B.BudgetedRegression(problem, examples=examples, rng=6)
    rng = np.random.default_rng(7)
    blocks = {o.name: len(o.outcomes) for o in problem.observations}
    size = 1 + sum(blocks.values())
    places, at = {}, 1
    for name, count in blocks.items():
        places[name], at = range(at, at + count), at + count
    length = math.sqrt(1 + len(names))

    def features(state):
        x = np.zeros(size)
        x[0] = 1
        for name, value in state.items():
            x[places[name][problem.observations[names.index(name)].outcomes.index(value)]] = 1
        return x / length

    weights = {a: np.zeros(size) for a in problem.action_names}
    steps = {a: [] for a in problem.action_names}
    frequency = {name: np.ones(count) for name, count in blocks.items()}
    for number, full in enumerate(model.sample(rng, examples).tolist()):
        case = see(begin(learner, full), problem, full)
        uniform, weighted = strategy_of(learner).examples[number, :2].tolist()
        lattice = learner.statistics.lattice
        even = lattice.names_of(lattice.members(uniform))
        assert len(even) == min(m, max(1, m - 1))
        w, x = weights[case.action], features(case.state)
        estimate = np.zeros(size)
        estimate[0] = x[0]
        for name in even:
            block = list(places[name])
            estimate[block] = x[block] * len(names) / len(even)
            frequency[name] += x[block] * length
        prediction = w[0] * x[0]
        if m > 1:
            name = names[weighted]
            squares = {n: sum(w[k] ** 2 for k in places[n]) for n in names}
            total = sum(squares.values())
            q = 1 / len(names) if total == 0 else squares[name] / total
            block = list(places[name])
            prediction += w[block] @ x[block] / q
            assert set(case.state) == {*even, name}
        else:
            for name in even:
                block = list(places[name])
                prediction += w[block] @ x[block]
        reward = float(rng.random() < model.reward[tuple(full)][case.action_index])
        case.reward(reward)
        each = examples / len(problem.actions)
        rate = math.sqrt(max(1, len(even)) / (2 * len(names) * each))
        w = w - rate * (prediction - reward) * estimate
        if np.linalg.norm(w) > length:
            w = w * length / np.linalg.norm(w)
        weights[case.action] = w
        steps[case.action].append(w)
    mean = {a: np.mean(s, axis=0) if s else np.zeros(size) for a, s in steps.items()}
    change = {
        n: sum(np.var(mean[a][list(places[n])]) * blocks[n] for a in problem.action_names)
        for n in names
    }
    best = sorted(names, key=lambda n: (-change[n], names.index(n)))[:m]
    policy = learner.replan()
    learned = strategy_of(learner).average
    assert np.allclose(learned, [mean[a] for a in problem.action_names], rtol=0, atol=1e-12)
    assert policy.wanted({}) == tuple(sorted(best))
    for state in states_of(problem, best):
        x = features(state)
        for name in set(names) - set(best):
            x[list(places[name])] = frequency[name] / frequency[name].sum() / length
        predicted = [round(float(mean[a] @ x), 9) for a in problem.action_names]
        assert policy.action(state) == problem.action_names[int(np.argmax(predicted))]


# --- every policy as an arm -----------------------------------------------------------------------


def test_policy_ucb_plays_ucb1_over_all_policies():
    model = tiny_model(11)
    problem = model.problem
    dearest = max(o.cost for o in problem.observations)
    policies = list(every_policy(problem))
    earned, chosen = [[] for _ in policies], -1
    for now in rounds_in(B.PolicyUCB(problem), model, 200):
        if now.history:
            last = now.history[-1]
            cost = sum(o.cost for o in problem.observations if o.name in last.state)
            scaled = (last.reward - cost + dearest) / (1 + dearest)
            earned[chosen].append(round(scaled * 2**30) / 2**30)  # as it is counted
        index = [
            math.inf
            if not gains
            else sum(gains) / len(gains) + math.sqrt(2 * math.log(len(now.history)) / len(gains))
            for gains in earned
        ]
        chosen = index.index(max(index))
        bought, acts = policies[chosen]
        assert now.policy.wanted({}) == bought
        for state, action in acts.items():
            assert now.policy.action(dict(state)) == action
    assert all(earned)


def test_random_choice_is_even():
    model = tiny_model(12)
    seen = {}
    for now in rounds_in(B.RandomChoice(model.problem, rng=1), model, 1200):
        bought = now.policy.wanted({})
        for state in states_of(model.problem, bought):
            key = bought, tuple(sorted(state.items())), now.policy.action(state)
            seen[key] = seen.get(key, 0) + 1
    assert len(seen) == 2 + 4 + 4
    assert min(seen.values()) > 140
    assert all(agrees(dict(state), {}) for _, state, _ in seen)
