import copy
import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwise import Action, Observation, Problem
from askwise.errors import CaseError, FileError, ProblemError


def observation(name="mri", **changes):
    return Observation(name, **{"values": ["neg", "pos"], "cost": 9.0} | changes)


def problem(**changes):
    return Problem(**{"observations": [observation()], "actions": ["wait", "treat"]} | changes)


def test_defaults():
    p = problem(observations=[observation("a"), observation("b")])
    assert p.max_observations == p.m == 2
    assert p.reward_value == 1.0


@pytest.mark.parametrize("cost", [-1, math.nan, math.inf, "free", True, None, 10**400])
def test_cost_must_be_a_finite_number(cost):
    with pytest.raises(ProblemError, match=r"'mri': cost must be a finite number of at least 0"):
        observation(cost=cost)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "values is empty"),
        (["neg", "neg"], "value 'neg' is given twice"),
        ([1.5], "value 1.5 must be"),
        ([True], "value True must be"),
        ("yes", "values must be a list, got 'yes'"),
        (["neg", "po\ns"], r"value 'po\\ns' must be one line: write it without a line break"),
        (7, "values must be a list, got 7"),
    ],
)
def test_values(values, message):
    with pytest.raises(ProblemError, match=f"'mri': {message}"):
        observation(values=values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observations": []}, "observations is empty"),
        ({"observations": [observation(), observation()]}, "observation 'mri' is given twice"),
        ({"observations": ["mri"]}, "expected an Observation, got 'mri'"),
        ({"actions": []}, "actions is empty"),
        ({"actions": ["wait", "wait"]}, "action 'wait' is given twice"),
        ({"actions": ["wait", " "]}, "an action must be a text that is not blank, got ' '"),
        ({"actions": "wait"}, "actions must be a list, got 'wait'"),
        ({"actions": ["wait\n", "treat"]}, r"an action 'wait\\n' must be one line"),
        ({"max_observations": 2}, "max_observations must be a whole number from 0 to 1.*got 2"),
        ({"max_observations": -1}, "got -1"),
        ({"max_observations": True}, "got True"),
        ({"reward_value": 0}, "reward_value must be a finite number above 0, got 0"),
        ({"reward_value": math.inf}, "got inf"),
    ],
)
def test_what_a_problem_refuses(changes, message):
    with pytest.raises(ProblemError, match=message):
        problem(**changes)


def test_blank_name():
    with pytest.raises(ProblemError, match="an observation's name must be a text"):
        observation("")
    for broken in ("mr\ni", "mri\r", "\u2028mri"):
        with pytest.raises(ProblemError, match=r"an observation's name '.*' must be one line"):
            observation(broken)


def test_is_frozen_and_hashable():
    p = problem()
    with pytest.raises(AttributeError):
        p.reward_value = 2.0
    assert len({p, problem()}) == 1


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@given(
    names=st.lists(texts, min_size=1, max_size=4, unique=True),
    values=st.lists(texts | st.integers(-(2**70), 2**70), min_size=1, max_size=5, unique=True),
    cost=st.just(0.0) | st.floats(1e-6, 1e9),
    reward_value=st.floats(1e-9, 1e9),
    suffix=st.sampled_from([".yaml", ".yml", ".json"]),
)
def test_files_round_trip(tmp_path_factory, names, values, cost, reward_value, suffix):
    p = Problem(
        observations=[Observation(n, values=values, cost=cost) for n in names],
        actions=names,
        max_observations=len(names) - 1,
        reward_value=reward_value,
    )
    path = tmp_path_factory.mktemp("problem") / f"problem{suffix}"
    p.save(path)
    assert Problem.load(path) == p


