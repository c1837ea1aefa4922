"""Those that plan: adaptive greedy, NCC-UCRL2, UCRL2."""

import itertools
import math

import numpy as np
import pytest

import askwise as aw
import reference
from askwise._kernels.radii import Radii
from askwise.testing.playing import begin
from histories import agrees, rounds_in, small_model, states_of
from inside import now_of, strategy_of

B = aw.baselines


def held(t):
    """t in the radii: the next power of two."""
    return max(2, 2 ** math.ceil(math.log2(t)))


def optimistic(problem, rewards, t):
    """β max_a min(1, r̂ + ¼ √(log t / n)); an action never tried counts 1."""
    best = 0.0
    for a in problem.action_names:
        mine = [r for action, r in rewards if action == a]
        radius = 0.25 * math.sqrt(math.log(held(t)) / max(1, len(mine)))
        best = max(best, min(1.0, sum(mine) / len(mine) + radius) if mine else 1.0)
    return problem.reward_value * best


@pytest.mark.parametrize("chooses_by", ["benefit", "benefit per cost"])
def test_adaptive_greedy_takes_the_largest_marginal_benefit(chooses_by):
    """Δ(i | ψ) by linear programming, from the cases and the orders they looked in."""
    model = small_model(seed=13, highest_cost=0.02)
    problem = model.problem
    names = [o.name for o in problem.observations]
    learner = B.AdaptiveGreedy(problem, chooses_by=chooses_by)
    rng, history, number, kinds = np.random.default_rng(1), [], 0, set()
    for full in model.sample(rng, 600).tolist():
        case = begin(learner, full)
        if now_of(learner).round != number:
            number = now_of(learner).round
            if number % 24 == 0:
                kinds |= check_greedy(problem, history, learner.policy, chooses_by)
        order = []
        while case.wanted:
            order += case.wanted
            case.observe({name: full[int(name[1])] for name in case.wanted})
        reward = float(rng.random() < model.reward[tuple(full)][case.action_index])
        case.reward(reward)
        history.append((order, dict(case.state), case.action, reward))
    assert len(kinds) > 2  # it looks at several things, and acts
    assert names[0] in {name for looks in kinds for name in looks}


def check_greedy(problem, history, policy, chooses_by):
    t, found = len(history) + 1, set()
    names = [o.name for o in problem.observations]

    def stop(state):
        return optimistic(problem, [(a, r) for _, s, a, r in history if s == state], t)

    for k in range(problem.m + 1):
        for known in itertools.combinations(names, k):
            for state in states_of(problem, known):
                best, look = None, ()
                for o in problem.observations if k < problem.m else ():
                    if o.name in state:
                        continue
                    kids = [state | {o.name: x} for x in o.outcomes]
                    counts = [
                        sum(
                            order[: k + 1][-1:] == [o.name]
                            and set(order[:k]) == set(state)
                            and agrees(s, kid)
                            for order, s, _, _ in history
                            if len(order) > k
                        )
                        for kid in kids
                    ]
                    width = 0.0625 * len(kids) * math.log(held(t))
                    radius = reference.radius(width, sum(counts))
                    values = np.array([stop(kid) for kid in kids])
                    program = values, reference.proportions(counts), radius
                    [mean] = reference.l1_programs([program])
                    benefit = mean - stop(state)
                    ranked = benefit / o.cost if chooses_by == "benefit per cost" else benefit
                    if benefit > o.cost + 1e-9 and (best is None or ranked > best + 1e-9):
                        best, look = ranked, (o.name,)
                assert policy.wanted(state) == look
                found.add(look)
    return found


