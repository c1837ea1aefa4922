"""Ordered values over HTTP: declared, refused if they are not, ranges in the tree, and changed."""

import msgspec

import askwise as aw
from askwise.learners.learner import rounds_of
from askwise.service.decisions.carrying import carried_over
from service_calls import as_json, get, post
from serving import served

PROBLEM = aw.Problem(
    observations=[aw.Observation("grade", values=["a", "b", "c", "d"], cost=0.1, ordered=True)],
    actions=["wait", "treat"],
)


def test_a_project_has_ordered_values_and_says_their_ranges(tmp_path):
    learner = {"name": "fixed-set", "options": {"observations": ["grade"]}}
    body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": learner}
    wrong = msgspec.to_builtins(PROBLEM)
    wrong["observations"][0]["ordered"] = "yes"
    with served(str(tmp_path / "ledger.db")) as server:
        refused = post(server, "/v1/projects", body | {"problem": wrong})
        assert refused.status_code == 422
        assert "ordered" in refused.text
        assert post(server, "/v1/projects", body).status_code == 201
        kept = get(server, "/v1/projects/clinic").json()["problem"]
        assert msgspec.convert(kept, aw.Problem) == PROBLEM
        tree = get(server, "/v1/projects/clinic/policy").json()["follows"]["tree"]
        assert tree["buy"] == ["grade"]
        assert [branch["range"] for branch in tree["branches"]] == ["any value"]


def test_another_version_may_say_that_values_are_ordered():
    """What was counted stays; the learner goes by the new order, not by that of its old plan."""
    plain = msgspec.structs.replace(
        PROBLEM, observations=[msgspec.structs.replace(PROBLEM.observations[0], ordered=None)]
    )
    learner = aw.Learner(plain, rng=0)
    case = learner.open(known={"grade": "b"})
    case.reward(1.0)
    carried = carried_over(learner, PROBLEM, 0)
    assert carried.problem == PROBLEM
    assert rounds_of(carried).now.lattice.observations[0].is_ordered
    assert carried.statistics.action_counts.sum() == 1
    assert carried_over(learner, plain, 0) is learner
