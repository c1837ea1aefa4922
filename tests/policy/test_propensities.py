import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askwise as aw
from askwise.learners.baselines.random_choice import random_policy
from askwise.learners.model_strategy import TAG_BITS
from askwise.planning.trees import compact_tree
from askwise.policy import PathTable
from askwise.policy.exploration import PathExploration, SetExploration
from askwise.simulation.environments import random_model
from askwise.testing.playing import begin, models, play, see
from inside import path_policy, set_policy, strategy_of, tree_policy

KINDS = ["trying sequential", "trying simultaneous", "tree", "blind tree", "random"]
MIXED = [f"mixed {kind}" for kind in KINDS[:4]] + ["mixed certain", "mixed certain set"]


def problem_of(values, m, *, given=(), actions=2):
    return aw.Problem(
        observations=[
            aw.Observation(
                f"o{i}", values=list(range(n)), **({"given": True} if i in given else {"cost": 1.0})
            )
            for i, n in enumerate(values)
        ],
        actions=[f"a{k}" for k in range(actions)],
        max_observations=m,
    )


def policy_of(kind, lattice, rng):
    """A policy of that kind with random tables, all of its chances far from 0 and 1."""
    if kind.startswith("mixed "):
        one, other = (policy_of(kind.removeprefix("mixed "), lattice, rng) for _ in range(2))
        return one.mixed(other, 0.3)
    if kind.startswith("certain"):
        trying = {"certain": "trying sequential", "certain set": "trying simultaneous"}[kind]
        return policy_of(trying, lattice, rng).exploring(None)
    actions = rng.integers(len(lattice.problem.actions), size=lattice.size).astype(np.int16)
    if kind == "random":
        return random_policy(lattice, rng)
    look = np.array([_any_look(lattice, s, rng) for s in range(lattice.size)], np.int16)
    sets = rng.integers(lattice.subsets, size=lattice.contexts)
    values = np.zeros(lattice.size)
    if "tree" in kind:
        from askwise._kernels.policy.tree_cases import Tree
        from askwise._kernels.radii import Radii
        from askwise.estimation.estimates import Estimates
        from askwise.planning.trees import follow_sets

        if kind == "blind tree":
            look = follow_sets(lattice, sets)
        world = Estimates(rng.random(lattice.size), actions, np.ones(lattice.size), Radii())
        every = list(range(len(lattice.observations)))
        plan = compact_tree(lattice, every, look, world, int(lattice.outcomes.max()))
        sets = np.array([rng.permutation(lattice.buyable)[: lattice.m] for _ in range(3)])
        acts = rng.dirichlet(np.full(len(lattice.problem.actions), 2.0))
        tried = (sets, acts, 0.4, 0.3, kind == "blind tree")
        tree = Tree(plan.look, plan.action, plan.child, *tried, lattice.action_needs)
        return tree_policy(lattice, tree, plan.value)
    one_by_one = kind == "trying sequential"
    places = lattice.size if one_by_one else lattice.contexts
    chance = rng.uniform(0.2, 0.9, places)
    if one_by_one:
        favourite = np.array([_any_look(lattice, s, rng) for s in range(lattice.size)], np.int64)
        chance[[len(lattice.domain(s)) == lattice.m for s in range(lattice.size)]] = 0.0
        plain = path_policy(lattice, look, actions, values)
    else:
        favourite = rng.integers(lattice.subsets, size=places)
        plain = set_policy(lattice, sets, actions, np.zeros(lattice.context_subsets))
    daring = rng.integers(len(lattice.problem.actions), size=lattice.size).astype(np.int16)
    explored = PathExploration if one_by_one else SetExploration
    another = rng.uniform(0.1, 0.9, lattice.size)
    return plain.exploring(explored(favourite, chance, daring, another))


def _any_look(lattice, state, rng):
    """A look that is possible in a state, or −1, which is likely."""
    known = lattice.domain(state)
    unknown = [i for i in range(lattice.buyable) if i not in known]
    possible = [] if len(known) == lattice.m else unknown
    return int(rng.choice([-1, -1, *possible]))


