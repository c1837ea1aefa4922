"""Logs whose cases have stakes: twins without stakes, tables worked by hand, and brute force."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError, TableError
from askwise.simulation.environments import model_at_random
from inside import path_policy

MRI = aw.Observation("mri", values=["neg", "pos"], cost=3)
GRADE = aw.Observation("grade", values=[1, 2], cost=2)


def problem_at(rate=1.0):
    """Two tests in a panel and an action that costs, all prices at a rate."""
    looks = [
        aw.Observation(o.name, values=o.values, cost=rate * o.cost, given=o.given)
        for o in (aw.Observation("sex", values=["f", "m"], given=True), MRI, GRADE)
    ]
    return aw.Problem(
        observations=looks,
        actions=["wait", aw.Action("treat", cost=rate * 4)],
        rewards=(-30, 60),
        panels=[aw.Panel(observations=["mri", "grade"], fee=rate * 1.0)],
    )


def rows_of(rng, problem, n):
    """Complete rows: every value, and what each action earns."""
    model = model_at_random(rng, problem)
    places = model.sample(rng, n)
    names = [o.name for o in problem.observations]
    rows = {
        name: [problem.observations[i].outcomes[x] for x in places[:, i]]
        for i, name in enumerate(names)
    }
    low, high = problem.rewards
    mean = model.reward[tuple(places.T)]
    wins = rng.random(mean.shape) < mean
    for k, action in enumerate(problem.action_names):
        rows[action] = np.where(wins[:, k], high, low).tolist()
    return rows


def decisions_of(rng, problem, n):
    """Logged decisions, one observation after the other, by chance."""
    rows = rows_of(rng, problem, n)
    log = {name: [] for name in ("sex", "mri", "grade", "action", "reward", "order", "propensity")}
    for k in range(n):
        looks, steps = [], []
        while True:
            rest = [name for name in ("mri", "grade") if name not in looks]
            choices = [*rest, *problem.action_names]
            steps.append(1 / len(choices))
            chosen = choices[rng.integers(len(choices))]
            if chosen in problem.action_names:
                break
            looks.append(chosen)
        log["sex"].append(rows["sex"][k])
        for name in ("mri", "grade"):
            log[name].append(rows[name][k] if name in looks else None)
        log["action"].append(chosen)
        log["reward"].append(rows[chosen][k])
        log["order"].append(",".join(looks))
        log["propensity"].append(",".join(map(repr, steps)))
    return log


# --- twins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["records", "decisions"])
def test_a_stake_of_two_is_half_of_every_price(kind):
    """stake · reward − price = 2 (reward − price / 2): the same policy, and twice the gain."""
    make = rows_of if kind == "records" else decisions_of
    log = make(np.random.default_rng(1), problem_at(), 600)
    staked = aw.fit(log | {"stake": [2.0] * 600}, problem_at())
    halved = aw.fit(log, problem_at(0.5))
    assert staked.stake == 2.0
    one, other = staked.recommend(), halved.recommend()
    for state in range(one.lattice.size):
        assert (one.looks(state), one.act(state)) == (other.looks(state), other.act(state))
    assert one.value == pytest.approx(2 * other.value)
    for mine, theirs in zip(aw.worth(staked), aw.worth(halved), strict=True):
        assert mine.bought == pytest.approx(theirs.bought)
        assert mine.break_even == pytest.approx(2 * theirs.break_even, abs=1e-9)
    if kind == "decisions":
        mine, theirs = (
            aw.off_policy(policy, log | more)
            for policy, more in ((one, {"stake": [2.0] * 600}), (other, {}))
        )
        for name in ("ips", "snips", "dr"):
            twice = [2 * number for number in getattr(theirs, name)]
            assert list(getattr(mine, name)) == pytest.approx(twice)


def test_the_counters_are_those_of_cases_that_came_live():
    """A reward is counted per unit of stake, as `open(stake=...)` has it."""
    log = decisions_of(np.random.default_rng(2), problem_at(), 80)
    stakes = np.random.default_rng(3).uniform(0.1, 9.0, 80).tolist()
    found = aw.fit(log | {"amount": stakes}, problem_at(), stake="amount")
    assert found.stake == pytest.approx(np.mean(stakes))
    assert found.statistics == aw.fit(log, problem_at()).statistics
    assert "times as the column 'amount' says" in found.notes[-1]
    assert found.recommend().lattice.stake == found.stake
    assert found.recommend(stake=4.0).lattice.stake == 4.0
    assert aw.worth(found).policy.lattice.stake == found.stake
    explained = aw.explain(found, stake=0.001, acquisition="simultaneous")
    assert explained.worth.policy.lattice.stake == pytest.approx(0.001)


# --- by hand and by brute force -------------------------------------------------------------------


def best_gain(rows, problem, stake):
    """The most that any policy gains on these rows, a stake for all, by trying all of them."""
    names = [o.name for o in problem.observations]
    price = {o.name: o.cost for o in problem.observations}
    acting = {a.name: a.cost for a in problem.actions}

    def best(places, left):
        gains = [sum(stake * rows[a][k] - acting[a] for k in places) for a in problem.action_names]
        for name in left:
            rest = [other for other in left if other != name]
            values = {rows[name][k] for k in places}
            parts = [[k for k in places if rows[name][k] == v] for v in values]
            gains.append(sum(best(p, rest) for p in parts) - len(places) * price[name])
        return max(gains)

    n = len(rows["wait"])
    return best(range(n), [name for name in names if name in price]) / n


def gain_on(rows, policy, stake):
    """What a policy gains on these rows, followed row by row."""
    total = 0.0
    for k in range(len(rows["wait"])):
        case = policy.open(stake=stake)
        while case.wanted:
            case.observe({name: rows[name][k] for name in case.wanted})
        total += stake * rows[case.action][k] - case.cost
    return total / len(rows["wait"])


@pytest.mark.parametrize("stake", [0.02, 0.3, 1.0, 12.0])
def test_what_is_recommended_for_a_stake_is_the_best_of_all_policies(stake):
    """Each full state is in the table so often that nothing is left to chance."""
    problem = aw.Problem(
        observations=[MRI, GRADE], actions=["wait", aw.Action("treat", cost=4)], rewards=(-30, 60)
    )
    earned = {
        ("neg", 1): (60, 0),
        ("neg", 2): (30, 20),
        ("pos", 1): (25, 40),
        ("pos", 2): (-30, 60),
    }
    often = {("neg", 1): 9, ("neg", 2): 3, ("pos", 1): 2, ("pos", 2): 6}
    states = [state for state in earned for _ in range(often[state])] * 400
    rows = {"mri": [s[0] for s in states], "grade": [s[1] for s in states]}
    for k, action in enumerate(problem.action_names):
        rows[action] = [float(earned[s][k]) for s in states]
    policy = aw.fit(rows | {"stake": [stake] * len(states)}, problem).recommend()
    few = {name: cells[:20] for name, cells in rows.items()}  # one of the equal parts
    assert gain_on(few, policy, stake) == pytest.approx(best_gain(few, problem, stake))


def by_rule():
    """mri, then treat if it is positive."""
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=1)],
        actions=["wait", aw.Action("treat", cost=2)],
        rewards=(-10, 20),
    )
    does = {"neg": "wait", "pos": "treat"}
    return problem, aw.Policy.from_rule(
        problem, lambda known: does[known["mri"]] if known else "mri"
    )


HAND = {
    "mri": ["neg", "neg", "pos", "pos"],
    "action": ["wait", "treat", "treat", "wait"],
    "reward": [20.0, -10.0, 5.0, -10.0],
    "propensity": [0.5, 0.5, 0.8, 0.2],
    "stake": [1.0, 3.0, 2.0, 10.0],
}


def test_estimates_of_a_log_with_stakes_worked_by_hand():
    problem, policy = by_rule()
    model = aw.Model(problem, [0.5, 0.5], [[12.0, 0.0], [0.0, 6.0]])
    found = aw.off_policy(policy, HAND, model=model)
    # The policy agrees with the first row and the third: weights 1/0.5 and 1/0.8. They gain
    # 1 · 20 and 2 · 5 − 2 before the mri, which costs 1 in every row.
    near = {"abs": 1e-6}
    assert found.ips.value == pytest.approx((2 * 20 + 1.25 * 8) / 4 - 1, **near)
    assert found.snips.value == pytest.approx((2 * 20 + 1.25 * 8) / 3.25 - 1, **near)
    # V is stake · 12 after neg, and stake · 6 − 2 after pos.
    rows = [12 + 2 * (20 - 12), 3 * 12, 10 + 1.25 * (8 - 10), 10 * 6 - 2]
    assert found.dr.value == pytest.approx(sum(rows) / 4 - 1, **near)
    same = aw.off_policy(policy, {**HAND, "stake": [4.0] * 4}, model=model)
    at_four = aw.fit(HAND, problem).learner().recommend(stake=4.0)
    lattice = at_four.lattice
    looks, actions = np.array([0, -1, -1], np.int16), np.array([0, 0, 1], np.int16)
    fixed = path_policy(lattice, looks, actions, np.zeros(lattice.size))
    without = {name: column for name, column in HAND.items() if name != "stake"}
    assert aw.off_policy(fixed, without, model=model) == same  # the policy's stake in every row


@pytest.mark.parametrize("by_step", [True, False])
def test_mixed_stakes_are_without_bias(by_step):
    """The expectation over all courses of all full states, each state with a stake of its own."""
    rng = np.random.default_rng(5)
    problem = aw.Problem(
        observations=[MRI, GRADE], actions=["wait", aw.Action("treat", cost=4)], rewards=(-30, 60)
    )
    model, wrong = model_at_random(rng, problem), model_at_random(rng, problem)
    stakes = rng.uniform(0.2, 5.0, (2, 2))

    def rule(known):
        if "mri" not in known:
            return "mri"
        if known["mri"] == "pos" and "grade" not in known:
            return "grade"
        return "treat" if known.get("grade") == 2 else "wait"

    policy = aw.Policy.from_rule(problem, rule)
    ips = dr = exact = 0.0
    for x, y in itertools.product(range(2), range(2)):
        full, stake = {"mri": MRI.values[x], "grade": GRADE.values[y]}, float(stakes[x, y])
        p = float(model.probability[x, y])
        money = {
            a: -30 + 90 * float(model.reward[x, y, k]) for k, a in enumerate(problem.action_names)
        }
        mine = ("mri", "grade") if x == 1 else ("mri",)
        doing = rule({name: full[name] for name in mine})
        spent = 3 + 2 * (x == 1) + 4 * (doing == "treat")
        exact += p * (stake * money[doing] - spent)
        for order, chance in _orders():
            for action in problem.action_names:
                steps = [*chance[:-1], chance[-1] / 2]  # each action is as likely
                row = {name: [full[name] if name in order else None] for name in full}
                row |= {"order": [",".join(order)], "action": [action], "stake": [stake]}
                row |= {"reward": [money[action]]}
                row["propensity"] = [",".join(map(repr, steps)) if by_step else math.prod(steps)]
                found = aw.off_policy(policy, row, model=wrong)
                ips += p * math.prod(steps) * found.ips.value
                dr += p * math.prod(steps) * found.dr.value
    assert ips == pytest.approx(exact, abs=1e-4)
    assert dr == pytest.approx(exact, abs=1e-4)


def _orders():
    """Every order of looks by chance, with the chance of each look and of acting after them."""
    yield (), [1 / 3]
    for first, second in (("mri", "grade"), ("grade", "mri")):
        yield (first,), [1 / 3, 1 / 2]
        yield (first, second), [1 / 3, 1 / 2, 1.0]


def test_two_policies_are_compared_by_what_is_at_stake():
    problem, policy = by_rule()
    waits = aw.Policy.from_rule(problem, lambda known: "wait")
    trial = aw.compare(policy, waits, rng=0)
    rng, gained = np.random.default_rng(1), {True: [], False: []}
    for k in range(1_000):
        stake, ill = (20.0 if k % 4 == 0 else 0.5), bool(rng.random() < 0.5)
        case = trial.open(stake=stake)
        buys = bool(case.wanted)
        if buys:
            case.observe({"mri": "pos" if ill else "neg"})
        money = {"wait": -10.0 if ill else 20.0, "treat": 5.0}[case.action]
        case.reward(money)
        gained[buys].append((stake * money - case.cost) / 0.5)  # half of the cases follow each
    result = trial.result()
    assert result.differing > 0
    for estimate, buys in ((result.a, True), (result.b, False)):
        assert estimate.low <= sum(gained[buys]) / 1_000 <= estimate.high
    by_log = aw.compare(policy, waits, log=trial.log())
    assert by_log.difference.value == pytest.approx(result.difference.value)
    assert trial.open().stake == 1.0
    with pytest.raises(CaseError, match="stake must be a finite number above 0"):
        trial.open(stake=0)


def test_policies_for_different_stakes_need_a_log_with_stakes():
    problem, _ = by_rule()
    learner = aw.fit(HAND, problem).learner()
    one, other = learner.recommend(stake=2.0), learner.recommend(stake=3.0)
    without = {name: column for name, column in HAND.items() if name != "stake"}
    with pytest.raises(OptionError, match=r"for different stakes.*say stake="):
        aw.compare(one, other, log=without)
    assert aw.compare(one, other, log=HAND).rows == 4


# --- where logs are read --------------------------------------------------------------------------


def test_files_and_frames_have_the_same_stakes(tmp_path):
    log = decisions_of(np.random.default_rng(4), problem_at(), 60)
    log["amount"] = np.random.default_rng(0).uniform(0.5, 3.0, 60).round(3).tolist()
    frame = pd.DataFrame(log)
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_parquet(tmp_path / "log.parquet")
    fit = aw.fit(log, problem_at(), stake="amount")
    policy = fit.recommend()
    expected = aw.off_policy(policy, log, stake="amount")
    assert expected != aw.off_policy(policy, log)
    for same in (frame, tmp_path / "log.csv", tmp_path / "log.parquet"):
        again = aw.fit(same, problem_at(), stake="amount")
        assert again.stake == pytest.approx(fit.stake, rel=1e-12)
        assert again.statistics == fit.statistics
        assert aw.off_policy(policy, same, stake="amount") == expected


BAD = {
    0.0: "must be a finite number above 0, got 0.0",
    -2.0: "must be a finite number above 0, got -2.0",
    None: "must be a finite number above 0",
    1e9: "must be from .* to .* got 1000000000.0: rewards are per unit of stake",
}


@pytest.mark.parametrize("bad", BAD, ids=str)
@pytest.mark.parametrize("where", ["frame", "csv"])
def test_bad_stakes_are_refused_by_column_and_row(tmp_path, bad, where):
    problem, policy = by_rule()
    log = HAND | {"stake": [1.0, 2.0, bad, 1.0]}
    if where == "csv":
        pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
        log = tmp_path / "log.csv"
    place = r"column 'stake', (row 2|line 4 of .*|.*row 2.*|.*line 4.*): stake "
    for read in (lambda: aw.fit(log, problem), lambda: aw.off_policy(policy, log)):
        with pytest.raises(TableError, match=place + BAD[bad] if where == "frame" else BAD[bad]):
            read()


def test_texts_are_no_stakes(tmp_path):
    problem, _ = by_rule()
    log = HAND | {"stake": ["1", "2.5", "much", "1"]}
    with pytest.raises(TableError, match=r"'stake', row 2: stake must be .* got 'much'"):
        aw.fit(log, problem)
    pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(TableError, match=r"stake must be .* got 'much'"):
        aw.fit(tmp_path / "log.csv", problem)
    assert aw.fit(HAND | {"stake": ["1", "2.5", "3", "1"]}, problem).stake == 7.5 / 4
    with pytest.raises(TableError, match="no column 'amount'"):
        aw.fit(HAND, problem, stake="amount")
    with pytest.raises(OptionError, match="stake='mri' is an observation"):
        aw.fit(HAND, problem, stake="mri")


def test_an_observation_or_an_action_may_be_called_stake():
    looks = [aw.Observation("stake", values=[1, 2], cost=1)]
    problem = aw.Problem(observations=looks, actions=["wait", "treat"])
    assert aw.fit({"stake": [1, 2], "wait": [1, 0], "treat": [0, 1]}, problem).stake == 1.0
    problem = aw.Problem(observations=[MRI], actions=["stake", "fold"])
    assert aw.fit({"mri": ["neg"], "stake": [1], "fold": [0]}, problem).stake == 1.0


def test_a_draft_leaves_stakes_out():
    rows = {"age": [30, 40, 50, 60] * 10, "amount": [5.0, 7.0, 9.0, 11.0] * 10}
    rows["best"] = ["wait", "wait", "treat", "treat"] * 10
    drafted = aw.logs.draft(rows, label="best", stake="amount").problem
    assert [o.name for o in drafted.observations] == ["age"]
