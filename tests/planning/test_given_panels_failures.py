"""Given observations, panels and failures: plans against brute force, a solver, and themselves."""

import itertools
from collections import Counter

import numpy as np
import pytest

import askwise as aw
import reference
from askwise._kernels.radii import Radii
from askwise.estimation.estimates import Estimates
from askwise.planning import plan_sequential, plan_simultaneous
from askwise.simulation.environments import Population, stream
from askwise.testing import begin, see
from inside import full_plan, now_of, rounds_of

FEATURES = ("given", "panel", "overlapping", "charged", "refunded")


ALL = [True] * len(FEATURES)
FREQUENT = (0.55, 0.75, 0.8, 0.5, 0.5)
"""How many problems are to have each: some are smothered by a small m, or by a price of 0."""


def random_problem(rng, *, most, wanted=None, observations=4, buys=False):
    """A problem with about those features, of at most so many full states; ragged and shuffled."""
    wanted = (rng.random(len(FEATURES)) < FREQUENT).tolist() if wanted is None else wanted
    is_given, in_panels, overlap, charged, refunded = wanted
    while True:
        n = int(rng.choice([1, 2, 3, 4, observations, observations][2 * buys :]))
        beta = float(rng.choice([1.0, 50.0]))
        dear = beta * float(rng.choice([0.0, 0.02, 0.1, 0.3], p=[0.1, 0.6, 0.25, 0.05]))
        kinds = [None, *["charged"] * charged, *["refunded"] * refunded]
        declared = []
        for i in range(n):
            given = bool(is_given and rng.random() < 0.3)
            declared.append(
                aw.Observation(
                    f"o{i}",
                    values=[f"v{x}" for x in range(rng.choice([1, 2, 3], p=[0.25, 0.55, 0.2]))],
                    cost=0.0 if given else round(float(rng.random() * dear), 3),
                    given=given,
                    fails=kinds[rng.integers(len(kinds))],
                )
            )
        names = [o.name for o in declared if not o.given]
        panels = []
        for _ in range(int(rng.choice([1, 2, 3])) if in_panels and names else 0):
            size = min(int(rng.choice([1, 2, 2, 3])), len(names))
            members = rng.permutation(names)[:size].tolist()
            if not overlap:
                members = [x for x in members if not any(x in p.observations for p in panels)]
            if members:
                fee = rng.random() * float(rng.choice([0.0, dear, beta / 10]))
                panels.append(aw.Panel(observations=members, fee=round(fee, 3)))
        m = int(max(rng.integers(buys, len(names) + 1, 2))) if names else 0
        problem = aw.Problem(
            observations=declared,
            actions=[f"a{a}" for a in range(rng.integers(1 + (buys or rng.random() < 0.9), 4))],
            max_observations=m,
            reward_value=beta,
            panels=panels,
        )
        full = int(np.prod([len(o.outcomes) for o in declared]))
        if full <= most and (not buys or names):
            return problem


def random_model(rng, problem):
    """p uniform on the simplex, a part of it impossible in some; rewards uniform or sure."""
    shape = tuple(len(o.outcomes) for o in problem.observations)
    probability = rng.dirichlet(np.ones(int(np.prod(shape)))).reshape(shape)
    reward = rng.random((*shape, len(problem.actions)))
    if rng.random() < 0.6:
        reward = np.round(reward)
    if rng.random() < 0.35:
        some = probability * (rng.random(shape) < 0.6)
        probability = some / some.sum() if some.sum() > 0 else probability
    return aw.Model(problem, probability, reward)


def features_of(problem):
    """The features that make a difference in a problem."""
    buyable = {o.name: o for o in problem.observations if not o.given}
    dear = [set(p.observations) for p in problem.panels if p.fee > 0]
    priced = {name for p in dear for name in p} | {n for n, o in buyable.items() if o.cost > 0}
    fails = {kind: {n for n, o in buyable.items() if o.fails == kind} for kind in FEATURES[3:]}
    found = set()
    if any(len(o.outcomes) > 1 for o in problem.observations if o.given):
        found.add("given")
    if problem.m >= 2 and any(len(p) >= 2 for p in dear):
        found.add("panel")
    if problem.m >= 2 and any(a & b for a, b in itertools.combinations(dear, 2)):
        found.add("overlapping")
    if problem.m >= 1 and fails["charged"]:
        found.add("charged")
    if problem.m >= 1 and fails["refunded"] & priced:
        found.add("refunded")
    return found


