"""How large a project may be: what is counted, what is refused, and that nobody waits meanwhile."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import msgspec
import pytest

import askwise as aw
from askwise.errors import OptionError, TooLargeError
from askwise.service.api.messages import ChosenLearner, NewProject
from askwise.service.api.refusals import Refusal
from askwise.service.api.sizes import LONGEST, MOST_NUMBERS, check_size, count_numbers
from askwise.service.decisions.creation import creation_from_learner, project_creation
from askwise.service.http.project_handlers import MOST_CREATING
from serving import PROBLEM, served
from waiting import PATIENCE


def problem(observations, values=2, m=None, actions=2):
    return aw.Problem(
        observations=[
            aw.Observation(f"o{i}", values=[f"v{x}" for x in range(values)], cost=1.0)
            for i in range(observations)
        ],
        actions=[f"a{k}" for k in range(actions)],
        max_observations=m,
        reward_value=10.0,
    )


MEASURED = """
import sys, msgspec
from pathlib import Path
from askwise.service.decisions.creation import project_creation
from askwise.service.api.messages import NewProject

def memory(name):
    (line,) = [x for x in Path("/proc/self/status").read_text().splitlines() if name in x]
    return 1024 * int(line.split()[1])

small, large = msgspec.json.decode(sys.stdin.buffer.read(), type=list[NewProject])
project_creation("key", small)  # the kernels are compiled
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
before = memory("VmRSS")
project_creation("key", large)
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the peak")
@pytest.mark.parametrize(
    ("small", "large", "learner"),
    [
        pytest.param(problem(10), problem(17), "learner", id="layout"),
        pytest.param(problem(2), problem(11, actions=16), "ucrl2", id="dense"),
        pytest.param(problem(2), problem(9, actions=90), "learner", id="joint"),
        pytest.param(
            problem(10), problem(100, values=10, m=3, actions=10), "learner", id="additive"
        ),
    ],
)
def test_what_is_counted_is_what_creating_takes(small, large, learner):
    """Of each kind of table one that is near the limit."""
    counted = 8 * count_numbers(large, learner, {})[2]
    assert 0.3 * 8 * MOST_NUMBERS < counted <= 8 * MOST_NUMBERS
    check_size(large, learner, {})
    bodies = [NewProject("x", one, ChosenLearner(learner)) for one in (small, large)]
    said = subprocess.run(
        [sys.executable, "-c", MEASURED],
        input=msgspec.json.encode(bodies),
        capture_output=True,
        check=True,
    )
    assert 0.2 * counted < int(said.stdout) < 1.2 * counted, (counted, said.stdout)


TOO_LARGE = {
    "pairs of many observations": (problem(1000, m=1, actions=4), "learner", {}),
    "subsets": (problem(22), "learner", {}),
    "subsets of few": (problem(100, values=3, m=4), "learner", {}),
    "states": (problem(14, actions=10), "ucrl2", {}),
    "states by option": (problem(13, actions=10), "seq-oos", {"storage": "dense"}),
    "states that buy everything": (problem(14, m=1), "contextual-ucb", {}),
    "states one by one": (problem(11, m=11), "lin-ucb", {}),
    "actions of a joint model": (problem(9, actions=200), "learner", {}),
    "pairs of values": (problem(2, values=256), "learner", {}),
    "one observation": (problem(1, values=900), "learner", {}),
    "many observations": (problem(1600, m=2), "learner", {}),
    "actions": (problem(1, actions=1001), "fixed-set", {}),
    "values": (problem(1, values=1001), "fixed-set", {}),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_is_too_large_is_refused_before_anything_is_built(name, monkeypatch):
    made, learner, options = TOO_LARGE[name]
    monkeypatch.setattr(
        "askwise.states.arithmetic.build_layout", lambda *_: pytest.fail("a table was built")
    )
    with pytest.raises(Refusal, match=r"more than the [\d,]+ ") as refused:
        project_creation("key", NewProject("x", made, ChosenLearner(learner, options)))
    assert (refused.value.status, refused.value.pointer) == (422, "#/problem")
    assert any(remedy in refused.value.detail for remedy in (": lower ", ": leave ", ": give "))


def test_whatever_the_numbers_are_they_are_counted_at_once():
    """The number of states of 32,767 observations has 15,000 digits: nobody needs them."""
    made = problem(32_767, values=3)
    assert count_numbers(made, "learner", {})[2] > 10**30
    with pytest.raises(TooLargeError, match=r"make more than 10\^30 states in more than 10\^30"):
        aw.states.Lattice(made)
    given = [aw.Observation(f"g{i}", values=range(100), given=True) for i in range(5000)]
    bought = aw.Observation("o", values=[0, 1], cost=1.0)
    with pytest.raises(TooLargeError, match=r"for more than 10\^30 contexts"):
        aw.states.Lattice(aw.Problem(observations=[*given, bought], actions=["a"]))


@pytest.mark.parametrize("where", ["observation", "value", "action"])
def test_names_are_bounded(where):
    def named(length):
        name = "x" * length
        return aw.Problem(
            observations=[
                aw.Observation(
                    name if where == "observation" else "o",
                    values=[name if where == "value" else "v", "w"],
                    cost=1.0,
                )
            ],
            actions=[name if where == "action" else "a"],
        )

    check_size(named(LONGEST), "learner", {})
    with pytest.raises(TooLargeError, match=f"{where}.* 201 characters, at most 200 are served"):
        check_size(named(LONGEST + 1), "learner", {})


def test_a_value_beyond_64_bits_is_refused():
    made = aw.Problem(
        observations=[aw.Observation("o", values=[2**70, 0], cost=1.0)], actions=["a"]
    )
    with pytest.raises(TooLargeError, match="beyond 64 bits"):
        check_size(made, "learner", {})


def test_a_saved_learner_is_as_large_as_any_other():
    with pytest.raises(TooLargeError, match="of a project that is served"):
        creation_from_learner("key", "x", aw.SeqOOS(problem(18)))
    with pytest.raises(OptionError, match="project"):
        creation_from_learner("key", "x\n", aw.SeqOOS(problem(2)))


def test_readers_do_not_wait_for_projects_that_are_created(tmp_path, monkeypatch):
    begun, goes_on = threading.Semaphore(0), threading.Event()

    def slowly(key, body):
        begun.release()
        assert goes_on.wait(PATIENCE)
        return project_creation(key, body)

    with served(str(tmp_path / "ledger.db"), authenticates=False) as server:

        def create(name):
            body = {"name": name, "problem": msgspec.to_builtins(PROBLEM)}
            key = {"idempotency-key": name, "content-type": "application/json"}
            with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
                return http.post("/v1/projects", content=json.dumps(body), headers=key)

        assert create("first").status_code == 201
        monkeypatch.setattr("askwise.service.http.project_handlers.project_creation", slowly)
        answers = []
        threads = [
            threading.Thread(target=lambda k=k: answers.append(create(f"p{k}").status_code))
            for k in range(MOST_CREATING + 4)
        ]
        try:
            for thread in threads:
                thread.start()
            assert begun.acquire(timeout=PATIENCE)
            while len(answers) < 4:  # as many as there is no room for are told so at once
                threads[0].join(0.01)
            for path in ("projects", "projects/first", "projects/first/summary"):
                assert server.http.get(f"/v1/{path}").status_code == 200
        finally:
            goes_on.set()
            for thread in threads:
                thread.join(PATIENCE)
        assert sorted(answers) == [201] * MOST_CREATING + [503] * 4
