"""What the theorems promise, measured with the theorems' radii and the tight ones (β = 1).

Populations made to be hard (`hard_models.py`), several times, and learners that do not have the
guarantee (`mutants.py`), which must fail the same checks. Every plan of every run is looked at.
No run may fail of 64, which a learner that fails in 1 run of 20 would pass once in 27 times:
that δ is kept is shown for the inequalities (`tests/estimation/test_tight.py`), and with several
hundred runs by `benchmarks/guarantee.py`. Radii that are only half as wide as the theorem's,
another theorem's, or a t off by one show in no run of bearable length, so wide are they: those are
found in what is planned (`test_guarantee_plans.py`).
"""

import functools
import math

import numpy as np
import pytest

import askwise as aw
from askwise._kernels.radii import Radii
from askwise.counting import UNIT
from askwise.estimation.optimistic import Confidence, optimistic_estimates
from askwise.planning import plan_sequential
from askwise.simulation.environments import Population
from askwise.testing import random_model
from hard_models import HARD, parity, rare, unlucky
from inside import strategy_of
from mutants import DELTA, KINDS, MUTATIONS, choose_at_random, maker, noting

CASES = 300_000
RUNS = 4
ORACLES = {aw.SimOOS: aw.oracle.simultaneous, aw.SeqOOS: aw.oracle.sequential}


def run_of(make, model, best, *, cases, seed):
    """One run: the least that any of its plans promised, and the regret after each case."""
    learner = make(model.problem)
    run = aw.simulate(learner, Population(model), steps=cases, rng=np.random.default_rng(seed))
    expected = model.marginals(run.lattice)[1][run.state, run.action]
    promised = getattr(strategy_of(learner), "promised", [learner.policy.value])
    return np.min(promised), np.cumsum(best - (expected - run.cost))


def plans_noted(kind, mutation=None, **options):
    """Makes learners of this kind, or a mutation of them, that note what their plans promise."""
    changes = {} if mutation is None else dict(MUTATIONS[mutation])
    strategy = noting(changes.pop("strategy", None))
    return maker(kind, strategy=strategy, **changes, **options)


@functools.cache
def runs_of(confidence, kind, model):
    """The runs that several tests look at."""
    make, made = plans_noted(kind, confidence=confidence), model()
    best = ORACLES[kind](made).value
    return best, [run_of(make, made, best, cases=CASES, seed=seed) for seed in range(RUNS)]


def test_a_learner_that_notes_its_plans_decides_like_any_other():
    """Every round is noted, and nothing else is different."""
    for kind in KINDS:
        runs, learners = [], []
        for make in (maker(kind), plans_noted(kind)):
            learners.append(make(unlucky().problem))
            runs.append(aw.simulate(learners[-1], Population(unlucky()), steps=30_000, rng=1))
        plain, noted = runs
        for column in ("state", "action", "round"):
            assert np.array_equal(getattr(plain, column), getattr(noted, column))
        promised = strategy_of(learners[1]).promised
        assert len(promised) == noted.round[-1] > 100
        assert promised[-1] == learners[0].policy.value


# --- optimism: no plan promises less than the best policy earns -----------------------------------


def check_optimism(best, runs):
    """At least 1 − δ of the runs; with so small a δ, all of these."""
    below = [k for k, (lowest, _) in enumerate(runs) if not lowest >= best - 1e-12]
    assert len(below) <= DELTA * len(runs), f"these runs promised too little: {below}"


def check_some(make, model, oracle, *, cases, seeds):
    best = oracle(model).value
    check_optimism(best, [run_of(make, model, best, cases=cases, seed=seed) for seed in seeds])


@pytest.mark.parametrize("model", HARD)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("confidence", ["theorem", "tight"])
def test_no_plan_promises_less_than_the_oracle_earns(confidence, kind, model):
    best, runs = runs_of(confidence, kind, model)
    check_optimism(best, runs)
    assert min(lowest for lowest, _ in runs) < 1.0  # they have learned something