class Nobody:
    """A desk that learns nothing."""

    def __init__(self):
        import threading

        self.lock = threading.RLock()

    def acted(self, case):
        pass


def played(policy, tag, start, full):
    """A case with that tag that was shown the full state."""
    return list(moments_of(policy, tag, start, full))[-1]


def moments_of(policy, tag, start, full):
    """The same case after each thing that happened to it."""
    lattice = policy.lattice
    subset = 0 if start < lattice.contexts else lattice.subset_of(start)
    case = aw.Case(1, policy, Nobody(), tag, start, subset)
    yield case
    while case.wanted:
        at_once = case.wanted[: 1 + tag % 2]  # in parts too, which must not matter
        case.observe({name: full[name] for name in at_once})
        yield case


def course(case):
    return (*sorted(i for i, _ in case.path), case.action_index)


def course_in_order(case):
    return (*(i for i, _ in case.path), case.action_index)


def frequencies(policy, start, full, tags):
    """How often each course is taken, and how likely it is said to be."""
    at_once = policy.acquisition == "simultaneous"
    often, said = {}, {}
    for tag in tags.tolist():
        case = played(policy, tag, start, full)
        key = course(case) if at_once else course_in_order(case)
        often[key] = often.get(key, 0) + 1
        if often[key] < 5:
            *moments, last = [x.propensity for x in moments_of(policy, tag, start, full)]
            assert said.setdefault(key, last) == last == case.propensity
            for moment in moments:  # what was said of a step does not change with later ones
                assert last[: len(moment)] == pytest.approx(moment, abs=1e-12)
    return often, said


CASES = [
    pytest.param((3, 2, 2), 2, (), {}, id="nothing on file"),
    pytest.param((2, 2, 2, 2), 3, (), {"o1": 1}, id="one on file"),
    pytest.param((2, 2, 2, 2), 3, (), {"o3": 1}, id="the last on file"),
    pytest.param((2, 2, 2), 2, (2,), {}, id="one given"),
    pytest.param((2, 2, 2, 2, 2), 3, (3,), {"o2": 0, "o0": 1}, id="given, and two on file"),
    pytest.param((2, 2), 2, (), {"o0": 1, "o1": 1}, id="all on file"),
    pytest.param((2, 3), 1, (), {}, id="at most one"),
    pytest.param((3,), 1, (), {}, id="only one"),
]


@pytest.mark.parametrize("kind", [*KINDS[:4], *MIXED])
@pytest.mark.parametrize(("values", "m", "given", "on_file"), CASES)
def test_steps_are_as_likely_as_they_are_frequent(kind, values, m, given, on_file):
    rng = np.random.default_rng([len(values), m, [*KINDS, *MIXED].index(kind)])
    lattice = aw.states.Lattice(problem_of(values, m, given=given, actions=3))
    policy = policy_of(kind, lattice, rng)
    full = {f"o{i}": int(rng.integers(n)) for i, n in enumerate(values)} | on_file
    known = {f"o{i}": full[f"o{i}"] for i in given} | on_file
    tags = rng.integers(1 << TAG_BITS, size=1_500)
    often, said = frequencies(policy, lattice.index(known), full, tags)
    assert_agree(often, said, len(tags))


def assert_agree(often, said, cases):
    """Within five standard deviations, and nothing that is likely is missing."""
    total = 0.0
    for key, steps in said.items():
        p = float(np.prod(steps))
        total += p
        spread = np.sqrt(max(p * (1 - p), 1e-9) / cases)
        assert abs(often[key] / cases - p) < 5 * spread + 1e-9, (key, often[key] / cases, steps)
    assert total <= 1 + 1e-9
    assert total > 0.98  # of courses that were never seen in so many cases


