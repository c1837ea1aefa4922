"""Complete records: what is believed by them, and what is best by that."""

import numpy as np
import pytest

import askwise as aw
from askwise import oracle
from askwise.estimation import beliefs as making_beliefs
from askwise.estimation.beliefs import complete_beliefs
from askwise.estimation.shrinkage import PARENT_RECORDS, shrink_to_parents
from askwise.policy.trees import Act
from random_problems import random_model, random_problem


def test_plans_by_advantage_are_the_plans_of_the_truth():
    """Where estimates average out, nothing is different."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        model = random_model(rng, random_problem(rng, most=60))
        beliefs = model.beliefs(aw.states.Lattice(model.problem))
        for best in (oracle.best_path, oracle.best_set):
            beliefs.averages_out = True
            expected = best(beliefs.lattice, beliefs)
            beliefs.averages_out = False
            found = best(beliefs.lattice, beliefs)
            near = pytest.approx(expected.value, abs=1e-9 * model.problem.reward_value)
            assert found.value == near
            assert found.evaluate(model) == near


def table(seed, rows=60):
    rng = np.random.default_rng(seed)
    names = ["x", "y", "z"]
    frame = {name: rng.integers(3, size=rows).tolist() for name in names}
    lean = np.array(frame["x"]) + rng.normal(size=rows)
    frame["best"] = np.where(lean > 1.2, "a", "b").tolist()
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1, 2], cost=0.5) for n in names],
        actions=["a", "b"],
        max_observations=2,
        reward_value=100,
    )
    return frame, problem


def test_a_look_after_which_the_same_is_done_is_never_bought():
    def done(node):
        return {node.action} if isinstance(node, Act) else set().union(*map(done, below(node)))

    def below(node):
        return [child for _, child in node.branches]

    def check(node):
        if not isinstance(node, Act):
            assert len(done(node)) > 1
            for child in below(node):
                check(child)

    for seed in range(20):
        frame, problem = table(seed)
        check(aw.fit(frame, problem, label="best").recommend().tree().root)


def test_thin_states_lean_on_those_with_one_look_less():
    frame, problem = table(3)
    beliefs = complete_beliefs(aw.fit(frame, problem, label="best").statistics)
    lattice, rows = beliefs.lattice, len(frame["x"])
    right = np.array(frame["best"]) == "a"
    blind = (right.sum() + PARENT_RECORDS * (right.sum() + 0.5) / (rows + 1)) / (
        rows + PARENT_RECORDS
    )
    assert beliefs.reward[lattice.index({}), 0] == pytest.approx(blind)
    of = {}
    for name in "xy":
        here = np.array(frame[name]) == 1
        of[name] = (right[here].sum() + PARENT_RECORDS * blind) / (here.sum() + PARENT_RECORDS)
        assert beliefs.reward[lattice.index({name: 1}), 0] == pytest.approx(of[name])
    here = (np.array(frame["x"]) == 1) & (np.array(frame["y"]) == 1)
    leaning = PARENT_RECORDS * (of["x"] + of["y"]) / 2
    both = (right[here].sum() + leaning) / (here.sum() + PARENT_RECORDS)
    assert beliefs.reward[lattice.index({"x": 1, "y": 1}), 0] == pytest.approx(both)
    assert beliefs.probability[lattice.index({"x": 1, "y": 1})] == here.mean()
    assert beliefs.mean_reward(lattice.index({"x": 1}), 0).variance > 0


def test_every_state_of_every_context_is_shrunk_to_its_parents():
    rng = np.random.default_rng(2)
    problem = aw.Problem(
        observations=[
            aw.Observation("site", values=[0, 1], given=True),
            *(
                aw.Observation(n, values=range(k), cost=1)
                for n, k in (("x", 2), ("y", 3), ("z", 2))
            ),
        ],
        actions=["a", "b"],
    )
    lattice = aw.states.Lattice(problem)
    counts = rng.integers(0, 5, (lattice.size, 2))
    sums = counts * rng.random(counts.shape)
    contexts = lattice.contexts
    blind = (sums[:contexts].sum(axis=0) + 0.5) / (counts[:contexts].sum(axis=0) + 1)
    site = lattice.buyable

    def plain(known):
        """Without a site: of both together."""
        where = [known] if site in known else [known | {site: g} for g in range(contexts)]
        states = [lattice.index_of(k) for k in where]
        n, total = counts[states].sum(axis=0), sums[states].sum(axis=0)
        less = [{i: x for i, x in known.items() if i != j} for j in known]
        prior = np.mean([plain(k) for k in less], axis=0) if less else blind
        return (total + PARENT_RECORDS * prior) / (n + PARENT_RECORDS)

    found = shrink_to_parents(lattice, counts, sums)
    np.testing.assert_allclose(
        found, [plain(dict(lattice.digits(s))) for s in range(lattice.size)], rtol=1e-12
    )


def test_what_nobody_ever_saw_is_not_planned_for():
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1, 2], cost=0.1) for n in "xy"],
        actions=["a", "b"],
        reward_value=100,
    )
    frame = {"x": [0, 1] * 100, "y": [0, 0, 1, 1] * 50, "best": ["a", "b"] * 100}
    policy = aw.fit(frame, problem, label="best").recommend()
    assert policy.wanted({}) == ("x",)
    assert policy.wanted({"x": 2}) == ()


def test_fitted_records_are_worth_what_they_say():
    frame, problem = table(1, rows=3000)
    fit = aw.fit(frame, problem, label="best")
    worth = aw.worth(fit)
    assert worth.gain == pytest.approx(fit.recommend().value)
    assert worth["x"].break_even > 5 > worth["y"].break_even
    assert aw.explain(fit).notes == fit.notes
    assert aw.worth(fit.learner("sim-oos")).acquisition == "simultaneous"


def test_a_recommendation_from_records_of_too_many_states_says_what_it_rests_on(
    monkeypatch, tmp_path
):
    frame, problem = table(3)
    usual = aw.fit(frame, problem, label="best")
    assert usual.recommend().note == ""
    assert "rests on" not in str(aw.explain(usual)) + str(usual.recommend().tree())
    monkeypatch.setattr(making_beliefs, "MOST_DENSE", 10)
    said = "37 states, more than the 10 for which records are believed state by state"
    fitted = aw.fit(frame, problem, label="best")
    learner = fitted.learner("seq-oos")
    learner.save(tmp_path / "large.askwise")
    for source in (learner, aw.load(tmp_path / "large.askwise")):
        policy = source.recommend()
        assert said in policy.note
        assert said in repr(policy)
        assert said in str(policy.tree())
        assert said in policy.tree().html()
        explanation = aw.explain(source)
        assert str(explanation).count(said) == 1
        assert said in explanation.html()
    assert "cautious estimates" in learner.recommend().note
    assert fitted.recommend().note == ""  # the default learner takes records as they are


def test_cases_of_a_large_problem_need_no_such_note(monkeypatch):
    monkeypatch.setattr(making_beliefs, "MOST_DENSE", 10)
    frame, problem = table(3)
    learner = aw.SeqOOS(problem, rng=0)
    for x, best in zip(frame["x"], frame["best"], strict=True):
        case = learner.open()
        while case.wanted:
            case.observe(dict.fromkeys(case.wanted, x))
        case.reward(float(case.action == best))
    assert learner.recommend().note == ""