GOOD = """\
observations:
  - name: mammogram
    values: [low, mid, high]
    cost: 1.0
  - name: mri
    values: [neg, pos]
    cost: 9
actions: [wait, treat]
max_observations: 2
reward_value: 100
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "cost: 9",
            "cost: dear",
            r"line 7: observations\[1\].cost: expected a number, got the text 'dear'",
        ),
        ("cost: 9", "cost: .nan", r"line 5: observations\[1\]: observation 'mri': cost must be"),
        ("cost: 9", "cost: -9", r"line 5: observations\[1\]: observation 'mri': cost must be"),
        ("cost: 9", "price: 9", r"line 7: observations\[1\]: unknown key 'price', expected one of"),
        ("    cost: 9\n", "", r"line 5: observations\[1\]: .*'mri': cost is missing"),
        ("cost: 9", "cost: 9\n    cost: 8", r"line 8: key 'cost' is given twice"),
        ("[neg, pos]", "[no, yes]", r"observations\[1\].values\[0\]: Expected `int \| str`"),
        ("name: mri", "name: mammogram", r"observation 'mammogram' is given twice"),
        ("max_observations: 2", "max_observations: 3", r"from 0 to 2.*got 3"),
        ("[wait, treat]", "[]", "actions is empty"),
        ("actions:", "actions: ]", "line 8: not YAML"),
        (GOOD, "", "the document: Expected `object`, got `null`"),
        (GOOD, "[1, 2]", "the document: Expected `object`, got `array`"),
        (GOOD, "!!python/object:os.system {}", "not YAML"),
    ],
)
def test_errors_name_the_line_and_the_key(tmp_path, old, new, message):
    path = tmp_path / "clinic.yaml"
    path.write_text(GOOD)
    assert Problem.load(path).reward_value == 100
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FileError, match=message) as error:
        Problem.load(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"cost": 9.0', '"cost": NaN', "NaN is not a number"),
        ('"cost": 9.0', '"cost": Infinity', "Infinity is not a number"),
        ('"cost": 9.0', '"cost": true', r"observations\[0\].cost: Expected `float`, got `bool`"),
        ('"cost": 9.0', '"cost": 9.0, "cost": 1.0', "key 'cost' is given twice"),
        ('"cost": 9.0', '"cost": ', "not JSON"),
    ],
)
def test_json_is_read_strictly(tmp_path, old, new, message):
    path = tmp_path / "clinic.json"
    problem().save(path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(FileError, match=message):
        Problem.load(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileError, match=r"expected a name ending in \.yaml"):
        Problem.load(tmp_path / "clinic.toml")
    with pytest.raises(FileError, match=r"expected a name ending in \.yaml"):
        problem().save(tmp_path / "clinic.toml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff")
    with pytest.raises(FileError, match="not UTF-8"):
        Problem.load(tmp_path / "latin.yaml")
    with pytest.raises(FileNotFoundError):
        Problem.load(tmp_path / "none.yaml")
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    with pytest.raises(FileError, match=r"nested too deeply|not JSON"):
        Problem.load(deep)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "clinic.json"
    problem().save(path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        problem(reward_value=2.0).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["clinic.json"]
    assert json.loads(before)["actions"] == ["wait", "treat"]


def test_plain_names_are_actions_and_stay_plain_names_in_files(tmp_path):
    named = problem(actions=["wait", Action("treat", cost=2, requires=["mri"]), Action("refer")])
    assert named.actions == (
        Action("wait"),
        Action("treat", cost=2.0, requires=("mri",)),
        Action("refer"),
    )
    assert named.action_names == ("wait", "treat", "refer")
    for suffix in (".json", ".yaml"):
        named.save(tmp_path / f"p{suffix}")
        assert Problem.load(tmp_path / f"p{suffix}") == named
    treat = {"name": "treat", "cost": 2.0, "requires": ["mri"]}
    kept = json.loads((tmp_path / "p.json").read_text())
    assert kept["actions"] == ["wait", treat, "refer"]


def test_an_action_that_is_plain_is_the_same_as_its_name():
    assert problem(actions=["wait", Action("treat", cost=0)]) == problem()
    assert pickle.loads(pickle.dumps(problem())) == copy.deepcopy(problem()) == problem()


@pytest.mark.parametrize("cost", [-1, math.nan, math.inf, "free", True, None, 2e9])
def test_the_cost_of_an_action_is_an_amount(cost):
    with pytest.raises(ProblemError, match="action 'treat': cost must be"):
        Action("treat", cost=cost)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Action(" "), "an action must be a text that is not blank, got ' '"),
        (lambda: Action("a", requires="mri"), "action 'a': requires must be a list, got 'mri'"),
        (lambda: Action("a", requires=[3]), "action 'a': what it requires must be a text.* got 3"),
        (lambda: Action("a", requires=["i", "i"]), "action 'a': what it requires, 'i' is given tw"),
        (lambda: observation(requires="mri"), "'mri': requires must be a list, got 'mri'"),
        (
            lambda: Observation("age", values=[1, 2], given=True, requires=["mri"]),
            r"'age': it is given, so it cannot require others, got \('mri',\)",
        ),
    ],
)
def test_what_an_action_or_observation_refuses_to_require(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"actions": ["wait", Action("treat", requires=["pet"])]},
            "action 'treat': requires the unknown observation 'pet', expected one of: mri",
        ),
        (
            {"observations": [observation(requires=["pet"])]},
            "observation 'mri': requires the unknown observation 'pet', expected one of: mri",
        ),
        ({"actions": [Action("treat", requires=["mri"])]}, "at least one must require nothing"),
        ({"observations": [observation(requires=["mri"])]}, "observations mri: none of them can"),
        (
            {
                "observations": [
                    observation("a"),
                    observation("b", requires=["a", "c"]),
                    observation("c", requires=["b"]),
                ]
            },
            "observations b, c: none of them can be bought first.*remove one of these requirements",
        ),
    ],
)
def test_requirements_that_cannot_be_meant(changes, message):
    with pytest.raises(ProblemError, match=message):
        problem(**changes)


def test_what_is_given_fulfils_a_requirement():
    age = Observation("age", values=["young", "old"], given=True)
    needs_age = problem(
        observations=[observation(requires=["age"]), age],
        actions=[Action("treat", requires=["age"])],
    )
    assert needs_age.actions[0].requires == ("age",)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize("ordered", [True, False, None])
@pytest.mark.parametrize("edges", [None, [10, 20]])
def test_ordered_values_are_kept_in_files(tmp_path, suffix, ordered, edges):
    grade = Observation(
        "grade", values=[] if edges else range(3), edges=edges, cost=1, ordered=ordered
    )
    declared = Problem(observations=[grade], actions=["a", "b"])
    assert grade.is_ordered == (edges is not None if ordered is None else ordered)
    path = tmp_path / f"problem.{suffix}"
    declared.save(path)
    assert Problem.load(path) == declared
    assert ("ordered" in path.read_text()) == (ordered is not None)


@pytest.mark.parametrize("ordered", ["yes", 1, []])
def test_ordered_is_true_or_false(ordered):
    with pytest.raises(ProblemError, match="'grade': ordered must be true or false"):
        Observation("grade", values=range(3), cost=1, ordered=ordered)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_value_stands_for_several_texts(tmp_path, suffix):
    town = Observation("town", values=["A", "B or C"], stands_for=[["A"], ["B", "C", 7]], cost=1.0)
    problem = Problem(observations=[town], actions=["no", "yes"])
    problem.save(tmp_path / f"problem.{suffix}")
    assert Problem.load(tmp_path / f"problem.{suffix}") == problem
    assert [town.place(seen) for seen in ("A", "B or C", "B", "C", 7, "7")] == [0] + 5 * [1]
    with pytest.raises(CaseError, match="no value 'D'"):
        town.place("D")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stands_for": [["x"]]}, "1 groups for 2 values"),
        ({"stands_for": [["x"], ["x"]]}, "'x' is given twice"),
        ({"stands_for": [["b"], []]}, "'b' is another value"),
        ({"stands_for": [[1.5], []]}, "1.5 must be a text"),
        ({"stands_for": "ab"}, "must be a list"),
        ({"edges": [1.0], "stands_for": [["x"], []]}, "leave out stands_for"),
    ],
)
def test_what_values_cannot_stand_for(changes, message):
    with pytest.raises(ProblemError, match=message):
        Observation("town", values=["a", "b"], cost=1.0, **changes)


def test_an_empty_text_is_no_value():
    """In a log it means that the observation was not made, so what was bought would get lost."""
    with pytest.raises(ProblemError, match=r'a value must not be an empty text.*such as "none"'):
        Observation("answer", values=["", "yes"], cost=1.0)