WINDOW, HORIZON, DELTA = 80, 1000, 0.2


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.03])
def test_ncc_ucrl2_follows_its_authors(scale):
    """V̂(I) by linear programming: rewards and bills of the window, p̂ of all cases, their radii."""
    model = small_model(seed=14, radices=(2, 3), highest_cost=0.3)
    problem, rng = model.problem, np.random.default_rng(2)
    options = {"window": WINDOW, "horizon": HORIZON, "delta": DELTA, "exploration": scale}
    learner = B.NCCUCRL2(problem, **options, rng=1)
    names = [o.name for o in problem.observations]
    subsets = [s for k in range(3) for s in itertools.combinations(names, k)]
    history, sets, first_actions = [], set(), []
    for k, full in enumerate(model.sample(rng, 400).tolist()):
        case = begin(learner, full)
        bought = learner.policy.wanted({})
        if k < len(subsets):
            assert bought == subsets[k]  # each set once
        elif k % 5 == 0:
            first = max(0, 10 * (k // 10 - 7))  # the window slides by eighths
            check_ncc(problem, history, first, learner.policy, subsets, scale)
            sets.add(bought)
        bills = {}
        for name in case.wanted:
            bills[name] = 1 / 64 if k > 200 else float(rng.integers(33)) / 64
        if case.wanted:
            case.observe({name: full[int(name[1])] for name in case.wanted}, paid=bills)
        reward = float(rng.random() < model.reward[tuple(full)][case.action_index])
        case.reward(reward)
        history.append((dict(case.state), case.action, reward, bills))
        first_actions.append(case.action)
    assert len(sets) > 1 or scale == 1.0  # far too wide for so few cases
    assert len(set(first_actions[: len(subsets)])) > 1


def check_ncc(problem, history, first, policy, subsets, scale):
    names = [o.name for o in problem.observations]
    dearest = max(o.cost for o in policy.problem.observations)
    prices = {}
    for name in names:
        bills = [paid[name] for *_, paid in history[first:] if name in paid]
        width = 2 * math.log(len(names) * WINDOW * HORIZON / DELTA) / max(1, len(bills))
        mean = np.mean(bills) if bills else 0.0
        prices[name] = mean - dearest * min(1.0, scale * math.sqrt(width))
    reward, weight = {}, {}
    for state in reference.all_states([2, 3], 2):
        named = {names[i]: x for i, x in state}
        weight[state] = sum(agrees(s, named) for s, *_ in history)
        best = 0.0
        for a in problem.action_names:
            mine = [r for s, done, r, _ in history[first:] if s == named and done == a]
            width = math.log(len(problem.actions) * 12 * WINDOW * HORIZON / DELTA)
            radius = scale * math.sqrt(width / max(1, len(mine)))
            best = max(best, min(1.0, np.mean(mine) + radius) if mine else 1.0)
        reward[state] = best
    width = scale**2 * 2 * 12 * math.log(2 * HORIZON * len(subsets) / DELTA)
    free = problem.priced(dict.fromkeys(names, 0.0))
    values = reference.plan_simultaneous(
        free, [2, 3], reward, weight, Radii(outcomes=width, cap=1.0)
    )
    expected = [v - sum(prices[n] for n in s) for s, v in zip(subsets, values, strict=True)]
    assert policy.values.tolist() == pytest.approx(expected, abs=1e-8)
    assert policy.wanted({}) == subsets[int(np.argmax(policy.values))]


def test_ncc_ucrl2_finds_a_price_that_fell():
    """A look that was too dear and then became cheap is bought again, once bills are forgotten."""
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=10.0)],
        actions=["wait", "treat"],
        reward_value=100,
    )
    learner = B.NCCUCRL2(problem, window=800, exploration=0.1, rng=1)
    rng, bought = np.random.default_rng(0), []
    for k in range(6_000):
        price = 90.0 if k < 2_000 else 2.0
        ill = bool(rng.random() < 0.5)
        case = learner.open()
        bought.append(bool(case.wanted))
        if case.wanted:
            case.observe({"mri": "pos" if ill else "neg"}, paid={"mri": price})
        case.reward(float(case.action == ("treat" if ill else "wait")))
    assert np.mean(bought[1_000:2_000]) < 0.1
    assert np.mean(bought[3_500:]) > 0.9


