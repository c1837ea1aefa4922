"""A run has the same bits whatever processor BLAS takes itself to be on."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from askwise._support.sums import dot, product

RUN = """
import hashlib
import askwise as aw
from askwise.simulation.environments import Population, breast_cancer
patients = Population(breast_cancer(cost=5.0))
learner = aw.Learner(patients.problem, budget=aw.Budget(spend_per_case=3.0), rng=1)
aw.simulate(learner, patients, steps=1_500, rng=2)
print(hashlib.blake2b(learner.to_bytes()).hexdigest())
"""


def test_sums_are_those_of_linear_algebra():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 5)), rng.normal(size=(5, 4)), rng.normal(size=5)
    assert dot(a[0], c) == pytest.approx(a[0] @ c)
    assert product(a, b) == pytest.approx(a @ b)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="OpenBLAS's names of x86 processors")
def test_a_run_is_the_same_on_another_processor(capsys):
    exec(RUN, {})  # on this one
    here = capsys.readouterr().out
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Prescott"}
    elsewhere = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, check=True, capture_output=True, text=True
    )
    assert elsewhere.stdout == here != ""
