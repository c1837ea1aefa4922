"""Projects that begin with what a learner knows, or that forget, over HTTP."""

import base64
import functools
import io
import zipfile

import msgspec
import pytest

import askwise as aw
from service_calls import as_json, get, post
from serving import PROBLEM


def learned(cases=40, **options):
    learner = aw.SeqOOS(PROBLEM, rng=1, **options)
    for k in range(cases):
        case, seen = learner.open(), {"mammogram": ("low", "high")[k % 2], "mri": "neg"}
        while case.wanted:
            case.observe({name: seen[name] for name in case.wanted})
        case.reward(float((case.action == "treat") == (k % 2 == 1)))
    return learner


def as_text(content):
    return base64.b64encode(content).decode()


@pytest.mark.parametrize("options", [{}, {"window": 80}, {"detect": True}])
def test_a_project_begins_with_what_a_learner_knows(server, options):
    learner = learned(**options)
    name = "warm-" + "-".join(options)
    body = {"name": name, "saved": as_text(learner.to_bytes())}
    made = post(server, "/v1/projects", body, f"key-{name}")
    assert made.status_code == 201, made.text
    assert made.json()["learner"]["name"] == "seq-oos"
    assert msgspec.convert(made.json()["problem"], aw.Problem) == PROBLEM
    again = post(server, "/v1/projects", body, f"key-{name}")
    assert (again.status_code, again.json()["token"]) == (201, None)
    policy = get(server, f"/v1/projects/{name}/policy").json()
    assert policy["recommends"]["text"] == str(learner.recommend().tree())
    other = body | {"saved": as_text(learned(41, **options).to_bytes())}
    assert post(server, "/v1/projects", other, f"key-{name}").status_code == 409


def bomb(member="learner.json"):
    """A small file that unpacks to a gigabyte."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, b"0" * (200 << 20))
    return content.getvalue()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "expected a problem, or a saved learner"),
        ({"saved": "not base64"}, "saved"),
        ({"saved": as_text(b"PK not a file")}, "not a saved learner"),
        ({"saved": bomb}, "unpacks to more"),
        ({"saved": functools.partial(bomb, "counts.npy")}, "not a saved learner"),
        ({"saved": "", "problem": as_json(PROBLEM)}, "has its problem"),
        ({"saved": "", "learner": {"name": "seq-oos"}}, "has its problem"),
    ],
)
def test_what_is_no_learner_is_refused(server, body, says):
    if callable(body.get("saved")):  # packed here, not by every process that collects the tests
        body = {"saved": as_text(body["saved"]())}
    answer = post(server, "/v1/projects", {"name": "cold"} | body)
    assert answer.status_code == 422, answer.text
    assert says in answer.json()["detail"]
    assert get(server, "/v1/projects/cold").status_code == 404


def test_a_learner_that_cannot_be_served_is_refused(server):
    saved = aw.baselines.RandomChoice(PROBLEM).to_bytes()
    answer = post(server, "/v1/projects", {"name": "cold", "saved": as_text(saved)})
    assert answer.status_code == 422
    assert "cannot be served" in answer.json()["detail"]
    assert answer.json()["errors"][0]["pointer"] == "#/saved"
