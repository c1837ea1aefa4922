"""A saved trial goes on as it would have; what cannot be is refused."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import askwise as aw
from askwise.errors import FileError, OptionError
from askwise.logs.trial_files import from_bytes

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("bureau", values=["good", "poor"], cost=0.6, fails="charged"),
        aw.Observation("device", values=["known", "new"], cost=0.05),
    ],
    actions=["approve", aw.Action("review", cost=4.0)],
    rewards=(-500.0, 30.0),
)


def rule(known):
    if "device" not in known:
        return "device"
    return "review" if known["device"] == "new" else "approve"


def model():
    rng = np.random.default_rng(3)
    return aw.Model(PROBLEM, np.full((3, 2), 1 / 6), rng.uniform(-80, 30, (3, 2, 2)))


def started():
    today = aw.Policy.from_rule(PROBLEM, rule)
    budget = aw.Budget(spend_per_case=0.2)
    best = aw.oracle.sequential(model(), budget=budget)
    return aw.compare(best, today, share=0.4, names=("new", "today"), rng=7)


def play(trial, cases, seed):
    """Cases of which some are overruled, some looked at unasked, and some left to wait."""
    rng, waiting = np.random.default_rng(seed), []
    for number in range(cases):
        case = trial.open(stake=float(rng.choice([1.0, 10.0])))
        seen = {"bureau": ["good", "poor", None][rng.integers(3)]}
        seen["device"] = ["known", "new"][rng.integers(2)]
        if number % 7 == 0 and case.wanted:
            waiting.append(case.id)
            continue
        while case.wanted:
            case.observe({name: seen[name] for name in case.wanted})
        unseen = {name: value for name, value in seen.items() if name not in case.state}
        if number % 5 == 0 and unseen:
            case.observe(unseen, unasked=True)
        if number % 11 == 0:
            case.act("review", propensity=0.25)
        if number % 13 == 0:
            case.cancel()
        elif number % 17 == 0:
            case.reward_by_default(20.0)
            waiting.append(case.id)
        elif number % 6 == 0:
            waiting.append(case.id)
        else:
            case.reward(float(rng.choice([-500.0, 20.0, 30.0])))
    return waiting


def finish(trial, waiting):
    for number in waiting:
        case = trial.cases[number]
        while case.wanted:
            case.observe({name: {"bureau": "poor", "device": "new"}[name] for name in case.wanted})
        case.reward(-20.0)
    return str(trial), trial.log(), trial.result()


@pytest.mark.parametrize("way", ["file", "bytes", "pickle"])
def test_a_saved_trial_goes_on_as_it_would_have(tmp_path, way):
    trial = started()
    waiting = play(trial, 150, 1)
    assert sorted(trial.cases) == sorted(waiting)
    if way == "file":
        trial.save(tmp_path / "t.askwise")
        other = aw.load(tmp_path / "t.askwise")
    else:
        content = trial.to_bytes()
        other = from_bytes(content) if way == "bytes" else pickle.loads(pickle.dumps(trial))
        assert other.to_bytes() == content
    assert repr(other) == repr(trial)
    assert str(other) == str(trial)
    more = [play(one, 150, 2) for one in (trial, other)]
    assert more[0] == more[1]
    by_default = [
        [n for n, case in one.cases.items() if case.is_by_default] for one in (trial, other)
    ]
    assert by_default[0] == by_default[1] != []
    assert finish(trial, waiting + more[0]) == finish(other, waiting + more[0])
    assert not other.cases


def altered(trial, change):
    out, old = io.BytesIO(), zipfile.ZipFile(io.BytesIO(trial.to_bytes()))
    with zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "trial.json":
                header = json.loads(content)
                change(header)
                content = json.dumps(header).encode()
            new.writestr(name, content)
    return out.getvalue()


def first_case(**changes):
    """Changes the first case that still buys."""
    return lambda h: next(case for case in h["cases"] if case["action"] < 0).update(changes)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(format="askwise policy"),
        lambda h: h.update(version=2),
        lambda h: h.update(share=1.0),
        lambda h: h.update(confidence=0.0),
        lambda h: h.update(opened=3),
        lambda h: h.update(rng={}),
        lambda h: h.update(rng={"x": "y" * (1 << 18)}),
        lambda h: h.update(a=h["b"] | {"problem": {"observations": [], "actions": ["a", "b"]}}),
        lambda h: h["cases"].append(h["cases"][0]),
        first_case(policy=1),
        first_case(policy=None),
        first_case(action=9),
        first_case(start=10**6),
        first_case(tag=-1),
        first_case(path=[[0, 2**70]]),
        first_case(path=[[0, 10**6]]),
        first_case(stake=-1.0),
        first_case(default=0.5),
    ],
)
def test_what_cannot_be_is_one_error(change):
    trial = started()
    play(trial, 20, 1)
    from_bytes(altered(trial, lambda header: None))
    with pytest.raises(FileError):
        from_bytes(altered(trial, change))


def test_what_to_bytes_gave_is_loaded_by_load():
    trial = started()
    policy, learner = trial.a, aw.Learner(trial.a.problem, rng=1)
    assert aw.load(trial.to_bytes()).to_bytes() == trial.to_bytes()
    assert str(aw.load(policy.to_bytes()).tree()) == str(aw.load(policy.to_bytes()).tree())
    assert aw.load(learner.to_bytes()).to_bytes() == learner.to_bytes()
    assert pickle.loads(pickle.dumps(learner)).to_bytes() == learner.to_bytes()
    with pytest.raises(FileError):
        aw.load(b"nothing")
    with pytest.raises(OptionError, match="expected a path, or the bytes"):
        aw.load(None)
