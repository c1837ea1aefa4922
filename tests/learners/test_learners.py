import numpy as np
import pytest

import askwise as aw
from askwise.errors import CaseError, FileError, OptionError
from askwise.learners import LEARNERS, BaseLearner
from askwise.learners.optimistic import Optimistic
from askwise.learners.rounds import Doubling
from askwise.testing import LEARNER_CHECKS, check_learner, play, random_model, see
from inside import now_of, rounds_of, set_policy


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_conformance(name, check):
    check(LEARNERS[name])


@pytest.mark.parametrize(
    "options",
    [
        {"confidence": "theorem"},
        {"confidence": "practical", "width": 0.3},
        {"confidence": "tight", "cap": "printed"},
    ],
    ids=str,
)
def test_conformance_with_other_options(options):
    check_learner(lambda problem, *, rng: aw.SeqOOS(problem, **options, rng=rng))


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    ("model", "acquisition"),
    [("joint", "simultaneous"), ("additive", "sequential"), ("additive", "simultaneous")],
)
def test_conformance_of_the_default_learner(model, acquisition, check):
    options = {"acquisition": acquisition, "model": model}
    check(lambda problem, *, rng: aw.Learner(problem, rng=rng, **options))


def test_the_joint_model_that_buys_one_by_one_was_checked_with_the_others():
    learner = LEARNERS["learner"](random_model(np.random.default_rng(0), [2, 3, 2]).problem)
    assert repr(learner).startswith("<Learner, sequential, joint model")


def test_the_checks_can_fail(monkeypatch):
    """A learner that counts a case twice is found out."""

    class CountsTwice(Optimistic):
        def count(self, now, case):
            super().count(now, case)
            return super().count(now, case)

    class Doubles(aw.SeqOOS):
        name = "doubles"
        _kind = CountsTwice

    monkeypatch.setitem(LEARNERS, "doubles", Doubles)
    with pytest.raises(AssertionError):
        check_learner(Doubles)


def test_the_registry_names_each_learner_once():
    assert all(name == learner.name for name, learner in LEARNERS.items())
    assert all(issubclass(learner, BaseLearner) for learner in LEARNERS.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"confidence": "wide"},
            "confidence must be 'practical', 'theorem' or 'tight', got 'wide'",
        ),
        ({"width": -1}, "width must be a finite number of at least 0, got -1"),
        ({"width": float("nan")}, "width must be .*, got nan"),
        ({"delta": 0}, "delta must be a number between 0 and 1, got 0"),
        ({"cap": "none"}, "cap must be 'corrected' or 'printed', got 'none'"),
        ({"delta": 1.0}, "delta must be a number between 0 and 1, got 1.0"),
        ({"rng": "seed"}, "rng must be a whole number or a numpy Generator, got 'seed'"),
        ({"rng": -1}, "rng must not be negative, got -1"),
        ({"rng": True}, "got True"),
    ],
)
@pytest.mark.parametrize("learner", [aw.SimOOS, aw.SeqOOS])
def test_options_are_checked(learner, options, message):
    model = random_model(np.random.default_rng(0), [2])
    with pytest.raises(OptionError, match=message):
        learner(model.problem, **options)


def test_problem_is_checked():
    with pytest.raises(OptionError, match="problem must be a Problem, got 'clinic'"):
        aw.SeqOOS("clinic")


@pytest.mark.parametrize("kind", [aw.SimOOS, aw.SeqOOS])
def test_learns_the_oracle_policy(kind):
    oracle = aw.oracle.simultaneous if kind is aw.SimOOS else aw.oracle.sequential
    for cost in (1.0, 12.0, 21.0):
        model = aw.environments.breast_cancer(cost)
        best, follows = oracle(model).value, []
        for seed in range(4):
            learner = kind(model.problem)
            aw.simulate(learner, aw.environments.Population(model), steps=100_000, rng=seed)
            assert learner.recommend().evaluate(model) > 0.985 * best
            follows.append(learner.policy.evaluate(model))  # it may be trying something out
        assert np.mean(follows) > 0.98 * best


