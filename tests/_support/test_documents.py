"""Types that are read from files and requests, by many threads at once."""

import subprocess
import sys

import askwise as aw
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