# --- (a) oracles: the best of all policies --------------------------------------------------------

BATCHES, PER_BATCH = 12, 50
MOST_WAYS = 1_500


def tiny_models(batch):
    rng = np.random.default_rng([1, batch])
    for k in range(PER_BATCH):
        wanted = ALL if k % 2 else None
        yield random_model(rng, random_problem(rng, most=80, wanted=wanted))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_oracles_are_the_best_of_all_policies(batch):
    looks, listed = 0, 0
    for model in tiny_models(batch):
        problem = model.problem
        exact = 1e-9 * problem.reward_value
        one_by_one = at_once = 0.0
        for known, cases in reference.begin_alike(model):
            best = reference.best_sequential(problem, known, cases)
            one_by_one += best
            at_once += reference.best_simultaneous(problem, known, cases)
            if reference.count_ways(problem, known) <= MOST_WAYS:
                gains = [
                    reference.gain_of_way(problem, way, known, cases)
                    for way in reference.all_ways(problem, known)
                ]
                assert max(gains) == pytest.approx(best, abs=exact)
                listed += 1
        for policy, best in (
            (aw.oracle.sequential(model), one_by_one),
            (aw.oracle.simultaneous(model), at_once),
        ):
            assert policy.value == pytest.approx(best, abs=exact)
            assert policy.evaluate(model) == pytest.approx(best, abs=exact)
            looks += any(policy.looks(g) for g in range(policy.lattice.contexts))
        assert one_by_one >= at_once - exact
    assert looks >= PER_BATCH // 2
    assert listed >= PER_BATCH // 2


def test_enough_of_the_tiny_problems_have_every_feature_and_every_pair():
    had, pairs, problems, ragged, impossible, buys = Counter(), Counter(), 0, 0, 0, Counter()
    for batch in range(BATCHES):
        for model in tiny_models(batch):
            found = sorted(features_of(model.problem))
            had.update(found)
            pairs.update(itertools.combinations(found, 2))
            problems += 1
            ragged += len(set(model.probability.shape)) > 1
            impossible += bool((model.probability == 0).any())
            buys[model.problem.m] += 1
            had["alone"] += len(found) == 1
            had["none"] += not found
    assert problems >= 500
    for feature in FEATURES:
        assert had[feature] >= 80, had
    for pair in itertools.combinations(sorted(FEATURES), 2):
        assert pairs[pair] >= 30, pairs
    assert min(had["alone"], had["none"]) >= 50
    assert min(ragged, impossible) >= 100
    assert all(buys[m] >= 20 for m in range(4)), buys


# --- (b) planners: a linear-programming solver ----------------------------------------------------


def by_state(lattice, array):
    """An array with a line for every state as a dictionary by readable state."""
    states = [frozenset(lattice.state(s).items()) for s in range(lattice.size)]
    assert len(set(states)) == lattice.size
    assert set(states) == set(reference.readable_states(lattice.problem))
    return dict(zip(states, array, strict=True))


def random_counts(rng, lattice):
    n, most = lattice.size, int(rng.choice([1, 3, 30, 1000]))
    reward = rng.random(n)
    reward[rng.random(n) < rng.random()] = 1.0  # never tried
    kept = 0.5 if rng.random() < 0.5 else 1.0
    visits = rng.integers(0, most + 1, n) * (rng.random(n) < kept)
    steps = rng.integers(0, most + 1, (n, lattice.m)) * (rng.random((n, lattice.m)) < kept)
    radii = Radii(
        outcomes=float(rng.choice([0.0, rng.random(), 10 * rng.random() * most])),
        per_outcome=float(rng.choice([0.0, rng.random()])),
    )
    return reward, visits, steps, radii