def test_rounds_end_when_a_count_doubles():
    model = random_model(np.random.default_rng(3), [2, 2], actions=2)
    statistics, rule = aw.Statistics(aw.states.Lattice(model.problem)), Doubling()

    def rewarded():
        statistics.count_reward(0, 0, 1.0)
        return rule.counted((0, 0), statistics)

    assert rewarded()  # N_k = 0: the first visit ends the round
    rule.begin()
    assert rewarded()  # N_k = 1: so does the second
    rule.begin()
    assert [rewarded() for _ in range(2)] == [False, True]
    rule.begin()
    assert [rewarded() for _ in range(3)] == [False] * 3
    statistics.count_path([(0, 1)])
    assert rule.counted((0, -1), statistics)  # another pair of the same state
    assert rewarded()


def test_rounds_follow_the_papers_rule():
    """Replayed from the statistics alone, case by case: the round ends just when it should."""
    model = random_model(np.random.default_rng(1), [2, 3], actions=2)
    for kind in (aw.SimOOS, aw.SeqOOS):
        learner = kind(model.problem)
        rng = np.random.default_rng(2)
        began, ended, rounds = learner.statistics.copy(), True, 0
        for _ in range(600):
            play_one = model.sample(rng, 1)[0].tolist()
            if ended:
                began, ended, rounds = learner.statistics.copy(), False, rounds + 1
            case = see(learner.open(), model.problem, play_one)
            assert now_of(learner).round == rounds
            case.reward(float(rng.random() < model.reward[tuple(play_one)][case.action_index]))
            new = learner.statistics.action_counts - began.action_counts
            ended |= bool((new >= np.maximum(1, began.action_counts))[new > 0].any())
            if kind is aw.SeqOOS:
                for s in range(learner.statistics.lattice.size):
                    for i in range(2):
                        before = began.steps(s, i)
                        walked = learner.statistics.steps(s, i) - before
                        ended |= walked > 0 and walked >= max(1, before)
        assert 10 < rounds < 300


def test_a_case_keeps_the_policy_it_was_opened_under():
    model = random_model(np.random.default_rng(3), [2, 2, 2], actions=2)
    learner = aw.SeqOOS(model.problem)
    play(learner, model, 30, np.random.default_rng(0))
    case = learner.open()
    policy = learner.policy
    play(learner, model, 300, np.random.default_rng(1))
    assert learner.policy is not policy
    full = [1, 0, 1]
    while case.wanted:
        assert case.wanted == policy.wanted(case.state)
        case.observe({name: full[int(name[1])] for name in case.wanted})
    assert case.action == policy.action(case.state)


def test_a_simultaneous_case_takes_its_values_in_parts():
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1.0) for n in "abc"],
        actions=["x", "y"],
    )
    learner = aw.SimOOS(problem)
    for _ in range(300):  # only b and c together tell what to do
        b, c = np.random.default_rng(now_of(learner).t).integers(0, 2, 2).tolist()
        case = see(learner.open(), problem, [0, b, c])
        case.reward(float((case.action == "y") == (b != c)))
    policy = learner.policy
    assert policy.acquisition == "simultaneous"
    whole, parts = learner.open(), learner.open()
    if len(whole.wanted) > 1:
        whole.observe(dict.fromkeys(whole.wanted, 1))
        for name in reversed(parts.wanted):
            assert parts.action is None
            parts.observe({name: 1})
        assert parts.state == whole.state
        assert parts.action == whole.action
        assert parts.cost == whole.cost == len(whole.state)


def test_observing_is_all_or_nothing():
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1.0) for n in "ab"],
        actions=["x"],
        reward_value=10,
    )
    learner = aw.SimOOS(problem)
    policy = learner.policy
    rounds_of(learner).policy = set_policy(
        learner.statistics.lattice,
        learner.statistics.lattice.subset((0, 1)),
        policy.actions.copy(),
        policy.values.copy(),
    )
    case = learner.open()
    assert case.wanted == ("a", "b")
    with pytest.raises(CaseError, match="'b' has no value 2"):
        case.observe({"a": 1, "b": 2})
    assert case.state == {}
    with pytest.raises(CaseError, match=r"observe takes \{name: value\}"):
        case.observe([("a", 1)])
    case.observe({"a": 1})
    with pytest.raises(CaseError, match="observation 'a' is known already in case 1, it wants: b"):
        case.observe({"a": 1})
    assert "knows {'a': 1}, wants b" in repr(case)


