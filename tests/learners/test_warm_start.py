"""A learner that starts from a log does what the log recommends, and explores from there."""

import io

import numpy as np
import pytest

import askwise as aw
from askwise.errors import StatisticsError
from askwise.estimation.additive import AdditiveModel
from askwise.estimation.complete_records import CompleteRecords, Log
from askwise.estimation.joint import JointModel
from askwise.learners.warm_start import begin_with_log
from askwise.policy.expected_gain import expected_gain
from askwise.simulation.environments import Population
from inside import rounds_of, strategy_of
from log_worlds import Effects, complete_log, small_log


def decided_log(world, cases, rng, *, at_once):
    """Whoever wrote it looked at some, in any order, and acted at random."""
    values, rewards = world.draw(rng, cases)
    given = [i for i, o in enumerate(world.problem.observations) if o.given]
    buyable = [i for i in range(values.shape[1]) if i not in given]
    log = {f"o{i}": [] for i in range(values.shape[1])}
    log |= {"order": [], "action": [], "reward": []}
    for row, earned in zip(values.tolist(), rewards, strict=True):
        looks = rng.choice(buyable, rng.integers(world.problem.m + 1), replace=False).tolist()
        action = int(rng.integers(3))
        for i, value in enumerate(row):
            log[f"o{i}"].append(value if i in looks or i in given else None)
        log["order"].append([f"o{i}" for i in looks])
        log["action"].append("abc"[action])
        log["reward"].append(float(earned[action]))
    if at_once:
        del log["order"]
    return log


def gains(learner, policy, values, means, rng):
    """What cases gain that follow a policy, what it tries included, by the true means."""
    lattice = learner.statistics.lattice
    digits = np.ascontiguousarray(values[:, list(lattice.order)]).astype(np.int16)
    tags, statistics = rng.integers(1 << 62, size=len(values)), rounds_of(learner).new_counters()
    tallies = (
        () if strategy_of(learner).model_name == "joint" else (AdditiveModel(lattice).tallies,)
    )
    run = policy.exploration.run
    states, actions = run(policy.table, statistics, *tallies, tags, digits, means)
    earned = means[np.arange(len(actions)), actions]
    return lattice.problem.reward_value * earned - lattice.costs_of(states)


def recommended_gains(learner, values, means):
    """What they gain that do what is recommended."""
    policy, lattice, beta = (
        learner.recommend(),
        learner.statistics.lattice,
        learner.problem.reward_value,
    )
    found = {}

    def gain(digits):
        state = lattice.index_of({i: digits[i] for i in range(lattice.buyable, len(digits))})
        while looks := policy.looks(state):
            for i in looks:
                state = list(lattice.children(state, i))[digits[i]]
        return policy.act(state), lattice.spent(state)

    total = np.empty(len(values))
    for k, row in enumerate(values[:, list(lattice.order)].tolist()):
        key = tuple(row)
        if key not in found:
            found[key] = gain(key)
        action, spent = found[key]
        total[k] = beta * means[k, action] - spent
    return total


LOGS = [
    # population, kind of log, cases, plan
    ({"seed": 1, "size": 4, "m": 3}, "complete", 800, "sequential"),
    ({"seed": 2, "size": 5, "m": 2}, "complete", 800, "simultaneous"),
    ({"seed": 3, "size": 5, "m": 3, "given": 1}, "sequential", 2000, "sequential"),
    ({"seed": 4, "size": 4, "m": 2, "panel": True}, "simultaneous", 2000, "simultaneous"),
    ({"seed": 5, "size": 5, "m": 3, "given": 1, "panel": True}, "complete", 800, "sequential"),
    ({"seed": 6, "size": 5, "m": 2}, "simultaneous", 2000, "sequential"),
    ({"seed": 7, "size": 20, "m": 2}, "complete", 800, "sequential"),
    ({"seed": 8, "size": 20, "m": 2, "given": 1, "panel": True}, "complete", 800, "simultaneous"),
    ({"seed": 9, "size": 22, "m": 3}, "sequential", 5000, "sequential"),
    ({"seed": 10, "size": 20, "m": 2, "given": 1}, "simultaneous", 5000, "simultaneous"),
]