UNLUCKY_SEEDS = [1, 4, 21, 26, 31, 36]
"""With conf₂ capped at 1, as printed, these 6 of the first 40 end below the oracle."""


def test_the_runs_that_a_cap_of_1_fails():
    how = {"cases": 1_000_000, "seeds": UNLUCKY_SEEDS}
    model, oracle = unlucky(), aw.oracle.sequential
    check_some(maker(aw.SeqOOS), model, oracle, **how)
    printed = maker(aw.SeqOOS, **MUTATIONS["conf₂ capped at 1"])
    with pytest.raises(AssertionError, match=r"promised too little: \[0, 1, 2, 3, 4, 5\]"):
        check_some(printed, model, oracle, **how)


@pytest.mark.parametrize(
    ("mutation", "kind"),
    [
        ("conf₂ = 0", aw.SeqOOS),
        ("conf₁ = 0", aw.SeqOOS),
        ("conf₁ = 0", aw.SimOOS),
        ("no radii", aw.SeqOOS),
        ("no radii", aw.SimOOS),
    ],
)
def test_learners_without_the_guarantee_promise_too_little(mutation, kind):
    make = plans_noted(kind, mutation)
    with pytest.raises(AssertionError, match="promised too little"):
        check_some(make, unlucky(), ORACLES[kind], cases=300_000, seeds=range(8))


def test_random_choice_promises_nothing():
    with pytest.raises(AssertionError, match="promised too little"):
        check_some(choose_at_random, unlucky(), aw.oracle.simultaneous, cases=300, seeds=[0])


def unlucky_plan(radii):
    """The plan when all is known of the model, but x after u was looked at once and showed c.

    Everything else was counted a million times, just as likely as it is.
    """
    model = unlucky()
    lattice = aw.states.Lattice(model.problem)
    statistics = aw.Statistics(lattice)
    probability, reward = model.marginals(lattice)
    n = 1_000_000
    statistics.action_counts[:] = n
    statistics.reward_sums[:] = np.round(n * reward / UNIT)
    for state in range(lattice.size):
        for i in range(2):
            for child in lattice.children(state, i):
                share = probability[child] / probability[state]
                statistics.transitions[child, lattice.slot(child, i)] = round(n * share)
    u = lattice.index({"y": "u"})
    for child, count in zip(lattice.children(u, 0), [0, 0, 1], strict=True):
        statistics.transitions[child, lattice.slot(child, 0)] = count
    estimates = optimistic_estimates(statistics, statistics.transitions, radii)
    return u, plan_sequential(lattice, estimates)


@pytest.mark.parametrize("confidence", ["theorem", "tight"])
def test_one_unlucky_look_does_not_pin_it_for_ever(confidence):
    """What conf₂ capped at 1, as the paper prints it, gets wrong.

    Half of the mass would stay on c: 0.5 · 1 − 3/32 = 0.406 for x after u, less than the 0.52 of
    acting at once. Nobody would look again, and the radius of a look taken once never shrinks.
    """
    model = unlucky()
    best, lattice = aw.oracle.sequential(model), aw.states.Lattice(model.problem)

    def radii(**cap):
        how = Confidence(confidence, width=1.0, delta=DELTA, clock="exact", **cap)
        return how.radii(lattice, "sequential", 10**6)

    u, plan = unlucky_plan(radii())
    assert best.values[u] == pytest.approx(0.8 - 3 / 32)
    assert plan.look[u] == 0
    assert plan.values[u] == pytest.approx(1 - 3 / 32)
    assert plan.values[0] >= best.value

    for pins in (radii(cap="printed"), Radii()):  # the controls: as printed, and conf₂ = 0
        _, pinned = unlucky_plan(pins)
        assert pinned.look[u] == -1
        assert pinned.values[0] < best.value


# --- regret grows more slowly than time -----------------------------------------------------------