def test_a_case_is_found_again_by_its_number(tmp_path):
    model = random_model(np.random.default_rng(0), [2, 2])
    learner = aw.SeqOOS(model.problem, rng=np.random.Generator(np.random.MT19937(5)))
    case = see(learner.open(), model.problem, [0, 1])
    learner.save(tmp_path / "clinic.askwise")
    loaded = aw.load(tmp_path / "clinic.askwise")
    loaded.cases[case.id].reward(1.0)
    case.reward(1.0)
    assert loaded.statistics == learner.statistics
    assert now_of(loaded).rng.random() == now_of(learner).rng.random()
    with pytest.raises(CaseError, match="case 1 has its reward already"):
        case.reward(1.0)


MORE = {"start": 0, "default": None, "block": 0, "prices": {}, "on_file": []}


def test_load_refuses_other_files(tmp_path):
    import json
    import zipfile

    model = random_model(np.random.default_rng(0), [2, 2])
    learner = aw.SeqOOS(model.problem)
    play(learner, model, 20, np.random.default_rng(0))
    good = tmp_path / "good.askwise"
    learner.save(good)

    def altered(change, arrays=lambda name, content: content):
        path = tmp_path / "altered.askwise"
        with zipfile.ZipFile(good) as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "learner.json":
                    header = json.loads(content)
                    change(header)
                    content = json.dumps(header).encode()
                else:
                    content = arrays(name, content)
                new.writestr(name, content)
        return path

    def nothing(header):
        pass

    assert aw.load(altered(nothing)).statistics == learner.statistics
    for change, message in [
        (lambda h: h.update(format="other"), "not a saved learner"),
        (lambda h: h.update(version=99), "saved in format 99, expected 6 to 10"),
        (lambda h: h.update(learner="nobody"), "unknown learner 'nobody'"),
        (lambda h: h["problem"].update(actions=["a", "b"]), "is int64 of shape"),
        (lambda h: h["problem"].update(actions=[]), "actions is empty"),
        (lambda h: h["options"].update(width=-1), "width must be"),
        (lambda h: h["rng"].update(bit_generator="os.system"), "unknown random generator"),
        (lambda h: h.pop("round"), "round"),
        (lambda h: h.update(cases_counted=2**40), "more cases than can be counted"),
        (lambda h: h["policies"][0]["table"].update(kind="odd"), "unknown kind of policy"),
        (lambda h: h.update(policies=[]), "damaged"),
        (
            lambda h: h.update(
                cases=[{"id": 9, "path": [[0, 999]], "action": 0, "tag": 0, "policy": None} | MORE]
            ),
            "state 999",
        ),
        (lambda h: h.update(began=[[10**9, 0, 1]]), "there is no state 1000000000"),
        (lambda h: h.update(began=[[-1, 0, 1]]), "a count or a state is negative"),
        (lambda h: h.update(cases_counted=-1), "a count or a state is negative"),
    ]:
        with pytest.raises(FileError, match=message) as error:
            aw.load(altered(change))
        assert "altered.askwise" in str(error.value)

    def negative(name, content):
        return content[:-8] + b"\xff" * 8 if name == "visits.npy" else content

    def out_of_range(name, content):
        return content[:-2] + b"\x09\x00" if name == "policy0.look.npy" else content

    def looks_twice(name, content):  # the last state knows both observations
        return content[:-2] + b"\x01\x00" if name == "policy0.look.npy" else content

    def cut(name, content):
        return content[:-8] if name == "transitions.npy" else content

    for arrays, message in [
        (negative, "visits has a negative count"),
        (out_of_range, "a policy's look are not all from -1 to 1"),
        (looks_twice, "looks at what is known already"),
        (cut, "transitions is not as long as it says"),
    ]:
        with pytest.raises(FileError, match=message):
            aw.load(altered(nothing, arrays))
    with pytest.raises(FileNotFoundError):
        aw.load(tmp_path / "none.askwise")
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("cat.jpg", b"")
    with pytest.raises(FileError, match=r"holds no learner\.json"):
        aw.load(tmp_path / "photos.zip")
