"""A policy in a file of its own decides the same when it is loaded; what cannot be is refused."""

import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import askwise as aw
from altered_files import claims, npy
from askwise.errors import AskwiseError, CaseError, FileError
from askwise.policy.policy_files import from_bytes
from askwise.simulation.environments import Population, breast_cancer

MODEL = breast_cancer(cost=5.0)


def learned(kind=aw.Learner, **options):
    learner = kind(MODEL.problem, rng=1, **options)
    aw.simulate(learner, Population(MODEL), steps=300, rng=2)
    return learner


def rule(known):
    if "age" not in known:
        return "age"
    return MODEL.problem.action_names[int(known["age"] == "65+")]


POLICIES = {
    "sequential": lambda: aw.oracle.sequential(MODEL),
    "simultaneous": lambda: aw.oracle.simultaneous(MODEL),
    "a stake": lambda: aw.oracle.sequential(MODEL, stake=0.2),
    "a budget": lambda: aw.oracle.sequential(MODEL, budget=aw.Budget(spend_per_case=4.0)),
    "prices": lambda: aw.oracle.sequential(MODEL.priced({"age": 1.5})),
    "recommended": lambda: learned().recommend(),
    "explores": lambda: learned().policy,
    "explores sets": lambda: learned(acquisition="simultaneous").policy,
    "a tree": lambda: learned(model="additive").policy,
    "visited states": lambda: learned(aw.SeqOOS, storage="sparse").policy,
    "sets and visited states": lambda: learned(aw.SimOOS, storage="sparse").policy,
    "a rule": lambda: aw.Policy.from_rule(MODEL.problem, rule),
}


def decisions(policy, cases=200):
    """What cases do under it, whose values are drawn; its randomness is that of the case."""
    rng, found = np.random.default_rng(5), []
    names = [o.name for o in MODEL.problem.observations]
    for number, row in enumerate(MODEL.sample(rng, cases).tolist()):
        values = [o.outcomes[x] for o, x in zip(MODEL.problem.observations, row, strict=True)]
        shown = dict(zip(names, values, strict=True))
        case = policy.open(rng=number)
        while case.wanted:
            case.observe({name: shown[name] for name in case.wanted})
        found.append((case.state, case.action, case.cost, case.propensity))
    return found


@pytest.mark.parametrize("kind", POLICIES)
def test_a_loaded_policy_decides_the_same(tmp_path, kind):
    policy = POLICIES[kind]()
    policy.save(tmp_path / "p.askwise")
    loaded = aw.load(tmp_path / "p.askwise")
    assert isinstance(loaded, aw.Policy)
    assert decisions(loaded) == decisions(policy)
    assert repr(loaded) == repr(policy)
    assert loaded.tree().outline() == policy.tree().outline()
    assert (loaded.shadow_price, loaded.note) == (policy.shadow_price, policy.note)
    assert loaded.value == policy.value or np.isnan(policy.value)
    assert loaded.to_bytes() == policy.to_bytes()
    for other in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert decisions(other, 20) == decisions(policy, 20)
    priced = MODEL.priced({"age": 1.5}) if kind == "prices" else MODEL
    assert loaded.evaluate(priced) == pytest.approx(policy.evaluate(priced))


def test_a_loaded_rule_says_where_it_does_not_lead():
    policy = aw.Policy.from_rule(MODEL.problem, rule)
    for one in (policy, from_bytes(policy.to_bytes())):
        with pytest.raises(CaseError, match="was not asked about"):
            one.action({"WHO score": 0})


def test_what_a_file_holds_is_said(tmp_path):
    aw.oracle.sequential(MODEL).save(tmp_path / "p.askwise")
    learned().save(tmp_path / "l.askwise")
    with pytest.raises(FileError, match=r"p\.askwise: it holds a policy, not a learner"):
        aw.learners.load(tmp_path / "p.askwise")
    assert isinstance(aw.load(tmp_path / "l.askwise"), aw.Learner)
    with pytest.raises(FileNotFoundError):
        aw.load(tmp_path / "none.askwise")
    (tmp_path / "text").write_text("not a zip")
    with pytest.raises(FileError, match="text: not a saved learner"):
        aw.load(tmp_path / "text")
    MODEL.problem.save(tmp_path / "p.yaml")
    with pytest.raises(FileError, match=r"p\.yaml: .*; Problem\.load reads a problem file"):
        aw.load(tmp_path / "p.yaml")


