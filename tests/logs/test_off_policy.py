"""Off-policy estimates against the exact gain of the policy, course by course and by simulation."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askwise as aw
from askwise.errors import ModelError, OptionError, TableError
from askwise.logs.policy_rows import rows_of_policies
from askwise.simulation.environments import model_at_random
from inside import path_policy, set_policy

PLAIN = aw.Problem(
    observations=[
        aw.Observation("mri", values=["neg", "pos"], cost=3),
        aw.Observation("grade", values=[1, 2], cost=2),
    ],
    actions=["wait", "treat"],
    reward_value=20,
)
REAL = aw.Problem(  # something given, something that fails, a panel, fewer looks than observations
    observations=[
        aw.Observation("sex", values=["f", "m"], given=True),
        aw.Observation("mri", values=["neg", "pos"], cost=3, fails="refunded"),
        aw.Observation("grade", values=[1, 2], cost=2),
        aw.Observation("age", values=["old", "young"], cost=1),
    ],
    actions=["wait", "treat"],
    max_observations=2,
    reward_value=20,
    panels=[aw.Panel(observations=["mri", "age"], fee=1.5)],
)
TREAT = aw.Action("treat", cost=7)
MONEY = aw.Problem(observations=PLAIN.observations, actions=["wait", TREAT], rewards=(-1000, 60))
PROBLEMS = pytest.mark.parametrize("problem", [PLAIN, REAL, MONEY], ids=["plain", "real", "money"])


def policy_at_random(rng, problem, *, is_sequential):
    """A policy that nobody planned."""
    lattice = aw.states.Lattice(problem)
    actions = rng.integers(len(problem.actions), size=lattice.size).astype(np.int16)
    if not is_sequential:
        sets = rng.integers(lattice.subsets, size=lattice.contexts)
        return set_policy(lattice, sets, actions, np.zeros(lattice.context_subsets))
    look = np.full(lattice.size, -1, np.int16)
    for state in range(lattice.size):
        known = lattice.domain(state)
        rest = [i for i in range(lattice.buyable) if i not in known]
        if rest and len(known) < lattice.m and rng.random() < 0.8:
            look[state] = rng.choice(rest)
    return path_policy(lattice, look, actions, np.zeros(lattice.size))


def chances_at_random(rng, choices):
    """How probable each of these choices is to whoever writes the log: none impossible."""
    return dict(zip(choices, rng.dirichlet(np.full(len(choices), 3.0)), strict=True))


class Logger:
    """Whoever wrote the log: a chance for each choice in each state, drawn when first needed."""

    def __init__(self, rng, problem):
        self.rng, self.lattice, self.problem = rng, aw.states.Lattice(problem), problem
        self._chances = {}

    def _chance(self, key, choices):
        if key not in self._chances:
            self._chances[key] = chances_at_random(self.rng, choices)
        return self._chances[key].items()

    def in_order(self, full, known):
        """Every (order, action, propensity of each step) of a case with that full state."""

        def walk(order, propensities):
            state = tuple(sorted((name, str(full[name])) for name in (*known, *order)))
            rest = [o.name for o in self.problem.observations if o.name not in (*known, *order)]
            looks = rest if len(order) < self.problem.m else []
            choices = [*(("look", name) for name in looks), *(("act", a) for a in self.actions)]
            for (kind, name), chance in self._chance((state, order), choices):
                if kind == "act":
                    yield order, name, (*propensities, chance)
                else:
                    yield from walk((*order, name), (*propensities, chance))

        yield from walk((), ())

    def at_once(self, full, known):
        """Every (set, action, propensities of both)."""
        names = [o.name for o in self.problem.observations if o.name not in known]
        sizes = range(self.problem.m + 1)
        sets = [s for size in sizes for s in itertools.combinations(names, size)]
        context = tuple(str(full[name]) for name in known)
        for chosen, p in self._chance(("set", context), sets):
            seen = tuple(str(full[name]) for name in chosen)
            for action, q in self._chance((context, chosen, seen), self.actions):
                yield chosen, action, (p, q)

    def all_known(self, full, known):
        """Every action, with everything seen."""
        names = tuple(o.name for o in self.problem.observations if o.name not in known)
        for action, p in self._chance(("all", *map(str, full.values())), self.actions):
            yield names, action, (p,)

    @property
    def actions(self):
        return self.problem.action_names


def courses_of(rng, model, kind):
    """Every row that could be logged, with its probability: (row, probability)."""
    problem = model.problem
    logger = Logger(rng, problem)
    known = [o.name for o in problem.observations if o.given]
    outcomes = [o.outcomes for o in problem.observations]
    names = [o.name for o in problem.observations]
    for place in itertools.product(*(range(len(o)) for o in outcomes)):
        full = {n: outcomes[i][x] for i, (n, x) in enumerate(zip(names, place, strict=True))}
        for looks, action, steps in getattr(logger, kind)(full, known):
            seen = {
                n: ("unavailable" if full[n] is None else full[n])
                if n in (*known, *looks)
                else None
                for n in names
            }
            mean = model.reward[(*place, problem.action_names.index(action))]
            low, high = problem.rewards or (0.0, 1.0)
            for reward, chance in ((high, mean), (low, 1 - mean)):
                row = {**seen, "action": action, "reward": reward, "steps": steps}
                if kind == "in_order":
                    row["order"] = ",".join(looks)
                yield row, model.probability[place] * math.prod(steps) * chance


def logged(rows, *, by_step):
    """Rows as a log, with a propensity for each step or for the whole course."""
    log = {name: [row[name] for row in rows] for name in rows[0] if name != "steps"}
    log["propensity"] = [
        ",".join(map(repr, map(float, row["steps"]))) if by_step else math.prod(row["steps"])
        for row in rows
    ]
    return log


OPTIONS = {"in_order": {}, "at_once": {"acquisition": "simultaneous"}, "all_known": {}}


@PROBLEMS
@pytest.mark.parametrize("kind", list(OPTIONS))
@pytest.mark.parametrize("by_step", [True, False])
def test_ips_and_dr_are_without_bias_whatever_the_model_says(problem, kind, by_step):
    """The exact expectation over all that could be logged, with a model that is wrong."""

    columns = dict.fromkeys(("action", "reward", "propensity", "order", "stake"))
    options = {"acquisition": None} | OPTIONS[kind]

    @settings(max_examples=3)
    @given(seed=st.integers(0, 2**20), is_sequential=st.booleans())
    def check(seed, is_sequential):
        rng = np.random.default_rng(seed)
        model, wrong = model_at_random(rng, problem), model_at_random(rng, problem)
        policy = policy_at_random(rng, problem, is_sequential=is_sequential)
        courses, probability = zip(*courses_of(rng, model, kind), strict=True)
        assert sum(probability) == pytest.approx(1)
        log = logged(courses, by_step=by_step)
        # with a model, what a row says does not depend on the others
        (said,), _ = rows_of_policies([policy], log, dict(columns), model=wrong, rng=0, **options)
        earned, spent = said.weighted
        ips, dr = earned + spent - said.surely, said.robust.sum(axis=0)
        exact = policy.evaluate(model)
        near = 1e-7 * problem.reward_value  # rewards are whole units of 2⁻³⁰
        for values in (ips, dr):
            assert probability @ values == pytest.approx(exact, abs=near)
        found = aw.off_policy(policy, log, model=wrong, **OPTIONS[kind])
        shown = found.ips.value, found.dr.value
        assert shown == pytest.approx((ips.mean(), dr.mean()))

    check()


def draws(rng, courses, n):
    rows, probability = zip(*courses, strict=True)
    p = np.array(probability)
    return [rows[k] for k in rng.choice(len(rows), size=n, p=p / p.sum())]


@pytest.mark.parametrize("kind", list(OPTIONS))
def test_intervals_hold_the_truth_as_often_as_they_say(kind):
    """With some hundred rows that agree; with a few dozen it is about nine times in ten."""
    rng = np.random.default_rng(1)
    mri = aw.Observation("mri", values=["neg", "pos"], cost=1)
    problem = aw.Problem(observations=[mri], actions=["wait", "treat"], reward_value=20)
    model = aw.Model(problem, [0.7, 0.3], [[0.9, 0.4], [0.2, 0.7]])
    policy = (aw.oracle.simultaneous if kind == "at_once" else aw.oracle.sequential)(model)
    assert policy.looks(0)
    exact, courses = policy.evaluate(model), list(courses_of(rng, model, kind))
    every = logged([row for row, _ in courses], by_step=True)
    chance = np.array([probability for _, probability in courses])
    logs, held, widths, errors = 150, np.zeros(3), np.zeros(3), np.zeros(3)
    for _ in range(logs):
        drawn = rng.choice(len(chance), size=1000, p=chance / chance.sum()).tolist()
        log = {name: [cells[k] for k in drawn] for name, cells in every.items()}
        found = aw.off_policy(policy, log, **OPTIONS[kind])
        estimates = (found.ips, found.snips, found.dr)
        held += [e.low <= exact <= e.high for e in estimates]
        widths += [e.high - e.low for e in estimates]
        errors += [e.value - exact for e in estimates]
    assert (held / logs > 0.90).all(), held / logs
    assert (held / logs < 0.99).all(), held / logs
    # the mean error is within three and a half of its own standard errors
    spread = widths / logs / (2 * 1.96) / math.sqrt(logs)
    assert (np.abs(errors / logs) < 3.5 * spread).all(), (errors / logs, spread)
    assert widths[2] < 0.9 * widths[0]  # expecting something pays


def test_the_right_model_makes_dr_narrower_than_the_log_alone():
    rng = np.random.default_rng(3)
    model = model_at_random(rng, PLAIN)
    policy = aw.oracle.sequential(model)
    log = logged(draws(rng, list(courses_of(rng, model, "in_order")), 300), by_step=True)
    by_log, by_model = aw.off_policy(policy, log), aw.off_policy(policy, log, model=model)
    assert by_log.ips == by_model.ips
    assert by_model.dr.high - by_model.dr.low < by_log.ips.high - by_log.ips.low
    assert aw.off_policy(policy, log, rng=1).dr != by_log.dr  # other halves
    wide = aw.off_policy(policy, log, confidence=0.99)
    assert wide.ips.value == by_log.ips.value
    assert wide.ips.low < by_log.ips.low


def test_a_table_worked_by_hand():
    """Three rows, 20 times, of which the policy agrees with two, with weights 2 and 4."""
    lattice = aw.states.Lattice(PLAIN)
    buys_mri = np.full(lattice.size, -1, np.int16)
    buys_mri[0] = 0
    waits = np.zeros(lattice.size, np.int16)
    policy = path_policy(lattice, buys_mri, waits, np.zeros(lattice.size))
    log = {
        "mri": ["neg", "pos", None],
        "grade": [None, None, 1],
        "order": ["mri", "mri", "grade"],
        "action": ["wait", "wait", "wait"],
        "reward": [1.0, 0.5, 1.0],
        "propensity": ["0.5,1", "0.5,0.5", "0.25"],
    }
    found = aw.off_policy(policy, {name: cells * 20 for name, cells in log.items()})
    first, second = 20 * 1.0 - 3, 20 * 0.5 - 3
    assert found.ips.value == pytest.approx((2 * first + 4 * second) / 3)
    assert found.snips.value == pytest.approx((2 * first + 4 * second) / 6)
    assert (found.rows, found.agreeing) == (60, 40)
    assert found.effective_rows == pytest.approx(20 * 36 / 20)
    influence = np.array([2 * first, 4 * second, 0] * 20)
    half = 1.959964 * influence.std(ddof=1) / math.sqrt(60)
    assert found.ips.high - found.ips.value == pytest.approx(half, rel=1e-5)
    ratio, mean = found.snips.value, 2.0
    linear = np.array([2 * (first - ratio), 4 * (second - ratio), 0] * 20) / mean
    half = 1.959964 * linear.std(ddof=1) / math.sqrt(60)
    assert found.snips.high - ratio == pytest.approx(half, rel=1e-5)
    assert "40 of 60 rows agree" in str(found)
    assert found.mean_weight.value == pytest.approx(2.0)


def test_what_the_writer_of_a_log_would_never_do_is_found_out():
    """Every other case is told what it did for certain: there the policy has no support."""
    rng = np.random.default_rng(4)
    model = model_at_random(rng, PLAIN)
    policy = policy_at_random(rng, PLAIN, is_sequential=False)
    log = logged(draws(rng, list(courses_of(rng, model, "all_known")), 2000), by_step=True)
    found = aw.off_policy(policy, log)
    assert found.mean_weight.low < 1 < found.mean_weight.high
    assert "weights average" not in str(found)
    others = list(PLAIN.action_names)
    for row in range(0, 2000, 2):  # always the action that the policy would not take
        looks = {n: log[n][row] for n in ("mri", "grade") if n in policy.observations}
        log["action"][row] = others[1 - others.index(policy.action(looks))]
        log["propensity"][row] = "1"
    without = aw.off_policy(policy, log)
    assert without.mean_weight.value == pytest.approx(0.5, abs=0.1)
    assert "weights average 0.5" in str(without) or "weights average 0.4" in str(without)


@pytest.mark.parametrize("kind", list(OPTIONS))
def test_files_and_frames_give_the_same(kind, tmp_path):
    rng = np.random.default_rng(5)
    model = model_at_random(rng, REAL)
    policy = policy_at_random(rng, REAL, is_sequential=True)
    log = logged(draws(rng, list(courses_of(rng, model, kind)), 60), by_step=True)
    frame = pd.DataFrame(log)
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    expected = aw.off_policy(policy, log, **OPTIONS[kind])
    for same in (frame, tmp_path / "log.csv", tmp_path / "log.parquet"):
        assert aw.off_policy(policy, same, **OPTIONS[kind]) == expected
    lists = {**log, "propensity": [[float(p) for p in t.split(",")] for t in log["propensity"]]}
    assert aw.off_policy(policy, lists, **OPTIONS[kind]) == expected


def agreeing_log(n):
    """Rows on which a policy that waits agrees, all of the same gain."""
    log = {"mri": ["neg"] * n, "grade": [1] * n, "order": ["mri,grade"] * n}
    return log | {"action": ["wait"] * n, "reward": [1] * n, "propensity": ["1,1,1"] * n}


def test_few_rows_that_agree_give_figures_and_no_interval():
    lattice = aw.states.Lattice(PLAIN)
    looks = np.full(lattice.size, -1, np.int16)
    looks[0] = 0
    looks[lattice.index({"mri": "neg"})] = 1
    waits = np.zeros(lattice.size, np.int16)
    policy = path_policy(lattice, looks, waits, np.zeros(lattice.size))
    few, enough = (aw.off_policy(policy, agreeing_log(n)) for n in (29, 30))
    for found in (few, enough):
        assert [found.ips.value, found.snips.value, found.dr.value] == pytest.approx([15.0] * 3)
        assert found.effective_rows == pytest.approx(found.rows)
    assert (few.has_intervals, enough.has_intervals) == (False, True)
    for estimate in (few.ips, few.snips, few.dr):
        assert math.isnan(estimate.low)
        assert math.isnan(estimate.high)
        assert str(estimate) == "15 (too few rows for an interval)"
    assert "fewer than 30 effective rows: the estimates may be far off" in str(few)
    assert "(15.0 to 15.0)" in str(enough)
    assert "too few" not in str(enough)
    assert "effective rows" not in str(enough)
    assert few.frame()["low"] == [None] * 3
    frame = few.frame("pandas")
    assert list(frame.columns) == ["estimator", "gain", "low", "high"]
    assert frame["gain"].tolist() == pytest.approx([15.0] * 3)
    assert frame["high"].isna().all()
    assert enough.frame("polars")["high"].to_list() == pytest.approx([15.0] * 3)


def test_of_no_row_or_one_nothing_is_known():
    lattice = aw.states.Lattice(PLAIN)
    nothing = np.full(lattice.size, -1, np.int16)
    treats = np.ones(lattice.size, np.int16)
    policy = path_policy(lattice, nothing, treats, np.zeros(lattice.size))
    log = {"mri": ["neg"] * 3, "grade": [1] * 3, "order": ["mri,grade"] * 3}
    log |= {"action": ["wait"] * 3, "reward": [1] * 3, "propensity": [0.5] * 3}
    found = aw.off_policy(policy, log)
    assert (found.agreeing, found.effective_rows) == (0, 0)
    assert math.isnan(found.snips.value)
    assert all(math.isnan(end) for end in (found.ips.low, found.ips.high))
    assert "snips  unknown (too few rows for an interval)" in str(found)
    assert "inf" not in str(found)
    assert "nan" not in str(found)


def test_what_cannot_be_estimated_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    model = model_at_random(rng, PLAIN)
    policy = aw.oracle.sequential(model)
    log = logged(draws(rng, list(courses_of(rng, model, "in_order")), 20), by_step=True)
    without = {name: cells for name, cells in log.items() if name != "propensity"}
    with pytest.raises(TableError, match=r"no propensities.*confounding.*propensity="):
        aw.off_policy(policy, without)
    long = {**log, "propensity": ["0.5,0.5,0.5,0.5"] * 20}
    with pytest.raises(TableError, match="row 0: 4 propensities, expected 1, or"):
        aw.off_policy(policy, long)
    zero = {**log, "propensity": [*log["propensity"][:19], "0"]}
    with pytest.raises(TableError, match="row 19: expected a propensity above 0"):
        aw.off_policy(policy, zero)
    unknown = {**log, "propensity": [*log["propensity"][:19], None]}
    with pytest.raises(TableError, match="row 19: the cell is empty, expected a propensity"):
        aw.off_policy(policy, unknown)
    pd.DataFrame(unknown).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(TableError, match=r"log\.csv: .*'propensity', row 19: the cell is empty"):
        aw.off_policy(policy, tmp_path / "log.csv")
    unordered = {name: cells for name, cells in log.items() if name != "order"}
    with pytest.raises(TableError, match="the log has no column 'order': say order="):
        aw.off_policy(policy, unordered)
    with pytest.raises(OptionError, match="expected a policy"):
        aw.off_policy(aw.SeqOOS(PLAIN), log)
    with pytest.raises(OptionError, match="confidence"):
        aw.off_policy(policy, log, confidence=95)
    with pytest.raises(ModelError, match="two different problems"):
        aw.off_policy(policy, log, model=model_at_random(rng, REAL))
    with pytest.raises(ModelError, match="must be a Model"):
        aw.off_policy(policy, log, model="model")
