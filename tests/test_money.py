"""A problem with rewards in money is the same problem mapped onto 0 to 1 by hand: the same
decisions to the bit, and gains that are higher by the lowest reward."""

import contextlib
import itertools
from functools import partial

import duckdb
import msgspec
import numpy as np
import pandas as pd
import pytest

import askwise as aw
from askwise import environments
from askwise.errors import ModelError, TableError
from askwise.learners.registry import LEARNERS, make
from askwise.logs.drafting import draft
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.dashboard.summaries import case_story, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from random_problems import random_model, random_problem
from serving import ask, create, decoded

SEEDS = range(12)
LOWS = (-500.0, -0.1, 0.3, 7_000.0, -1e6)


class Twins:
    """A problem in money, and the same mapped by hand."""

    def __init__(self, seed, *, model=None):
        rng = np.random.default_rng(seed)
        model = (
            random_model(rng, random_problem(rng, most=200, buys=True)) if model is None else model
        )
        self.low = low = LOWS[seed % len(LOWS)]
        plain = msgspec.structs.replace(model.problem, reward_value=1.0)
        fields = {f: getattr(plain, f) for f in plain.__struct_fields__ if f != "reward_value"}
        high = low + model.problem.reward_value
        self.money = aw.Problem(**fields | {"rewards": (low, high)})
        self.hand = msgspec.structs.replace(plain, reward_value=high - low)
        self.by_hand = aw.Model(self.hand, model.probability, model.reward)
        self.in_money = aw.Model.of_shares(self.money, model.probability, model.reward)

    @property
    def both(self):
        return (self.in_money, self.by_hand)

    def told(self, share):
        """What a share is in money."""
        return self.money.as_money(share)