@pytest.mark.parametrize(("values", "m", "given", "on_file"), CASES)
def test_a_random_choice_is_as_likely_as_it_is_frequent(values, m, given, on_file):
    rng = np.random.default_rng([len(values), m])
    lattice = aw.states.Lattice(problem_of(values, m, given=given, actions=2))
    full = {f"o{i}": int(rng.integers(n)) for i, n in enumerate(values)} | on_file
    known = {f"o{i}": full[f"o{i}"] for i in given} | on_file
    often, said = {}, {}
    for _ in range(2_000):
        case = played(random_policy(lattice, rng), 0, lattice.index(known), full)
        often[course(case)] = often.get(course(case), 0) + 1
        assert said.setdefault(course(case), case.propensity) == case.propensity
    assert_agree(often, said, 2_000)


def courses(policy, start, full):
    """Every course that could be, as the arguments of `chances`."""
    lattice = policy.lattice
    known = lattice.domain(start)
    unknown = [i for i in range(lattice.buyable) if i not in known]
    at_once = policy.acquisition == "simultaneous"
    ways = itertools.combinations if at_once else itertools.permutations
    for size in range(lattice.m - len(known) + 1):
        for looks in ways(unknown, size):
            path, subset, state = [], lattice.subset_of(start), start
            for i in looks:
                step = lattice.step(subset, i)
                subset, state = step.subset, step.child(state, full[i])
                path.append((i, state))
            for action in range(len(lattice.problem.actions)):
                yield path, action


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from([*KINDS, *MIXED]),
    shape=st.lists(st.integers(2, 3), min_size=2, max_size=5),
    m=st.integers(0, 3),
    givens=st.integers(0, 1),
    filed=st.integers(0, 2),
    seed=st.integers(0, 99),
)
def test_all_that_could_be_done_sums_to_one(kind, shape, m, givens, filed, seed):
    rng = np.random.default_rng(seed)
    given = tuple(range(len(shape)))[:givens]
    m = min(m, len(shape) - givens)
    lattice = aw.states.Lattice(problem_of(shape, m, given=given))
    policy = policy_of(kind, lattice, rng)
    full = {i: int(rng.integers(n)) for i, n in enumerate(lattice.outcomes)}
    on_file = rng.permutation(lattice.buyable)[: min(filed, m)].tolist()
    places = [*on_file, *range(lattice.buyable, len(shape))]
    start = lattice.index_of({i: full[i] for i in places})
    total = 0.0
    for path, action in courses(policy, start, full):
        total += _product(policy, start, path, action)
    assert total == pytest.approx(1.0, abs=1e-12)


def _product(policy, start, path, action):
    chances = policy.propensities(start, path, (), action)
    return float(np.prod(chances() if callable(chances) else chances))


def test_draws_for_different_steps_of_a_case_are_independent():
    """χ² of pairs of draws in 16 × 16 cells, for places that steps near each other use."""
    from askwise._kernels.learners.explored_runs import uniform

    rng = np.random.default_rng(0)
    tags = rng.integers(1 << TAG_BITS, size=20_000).tolist()
    places = [0, 1, 2, 3, 4, 8, 9, 10, 12, 13, 4 * 77, 4 * 77 + 1, 4 * 77 + 2]
    cells = {p: (16 * np.array([uniform(t, p) for t in tags])).astype(int) for p in places}
    for p, q in itertools.combinations(places, 2):
        count = np.bincount(16 * cells[p] + cells[q], minlength=256)
        expected = len(tags) / 256
        chi = float(((count - expected) ** 2 / expected).sum())
        assert 255 - 6 * np.sqrt(510) < chi < 255 + 6 * np.sqrt(510), (p, q, chi)


@pytest.mark.parametrize("place", [0, 1, 2, 4 * 77 + 1])
def test_one_draw_is_uniform_to_the_last_bit(place):
    """For one half of the tag fixed, the draw runs through each of its 2³¹ values once."""
    from askwise._kernels.learners.explored_runs import uniform

    high = [uniform((h << 31) | 12345, place) for h in range(1 << 12)]
    assert len(set(high)) == len(high)
    # bijections all the way: the lowest bits of the draw take all values equally often
    bits = np.array([uniform((h << 31) | 99, place) for h in range(1 << 16)]) * 2**31
    assert np.bincount(bits.astype(np.int64) % 8, minlength=8).min() > (1 << 13) * 0.95


