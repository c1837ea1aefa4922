"""The walks of ARCHITECTURE.md are what runs, in that order."""

import re
import secrets
import sys
import threading
from pathlib import Path

import msgspec
import pytest

import askwise as aw
from inside import now_of, rounds_of
from serving import PROBLEM as SERVED
from serving import served

PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
SOURCES = Path(aw.__file__).parent

STEP = re.compile(r"^\d+\. `([\w/]+\.py)` `([\w.]+)`:", re.MULTILINE)

EVERYWHERE = (
    "_support/",
    "errors.py",
    "problem/",
    "states/",
    "learners/learner.py",
    "learners/strategy.py",
)
"""What every case runs through, on any walk: types, arithmetic of states, the façade."""

PROBLEM = aw.Problem(
    observations=[aw.Observation(name, values=["no", "yes"], cost=0.1) for name in "ab"],
    actions=["wait", "treat"],
)


def steps(heading):
    """The (file, function) pairs that the page lists under a heading."""
    section = PAGE.read_text(encoding="utf-8").partition(f"### {heading}\n")[2]
    found = STEP.findall(re.split(r"^##", section, flags=re.MULTILINE)[0])
    assert found, heading
    return found


def traced(run):
    """All calls into askwise while `run` runs: (file, function), in order."""
    calls = []

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(f"{SOURCES}/"):
            calls.append((path[len(str(SOURCES)) + 1 :], frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def follow(listed, calls):
    place = 0
    for number, step in enumerate(listed):
        assert step in calls[place:], f"{step} did not run after {listed[:number]}"
        place += calls[place:].index(step)


def check(heading, calls):
    listed = steps(heading)
    follow(listed, calls)
    ran = {file for file, _ in calls if not file.startswith(EVERYWHERE)}
    assert ran == {file for file, _ in listed if not file.startswith(EVERYWHERE)}


BESIDE = (
    "service/api/served_learners.py",
    "service/backend/",
    "service/replanning/",
    "service/dashboard/",
    "service/decisions/writer.py",
    "service/ledger/",
    "service/logging.py",
    "service/http/server.py",
)
"""What a server does by itself at any time: it looks for new policies, whether it is well, and
which connections are too slow."""


def test_an_http_observation(tmp_path):
    calls, heard = [], threading.Event()

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and heard.is_set() and path.startswith(f"{SOURCES}/service/"):
            calls.append((path[len(str(SOURCES)) + 1 :], frame.f_code.co_qualname))

    threading.setprofile(note)  # for the threads of the server, which begin now
    try:
        with served(str(tmp_path / "ledger.db")) as server:
            learner = {"name": "fixed-set", "options": {"observations": ["mammogram"]}}
            problem = msgspec.to_builtins(SERVED)
            post(server, "", {"name": "clinic", "problem": problem, "learner": learner})
            post(server, "/clinic/cases", {})
            heard.set()
            post(server, "/clinic/cases/1/observations", {"values": {"mammogram": "low"}})
            heard.clear()
    finally:
        threading.setprofile(None)
    listed = steps("An HTTP observation")
    follow(listed, calls)
    ran = {file for file, _ in calls if not file.startswith(BESIDE)}
    assert ran == {file for file, _ in listed if not file.startswith(BESIDE)}


def post(server, path, body):
    headers = {"Authorization": f"Bearer {server.token}", "Idempotency-Key": secrets.token_hex(8)}
    answer = server.http.post(f"/v1/projects{path}", json=body, headers=headers)
    assert answer.is_success, answer.text


def play(learner, number=0):
    case = learner.open()
    while case.wanted:
        case.observe(dict.fromkeys(case.wanted, ("no", "yes")[number % 2]))
    case.reward(float(number % 3 != 0))


@pytest.mark.usefixtures("plain_kernels")
def test_a_seq_oos_case():
    learner = aw.SeqOOS(PROBLEM, rng=0)
    for number in range(70):  # so that t is held at 128 in the radii, and little changes
        play(learner, number)
    while not rounds_of(learner).is_over:
        play(learner, now_of(learner).t)
    assert 64 < now_of(learner).t < 128
    check("A Seq-OOS case whose round was over", traced(lambda: play(learner)))


@pytest.mark.usefixtures("plain_kernels")
def test_a_case_that_explores():
    learner = aw.Learner(PROBLEM, rng=0)
    for _ in range(20):
        play(learner)
    check("A case of the default learner that explores", traced(lambda: play(learner)))


def test_a_list_that_is_not_what_ran_is_told():
    listed = steps("A Seq-OOS case whose round was over")
    calls = [step for step in listed if step[0] != "learners/doubling.py"]
    with pytest.raises(AssertionError):
        check("A Seq-OOS case whose round was over", calls)
    with pytest.raises(AssertionError):
        check("A Seq-OOS case whose round was over", [*listed, ("logs/fitting.py", "fit")])
    with pytest.raises(AssertionError):
        check("A Seq-OOS case whose round was over", listed[::-1])
    check("A Seq-OOS case whose round was over", listed)
