"""Types that are read from files and requests, by many threads at once."""

import subprocess
import sys

import pytest

import askwise as aw
from askwise.errors import AskwiseError
from serving import PROBLEM

RACE = """
import sys, threading
from askwise.learners import load

sys.setswitchinterval(1e-7)
barrier = threading.Barrier(8)

def read():
    barrier.wait()
    load(sys.argv[1])

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_be_first_to_read_a_type_at_the_same_time(tmp_path):
    """msgspec would end the process in every second run, unless the type was prepared.

    So a server came to its end when its first policy was taken up on a busy machine.
    """
    path = tmp_path / "saved.askwise"
    aw.Learner(PROBLEM, rng=1).save(path)
    for _ in range(5):
        ended = subprocess.run([sys.executable, "-c", RACE, str(path)], check=False)
        assert ended.returncode == 0


CLINIC = """\
observations:
  - {{name: mri, values: [neg, pos], cost: {cost}}}
actions: [wait, treat]
reward_value: {worth}
"""
REMEDY = r"write a number without quotes, with a point for decimals, such as 2\.5"


@pytest.mark.parametrize(
    ("cost", "worth", "message"),
    [
        ('"2,5"', 100, rf"line 2: observations\[0\]\.cost: .* the text '2,5': {REMEDY}"),
        ("'2.5'", 100, rf"line 2: observations\[0\]\.cost: .* the text '2\.5': {REMEDY}"),
        ("cheap", 100, rf"line 2: observations\[0\]\.cost: .* the text 'cheap': {REMEDY}"),
        ("2,5", 100, r"line 2: observations\[0\]: key 5 is no text; .* 2,5 is written 2\.5"),
        ("2", "1,5", rf"line 4: reward_value: .* the text '1,5': {REMEDY}"),
    ],
)
def test_a_price_that_is_no_number_in_a_file_is_named_with_the_remedy(
    cost, worth, message, tmp_path
):
    (tmp_path / "clinic.yaml").write_text(CLINIC.format(cost=cost, worth=worth))
    with pytest.raises(AskwiseError, match=message):
        aw.Problem.load(tmp_path / "clinic.yaml")


def test_a_price_as_text_is_named_with_the_remedy():
    for cost in ("2,5", "2.5"):
        with pytest.raises(AskwiseError, match=f"'mri': cost must be .*, got '{cost}': {REMEDY}"):
            aw.Observation("mri", values=["neg", "pos"], cost=cost)
    with pytest.raises(AskwiseError, match=f"reward_value must be .*, got '100': {REMEDY}"):
        aw.Problem(observations=PROBLEM.observations, actions=["wait"], reward_value="100")


EDITED = """\
observations:
  - {name: age, edges: [30], given: true}
  - name: mri
    values: [neg, pos]
    cost: 9
actions:
  - wait
  - {name: treat, cost: 1}
max_observations: 1
reward_value: 100
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cost: 9", "cosst: 9", r"line 5: observations\[1\]: unknown key 'cosst', did you mean 'c"),
        ("cost: 1", "fee: 1", r"line 8: actions\[1\]: unknown key 'fee', expected one of: name, "),
        ("max_obs", "most_obs", r"line 9: the document: unknown key 'most_.*did you mean 'max_obs"),
        ("tions: 1\n", "tions: 2\n", "line 9: the document: max_observations must be a whole num"),
        ("value: 100", "value: -1", "line 10: the document: reward_value must be"),
    ],
)
def test_a_wrong_key_has_its_line_and_what_was_meant(tmp_path, old, new, message):
    assert old in EDITED
    (tmp_path / "edited.yaml").write_text(EDITED.replace(old, new), encoding="utf-8")
    with pytest.raises(AskwiseError, match=message):
        aw.Problem.load(tmp_path / "edited.yaml")
