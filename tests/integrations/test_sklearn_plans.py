"""What the classifier counts, estimates, merges and plans, against plain recounting."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import norm
from sklearn.metrics import mutual_info_score

import askwise as aw
from askwise.integrations.sklearn.alike import PRIOR_RECORDS, merge_alike
from askwise.integrations.sklearn.beliefs import Table
from askwise.integrations.sklearn.charged_plans import LUCK_RECORDS, folds_of, policy_of
from askwise.integrations.sklearn.class_estimates import (
    DOUBT,
    STRENGTHS,
    USUAL_STRENGTH,
    count_classes,
    estimate_classes,
)
from askwise.integrations.sklearn.columns import Columns
from askwise.integrations.sklearn.rewards import weighed_by_stakes
from askwise.integrations.sklearn.table import (
    Look,
    choose,
    depth_with_room,
    information,
    observations_of,
)
from askwise.sklearn import CostAwareClassifier
from askwise.states import Lattice


@st.composite
def records(draw):
    """A lattice of two or three observations and records of two or three classes."""
    radices = draw(st.lists(st.integers(2, 3), min_size=2, max_size=3))
    classes, m = draw(st.integers(2, 3)), draw(st.integers(0, len(radices)))
    problem = aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=list(range(r)), cost=1.0) for i, r in enumerate(radices)
        ],
        actions=[str(c) for c in range(classes)],
        max_observations=m,
        reward_value=draw(st.sampled_from([1.0, 10.0, 100.0])),
    )
    row = st.tuples(*(st.integers(0, r - 1) for r in radices), st.integers(0, classes - 1))
    rows = np.array(draw(st.lists(row, min_size=1, max_size=12)), np.int64)
    weights = np.array(draw(st.lists(st.sampled_from([0.5, 1, 2]), min_size=12, max_size=12)))
    digits = np.ascontiguousarray(rows[:, :-1])
    return Lattice(problem), digits, rows[:, -1].copy(), weights[: len(rows)], classes


def inside(lattice, state, digits):
    return [k for k, row in enumerate(digits) if all(row[i] == x for i, x in lattice.digits(state))]


@given(records())
def test_a_record_is_a_case_in_every_state_it_contains(made):
    lattice, digits, labels, weights, classes = made
    counts = count_classes(lattice, digits, labels, weights, classes)
    for state in range(lattice.size):
        rows = inside(lattice, state, digits)
        plain = np.bincount(labels[rows], weights[rows], minlength=classes)
        assert counts[state].tolist() == plain.tolist()


def plain_estimate(known, digits, labels, weights, classes, shrinkage):
    """p̂ of what is known, by the equation, from the rows themselves."""
    rows = [k for k, row in enumerate(digits) if all(row[i] == x for i, x in known.items())]
    prior = np.full(classes, 1 / classes)
    if known:
        less = [{i: x for i, x in known.items() if i != j} for j in known]
        rest = digits, labels, weights, classes, shrinkage
        prior = np.exp(np.mean([np.log(plain_estimate(k, *rest)) for k in less], axis=0))
        prior /= prior.sum()
    found = np.bincount(labels[rows], weights[rows], minlength=classes)
    return (found + shrinkage * prior) / (weights[rows].sum() + shrinkage)


@settings(max_examples=40)
@given(records(), st.sampled_from([0.5, 8.0]))
def test_estimates_are_those_of_the_equation(made, shrinkage):
    lattice, *rows, classes = made
    estimates = estimate_classes(lattice, count_classes(lattice, *rows, classes), shrinkage)
    cases = estimates.cases
    for state in range(lattice.size):
        known = dict(lattice.digits(state))
        plain = plain_estimate(known, *rows, classes, shrinkage)
        np.testing.assert_allclose(estimates.probability[state], plain, rtol=1e-9)
        alone = [cases[lattice.index_of({i: x})] / cases[0] for i, x in known.items()]
        weight = cases[state] + shrinkage * math.prod(alone)
        assert estimates.weight[state] == pytest.approx(weight)


@settings(max_examples=20)
@given(records())
def test_the_strength_of_each_subset_is_the_likeliest_by_scipy(made):
    lattice, *rows, classes = made
    counts = count_classes(lattice, *rows, classes)
    found = estimate_classes(lattice, counts, None)
    for subset in range(lattice.subsets):
        states = range(lattice.block(subset).start, lattice.block(subset).stop)
        priors = []
        for state in states:
            known = lattice.digits(state)
            less = [dict(known[:k] + known[k + 1 :]) for k in range(len(known))]
            logs = [np.log(found.probability[lattice.index_of(before)]) for before in less]
            prior = np.exp(np.mean(logs, axis=0)) if logs else np.ones(classes)
            priors.append(prior / prior.sum())

        def likely(s, states=states, priors=priors):
            """A Dirichlet prior of s records, and what is believed of s beforehand."""
            total = -((math.log(s / USUAL_STRENGTH) / DOUBT) ** 2) / 2
            for state, prior in zip(states, priors, strict=True):
                n = counts[state]
                total += gammaln(s) - gammaln(n.sum() + s)
                total += (gammaln(n + s * prior) - gammaln(s * prior)).sum()
            return total

        most = max(map(likely, STRENGTHS))
        assert likely(found.strength[subset]) == pytest.approx(most, abs=1e-6)


def test_looks_that_tell_nothing_more_are_shrunk_more():
    """A copy of the label is believed; noise is drawn to what the states before it say."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=400)
    digits = np.column_stack([labels, rng.integers(2, size=400)])
    looks = [aw.Observation(name, values=[0, 1], cost=1) for name in ("copy", "noise")]
    lattice = Lattice(aw.Problem(observations=looks, actions=["0", "1"]))
    counts = count_classes(lattice, digits, labels, np.ones(400), 2)
    found = estimate_classes(lattice, counts, None)
    copy, noise = (found.strength[lattice.subset((i,))] for i in range(2))
    assert copy < 8 < noise
    constant = estimate_classes(lattice, counts, 8.0)
    wrong = lattice.index_of({0: 0})
    assert found.probability[wrong, 1] < constant.probability[wrong, 1] / 2