@pytest.mark.parametrize("batch", range(4))
def test_optimistic_plans_equal_linear_programming(batch):
    rng = np.random.default_rng([2, batch])
    looks, sets, had = 0, 0, Counter()
    for k in range(40):
        wanted = ALL if k % 2 else None
        problem = random_problem(rng, most=120, observations=5, wanted=wanted)
        lattice, beta = aw.states.Lattice(problem), problem.reward_value
        had.update(features_of(problem))
        reward, visits, steps, radii = random_counts(rng, lattice)
        rewards = by_state(lattice, reward)
        states, action = list(rewards), np.zeros(lattice.size, np.int16)

        plan = plan_simultaneous(lattice, Estimates(reward, action, visits, radii))
        expected = reference.plan_sets(problem, rewards, by_state(lattice, visits), radii)
        assert len(expected) == lattice.context_subsets
        best = Counter()
        for (context, names), value in expected.items():
            start = states.index(context)
            subset = lattice.subset(tuple(sorted(lattice.position(n) for n in names)))
            assert abs(plan.values[lattice.context_subset(subset, start)] - value) <= 1e-9 * beta
            best[start] = max(best.get(start, value), value)
        for start, value in best.items():
            chosen = plan.values[lattice.context_subset(int(plan.sets[start]), start)]
            assert abs(chosen - value) <= 1e-9 * beta
        sets += int((plan.sets > 0).sum())

        plan = plan_sequential(lattice, Estimates(reward, action, steps, radii))
        weight = {
            (states[s], lattice.observations[i].name, states[c]): int(steps[c, lattice.slot(c, i)])
            for s in range(lattice.size)
            for i in range(lattice.buyable)
            for c in lattice.children(s, i)
        }
        expected = reference.plan_paths(problem, rewards, weight, radii)
        for s, state in enumerate(states):
            assert abs(plan.values[s] - expected[state]) <= 1e-9 * beta
        looks += int((plan.next >= 0).sum())
    assert looks > 100
    assert sets > 10
    assert all(had[feature] >= 2 for feature in FEATURES), had


# --- (c) plans that cost what changed -------------------------------------------------------------

KINDS = [aw.SimOOS, aw.SeqOOS]


def busy_models(seed, number, *, most=120):
    """Models of problems in which every feature is present, or nearly every one."""
    rng = np.random.default_rng(seed)
    models = []
    while len(models) < number:
        wanted = [rng.random() < 0.85 for _ in FEATURES]
        problem = random_problem(rng, most=most, observations=5, wanted=wanted, buys=True)
        if len(features_of(problem)) >= 3 and problem.m >= 2:
            models.append(random_model(rng, problem))
    return models


def is_drawn_right(model):
    """Whether `simulate` can draw from it: see the test of one value declared first."""
    return all(len(o.outcomes) > 1 for o in model.problem.observations if o.given)


def assert_same_plan(policy, full, starts):
    """The same choices and values wherever cases from these starts can come."""
    lattice, beta = full.lattice, full.problem.reward_value
    at_once = policy.acquisition == "simultaneous"
    if at_once:
        assert policy.table.sets.tolist() == full.table.sets.tolist()
        for g in range(lattice.contexts):
            assert policy.table.value_from(g) == full.table.value_from(g)
    waiting = list(starts)
    while waiting:
        state = waiting.pop()
        looks = policy.looks(state)
        assert looks == full.looks(state)
        if not looks:
            assert policy.act(state) == full.act(state)
        if not at_once:
            never_came = policy.table.row_of is not None and policy.table.row(state) == 0
            worth = beta if never_came else policy.values[policy.table.row(state)]
            assert worth == full.values[state]
        reached = [state]
        for i in looks:
            reached = [c for s in reached for c in lattice.children(s, i)]
        waiting.extend(reached if looks else [])