def check_growth(regrets):
    """The slope of log regret against log time over the last two decades, five times in each.

    The theorems promise ½, and what their logarithm adds there: 0.53. Linear regret has 1.
    """
    cases = len(regrets[0])
    times = np.geomspace(cases / 100, cases, 11).round().astype(int)
    logs = np.log(np.maximum(1e-9, [regret[times - 1] for regret in regrets]))
    slope = np.polyfit(np.log(times), logs.mean(axis=0), 1)[0]
    assert slope <= MOST, f"regret grows like time to the power of {slope:.2f}"
    assert np.mean(logs[:, -1]) > 0, "nothing was lost at all: there is nothing to see"


MOST = 0.7


@pytest.mark.parametrize("model", HARD)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("confidence", ["theorem", "tight"])
def test_regret_grows_more_slowly_than_time(confidence, kind, model):
    check_growth([regret for _, regret in runs_of(confidence, kind, model)[1]])


def stuck(mutation, kind):
    return pytest.param(maker(kind, **MUTATIONS[mutation]), ORACLES[kind], id=mutation)


@pytest.mark.parametrize(
    ("make", "oracle"),
    [
        pytest.param(choose_at_random, aw.oracle.simultaneous, id="random choice"),
        stuck("no radii", aw.SeqOOS),
        stuck("no radii", aw.SimOOS),
        stuck("conf₁ = 0", aw.SeqOOS),
        stuck("random actions", aw.SeqOOS),
        stuck("random actions", aw.SimOOS),
    ],
)
def test_learners_without_the_guarantee_have_linear_regret(make, oracle):
    """On one of the hard populations at least: luck may be with them on another."""
    for model in (unlucky(), parity(), rare()):
        best, cases = oracle(model).value, 3_000 if make is choose_at_random else 30_000
        regrets = [run_of(make, model, best, cases=cases, seed=seed)[1] for seed in range(3)]
        try:
            check_growth(regrets)
        except AssertionError as error:
            if "regret grows" in str(error):
                return
    pytest.fail("its regret grows more slowly than time on all of them")


# --- rounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rounds_grow_like_the_logarithm_of_time(kind):
    """Jaksch et al., Proposition 18: at most S·A·log2(8T / S·A) rounds."""
    model, cases = unlucky(), 100_000
    learner = maker(kind)(model.problem)
    rounds = aw.simulate(learner, Population(model), steps=cases, rng=0).round
    pairs = learner.statistics.lattice.size * (3 if kind is aw.SimOOS else 3 + 2)
    assert rounds[-1] <= pairs * math.log2(8 * cases / pairs)
    # and so about equally many in each doubling of time; linear growth would make it 4 to 1
    late = rounds[cases - 1] - rounds[cases // 2 - 1]
    early = rounds[cases // 4 - 1] - rounds[cases // 8 - 1]
    assert 0 < late <= 2 * early


# --- the radii themselves ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_radii_are_those_of_the_theorems(kind):
    """At t = 7, δ = .1 for [2, 3] values, m = 2, 3 actions: Ψ_tot = 12, Ψ_max = 3, D = 2."""
    model = random_model(np.random.default_rng(0), [2, 3])
    learner = kind(model.problem, confidence="theorem", delta=0.1, clock="exact")
    radii = strategy_of(learner).confidence.radii(
        learner.statistics.lattice, strategy_of(learner).acquisition.name, t=7
    )
    assert learner.statistics.lattice.size == 12
    for n in (1, 50, 10_000):
        conf1 = math.sqrt(math.log(20 * 12 * 3 * 7**5 / 0.1) / (2 * n))
        if kind is aw.SimOOS:
            conf2 = math.sqrt(10 * 12 * math.log(4 * 7 / 0.1) / n)
        else:
            conf2 = math.sqrt(10 * 3 * math.log(4 * 2 * 12 * 7 / 0.1) / n)
        assert math.sqrt(radii.reward / n) == pytest.approx(conf1)
        assert math.sqrt(radii.outcomes / n) == pytest.approx(conf2)
    assert radii.per_outcome == 0
