import subprocess
import sys


def run(code, **environment):
    import os

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


def test_the_first_compiled_call_says_so_once(tmp_path):
    code = """
import numpy as np
from askwise import SeqOOS, SimOOS
from askwise.testing import play, random_model
model = random_model(np.random.default_rng(0), [2, 2])
for learner in (SimOOS(model.problem), SeqOOS(model.problem)):
    play(learner, model, 3, np.random.default_rng(0))
"""
    first = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stderr.count("compiling the kernels") == 1
    second = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stderr == ""  # it came from the cache