class Desk:
    """Somebody who does everything that can be done to cases, in any order."""

    def __init__(self, learner, model, rng, *, on_file=True, cancels=True):
        self.learner, self.model, self.rng = learner, model, rng
        self.on_file, self.cancels = on_file, cancels
        self.full, self.looking, self.acted, self.late, self.done = {}, [], [], [], []
        self.happened = Counter()

    def open(self, full):
        problem, rng = self.learner.problem, self.rng
        values = {o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)}
        known = {o.name: values[o.name] for o in problem.observations if o.given}
        if self.on_file and rng.random() < 0.25:
            names = [o.name for o in problem.observations if not o.given]
            for name in rng.permutation(names)[: rng.integers(problem.m + 1)].tolist():
                known[name] = values[name]
                self.happened["on file"] += 1
        case = self.learner.open(known)
        self.full[case.id] = values
        (self.looking if case.wanted else self.acted).append(case)
        return case

    def look(self, case):
        """Sometimes at a part of what is wanted only."""
        names = list(case.wanted)
        if self.rng.random() < 0.3:
            names = names[: self.rng.integers(1, len(names) + 1)]
        case.observe({name: self.full[case.id][name] for name in names})
        if not case.wanted:
            self.looking.remove(case)
            self.acted.append(case)

    def earned(self, case):
        places = tuple(
            o.outcomes.index(self.full[case.id][o.name]) for o in self.model.problem.observations
        )
        mean = self.model.reward[places][case.action_index]
        return float(self.rng.random() < mean) if self.rng.random() < 0.8 else self.rng.random()

    def take(self, cases):
        return cases.pop(int(self.rng.integers(len(cases))))

    def something(self):
        rng = self.rng
        what = rng.choice(["look", "reward", "default", "late", "correct", "cancel"],
                          p=[0.4, 0.4, 0.06, 0.06, 0.06, 0.02])  # fmt: skip
        cancelled = rng.choice(["looking", "acted"])
        pool = {
            "look": self.looking,
            "reward": self.acted,
            "default": self.acted,
            "late": self.late,
            "correct": self.done,
            "cancel": getattr(self, cancelled),
        }[what]
        if not pool or (what == "cancel" and not self.cancels):
            return
        self.happened[what] += 1
        if what == "look":
            self.look(pool[rng.integers(len(pool))])
            return
        case = self.take(pool)
        if what == "cancel":
            case.cancel()
        elif what == "default":
            case.reward_by_default(float(rng.random()))
            self.late.append(case)
        else:
            case.reward(self.earned(case), replaces=what == "correct")
            self.done = [*self.done[-20:], case]


def rounds_compared(kind, clock, storage, *, on_file, models=None):
    """Long runs in which anything happens; at every round, the plan against the full plan."""
    compared, happened, grown = 0, Counter(), 0
    for seed, model in enumerate(busy_models(3, 6) if models is None else models):
        rng = np.random.default_rng([3, seed])
        learner = kind(model.problem, clock=clock, storage=storage)
        lattice, first = learner.statistics.lattice, learner.statistics.capacity
        desk = Desk(learner, model, rng, on_file=on_file(lattice))
        for full in model.sample(rng, 350).tolist():
            if rounds_of(learner).is_over and now_of(learner).round:
                expected, starts = full_plan(learner), [*range(lattice.contexts)]
                if clock == "doubling":  # the exact one holds where cases come that begin blank
                    starts += rng.integers(0, lattice.size, 12).tolist()
                assert_same_plan(learner.replan(), expected, starts)
                compared += 1
            desk.open(full)
            for _ in range(rng.integers(2, 7)):
                desk.something()
        grown += learner.statistics.capacity > first
        happened += desk.happened
    assert min(happened.values()) >= 20, happened
    assert len(happened) == 7
    assert grown >= 4 or storage == "dense"
    return compared


@pytest.fixture
def few_rows(monkeypatch):
    """Sparse rows must grow soon."""
    monkeypatch.setattr("askwise.counting.row_counters.FIRST_ROWS", 8)