def gains(node):
    """Every gain in a tree as data, in order."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "gain":
                yield value
            yield from gains(value)
    elif isinstance(node, list):
        for part in node:
            yield from gains(part)


def same_tree(one, other, low):
    assert one.outline() == other.outline()
    mine, theirs = list(gains(one.to_dict())), list(gains(other.to_dict()))
    assert mine == [None if gain is None else low + gain for gain in theirs]


@pytest.mark.parametrize("seed", SEEDS)
def test_oracles_trees_and_worth(seed):
    twins = Twins(seed)
    for oracle in (aw.oracle.simultaneous, aw.oracle.sequential):
        one, other = map(oracle, twins.both)
        assert one.actions.tolist() == other.actions.tolist()
        assert one.value == twins.low + other.value
        assert one.evaluate(twins.in_money) == twins.low + other.evaluate(twins.by_hand)
        same_tree(one.tree(twins.in_money), other.tree(twins.by_hand), twins.low)
    given = {o.name: o.values[0] for o in twins.money.observations if o.given}
    with contextlib.suppress(ModelError):  # a context that never comes
        looks, others = (aw.oracle.look_values(model, given) for model in twins.both)
        assert looks == {name: twins.low + value for name, value in others.items()}
    mine, theirs = map(aw.worth, twins.both)
    assert mine.gain == twins.low + theirs.gain
    assert mine.blind_gain == twins.low + theirs.blind_gain
    assert mine.full_gain == twins.low + theirs.full_gain
    for one, other in zip(mine, theirs, strict=True):
        assert (one.gain, one.without) == (twins.low + other.gain, twins.low + other.without)
        assert one.break_even == other.break_even
        scale = abs(twins.low) + twins.money.reward_value
        assert one.adds == pytest.approx(other.adds, abs=1e-15 * scale + 1e-12)
        demand = [step.gain for step in theirs.demand(other.name)]
        assert [step.gain for step in mine.demand(one.name)] == [twins.low + g for g in demand]


def small():
    """A population of some states, with three observations."""
    return environments.random_model(
        np.random.default_rng(5),
        [2, 3, 2],
        max_observations=2,
        reward_value=100.0,
        highest_cost=10.0,
    )


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_learner_decides_the_same_in_either(name):
    twins, runs = Twins(3, model=small()), []
    for model in twins.both:
        learner = make(name, model.problem, rng=4)
        runs.append(
            (aw.simulate(learner, environments.Population(model), steps=600, rng=9), learner)
        )
    (run, one), (by_hand, other) = runs
    assert run.state.tolist() == by_hand.state.tolist()
    assert run.action.tolist() == by_hand.action.tolist()
    for counter in ("action_counts", "reward_sums", "visits", "transitions"):
        mine, theirs = (getattr(learner.statistics, counter) for learner in (one, other))
        assert np.array_equal(mine, theirs)
    np.testing.assert_allclose(run.gain, twins.low + by_hand.gain, rtol=1e-12)
    assert set(run.reward.tolist()) <= set(twins.money.rewards)
    mine, theirs = one.recommend(), other.recommend()
    assert mine.value == twins.low + theirs.value
    same_tree(mine.tree(), theirs.tree(), twins.low)


def test_worth_to_a_learner_and_what_is_still_to_learn():
    twins, found = Twins(3, model=small()), []
    for model in twins.both:
        learner = aw.Learner(model.problem, rng=4)
        aw.simulate(learner, environments.Population(model), steps=500, rng=9)
        found.append(aw.worth(learner))
    one, other = found
    assert one.still_to_learn == other.still_to_learn
    assert one.gain == twins.low + other.gain
    for mine, theirs in zip(one, other, strict=True):
        assert (mine.adds_low, mine.adds_high) == (theirs.adds_low, theirs.adds_high)
        assert mine.break_even == theirs.break_even
        assert mine.verdict == theirs.verdict


def test_cases_one_by_one_equal_the_compiled_run():
    twins = Twins(3, model=small())
    one, other = (aw.Learner(twins.money, rng=4) for _ in range(2))
    run = aw.simulate(one, environments.Population(twins.in_money), steps=300, rng=9)
    logged = aw.simulate(other, environments.Population(twins.in_money), steps=300, rng=9, log=True)
    assert run.state.tolist() == logged.state.tolist()
    assert run.reward.tolist() == logged.reward.tolist()
    assert one.statistics == other.statistics


def a_log(twins, rows=400):
    """What a learner that explores logged, with rewards of all sizes, in money and by hand."""
    rng = np.random.default_rng(8)
    learner = aw.Learner(twins.hand, rng=4)
    run = aw.simulate(learner, environments.Population(twins.by_hand), steps=rows, rng=9, log=True)
    frame = run.frame()
    share = np.round(rng.random(rows), 3)
    low, high = twins.money.rewards
    money = np.round(low + (high - low) * share, 2).clip(low, high)
    by_hand = (money - low) / (high - low)
    return frame | {"reward": money.tolist()}, frame | {"reward": by_hand.tolist()}


@pytest.mark.parametrize("kind", ["mapping", "relation", "csv"])
def test_logs_in_money_count_the_same(kind, tmp_path):
    twins = Twins(3, model=small())
    found = []
    for model, rows in zip(twins.both, a_log(twins), strict=True):
        log = rows
        if kind != "mapping":
            frame = pd.DataFrame(rows)
            log = duckdb.from_df(frame)
            if kind == "csv":
                log = tmp_path / f"{len(found)}.csv"
                frame.to_csv(log, index=False)
        fitted = aw.fit(log, model.problem)
        policy = aw.oracle.sequential(model)
        found.append((fitted, aw.off_policy(policy, log), aw.off_policy(policy, log, model=model)))
    (one, *mine), (other, *theirs) = found
    assert np.array_equal(one.statistics.reward_sums, other.statistics.reward_sums)
    assert one.recommend().value == twins.low + other.recommend().value
    for in_money, by_hand in zip(mine, theirs, strict=True):
        assert in_money.mean_weight == by_hand.mean_weight
        for name in ("snips", "dr"):
            shifted = tuple(twins.low + number for number in getattr(by_hand, name))
            assert tuple(getattr(in_money, name)) == pytest.approx(shifted, rel=1e-9)
        # the lowest reward is weighted as all of the gain is
        shifted = twins.low * by_hand.mean_weight.value + by_hand.ips.value
        assert in_money.ips.value == pytest.approx(shifted, rel=1e-9)


def as_relation(rows):
    """Booleans as such, if there is nothing else."""
    frame = pd.DataFrame(rows)
    truths = [name for name in rows if rows[name][-1] is True]
    return duckdb.from_df(frame.assign(**dict.fromkeys(truths, True)))


@pytest.mark.parametrize("kind", ["mapping", "relation"])
@pytest.mark.parametrize("cell", [-4000.0, True, "true", "", None])
def test_a_cell_that_is_no_such_money_is_refused(kind, cell):
    problem = Twins(3, model=small()).money
    rows = {o.name: [o.values[0]] * 2 for o in problem.observations}
    rows |= {a: [problem.rewards[0], cell] for a in problem.action_names}
    log = rows if kind == "mapping" else as_relation(rows)
    with pytest.raises(TableError, match="expected a reward from"):
        aw.fit(log, problem)


def test_a_draft_of_a_log_in_money_says_so():
    log = {
        "mri": ["neg", "pos"] * 20,
        "action": ["wait", "treat"] * 20,
        "reward": [30, -500.5] * 20,
    }
    drafted = draft(log)
    assert drafted.problem.rewards == (-500.5, 30.0)
    assert "rewards: [-500.5, 30.0]" in drafted.text()
    assert "reward_value" not in drafted.text().splitlines()[-1]


def test_an_episode_of_gymnasium_sums_to_the_gain_in_money():
    from askwise.gym import CostlyObservations

    twins, sums = Twins(3, model=small()), []
    for model in twins.both:
        env, total = CostlyObservations(model=model), []
        for seed in range(20):
            env.reset(seed=seed)
            total.append(env.step(0)[1] + env.step(3)[1])
        env.reset(seed=1)
        env.step(0)
        total.append(env.step(0)[1])  # no such look: the lowest there is
        sums.append(total)
    np.testing.assert_allclose(sums[0], [twins.low + gain for gain in sums[1][:-1]] + [twins.low])


@contextlib.contextmanager
def service(tmp_path, problem):
    ledger = open_ledger(str(tmp_path / f"{problem.rewards is None}.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer, problem=problem, learner="seq-oos")
    yield ledger, writer
    ledger.close()


def test_the_service_takes_and_shows_money(tmp_path):
    twins, found = Twins(3, model=small()), []
    for problem in (twins.money, twins.hand):
        shares = itertools.cycle([0.0, 1.0, 0.25, 0.5])
        with service(tmp_path, problem) as (ledger, writer):
            rng, steps = np.random.default_rng(2), []
            for _ in range(40):
                case = decoded(ask(writer, Opening()))
                while case["wanted"]:
                    place = {n: int(rng.integers(2)) for n in case["wanted"]}
                    case = decoded(ask(writer, Observing(place), case["case"]))
                steps.append((case["action"], case["cost"]))
                told = problem.as_money(next(shares))
                ask(writer, Rewarding(told), case["case"])
            refused = ask(writer, Rewarding(2e6, replaces=True), case["case"])
            project = ledger.project("clinic")
            decider = CaseDecider(project, partial(PolicyCache(ledger).version_or_thin, project.id))
            story = case_story(decider, ledger.case(project.id, case["case"]))
            found.append((steps, summary(ledger, decider), story, refused))
    (steps, mine, story, refused), (others, theirs, other, _) = found
    assert steps == others
    beta = twins.money.reward_value
    assert mine.gain == pytest.approx(theirs.gain + 40 * twins.low, rel=1e-12)
    assert mine.reward == pytest.approx(40 * twins.low + beta * theirs.reward, rel=1e-12)
    assert sum(b.reward for b in mine.blocks) == pytest.approx(mine.reward, rel=1e-12)
    assert story.reward == pytest.approx(twins.told(other.reward))
    assert refused.status == 422
    assert refused.pointer == "#/reward"
    assert "declare wider rewards" in str(refused)
