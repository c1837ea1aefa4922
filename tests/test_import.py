import os
import subprocess
import sys


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )


def test_importing_askwise_imports_no_numba():
    result = run("import sys, askwise, askwise.testing; print('numba' in sys.modules)")
    assert result.stdout.strip() == "False"


KERNELS = """
import numpy as np
from askwise._kernels.planning.plans import simultaneous
offsets, visits, out = np.array([0, 1, 3]), np.array([2, 1, 1]), np.empty(2)
sets = np.zeros(1, np.int64)
stop = np.array([0.0, 0.0, 1.0])
simultaneous(offsets, stop, visits, np.zeros(2), 1.0, 0.0, 2.0, 0.0, out, sets)
print(out[1])
"""
"""Uses a kernel that calls others."""


def test_the_first_compiled_call_says_so_once(tmp_path):
    first = run(KERNELS, NUMBA_CACHE_DIR=str(tmp_path))
    assert len(list(tmp_path.rglob("*.nbi"))) > 1  # several were compiled
    assert first.stderr.count("compiling the kernels") == 1
    second = run(KERNELS, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stderr == ""  # it came from the cache


COUNTING = """
from numba.core import event

class Compiled(event.Listener):
    count = 0
    def on_start(self, event):
        Compiled.count += event.data["dispatcher"].__module__.startswith("askwise.")
    def on_end(self, event): pass

event.register("numba:compile", Compiled())
"""


def test_processes_that_need_the_same_kernels_at_once_compile_them_once(tmp_path):
    code = f"{COUNTING}{KERNELS}print(Compiled.count)"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    started = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        for _ in range(3)
    ]
    printed = [process.communicate()[0].split() for process in started]
    assert {words[0] for words in printed} == {"0.8535533905932737"}
    kernels = len({path.name for path in tmp_path.rglob("*.nbi")})
    assert sum(int(words[1]) for words in printed) == kernels


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path):
    import shutil
    from pathlib import Path

    import askwise

    shutil.copytree(
        Path(askwise.__file__).parent,
        tmp_path / "askwise",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    assert run(KERNELS, PYTHONPATH=str(tmp_path)).stdout == "0.8535533905932737\n"  # ½ + √½ / 2
    kernel = tmp_path / "askwise" / "_kernels" / "planning" / "optimism.py"
    text = kernel.read_text(encoding="utf-8")
    kernel.write_text(text.replace("budget = 0.5 * total", "budget = 0.0 * total"), "utf-8")
    left_over = list(tmp_path.rglob("*.nbi"))
    assert left_over
    for path in left_over:  # by another version, with things in it that no longer exist
        path.write_bytes(path.read_bytes()[:-20])
    assert run(KERNELS, PYTHONPATH=str(tmp_path)).stdout == "0.5\n"


def test_a_served_policy_is_followed_without_numba(tmp_path):
    """A worker answers at once after it was started: nothing is compiled or loaded from a cache."""
    code = """
import sys
from askwise.service.backend.backend import Backend
from askwise.service.settings import Settings
from serving import ask, create, decoded
from askwise.service.api.messages import Observing, Opening, Rewarding

def play(backend):
    case = decoded(ask(backend.writer, Opening()))
    while case["wanted"]:
        seen = {name: "low" if name == "mammogram" else "neg" for name in case["wanted"]}
        case = decoded(ask(backend.writer, Observing(seen), case["case"]))
    ask(backend.writer, Rewarding(1.0), case["case"])

backend = Backend(Settings(db=sys.argv[1]))
if sys.argv[2] == "first":
    create(backend.writer)  # plans, which needs Numba
else:
    backend.refresh()
for _ in range(20):
    play(backend)
if sys.argv[2] == "again":
    assert "numba" not in sys.modules
backend.ledger.close()
"""
    where = str(tmp_path / "ledger.db")
    for time in ("first", "again"):
        path = os.pathsep.join(sys.path)
        command = [sys.executable, "-c", code, where, time]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": path})


def test_after_the_warm_up_no_request_waits_for_the_compiler():
    code = """
from askwise.simulation.environments import breast_cancer
from askwise.service.decisions.creation import project_creation
from askwise.service.api.messages import ChosenLearner, NewProject
from askwise.service.replanning.policy_versions import PolicyVersion, from_blob
from askwise.service.dashboard.explanations import policy_tree, worth

additive = ChosenLearner("learner", {"model": "additive"})
for chosen in (ChosenLearner(), additive, ChosenLearner("seq-oos"), ChosenLearner("sim-oos")):
    body = NewProject("clinic", breast_cancer().problem, chosen)
    learner = from_blob(project_creation("key", body)[1].policy.blob)
    planned = PolicyVersion(1, learner, learner.policy)
    policy_tree(planned), worth(planned)
"""
    run("from askwise.service.operations.warm_up import warm_up; warm_up()")
    assert run(code).stderr == ""