CLOCKS, STORAGES = ["doubling", "exact"], ["dense", "sparse"]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    ("kind", "storage"),
    [
        (aw.SimOOS, "dense"),
        (aw.SimOOS, "sparse"),
        (aw.SeqOOS, "dense"),
        (aw.SeqOOS, "sparse"),
    ],
)
def test_every_plan_equals_the_full_plan_whatever_happens(kind, storage, clock, few_rows):
    def on_file(lattice):
        return kind is aw.SeqOOS or lattice.contexts == 1

    assert rounds_compared(kind, clock, storage, on_file=on_file) >= 250


@pytest.mark.parametrize("clock", CLOCKS)
def test_every_plan_of_sets_in_sparse_rows_without_refunds(clock, few_rows):
    def on_file(lattice):
        return lattice.contexts == 1

    models = [m for m in busy_models(3, 20) if "refunded" not in features_of(m.problem)]
    assert rounds_compared(aw.SimOOS, clock, "sparse", on_file=on_file, models=models[:6]) >= 250


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_plan_of_sets_equals_the_full_plan_with_all_on_file(clock, storage, few_rows):
    assert rounds_compared(aw.SimOOS, clock, storage, on_file=lambda lattice: True) >= 250


# --- (d) compiled runs are the case-by-case face --------------------------------------------------


def learner_of(kind, problem, rng, **options):
    return getattr(aw, kind)(problem, rng=rng, **options)


LEARNERS = [
    ("SimOOS", {"storage": "dense"}),
    ("SimOOS", {"storage": "sparse"}),
    ("SimOOS", {"clock": "exact"}),
    ("SeqOOS", {"storage": "dense"}),
    ("SeqOOS", {"storage": "sparse"}),
    ("SeqOOS", {"clock": "exact"}),
    *(
        ("Learner", {"model": model, "acquisition": plan})
        for model in ("joint", "additive")
        for plan in ("sequential", "simultaneous")
    ),
]


def by_the_face(learner, environment, steps, seed):
    """The same cases as `simulate` decides, one by one."""
    problem, cases, rounds = learner.problem, [], []
    for draws in stream(environment, np.random.default_rng(seed), steps):
        for full, rewards in zip(draws.values.tolist(), draws.rewards, strict=True):
            case = see(begin(learner, full), problem, full)
            rounds.append(now_of(learner).round)
            case.reward(rewards[case.action_index])
            cases.append(case)
    return cases, rounds


@pytest.mark.parametrize(("kind", "options"), LEARNERS, ids=str)
def test_compiled_runs_equal_the_face(kind, options):
    bought, had = 0, Counter()
    models = [model for model in busy_models(4, 40, most=80) if is_drawn_right(model)]
    for model in models[:20]:
        problem, environment = model.problem, Population(model)
        had.update(features_of(problem))
        compiled, face = (learner_of(kind, problem, 6, **options) for _ in range(2))
        for steps, seed in ((40, 1), (1, 2), (60, 3)):  # begins and ends within a round
            run = aw.simulate(compiled, environment, steps=steps, rng=seed)
            cases, rounds = by_the_face(face, environment, steps, seed)
            assert run.state.tolist() == [case.state_index for case in cases]
            assert run.action.tolist() == [case.action_index for case in cases]
            assert run.round.tolist() == rounds
            assert run.cost.tolist() == [case.cost for case in cases]
            expected = [reference.spent(problem, case.state) for case in cases]
            np.testing.assert_allclose(run.cost, expected, atol=1e-12 * problem.reward_value)
            assert compiled.statistics == face.statistics
            bought += sum(len(case.path) for case in cases)
        assert now_of(compiled).rng.random() == now_of(face).rng.random()
    assert bought >= 500
    assert all(had[feature] >= 5 for feature in FEATURES), had


# --- (e) what is not used changes nothing ---------------------------------------------------------


UNUSED = ["given", "panel"]


def with_unused(problem, place, unused):
    """The same problem with a given observation of one value there, and a panel without a fee."""
    observations = list(problem.observations)
    if "given" in unused:
        observations.insert(place, aw.Observation("site", values=["here"], given=True))
    members = [o.name for o in problem.observations][:2]
    return aw.Problem(
        observations=observations,
        actions=problem.actions,
        max_observations=problem.m,
        reward_value=problem.reward_value,
        panels=[aw.Panel(observations=members, fee=0.0)] if "panel" in unused else [],
    )