def test_ucrl2_plans_by_extended_value_iteration():
    """Jaksch et al., Figures 1 and 2, on the two-stage process written out as one."""
    model = small_model(seed=15, radices=(2, 2), actions=2, highest_cost=0.2)
    problem, delta, scale = model.problem, 0.1, 0.15
    sets = [s for k in range(3) for s in itertools.combinations(["o0", "o1"], k)]
    states = [s for chosen in sets for s in states_of(problem, chosen)]
    size, choices = len(states) + 1, 4
    costs = [sum(o.cost for o in problem.observations if o.name in s) for s in sets]
    full, checked, found = 1 + max(costs), 0, set()
    learner = B.UCRL2(problem, delta=delta, exploration=scale)
    for now in rounds_in(learner, model, 400):
        if now.number % 5:
            continue
        t = 2 * now.t - 1

        def plausible(n, scale=scale, t=t):
            return scale * math.sqrt(14 * size * math.log(2 * choices * t / delta) / max(1, n))

        def best_case(counts, worth):
            """The most favourable p̃: mass to the best state, from the worst."""
            n = sum(counts)
            if n == 0:
                return max(worth)
            p = [c / n for c in counts]
            order = sorted(range(len(worth)), key=lambda s: -worth[s])
            p[order[0]] = min(1.0, p[order[0]] + plausible(n) / 2)
            for s in reversed(order):
                p[s] = max(0.0, p[s] - max(0.0, sum(p) - 1))
            return sum(q * w for q, w in zip(p, worth, strict=True))

        choose = []
        for chosen, cost in zip(sets, costs, strict=True):
            bought = [d.state for d in now.history if set(d.state) == set(chosen)]
            seen = [0, *(bought.count(s) for s in states)]
            choose.append(((max(costs) - cost) / full, seen))
        act = []
        for s in states:
            row = []
            for a in problem.action_names:
                mine = [d.reward for d in now.history if d.state == s and d.action == a]
                width = 7 / 2 * math.log(2 * size * choices * t / delta) / max(1, len(mine))
                mean = sum(mine) / max(1, len(mine)) + scale * math.sqrt(width)
                earned = (min(1.0, mean) if mine else 1.0) / full
                row.append((earned, [len(mine)] + [0] * len(states)))
            act.append(row)
        value = [0.0] * size
        while True:
            q_sets = [r + best_case(seen, value) for r, seen in choose]
            q_acts = [[r + best_case(seen, value) for r, seen in row] for row in act]
            new = [max(q_sets), *(max(q) for q in q_acts)]
            change = [x - y for x, y in zip(new, value, strict=True)]
            value = [y + 0.5 * c for y, c in zip(value, change, strict=True)]  # it has period 2
            if max(change) - min(change) < 1 / math.sqrt(t):
                break
        wanted = now.policy.wanted({})
        assert q_sets[sets.index(wanted)] >= max(q_sets) - 1e-9
        for s, q in zip(states, q_acts, strict=True):
            taken = q[problem.action_names.index(now.policy.action(s))]
            assert taken >= max(q) - 1e-9
        found.add(wanted)
        checked += 1
    assert checked > 5
    assert len(found) > 1


@pytest.mark.parametrize("horizon", [0, -1, 2.5, True, "all"])
def test_ncc_ucrl2_refuses_a_horizon_that_is_none(horizon):
    problem = small_model().problem
    with pytest.raises(aw.errors.OptionError, match="horizon must be a whole number above 0 or N"):
        B.NCCUCRL2(problem, horizon=horizon)


def test_ncc_ucrl2_knows_its_horizon():
    """A longer one has wider radii; without one it is the next power of two."""
    problem = small_model().problem
    widths = []
    for horizon in (None, 1_024, 100_000):
        learner = B.NCCUCRL2(problem, horizon=horizon)
        confidence = strategy_of(learner).confidence
        widths.append(confidence.radii(learner.statistics.lattice, "simultaneous", 1_000))
    assert widths[0] == widths[1]
    assert widths[2].reward > widths[1].reward
    assert widths[2].outcomes > widths[1].outcomes