@pytest.mark.parametrize("which", range(len(LOGS)))
def test_the_first_cases_do_what_the_log_recommends(which):
    """Within 1 % of β, whatever they try included; and after 2,000 cases it is not worse."""
    population, kind, cases, plan = LOGS[which]
    world, rng = Effects(**population), np.random.default_rng(which)
    if kind == "complete":
        fit = aw.fit(complete_log(world, cases, rng), world.problem)
    else:
        log = decided_log(world, cases, rng, at_once=kind == "simultaneous")
        fit = aw.fit(log, world.problem, acquisition=kind)
    learner = fit.learner(rng=which, acquisition=plan)
    assert learner.name == "learner"
    assert f"after {cases:,} {fit.kind}" in repr(learner)
    values = world.sample(rng, 10_000)
    means = world.means(values)
    policy = learner.policy
    assert policy.tree() == learner.recommend().tree()
    recommended = recommended_gains(learner, values, means)
    followed = gains(learner, policy, values, means, rng)
    assert recommended.mean() - followed.mean() < 1.0
    if plan == (fit.acquisition or "sequential"):
        assert fit.recommend().tree() == learner.recommend().tree()
    aw.simulate(learner, world, steps=2000, rng=which)
    later = gains(learner, learner.policy, values, means, rng)
    assert later.mean() > followed.mean() - 1.0


def fraud(seed, cases):
    """Few frauds that cost much; a check of the device is cheap, the bureau is dear."""
    rng = np.random.default_rng(seed)
    bad = rng.random(cases) < 0.04
    return {
        "device": np.where(rng.random(cases) < np.where(bad, 0.6, 0.1), "new", "known").tolist(),
        "country": rng.choice(["here", "there"], cases, p=[0.8, 0.2]).tolist(),
        "bureau": np.where(rng.random(cases) < np.where(bad, 0.8, 0.05), "poor", "good").tolist(),
        "approve": np.where(bad, 0.0, 0.9).tolist(),
        "review": np.where(bad, 0.85, 0.86).tolist(),
    }


def test_a_fraud_desk_does_what_its_log_recommends():
    problem = aw.Problem(
        observations=[
            aw.Observation("device", values=["known", "new"], cost=0.05),
            aw.Observation("country", values=["here", "there"], cost=0.05),
            aw.Observation("bureau", values=["good", "poor"], cost=0.6),
        ],
        actions=["approve", "review"],
        reward_value=100,
    )
    frame = fraud(0, 3000)
    learner = aw.fit(frame, problem).learner(rng=0)
    later = fraud(1, 20_000)
    truth = aw.environments.Table(problem, later).model()
    relied = learner.recommend().evaluate(truth)
    marginals = truth.marginals(learner.statistics.lattice)
    assert relied > aw.oracle.fixed(truth, []).value
    assert relied - expected_gain(learner.policy, *marginals) < 0.01 * problem.reward_value
    aw.simulate(learner, Population(truth), steps=2000, rng=0)
    assert expected_gain(learner.policy, *marginals) > relied - 0.01 * problem.reward_value


def test_the_tutorial_follows_its_recommendation():
    """The path of docs/tutorial.md: fit, serve; what is served gains what was recommended."""
    from sklearn.datasets import load_breast_cancer

    from askwise.logs import draft

    data = load_breast_cancer(as_frame=True)
    table = data.frame.rename(columns=lambda name: name.replace(" ", "_"))
    table["best"] = table["target"].map({0: "operate", 1: "watch"})
    tests = ["worst_area", "worst_concave_points", "mean_texture", "worst_smoothness"]
    tests += ["mean_radius", "area_error", "worst_concavity", "mean_symmetry"]
    prices = dict(zip(tests, [4, 6, 2, 2, 1, 1, 3, 1], strict=True))
    table = table[[*tests, "best"]].sample(frac=1, random_state=0)
    log, later = table[:427], table[427:].copy()
    problem = draft(log, label="best").problem.priced(prices)
    for action in problem.action_names:
        later[action] = (later["best"] == action).astype(float)
    truth = aw.environments.Table(problem, later)
    learner = aw.fit(log, problem, label="best").learner(rng=0)
    recommended = learner.recommend().evaluate(truth.model())
    values, means = truth.draw(np.random.default_rng(1), 20_000)
    ideal = recommended_gains(learner, values, means).mean()
    followed = gains(learner, learner.policy, values, means, np.random.default_rng(0)).mean()
    assert recommended > 90
    assert ideal - followed < 1.0