def luck(deviation, behind):
    """E max(0, X) of a normal X, by SciPy."""
    if deviation <= 0:
        return 0.0
    z = behind / deviation
    return deviation * (norm.pdf(z) - z * norm.sf(z))


def plain_plan(lattice, state, estimates, rewards, charge):
    """F(ψ) and the look, by the equations of `planning/advantage.py`."""
    beta = lattice.problem.reward_value
    reward = estimates.probability @ rewards
    stop = beta * reward[state].max()
    action, p_here = int(reward[state].argmax()), estimates.probability[state]
    more = rewards - rewards[:, [action]]
    spread = np.sqrt(np.maximum(p_here @ more**2 - (p_here @ more) ** 2, 0))
    behind = stop - beta * reward[state]
    best, look = stop, -1
    known = dict(lattice.digits(state))
    for i in range(lattice.buyable):
        if i in known or len(known) == lattice.m or estimates.cases[state] == 0:
            continue
        children = lattice.children(state, i)
        p = estimates.weight[children] / estimates.weight[children].sum()
        later = [plain_plan(lattice, c, estimates, rewards, charge)[0] for c in children]
        blind = beta * (p @ reward[children]).max()
        worth = stop + p @ later - lattice.costs[i] - blind
        for x, child in enumerate(children):
            if n := estimates.cases[child]:
                noise = beta * spread * math.sqrt(n) / (n + 2)  # however strong the shrinkage
                worth -= (
                    charge * p[x] * max(luck(*pair) for pair in zip(noise, behind, strict=True))
                )
        if worth > best + 1e-9 * beta:
            best, look = worth, i
    return best, look


@settings(max_examples=30)
@given(records(), st.sampled_from([0.0, 0.5]))
def test_plans_are_those_of_the_equation(made, charge):
    lattice, *rows, classes = made
    estimates = estimate_classes(lattice, count_classes(lattice, *rows, classes), 8.0)
    rewards = np.eye(classes)
    policy = policy_of(lattice, estimates, rewards, charge)
    value, look = plain_plan(lattice, 0, estimates, rewards, charge)
    assert policy.value == pytest.approx(value)
    assert policy.looks(0) == (() if look < 0 else (look,))


def test_the_charge_is_the_same_for_any_strength_of_shrinkage():
    """A free look at 40 records: 15 of 20 with one value are of class 1, 5 of 20 with the other."""
    look = aw.Observation("o", values=[0, 1], cost=0.0)
    lattice = Lattice(aw.Problem(observations=[look], actions=["0", "1"], reward_value=100))
    digits = np.repeat([0, 1], 20)[:, None]
    labels = np.repeat([1, 0, 1, 0], [15, 5, 5, 15])
    counts = count_classes(lattice, digits, labels, np.ones(40), 2)
    for shrinkage in (1.0, 8.0):
        estimates = estimate_classes(lattice, counts, shrinkage)
        plain, charged = (policy_of(lattice, estimates, np.eye(2), k).value for k in (0.0, 1.0))
        # both actions are right in half of the records, so they differ by −1 or 1: σ = 1
        assert plain - charged == pytest.approx(luck(100 * math.sqrt(20) / 22, 0.0))