def plain_models(seed, number, *, unused=UNUSED, first=True):
    """Models of problems without any feature, twice: as they are, and with what is not used."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        nothing = [False] * len(FEATURES)
        problem = random_problem(rng, most=40, wanted=nothing, buys=True)
        model = random_model(rng, problem)
        place = 0 if first else len(problem.observations)
        shape = list(model.probability.shape)
        if "given" in unused:
            shape.insert(place, 1)
        more = with_unused(problem, place, unused)
        yield (
            model,
            aw.Model(more, model.probability.reshape(shape), model.reward.reshape(*shape, -1)),
        )


def assert_same_counters(plain, more):
    """States keep their numbers: one more digit that is always 0."""
    assert plain.cases == more.cases
    for s in range(plain.lattice.size):
        state = dict(more.lattice.state(s))
        assert state.pop("site", "here") == "here"
        assert state == plain.lattice.state(s)
    for (name, one), (_, other) in zip(plain.dense().arrays(), more.dense().arrays(), strict=True):
        assert one.tobytes() == other.tobytes(), name


def test_oracles_take_no_notice_of_what_is_not_used():
    for plain, more in plain_models(5, 60):
        for find in (aw.oracle.sequential, aw.oracle.simultaneous):
            one, other = find(plain), find(more)
            assert one.value == other.value
            assert one.values.tobytes() == other.values.tobytes()
            assert one.actions.tobytes() == other.actions.tobytes()
            assert one.tree() == other.tree()
            assert one.evaluate(plain) == other.evaluate(more)


# A Learner's model has a place for every observation, so that one more of one value is a model of
# other bits: only panels leave it as it was.
UNNOTICED = [
    (kind, options, unused)
    for kind, options in LEARNERS
    for unused in (["panel"] if kind == "Learner" else UNUSED)
]


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize(("kind", "options", "unused"), UNNOTICED, ids=str)
def test_learners_take_no_notice_of_what_is_not_used(kind, options, unused, first):
    bought = 0
    for plain, more in plain_models(6, 3, unused=[unused], first=first):
        one, other = (learner_of(kind, model.problem, 7, **options) for model in (plain, more))
        left, rounds = by_the_face(one, Population(plain), 100, 8)
        right, others = by_the_face(other, Population(more), 100, 8)
        assert [(c.path, c.action) for c in left] == [(c.path, c.action) for c in right]
        assert [c.cost for c in left] == [c.cost for c in right]
        assert rounds == others
        assert_same_counters(one.statistics, other.statistics)
        assert one.policy.tree() == other.policy.tree()
        if kind != "Learner":
            assert one.policy.value == other.policy.value
        bought += sum(len(c.path) for c in left)
    assert bought >= 60


def compare_compiled_runs(kind, options, models):
    for plain, more in models:
        one, other = (learner_of(kind, model.problem, 7, **options) for model in (plain, more))
        left = aw.simulate(one, Population(plain), steps=250, rng=8)
        right = aw.simulate(other, Population(more), steps=250, rng=8)
        assert left.state.tolist() == right.state.tolist()
        assert left.action.tolist() == right.action.tolist()
        assert left.round.tolist() == right.round.tolist()
        assert left.cost.tolist() == right.cost.tolist()
        assert_same_counters(one.statistics, other.statistics)


@pytest.mark.parametrize(
    ("kind", "options", "unused"),
    UNNOTICED,
    ids=str,
)
def test_compiled_runs_take_no_notice_of_what_is_not_used(kind, options, unused):
    compare_compiled_runs(kind, options, plain_models(6, 3, unused=[unused], first=False))


@pytest.mark.parametrize(("kind", "options"), LEARNERS[:6], ids=str)
def test_compiled_runs_take_no_notice_of_one_value_declared_first(kind, options):
    compare_compiled_runs(kind, options, plain_models(6, 3, unused=["given"]))