def names_that_accept_a_log(fit):
    for name in aw.learners.LEARNERS:
        if name != "learner":
            try:
                yield name, fit.learner(name, rng=1)
            except aw.AskwiseError:
                continue


ACCEPT = {
    "sim-oos", "seq-oos", "psrl", "rlsvi", "adaptive-greedy", "ucrl2", "ncc-ucrl2",
    "contextual-zooming", "releaf", "fixed-set", "no-information", "lin-ucb",
    "random-choice",
}  # fmt: skip


@pytest.mark.parametrize("money", [False, True])
def test_other_learners_follow_what_the_log_recommends_too(money):
    """Optimism once started anew: the first cases gained a fifth less than was recommended."""
    world, rng = Effects(1, size=4, m=3), np.random.default_rng(1)
    problem, log = world.problem, complete_log(world, 600, rng)
    if money:
        problem = aw.Problem(
            observations=problem.observations,
            actions=problem.actions,
            max_observations=3,
            rewards=(-40.0, 60.0),
        )
        log |= {a: (100.0 * np.array(log[a]) - 40.0).tolist() for a in problem.action_names}
    grid = np.stack(np.unravel_index(np.arange(16), (2,) * 4), axis=1)
    chance = np.prod(np.where(grid, world.ones, 1 - world.ones), axis=1)
    means = world.means(grid) * (100.0 if money else 1.0) - (40.0 if money else 0.0)
    truth, fit = aw.Model(problem, chance, means), aw.fit(log, problem)
    found = dict(names_that_accept_a_log(fit))
    assert set(found) == ACCEPT
    for name, learner in found.items():
        followed, recommended = [], []
        for _ in range(60):
            policy = learner.open().policy or learner.policy
            followed.append(learner.policy.evaluate(truth))
            recommended.append(learner.recommend().evaluate(truth))
            assert policy.acquisition == learner.policy.acquisition
            aw.simulate(learner, Population(truth), steps=9, rng=len(followed))
        mean, best = np.mean(followed), np.mean(recommended)
        assert followed[0] == pytest.approx(recommended[0]), name
        assert mean > best - 0.01 * abs(best), name


def test_the_run_after_a_log_is_that_of_the_cases_and_survives_a_file():
    world, fit = small_log(cases=120)
    for name in ("seq-oos", "sim-oos", "psrl"):
        one, other = (fit.learner(name, rng=3) for _ in range(2))
        quick = aw.simulate(one, world, steps=200, rng=4)
        slow = aw.simulate(other, world, steps=200, rng=4, log=True)
        assert (quick.state == slow.state).all()
        assert (quick.action == slow.action).all()
        assert one.statistics == other.statistics
        third = fit.learner(name, rng=3)
        parts = []
        for seed in range(4):
            parts.append(aw.simulate(third, world, steps=50, rng=seed).gain)
            third = aw.learners.from_bytes(third.to_bytes())
        fourth = fit.learner(name, rng=3)
        again = [aw.simulate(fourth, world, steps=50, rng=seed).gain for seed in range(4)]
        assert (np.concatenate(parts) == np.concatenate(again)).all(), name
        assert strategy_of(third).log.cases == 120


# --- the evidence -----------------------------------------------------------------------------


def test_statistics_say_what_kind_of_data_they_hold(tmp_path):
    _, fit = small_log(cases=100)
    assert fit.statistics.records == fit.statistics.cases == 100
    assert (fit.statistics + fit.statistics).records == 200
    assert fit.statistics.copy().records == 100
    assert "100 complete records" in repr(fit.statistics)
    rest = fit.statistics + fit.statistics
    rest.take_back(fit.statistics)
    assert rest == fit.statistics
    for learner in (fit.learner("seq-oos", rng=0), fit.learner("sim-oos", rng=0)):
        learner.save(tmp_path / "learner")
        assert aw.load(tmp_path / "learner").statistics.records == 100
    with pytest.raises(StatisticsError, match=r"fit\(\.\.\.\)\.learner\(\)"):
        JointModel(fit.statistics.lattice).update(fit.statistics)


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.Learner])
def test_late_rewards_after_a_window_are_not_taken_for_records(kind):
    """16 cases and 76 rewards once were: then "buying nothing" was recommended."""
    problem = aw.Problem(
        observations=[aw.Observation("mri", values=["neg", "pos"], cost=1)],
        actions=["wait", "treat"],
        reward_value=100,
    )
    options = {"window": 16} if kind is aw.Learner else {"window": 16, "width": 0.1}
    learner, rng, waiting = kind(problem, rng=0, **options), np.random.default_rng(0), []
    for _ in range(400):
        case = learner.open()
        ill = rng.random() < 0.5
        while case.wanted:
            case.observe({"mri": "pos" if ill else "neg"})
        waiting.append((case, float((case.action == "treat") == ill)))
        if len(waiting) > 60:
            case, reward = waiting.pop(0)
            case.reward(reward)
    for case, reward in waiting:
        case.reward(reward)
    statistics = learner.statistics
    assert statistics.action_counts.sum() > statistics.cases
    assert statistics.records == 0
    assert learner.recommend().wanted({}) == ("mri",)


