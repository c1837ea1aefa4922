import os
import shutil
import subprocess
import sys
from pathlib import Path

import askwise
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.backend.backend import Backend
from askwise.service.settings import Settings
from serving import ask, create, decoded, warm_up_once


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


def test_the_first_compiled_call_says_so_once_and_again_when_a_kernel_within_has_changed(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(askwise.__file__).parent, tmp_path / "askwise", ignore=ignored)
    first = run(KERNELS, PYTHONPATH=str(tmp_path))
    assert first.stdout == "0.8535533905932737\n"  # ½ + √½ / 2
    left_over = list(tmp_path.rglob("*.nbi"))
    assert len(left_over) > 1  # several were compiled
    assert first.stderr.count("compiling the kernels") == 1
    second = run(KERNELS, PYTHONPATH=str(tmp_path))
    assert second.stderr == ""  # it came from the cache
    kernel = tmp_path / "askwise" / "_kernels" / "planning" / "optimism.py"
    text = kernel.read_text(encoding="utf-8")
    kernel.write_text(text.replace("budget = 0.5 * total", "budget = 0.0 * total"), "utf-8")
    for path in left_over:  # by another version, with things in it that no longer exist
        path.write_bytes(path.read_bytes()[:-20])
    third = run(KERNELS, PYTHONPATH=str(tmp_path))
    assert third.stdout == "0.5\n"
    assert third.stderr.count("compiling the kernels") == 1


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
        for _ in range(2)
    ]
    printed = [process.communicate()[0].split() for process in started]
    assert {words[0] for words in printed} == {"0.8535533905932737"}
    kernels = len({path.name for path in tmp_path.rglob("*.nbi")})
    assert sum(int(words[1]) for words in printed) == kernels


def play(backend):
    """Twenty cases from their first question to their reward."""
    for _ in range(20):
        case = decoded(ask(backend.writer, Opening()))
        while case["wanted"]:
            seen = {name: "low" if name == "mammogram" else "neg" for name in case["wanted"]}
            case = decoded(ask(backend.writer, Observing(seen), case["case"]))
        ask(backend.writer, Rewarding(1.0), case["case"])


def test_a_served_policy_is_followed_without_numba(tmp_path):
    """A worker answers at once after it was started: nothing is compiled or loaded from a cache."""
    where = str(tmp_path / "ledger.db")
    first = Backend(Settings(db=where))
    create(first.writer)  # plans, which needs Numba
    play(first)
    first.ledger.close()
    code = """
import sys
from askwise.service.backend.backend import Backend
from askwise.service.settings import Settings
from test_import import play

again = Backend(Settings(db=sys.argv[1]))
again.refresh()
play(again)
assert "numba" not in sys.modules
again.ledger.close()
"""
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", code, where]
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
    warm_up_once()
    assert run(code).stderr == ""
