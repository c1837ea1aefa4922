"""Those that buy the same set always: UCB1 in each state, LinUCB, RELEAF, contextual zooming."""

import math

import numpy as np
import pytest

import askwise as aw
from histories import agrees, rounds_in, small_model, states_of

B = aw.baselines


def first_best(problem, index):
    """The first action of the highest index."""
    return max(problem.action_names, key=lambda a: (index[a], -problem.action_names.index(a)))


def ucb1(problem, history, state, scale):
    here = [d for d in history if d.state == state]
    index = {}
    for a in problem.action_names:
        rewards = [d.reward for d in here if d.action == a]
        index[a] = math.inf
        if rewards:
            radius = math.sqrt(2 * math.log(len(here)) / len(rewards))
            index[a] = sum(rewards) / len(rewards) + scale * radius
    return first_best(problem, index)


@pytest.mark.parametrize(
    ("kind", "options", "buys"),
    [
        (B.ContextualUCB, {}, ("o0", "o1", "o2")),
        (B.ContextualUCB, {"exploration": 0.3}, ("o0", "o1", "o2")),
        (B.FixedSet, {"observations": ["o1"]}, ("o1",)),
        (B.NoInformation, {}, ()),
    ],
)
def test_ucb1_in_each_state(kind, options, buys):
    model = small_model(max_observations=2)
    rounds = 0
    for now in rounds_in(kind(model.problem, **options), model, 400):
        rounds += 1
        assert now.policy.wanted({}) == buys
        for state in states_of(model.problem, buys):
            expected = ucb1(model.problem, now.history, state, options.get("exploration", 1.0))
            assert now.policy.action(state) == expected
    assert rounds > 20


def one_hot(problem, state):
    ones = [1.0]
    for o in problem.observations:
        if o.name in state:
            ones += [float(x == state[o.name]) for x in o.outcomes]
    return np.array(ones)


def test_lin_ucb_and_its_determinant():
    """Ridge regression on the cases one by one, with one Gram matrix for all actions.

    The features of an action are a block of their own. A round ends when det A has doubled.
    """
    model = small_model(seed=1)
    problem, buys = model.problem, ("o0", "o1")
    learner = B.LinUCB(problem, observations=buys, exploration=0.5)
    names = problem.action_names
    gram, planned, before, rounds = None, None, 0, 0

    def features(action, state):
        return np.kron(np.eye(len(names))[names.index(action)], one_hot(problem, state))

    for now in rounds_in(learner, model, 600):
        if planned is not None:  # the last case made the determinant double, none before did
            so_far = gram
            for n in range(before, len(now.history)):
                x = features(now.history[n].action, now.history[n].state)
                so_far = so_far + np.outer(x, x)
                doubled = np.linalg.det(so_far) >= 2 * planned * (1 - 1e-9)
                assert doubled == (n == len(now.history) - 1)
        gram, vector = np.eye(6 * len(names)), np.zeros(6 * len(names))
        for d in now.history:
            x = features(d.action, d.state)
            gram, vector = gram + np.outer(x, x), vector + d.reward * x
        planned, before, rounds = np.linalg.det(gram), len(now.history), rounds + 1
        for state in states_of(problem, buys):
            index = {}
            for a in names:
                x = features(a, state)
                spread = math.sqrt(x @ np.linalg.solve(gram, x))
                index[a] = round(x @ np.linalg.solve(gram, vector) + 0.5 * spread, 9)
            assert now.policy.action(state) == first_best(problem, index)
    assert 20 < rounds < 150


def releaf(problem, history, state, t, delta, tolerance):
    """The rule of Tekin and van der Schaar, on a list of cases."""
    names = list(state)
    enough = 2 * math.log(t * len(problem.actions) * max(1, len(names)) / delta) / tolerance**2
    expected = {}
    for a in problem.action_names:
        mine = [d for d in history if d.action == a]

        def of(part, mine=mine):
            rewards = [d.reward for d in mine if agrees(d.state, part)]
            return len(rewards), sum(rewards) / max(1, len(rewards))

        spreads = []
        for i in names:
            others = [j for j in names if j != i] or [i]
            pairs = [of({i: state[i], j: state[j]}) for j in others]
            if min(n for n, _ in pairs) < enough:
                return a
            means = [mean for _, mean in pairs]
            spreads.append((max(means) - min(means), of({i: state[i]})[1]))
        if not names:
            n, mean = of({})
            if n < enough:
                return a
            spreads = [(0.0, mean)]
        expected[a] = min(spreads, key=lambda pair: pair[0])[1]
    return first_best(problem, expected)