# --- what it survives -------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "kind"), [(4, "complete"), (20, "complete"), (20, "sequential")])
def test_it_goes_on_the_same_after_save_and_load(size, kind, tmp_path):
    world, rng = Effects(5, size=size, m=2), np.random.default_rng(1)
    if kind == "complete":
        fit = aw.fit(complete_log(world, 300, rng), world.problem)
    else:
        fit = aw.fit(decided_log(world, 600, rng, at_once=False), world.problem)
    learner = fit.learner(rng=3)
    aw.simulate(learner, world, steps=150, rng=4)
    learner.save(tmp_path / "learner")
    again = aw.load(tmp_path / "learner")
    assert repr(again) == repr(learner)
    assert again.recommend().tree() == learner.recommend().tree()
    one = aw.simulate(learner, world, steps=200, rng=5)
    other = aw.simulate(again, world, steps=200, rng=5)
    assert (one.gain == other.gain).all()


def test_a_damaged_log_in_a_file_is_refused(tmp_path):
    import zipfile

    _, fit = small_log(cases=50)
    fit.learner(rng=0).save(tmp_path / "learner")
    with zipfile.ZipFile(tmp_path / "learner") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    digits = np.load(io.BytesIO(files["records.digits.npy"]))
    digits[0, 0] = 7
    content = io.BytesIO()
    np.save(content, digits)
    with zipfile.ZipFile(tmp_path / "damaged", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, content.getvalue() if name == "records.digits.npy" else data)
    with pytest.raises(aw.AskwiseError, match="a value that there is not"):
        aw.load(tmp_path / "damaged")


def test_a_learner_that_has_cases_cannot_begin_with_a_log():
    world, fit = small_log(cases=50)
    learner = aw.Learner(world.problem, rng=0)
    learner.open()
    with pytest.raises(StatisticsError, match="cannot begin with a log"):
        begin_with_log(learner, Log(50, fit.records))


def test_of_very_many_records_a_fair_sample_is_kept():
    digits = np.arange(1000, dtype=np.int16)[:, None]
    nothing = np.zeros((1000, 2), np.int64)
    records = CompleteRecords(digits, np.ones(1000, np.int64), nothing, nothing)
    some = records.sample(100)
    assert len(np.unique(some.digits)) == len(some.counts) == 100
    assert 350 < some.digits.mean() < 650
    assert records.sample(1000) is records


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_what_tries_cost_is_what_cases_lose(plan):
    """The expectation, tries included, against many cases by their tags."""
    world, rng = Effects(11, size=4, m=2, given=1), np.random.default_rng(0)
    learner = aw.fit(complete_log(world, 400, rng), world.problem).learner(rng=0, acquisition=plan)
    policy, lattice = learner.policy, learner.statistics.lattice
    other, probability, actions, _ = explored = policy.exploration
    probability, another = np.where(probability > 0, 0.4, 0.0), np.full(lattice.size, 0.3)
    policy = policy.exploring(type(explored)(other, probability, actions, another))
    values = world.sample(rng, 200_000)
    means = world.means(values)
    grid = np.stack(np.unravel_index(np.arange(16), (2,) * 4), axis=1)
    chance = np.prod(np.where(grid, world.ones, 1 - world.ones), axis=1)
    model = aw.Model(world.problem, chance, world.means(grid))
    expected = expected_gain(policy, *model.marginals(lattice))
    found = gains(learner, policy, values, means, rng)
    assert found.mean() == pytest.approx(expected, abs=4 * found.std() / len(found) ** 0.5)