def test_what_is_charged_is_what_a_look_that_tells_nothing_seems_to_be_worth():
    """Columns of noise with eight values, free: by luck alone, uncharged ones seem to pay."""
    rng = np.random.default_rng(0)
    problem = aw.Problem(
        observations=[aw.Observation("noise", values=list(range(8)), cost=0.0)],
        actions=["0", "1"],
        reward_value=100,
    )
    lattice, seeming, bought = Lattice(problem), {0.0: [], 1.0: []}, {0.0: 0, 1.0: 0, 2.0: 0}
    for _ in range(300):
        digits, labels = rng.integers(8, size=(80, 1)), np.arange(80) % 2
        counts = count_classes(lattice, digits, labels, np.ones(80), 2)
        estimates = estimate_classes(lattice, counts, LUCK_RECORDS)
        for charge in bought:
            policy = policy_of(lattice, estimates, np.eye(2), charge)
            bought[charge] += bool(policy.looks(0))
            if charge in seeming:
                seeming[charge].append(policy.value - 50)
    uncharged = np.mean(seeming[0.0])
    at_once = [v for v in seeming[1.0] if v > 0]  # of the others, only that they are below 0
    assert uncharged == pytest.approx(10.5, abs=1.0)
    assert np.mean(at_once) < 0.4 * uncharged
    assert bought[0.0] == 300
    assert 0.3 * 300 < bought[1.0] < 0.7 * 300  # it is the mean that is taken off
    assert bought[2.0] < 0.03 * 300


# --- values that are alike ------------------------------------------------------------------------


def log_marginal(counts, prior):
    """The probability of one record after the other under Pólya's urn, as it is."""
    s, drawn, total = PRIOR_RECORDS, np.zeros(len(prior)), 0.0
    for c, n in enumerate(counts):
        for _ in range(int(n)):
            total += math.log((drawn[c] + s * prior[c]) / (drawn.sum() + s))
            drawn[c] += 1
    return total


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=6))
def test_merging_goes_on_while_it_explains_the_records_better(rows):
    counts = np.array(rows, float)
    group = merge_alike(counts)
    seen = counts.sum(axis=1) > 0
    if seen.sum() < 2:
        return
    prior = (counts.sum(axis=0) + 0.5) / (counts.sum() + 1)
    tables = [counts[(group == g) & seen].sum(axis=0) for g in range(group.max() + 1)]
    assert len(tables) >= 2
    for a in range(len(tables)):
        for b in range(a + 1, len(tables)):
            together = log_marginal(tables[a] + tables[b], prior)
            gain = together - log_marginal(tables[a], prior) - log_marginal(tables[b], prior)
            assert len(tables) == 2 or gain <= 1e-9


def test_values_that_differ_stay_apart():
    counts = np.array([[90.0, 10], [88, 12], [10, 90], [50, 50], [0, 0]])
    assert merge_alike(counts).tolist() == [0, 0, 1, 2, 0]


def test_values_stay_apart_if_plain_records_say_so_whatever_is_at_stake():
    """Six records of a class that is dear to miss leave little weight for all others."""
    plain = np.array([[90.0, 10, 0], [10, 90, 0], [10, 84, 6]])
    labels = np.repeat(np.tile(np.arange(3), 3), plain.ravel().astype(int))
    rewards = 1 - np.array([0.01, 0.01, 1.0])[:, None] * (1 - np.eye(3))
    each = weighed_by_stakes(labels, np.ones(len(labels)), rewards)
    stakes = plain * [each[labels == c][0] for c in range(3)]
    assert stakes.sum() < 14
    assert merge_alike(stakes).tolist() == [0, 0, 1]
    assert merge_alike(plain, stakes).tolist() == [0, 1, 2]


def test_what_is_at_stake_weighs_records():
    labels, weights = np.array([0, 0, 0, 1]), np.ones(4)
    assert weighed_by_stakes(labels, weights, np.eye(2)).tolist() == [1, 1, 1, 1]
    rewards = np.array([[1.0, 0.9], [0.0, 1.0]])  # a mistake in the second costs ten times more
    found = weighed_by_stakes(labels, weights, rewards)
    assert found[3] / found[0] == pytest.approx(10)
    assert found.sum() == pytest.approx(1.3**2 / 1.03)