@pytest.mark.parametrize("name", ["seq-oos", "sim-oos", "psrl", "contextual-ucb", "lin-ucb"])
def test_who_does_not_randomise_is_certain(name):
    for model in models():
        learner = aw.learners.LEARNERS[name](model.problem, rng=0)
        for case in play(learner, model, 40, np.random.default_rng(0)):
            at_once = strategy_of(learner).acquisition.name == "simultaneous"
            looks = bool(case.path) if at_once else len(case.path)
            assert case.propensity == (1.0,) * (looks + 1)


WAYS = itertools.product(["sequential", "simultaneous"], ["joint", "additive"])
LEARNERS = [(aw.baselines.RandomChoice, {}), (aw.baselines.EpochGreedy, {})]
LEARNERS += [(aw.Learner, {"acquisition": plan, "model": model}) for plan, model in WAYS]


@pytest.mark.parametrize(("learner", "options"), LEARNERS)
def test_learners_say_how_likely_and_files_keep_it(learner, options, tmp_path):
    for model in models():
        if model.problem.m == 0 and options.get("model") == "additive":
            continue
        one = learner(model.problem, rng=5, **options)
        cases = play(one, model, 150, np.random.default_rng(2))
        steps = [case.propensity for case in cases]
        assert all(0 < p <= 1 + 1e-12 for case in steps for p in case)
        assert model.problem.m == 0 or any(p < 1 for case in steps for p in case)
        full = model.sample(np.random.default_rng(3), 12).tolist()
        begun = [begin(one, row) for row in full]
        for case, row in zip(begun[::2], full[::2], strict=True):
            see(case, model.problem, row)
        one.save(tmp_path / "l.askwise")
        other = aw.load(tmp_path / "l.askwise")
        for case, row in zip(begun, full, strict=True):
            again = other.cases[case.id]
            assert again.propensity == pytest.approx(case.propensity)
            for x in (case, again):
                see(x, model.problem, row)
            assert again.propensity == pytest.approx(case.propensity)


def test_a_case_keeps_what_it_decided_when_it_is_cancelled():
    model = random_model(np.random.default_rng(0), [2, 2, 2])
    learner = aw.Learner(model.problem, rng=0)
    cases = [learner.open() for _ in range(20)]
    case = next(c for c in cases if c.wanted)
    before = case.propensity
    case.cancel()
    assert case.propensity == before
    assert len(before) == 1


def test_epoch_greedy_is_random_where_it_explores_only():
    model = random_model(np.random.default_rng(0), [2, 2])
    learner = aw.baselines.EpochGreedy(model.problem, rng=0)
    for case in play(learner, model, 60, np.random.default_rng(0)):
        sets = 4
        explored = (1 / sets, 1 / 3) if case.path else (1 / sets / 3,)
        assert case.propensity in ((1.0,) * len(case.propensity), pytest.approx(explored))


def test_a_policy_that_does_not_say_is_unknown():
    class Secret(aw.Policy):
        def propensities(self, start, path, looks, action):
            return None

    lattice = aw.states.Lattice(problem_of((2, 2), 2))
    look = np.full(lattice.size, -1, np.int16)
    actions = np.zeros(lattice.size, np.int16)
    policy = Secret(PathTable(lattice, look, actions, np.zeros(lattice.size)))
    assert played(policy, 0, 0, {}).propensity is None


def test_weights_by_propensity_recover_what_another_policy_would_gain():
    """The mean of [the policy would have done it] / P(done) · gain is the policy's exact gain."""
    model = random_model(np.random.default_rng(4), [2, 2], actions=2, highest_cost=0.1)
    learner = aw.baselines.RandomChoice(model.problem, rng=0)
    target = aw.oracle.simultaneous(model)
    weighed = []
    for case in play(learner, model, 6_000, np.random.default_rng(1)):
        same = case.subset == target.table.sets[0] and case.action_index == target.act(
            case.state_index
        )
        gain = case.earned * model.problem.reward_value - case.cost
        weighed.append(gain * same / np.prod(case.propensity))
    error = np.std(weighed) / np.sqrt(len(weighed))
    assert abs(np.mean(weighed) - target.evaluate(model)) < 5 * error
