"""Looks chosen for each row by a mixture model, instead of a plan and one order for all rows."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import adjusted_rand_score

from askwise.integrations.sklearn.beliefs import Table
from askwise.integrations.sklearn.charged_plans import folds_of
from askwise.integrations.sklearn.columns import Columns
from askwise.integrations.sklearn.further_looks import gains_surely
from askwise.integrations.sklearn.looks_by_row import ByRow
from askwise.integrations.sklearn.mixtures import Bins, Mixture, bins_of, fit_mixture
from askwise.integrations.sklearn.prices import Prices
from askwise.problem import Panel
from askwise.sklearn import CostAwareClassifier

OUTCOMES = [2, 3, 4, 2]


def table_of(x, y, weights=None, categories=None):
    number = x.shape[1]
    columns = Columns(tuple(f"x{k}" for k in range(number)), categories or (None,) * number)
    weights = np.ones(len(y)) if weights is None else weights
    return Table(columns, x, y, weights, folds_of(y), int(y.max()) + 1)


def drawn_mixture(rng):
    """Five hidden classes of three labels; the cell of a column is its outcome."""
    cells = np.full((4, 4, 5), 1e-300)
    for i, number in enumerate(OUTCOMES):
        cells[i, :number] = rng.dirichlet(np.ones(number), 5).T
    share, labels = rng.dirichlet(np.ones(5)), np.array([0, 0, 1, 1, 2])
    cuts = tuple(np.arange(1.0, number) for number in OUTCOMES)
    bins = Bins(cuts, np.zeros(4, bool), np.array(OUTCOMES))
    return Mixture(bins, labels, np.log(share), cells, np.log(cells), 3)


def joint_of(mixture):
    """P(k, x), by the product over all cells."""
    parts = [mixture.cells[i, :n].T for i, n in enumerate(OUTCOMES)]
    return np.einsum("k,ka,kb,kc,kd->kabcd", np.exp(mixture.log_share), *parts)


def given(joint, row, known):
    """P(k, x) of the outcomes that agree with what is known."""
    for i in np.flatnonzero(known):
        joint = joint * (np.arange(OUTCOMES[i]) == row[i]).reshape(
            [-1 if axis == i + 1 else 1 for axis in range(5)]
        )
    return joint / joint.sum()


def told_by(joint, axis):
    """I(first axis; axis), in nats, by entropies."""
    others = tuple(a for a in range(1, 5) if a != axis)
    both = joint.sum(axis=others)
    return entropy(both.sum(axis=0)) + entropy(both.sum(axis=1)) - entropy(both.ravel())


def drawn_rows(rng, number=40):
    x = np.column_stack([rng.integers(n, size=number) for n in OUTCOMES]).astype(float)
    return x, rng.random((number, 4)) < 0.4


def test_what_is_known_of_a_label_is_that_of_the_joint_distribution():
    rng = np.random.default_rng(0)
    mixture = drawn_mixture(rng)
    x, known = drawn_rows(rng)
    found = mixture.probabilities(np.where(known, x, 99.0), known)  # unknown cells are not read
    for row in range(len(x)):
        hidden = given(joint_of(mixture), x[row], known[row]).sum(axis=(1, 2, 3, 4))
        expected = [hidden[:2].sum(), hidden[2:4].sum(), hidden[4]]
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_next_look_has_the_most_information_for_its_price(share):
    rng = np.random.default_rng(1)
    mixture = drawn_mixture(rng)
    x, known = drawn_rows(rng)
    costs = np.array([1.0, 2.0, 1.5, 1.0])
    after = ByRow(mixture, share, Prices(costs, ()), np.ones(3)).buy(x, known, 1)
    for row in range(len(x)):
        joint = given(joint_of(mixture), x[row], known[row])
        labels = np.stack([joint[:2].sum(axis=0), joint[2:4].sum(axis=0), joint[4]])
        worth = [
            ((1 - share) * told_by(labels, i + 1) + share * told_by(joint, i + 1)) / costs[i]
            for i in range(4)
        ]
        new = np.flatnonzero(after[row] & ~known[row])
        if known[row].all():
            assert not len(new)
        else:
            best = max(w for w, is_known in zip(worth, known[row], strict=True) if not is_known)
            assert len(new) == 1
            assert worth[new[0]] == pytest.approx(best, rel=1e-3)


def test_labels_that_are_dear_to_miss_decide_what_is_asked():
    """One column tells a rare label, the other one separates the two frequent ones."""
    cells = np.array([[[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]], [[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]])
    bins = Bins((np.array([1.0]),) * 2, np.zeros(2, bool), np.array([2, 2]))
    log_share = np.log([0.49, 0.49, 0.02])
    mixture = Mixture(bins, np.arange(3), log_share, cells, np.log(cells), 3)
    nothing, row, prices = np.zeros((1, 2), bool), np.zeros((1, 2)), Prices(np.ones(2), ())
    for stakes, first in (([1.0, 1.0, 1.0], 1), ([0.02, 0.02, 1.0], 0)):
        bought = ByRow(mixture, 0.0, prices, np.array(stakes)).buy(row, nothing, 1)
        assert bought[0].tolist() == [first == 0, first == 1]


def test_hidden_classes_of_a_label_are_found():
    rng = np.random.default_rng(0)
    hidden = rng.integers(3, size=600)
    centres = np.array([[0, 0, 0, 3], [3, 3, 0, 0], [0, 3, 3, 3]], float)
    x = centres[hidden] + rng.normal(size=(600, 4)) * 0.7
    table = table_of(x, np.zeros(600, np.int64))
    mixture = fit_mixture(table, bins_of(table, 8), np.ones(600, bool), 3)
    belongs = mixture.hidden(mixture.bins.digits(x), np.ones(x.shape, bool))
    assert adjusted_rand_score(hidden, belongs.argmax(axis=1)) > 0.95


def test_weights_are_rows_that_often():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    weights = rng.integers(1, 4, size=200)
    often = np.repeat(np.arange(200), weights)
    once, again = table_of(x, y, weights.astype(float)), table_of(x[often], y[often])
    first, second = (
        fit_mixture(t, bins_of(t, 4), np.ones(len(t.labels), bool), 1) for t in (once, again)
    )
    for a, b in zip(first.bins.cuts, second.bins.cuts, strict=True):
        np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(first.cells, second.cells)


def test_huge_weights_leave_every_logarithm_finite():
    """A bin that a column does not have had the probability 0, and 0 log 0 is not a number."""
    x = np.column_stack([np.arange(40) % 4, np.arange(40) % 2]).astype(float)
    table = table_of(x, (x[:, 0] > 1).astype(int), np.full(40, 2.0**45))
    mixture = fit_mixture(table, bins_of(table, 4), np.ones(40, bool), 1)
    assert np.isfinite(mixture.log_cells).all()
    order, nothing = ByRow(mixture, 1.0, Prices(np.ones(2), ()), np.ones(2)), np.zeros((1, 2), bool)
    assert order.buy(x[:1], nothing, 1)[0].tolist() == [True, False]


def test_a_missing_cell_tells_something_only_where_training_rows_had_some():
    x = np.array([[0.0, np.nan, 0], [1, 2, 1], [2, 3, 0], [3, 4, 1]] * 5)
    table = table_of(x, np.arange(20) % 2, categories=(None, None, ("a", "b")))
    digits = bins_of(table, 4).digits(np.array([[np.nan, np.nan, np.nan], [0.5, 2.5, -1.0]]))
    assert digits.tolist() == [[-1, 3, -1], [0, 0, -1]]


def test_the_next_price_has_fees_and_discounts():
    prices = Prices(np.array([1.0, 2.0, 3.0, 0.0]), (((0, 1), 5.0),), (((2, 1), np.array([2, 1])),))
    known = np.array([[False] * 4, [True, False, False, False], [False, True, False, False]])
    expected = [[6, 7, 3, 0], [1, 2, 3, 0], [1, 1, 1, 0]]
    now = prices.of_next(known)
    unknown = ~known
    np.testing.assert_allclose(now[unknown], np.array(expected)[unknown], atol=1e-8)
    assert (now > 0).all()


def test_a_fee_counts_where_every_column_is_free():
    prices = Prices(np.zeros(3), (((0, 1), 0.01),))
    nothing, one = np.zeros((1, 3), bool), np.array([[True, False, False]])
    assert prices.of_next(nothing)[0].tolist() == pytest.approx([0.01, 0.01, 1e-11])
    assert prices.of_next(one)[0, 1:].tolist() == pytest.approx([1e-11, 1e-11])
    assert (Prices(np.zeros(3), ()).of_next(nothing) == 1.0).all()


def test_a_gain_is_sure_beyond_its_error():
    rng = np.random.default_rng(0)
    more = rng.normal(size=400)
    more -= more.mean()
    error = more.std() / 20
    assert gains_surely(more + 2.2 * error, np.ones(400))
    assert not gains_surely(more + 1.8 * error, np.ones(400))
    assert not gains_surely(np.zeros(400), np.ones(400))
    half = np.full(400, 0.5)  # weights have no scale here
    assert gains_surely(more + 2.2 * error, half)
    assert not gains_surely(more + 1.8 * error, half)


def contexts(rng, rows):
    """The first column tells which three of the other nine tell the class, and nothing of it."""
    y, context = rng.integers(8, size=rows), rng.integers(3, size=rows)
    x = np.hstack(
        [context[:, None] + rng.normal(0, 0.1, (rows, 1)), rng.normal(0.5, 0.6, (rows, 9))]
    )
    for j in range(3):
        x[np.arange(rows), 1 + 3 * context + j] = (y >> j & 1) + rng.normal(0, 0.15, rows)
    return x, y


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return (*contexts(rng, 900), *contexts(rng, 500))


@pytest.fixture(scope="module")
def classifier(rows):
    return CostAwareClassifier(reward_value=40).fit(*rows[:2])


def test_where_to_look_depends_on_the_row(classifier, rows):
    _, _, x, y = rows
    assert not classifier.follows_plan_
    assert classifier.score(x, y) > 0.85  # the plan and one order: 0.64
    assert classifier.spend(x).mean() < 4.1
    looks = classifier.looks(x)
    np.testing.assert_allclose(classifier.spend(x), [len(row) for row in looks])
    context = np.rint(x[:, 0]).astype(int)
    own = [{f"x{1 + 3 * c + j}" for j in range(3)} for c in context]
    assert np.mean([o <= set(row) for o, row in zip(own, looks, strict=True)]) > 0.8


def test_what_was_not_bought_is_not_read(classifier, rows):
    _, _, x, _ = rows
    p, looks = classifier.predict_proba(x), classifier.looks(x)
    hidden = np.full(x.shape, 1e6)
    for row, bought in enumerate(looks):
        columns = [int(name[1:]) for name in bought]
        hidden[row, columns] = x[row, columns]
    assert np.array_equal(classifier.predict_proba(hidden), p)
    assert classifier.looks(hidden) == looks
    assert np.array_equal(classifier.predict_proba(x[:7]), p[:7])


def test_the_first_look_of_a_group_is_the_one_that_is_paid_in_full(rows):
    x, y, x_test, _ = rows
    less = {f"x{k}": 0.5 for k in range(1, 10)}
    panel = Panel(observations=["x0", "x1"], fee=0.25)
    classifier = CostAwareClassifier(
        costs=[1.0, *(1 + 0.1 * k for k in range(9))], discounts=[less], panels=[panel]
    ).fit(x, y)
    assert not classifier.follows_plan_
    for spent, bought in zip(classifier.spend(x_test), classifier.looks(x_test), strict=True):
        group = [int(name[1:]) for name in bought if name != "x0"]
        expected = 1.0 * ("x0" in bought) + 0.5 * len(group[1:])
        expected += 1 + 0.1 * (group[0] - 1) if group else 0.0
        assert spent == pytest.approx(expected + 0.25 * bool({"x0", "x1"} & set(bought)))


def test_a_budget_decides_whether_looks_are_chosen_by_row(rows):
    """With less than four looks only some rows could be asked, and the plan earns more."""
    x, y, *_ = rows
    for most, is_by_row in ((4.2, True), (3.0, False)):
        classifier = CostAwareClassifier(reward_value=40, max_spend=most).fit(x, y)
        assert classifier.follows_plan_ != is_by_row
        assert classifier.cost_ <= most


def test_no_more_looks_than_are_allowed(rows):
    x, y, x_test, _ = rows
    few = CostAwareClassifier(reward_value=40, max_observations=2, further_looks=1).fit(x, y)
    assert max(len(row) for row in few.looks(x_test)) <= 3
    plan = CostAwareClassifier(reward_value=40, further_looks=0).fit(x, y)
    assert plan.follows_plan_