# --- columns --------------------------------------------------------------------------------------


def test_what_a_column_adds_is_the_information_of_scikit_learn():
    rng = np.random.default_rng(0)
    x, j, y = rng.integers(3, size=(3, 400))
    y = np.where(rng.random(400) < 0.5, (x + j) % 3, y)
    one = np.ones(400)
    alone = information(x, 3, np.zeros_like(x), 1, y, 3, one)
    assert alone == pytest.approx(mutual_info_score(x, y) - 4 / 800)
    beside = sum(np.mean(j == k) * mutual_info_score(x[j == k], y[j == k]) for k in range(3))
    assert information(x, 3, j, 3, y, 3, one) == pytest.approx(beside - 12 / 800)


def test_a_copy_of_a_column_adds_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=500)
    strong, weak = (np.where(rng.random(500) < p, y, 1 - y) for p in (0.9, 0.7))
    names = ("strong", "copy", "weak")
    columns = [Look(aw.Observation(n, values=[0, 1], cost=1), None) for n in names]
    rest = [strong, strong, weak], y, np.ones(500), columns, 2
    assert choose(*rest, most_states=9) == [0, 2]
    assert choose(*rest, most_states=1000) == [0, 1, 2]


def test_looks_and_columns_are_weighed_by_the_gain_that_the_plans_expect():
    """Eight columns count alike. A plan of six looks has room for six of them, one of four for all.

    Where little is at stake, more columns are better; otherwise more looks, also on new rows.
    """
    rng = np.random.default_rng(0)

    def drawn(rows):
        x = rng.integers(3, size=(rows, 8))
        return x, (x.sum(axis=1) + rng.normal(0, 0.5, rows) > 8).astype(int)

    x, y = drawn(1500)
    columns = [Look(aw.Observation(f"c{k}", values=[0, 1, 2], cost=1), None) for k in range(8)]
    rest = list(x.T), y, np.ones(1500), columns
    assert len(choose(*rest, 6, 8_000)) == 6
    assert len(choose(*rest, 4, 8_000)) == 8
    assert [depth_with_room(*rest, m, 8_000) for m in (2, 4, 6)] == [2, 4, 4]
    assert depth_with_room(*rest, 6, 100) == 6  # there is no room at any depth

    def fitted(m, value):
        return CostAwareClassifier(
            max_observations=m, max_states=8_000, categorical_features=list(range(8)),
            reward_value=value, further_looks=0,
        ).fit(x, y)  # fmt: skip

    assert [len(fitted(6, value).observations_) for value in (50, 200)] == [8, 6]
    new = drawn(20_000)
    gains = [fitted(m, 200).evaluate(*new).gain.value for m in (4, 6)]
    assert gains[1] > gains[0] + 5


def test_a_plan_keeps_its_looks_where_the_class_needs_them():
    """Four columns are the bits of the class, ten more are noisy copies of the first. Three looks
    have room for all, but only four looks tell the class.
    """
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=(1500, 4))
    copies = np.where(rng.random((1500, 10)) < 0.7, bits[:, :1], 1 - bits[:, :1])
    classifier = CostAwareClassifier(
        max_states=4_000, categorical_features=list(range(14)), reward_value=200, further_looks=0
    ).fit(np.hstack([bits, copies]), bits @ [1, 2, 4, 8])
    assert classifier.policy_.problem.max_observations == 4
    assert classifier.score(np.hstack([bits, copies]), bits @ [1, 2, 4, 8]) > 0.99


def test_a_column_that_never_varies_cannot_be_cut():
    cells = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, np.nan]])
    columns = Columns(("a", "b", "c"), (None, None, None))
    table = Table(columns, cells, np.array([0, 1]), np.ones(2), np.array([0, 1]), 2)
    made = observations_of(table, np.ones(2), [1.0] * 3, 4)
    assert [look is None for look in made] == [True, False, True]


def test_every_fold_has_its_share_of_every_class():
    labels = np.repeat([0, 1, 2], [20, 5, 35])
    fold = folds_of(labels)
    assert np.array_equal(fold, folds_of(labels))
    for c, share in ((0, 4), (1, 1), (2, 7)):
        assert np.bincount(fold[labels == c]).tolist() == [share] * 5