@pytest.mark.parametrize("buys", [("o0", "o1", "o2"), ("o0", "o2"), ("o1",), ()])
def test_releaf(buys):
    model = small_model(seed=2)
    options = {"observations": buys, "delta": 0.3, "tolerance": 1.0}
    exploits = 0
    for now in rounds_in(B.RELEAF(model.problem, **options), model, 600):
        for state in states_of(model.problem, buys):
            expected = releaf(model.problem, now.history, state, now.t, 0.3, 1.0)
            assert now.policy.action(state) == expected
        exploits += expected != model.problem.action_names[0]
    assert exploits


def test_releaf_finds_what_matters():
    """Each action depends on one observation of three: it is found, and acted on."""
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=0.0) for n in "xyz"],
        actions=["a", "b"],
    )
    reward = np.empty((2, 2, 2, 2))
    for x, y, z in np.ndindex(2, 2, 2):
        reward[x, y, z] = 0.2 + 0.6 * x, 0.3 + 0.4 * z
    model = aw.Model(problem, np.full((2, 2, 2), 1 / 8), reward)
    learner = B.RELEAF(problem, tolerance=0.3)
    run = aw.simulate(learner, aw.environments.Population(model), steps=20_000, rng=1)
    assert run.gain[-4000:].mean() > aw.oracle.sequential(model).value - 0.02


def zooming_index(problem, history, state, a, names, t, scale, metric):
    """Slivkins' balls of one action, by sets of states."""

    def apart(one, other):
        total = 0.0
        for o in problem.observations:
            if o.name in names:
                places = [o.outcomes.index(s[o.name]) for s in (one, other)]
                far = abs(places[0] - places[1])
                total += far / (len(o.outcomes) - 1) if metric == "ordered" else far > 0
        return total / max(1, len(names))

    log_t = math.log(max(2, 2 ** math.ceil(math.log2(t))))
    every = states_of(problem, names)
    balls, level = [(every[0], 1.0)], [(every[0], 1.0)]

    def samples(ball):
        inside = [s for s in every if apart(ball[0], s) <= ball[1]]
        return [d.reward for d in history if d.action == a and d.state in inside]

    def conf(ball):
        return scale * 4 * math.sqrt(log_t / (1 + len(samples(ball))))

    played = [s for s in every if any(d.state == s and d.action == a for d in history)]
    smallest = min([apart(p, q) for p in every for q in every if p != q], default=math.inf)
    while level:
        full = [ball for ball in level if conf(ball) <= ball[1]]
        half, level = level[0][1] / 2, []
        if half < smallest / 2:
            break
        for s in played:
            inside = any(apart(ball[0], s) <= ball[1] for ball in full)
            if inside and not any(apart(c, s) <= half for c, _ in level):
                level.append((s, half))
        balls += level

    def pre_index(ball):
        rewards = samples(ball)
        return sum(rewards) / max(1, len(rewards)) + ball[1] + conf(ball)

    holding = [ball for ball in balls if apart(ball[0], state) <= ball[1]]
    radius = min(ball[1] for ball in holding)
    return max(
        ball[1] + min(pre_index(b) + apart(ball[0], b[0]) for b in balls if b[1] >= ball[1])
        for ball in holding
        if ball[1] == radius
    )


@pytest.mark.parametrize(
    ("buys", "metric"), [(("o0", "o1"), "ordered"), (("o1", "o2"), "one-hot"), ((), "one-hot")]
)
def test_contextual_zooming(buys, metric):
    model = small_model(seed=3, radices=(2, 4, 2), actions=2)
    options = {"observations": buys, "metric": metric, "exploration": 0.1}
    decided = set()
    for now in rounds_in(B.ContextualZooming(model.problem, **options), model, 150):
        for state in states_of(model.problem, buys):
            index = {
                a: round(
                    zooming_index(model.problem, now.history, state, a, buys, now.t, 0.1, metric),
                    9,
                )
                for a in model.problem.action_names
            }
            assert now.policy.action(state) == first_best(model.problem, index)
            decided.add(now.policy.action(state))
    assert len(decided) == 2


def test_zooming_refuses_too_many_states():
    problem = aw.Problem(
        observations=[aw.Observation(n, values=list(range(11)), cost=0.0) for n in "xyz"],
        actions=["a", "b"],
    )
    with pytest.raises(aw.errors.TooLargeError, match="1,331 states"):
        B.ContextualZooming(problem)