def test_a_case_pays_its_own_prices():
    policy = aw.oracle.sequential(MODEL)
    usual, dear = policy.open(), policy.open(prices={"WHO score": 9.0})
    for case in (usual, dear):
        case.observe({"WHO score": 2})
    assert (usual.cost, dear.cost) == (5.0, 9.0)
    assert (usual.wanted, usual.action) == (dear.wanted, dear.action)
    with pytest.raises(AskwiseError, match="unknown"):
        policy.open(prices={"mri": 1.0})


def altered(policy, change=lambda header: None, **members):
    """The bytes of a policy with another header and other members; None leaves one out."""
    out = io.BytesIO()
    old = zipfile.ZipFile(io.BytesIO(policy.to_bytes()))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "policy.json":
                header = json.loads(content)
                change(header)
                content = json.dumps(header).encode()
            content = members.pop(name.removesuffix(".npy").replace(".", "_"), content)
            if content is not None:
                new.writestr(name, content)
    assert not members
    return out.getvalue()


def wrong(**changes):
    def change(header):
        header["policy"]["policy"]["table"]["header"] |= changes

    return change


@pytest.mark.parametrize(
    ("kind", "change", "members"),
    [
        ("sequential", lambda h: h.update(format="askwise learner"), {}),
        ("sequential", lambda h: h.update(version=99), {}),
        ("sequential", lambda h: h["policy"].update(value=1e400), {}),
        ("sequential", lambda h: h["policy"].update(note="x" * 20_000), {}),
        ("sequential", lambda h: h["policy"].update(odd=1), {}),
        ("sequential", lambda h: h["policy"]["problem"].update(reward_value=-1), {}),
        ("sequential", lambda h: h["policy"]["policy"]["table"].update(kind="oracle"), {}),
        ("sequential", lambda h: h["policy"]["policy"].update(on_file=[77]), {}),
        ("sequential", lambda h: h["policy"]["policy"].update(stake=0.0), {}),
        ("sequential", wrong(rows=7), {}),
        ("sequential", wrong(rows=2**62), {}),
        ("sequential", lambda h: None, {"look": npy(np.zeros(3, np.int16))}),
        ("sequential", lambda h: None, {"look": None}),
        ("sequential", lambda h: None, {"look": claims((2**40,), np.int16)}),
        ("sequential", lambda h: None, {"actions": b"damaged"}),
        ("a rule", wrong(rows=2**40), {}),
        ("a rule", wrong(rows=0), {}),
        ("a rule", wrong(rule="yes"), {}),
        ("a rule", lambda h: None, {"states": npy(np.array([0, 1, 1, 2, 3]))}),
        ("a rule", lambda h: None, {"states": npy(np.array([0, 1, 2, 3, 10**9]))}),
        ("a rule", lambda h: None, {"states": npy(np.array([0, 1, 2, 3, 40]))}),
        ("visited states", lambda h: None, {"states": None}),
        ("a budget", lambda h: h["policy"]["policy"]["mixed"][0].__setitem__(0, 1.5), {}),
        ("a budget", lambda h: h["policy"]["policy"].update(mixed=[[0.0, {}]] * 9), {}),
    ],
)
def test_what_cannot_be_is_one_error(kind, change, members):
    policy = POLICIES[kind]()
    assert decisions(from_bytes(altered(policy)), 5) == decisions(policy, 5)
    with pytest.raises(FileError):
        from_bytes(altered(policy, change, **members))


def test_damaged_bytes_are_one_error():
    content = aw.oracle.sequential(MODEL).to_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(content)
        for place in rng.integers(len(content), size=3):
            damaged[place] ^= int(rng.integers(1, 256))
        try:
            found = from_bytes(bytes(damaged))
        except FileError:
            continue
        assert isinstance(found, aw.Policy)  # the damage was where nothing is read
    for length in (0, 10, len(content) // 2, len(content) - 1):
        with pytest.raises(FileError):
            from_bytes(content[:length])
