"""Live splits in which people overrule, and comparisons on logs that do not support a policy."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, OptionError, UnknownCaseError

ILL = 0.3


def clinic():
    return aw.Problem(
        observations=[
            aw.Observation("mammogram", values=["low", "high"], cost=1.0),
            aw.Observation("mri", values=["neg", "pos"], cost=9.0),
        ],
        actions=["wait", aw.Action("treat", cost=4.0)],
        reward_value=100.0,
    )


def by_mri(known):
    if "mri" not in known:
        return "mri"
    return "treat" if known["mri"] == "pos" else "wait"


def treat_all(known):
    return "treat"


def sides():
    problem = clinic()
    return aw.Policy.from_rule(problem, by_mri), aw.Policy.from_rule(problem, treat_all)


def reward(case, ill):
    case.reward(float((case.action == "treat") == ill))


def test_a_case_that_people_overruled_counts_for_its_side():
    """People send home every second healthy case that was to be treated: exact gains are known."""
    trial = aw.compare(*sides(), share=0.3, rng=0, names=("new", "today"))
    rng = np.random.default_rng(1)
    overruled = 0
    for _ in range(6_000):
        ill, sees = rng.random() < ILL, rng.random() < 0.5
        case = trial.open()
        while case.wanted:
            case.observe({"mri": "pos" if ill else "neg"})
        if case.action == "treat" and not ill and sees:
            case.act("wait")
            overruled += 1
        reward(case, ill)
    found = trial.result()
    new = 100 - 9 - 4 * ILL  # the MRI is always right, and is never overruled
    today = 100 * (ILL + (1 - ILL) / 2) - 4 * (ILL + (1 - ILL) / 2)
    assert found.overruled == (0, overruled)
    assert found.a.value == pytest.approx(new, abs=0.8)
    assert found.b.value == pytest.approx(today, abs=4.0)
    assert found.difference.low < new - today < found.difference.high
    assert found.is_settled
    assert f"people overruled 0 of new and {overruled:,} of today" in str(found)
    assert len(trial.log()["action"]) == 6_000 - overruled
    aw.off_policy(trial.a, trial.log(), acquisition="sequential", order="order")


def test_what_people_do_alike_on_both_sides_leaves_no_difference():
    """Both advise the same: observations unasked, early decisions and overrules are chance."""
    right = [[[1, 0], [0, 1]], [[1, 0], [0, 1]]]
    model = aw.Model(clinic(), [[(1 - ILL) / 2, ILL / 2]] * 2, right)
    best = aw.oracle.sequential(model)  # the MRI, whatever else is known
    trial, rng = aw.compare(best, best, rng=3), np.random.default_rng(4)
    for _ in range(1_500):
        ill, does = rng.random() < ILL, rng.integers(6)
        case = trial.open()
        if does == 0:
            case.act("treat")
        elif does == 1:
            case.observe({"mammogram": "high"}, unasked=True)
        while case.wanted:
            case.observe({"mri": "pos" if ill else "neg"})
        if does == 2:
            case.observe({"mammogram": "low"}, unasked=True)
        elif does == 3:
            case.act("wait" if case.action == "treat" else "treat")
        reward(case, ill)
    found = trial.result()
    early, unasked, followed = 100 * ILL - 4, 100 - 10 - 4 * ILL, 100 - 9 - 4 * ILL
    mean = (early + 2 * unasked + (-9 - 4 * (1 - ILL)) + 2 * followed) / 6
    assert found.a.low < mean < found.a.high
    assert found.b.low < mean < found.b.high
    assert found.difference.low < 0 < found.difference.high
    assert found.differing == sum(found.overruled)
    assert sum(found.overruled) == pytest.approx(1_000, abs=80)


def test_a_rule_that_does_not_lead_to_what_people_saw_changes_nothing():
    case = aw.compare(*sides(), rng=0, share=1e-9).open()
    with pytest.raises(CaseError, match="the rule was not asked about"):
        case.observe({"mammogram": "low"}, unasked=True)
    assert case.state == {}
    assert case.unasked == {}
    case.observe({"mri": "pos"})
    assert case.action == "treat"


def test_sets_that_were_stopped_half_way():
    problem = clinic()
    model = aw.Model(problem, [[0.6, 0.1], [0.1, 0.2]], np.full((2, 2, 2), 0.5))
    both, one = (aw.oracle.fixed(model, names) for names in (["mammogram", "mri"], ["mri"]))
    trial = aw.compare(both, one, rng=1)
    for row in range(100):
        case = trial.open()
        if row % 10 == 0:
            case.observe({"mri": "neg"})
        if row % 10 == 0 and case.wanted:
            case.act("wait")
        elif case.wanted:
            case.observe({name: {"mammogram": "low", "mri": "neg"}[name] for name in case.wanted})
        case.reward(1.0)
    found = trial.result()
    assert found.rows == 100
    assert 0 < sum(found.overruled) <= 10


def test_a_log_that_does_not_support_a_policy_settles_nothing():
    """The log never treats the healthy, and has no MRI in seven cases of ten."""
    rng, log = np.random.default_rng(0), {name: [] for name in ("mri", "action", "reward")}
    log |= {"mammogram": [], "propensity": []}
    for _ in range(2_000):
        ill, scans = rng.random() < ILL, rng.random() < 0.5
        log["mammogram"].append(None)
        log["mri"].append(("pos" if ill else "neg") if scans else None)
        log["action"].append("treat" if scans and ill else "wait")
        log["reward"].append(float(ill == (log["action"][-1] == "treat")))
        log["propensity"].append([0.5, 1.0])
    new, today = sides()
    wait = aw.Policy.from_rule(clinic(), lambda known: "wait")
    found = aw.compare(new, today, log=log, acquisition="simultaneous", names=("new", "today"))
    assert found.mean_weights[1].value == 0.0
    assert found.effective_rows[1] == 0.0
    assert not found.is_settled
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("today: weights average 0")
    assert "today: weights average 0" in str(found)
    assert "settled, by" not in str(found)

    rare = {name: list(values) for name, values in log.items()}
    rare["propensity"] = [[0.05 if mri is None else 0.95, 1.0] for mri in rare["mri"]]
    wrong = aw.compare(new, wait, log=rare, acquisition="simultaneous")
    assert not wrong.is_settled
    assert "not settled, because the log does not support these estimates" in str(wrong)
    assert "snips and dr may be far off" in str(
        aw.off_policy(new, rare, acquisition="simultaneous")
    )

    supported = aw.compare(new, wait, log=log, acquisition="simultaneous")
    assert supported.is_settled
    assert supported.warnings == ()
    assert [weight.value for weight in supported.mean_weights] == pytest.approx([1, 1], abs=0.1)
    assert all(worth > 900 for worth in supported.effective_rows)


def test_the_names_of_the_sides_and_the_share():
    trial = aw.compare(*sides(), share=0.2, names=["new", "today"], rng=0)
    assert "today is followed by 20% of the cases, new by 80%" in repr(trial)
    assert "no case has its reward yet" in str(trial.result())
    for _ in range(200):
        case = trial.open()
        while case.wanted:
            case.observe({"mri": "neg"})
        reward(case, ill=False)
    assert str(trial).startswith("today is followed by 20% of the cases, new by 80%")
    assert "new gains" in str(trial)
    assert "more than today: settled" in str(trial)
    for wrong in (("new",), ("new", "new"), ("", "b"), "ab", ("new", 3)):
        with pytest.raises(OptionError, match="two different names"):
            aw.compare(*sides(), names=wrong)


def test_a_default_reward_is_followed_by_the_real_one_also_after_loading(tmp_path):
    trial = aw.compare(*sides(), share=0.5, rng=0)
    numbers = []
    for _ in range(4):
        case = trial.open()
        while case.wanted:
            case.observe({"mri": "neg"})
        case.reward_by_default(0.0)
        numbers.append(case.id)
    assert list(trial.cases) == numbers
    trial.save(tmp_path / "trial")
    for one in (trial, aw.load(tmp_path / "trial")):
        for case in one.cases.values():  # cases end while one iterates
            case.reward(1.0)
        assert not one.cases
        assert [reward for _, reward in one.rewarded_cases()] == [1.0] * 4
        with pytest.raises(UnknownCaseError, match="case 2 waits for no reward"):
            one.cases[2]


def test_a_refused_case_of_a_trial_changes_nothing():
    trial, other = (aw.compare(*sides(), share=0.5, rng=0) for _ in range(2))
    for known, why in (({"mri": "pos"}, "nothing may be on file"), ({"mri": "?"}, "no value")):
        with pytest.raises(CaseError, match=why):
            trial.open(known)
    with pytest.raises(CaseError, match="stake"):
        trial.open(stake=-1.0)
    assert trial.opened == 0
    assert [trial.open().wanted for _ in range(20)] == [other.open().wanted for _ in range(20)]
