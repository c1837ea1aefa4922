"""Simulated patients, a few a second and without end, so that the dashboard shows something."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

import msgspec
import numpy as np

from askwise.errors import AskwiseError, LedgerError
from askwise.estimation.models import Model
from askwise.problem import Problem
from askwise.service.api.messages import (
    CaseAnswer,
    ChosenLearner,
    NewProject,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.client.requests import new_key
from askwise.service.decisions.commit_groups import Job, Operation
from askwise.service.decisions.creation import project_creation
from askwise.service.decisions.jobs import Answer
from askwise.service.ledger.contract import Ledger
from askwise.service.settings import Settings
from askwise.simulation.environments import Population, breast_cancer

PROJECT = "demo"
COST = 5.0

RUSH_CASES = 1200
"""Patients who come in a rush at first, so that there is something to see;"""
RUSH_GROUP = 16
"""so many of them together."""

PAUSE = 0.2
"""Seconds between two patients, later on."""
RUSH_PAUSE = 0.05

NOT_PLANNED = 100
"""Events, or a tenth of all, that the policy may not know of yet while patients rush in: cases that
outrun the plans learn nothing from those before them."""

AWAITED = 9
"""Cases whose result is not known yet."""


def check_project(ledger: Ledger) -> None:
    """Refuses a ledger in which the name of the demo is that of another problem."""
    project = ledger.project(PROJECT)
    if project is not None and not _is_demo(msgspec.json.decode(project.problem, type=Problem)):
        raise LedgerError(
            f"the project {PROJECT!r} of this ledger has another problem, so no simulated patients "
            "go into it: name another ledger with --db, or rename the project"
        )


def _is_demo(problem: Problem) -> bool:
    """Whether this is the problem of the simulated patients, perhaps with other prices."""
    expected = _model().problem
    try:
        return problem.priced({o.name: o.cost for o in expected.observations}) == expected
    except AskwiseError:  # it has other observations
        return False


def _model() -> Model:
    return breast_cancer(cost=COST, max_observations=4)


class SimulatedPatients:
    """Cases of the breast-cancer population of the paper's experiment."""

    def __init__(self, settings: Settings) -> None:
        self._backend = Backend(settings)
        self._model = _model()
        self._stop = threading.Event()
        self._results: deque[tuple[int, float]] = deque()
        """The future rewards of cases, in the order in which they acted."""

    def stop(self) -> None:
        """Stops the stream of patients."""
        self._stop.set()

    def run(self) -> None:
        """Simulates one patient after the other."""
        check_project(self._backend.ledger)
        if self._backend.ledger.project(PROJECT) is None:
            body = NewProject(PROJECT, self._model.problem, ChosenLearner())
            self._ask([project_creation(new_key(), body)[1]])
        rng = np.random.default_rng()
        self._backend.refresh()
        while not self._stop.wait(RUSH_PAUSE if self._is_rush() else PAUSE):
            try:
                self._backend.refresh()
                self._treat(RUSH_GROUP if self._is_rush() else 1, rng)
                self._reward(AWAITED)
            except Refusal:
                self._stop.wait(1.0)
        self._reward(0)  # no other process knows the results
        self._backend.ledger.close()

    def _is_rush(self) -> bool:
        project = self._backend.projects[PROJECT]
        new = project.seq - project.watermark
        return project.opened < RUSH_CASES and new <= max(NOT_PLANNED, project.seq // 10)

    def _treat(self, patients: int, rng: np.random.Generator) -> None:
        """Open cases and follow them to their action."""
        problem = self._model.problem
        values, rewards = Population(self._model).draw(rng, patients)
        shown = [
            {o.name: o.values[x] for o, x in zip(problem.observations, row, strict=True)}
            for row in values.tolist()
        ]
        cases = self._step([(0, Opening())] * patients)
        patient_of = {case.case: k for k, case in enumerate(cases)}
        while cases:
            for case in cases:
                if case.action is not None:
                    earned = rewards[patient_of[case.case], problem.action_names.index(case.action)]
                    self._results.append((case.case, float(earned)))
            cases = self._step(
                [
                    (c.case, Observing({n: shown[patient_of[c.case]][n] for n in c.wanted}))
                    for c in cases
                    if c.wanted
                ]
            )

    def _reward(self, still_awaited: int) -> None:
        """Results come in the order of the cases, and late."""
        due = list(self._results)[: max(0, len(self._results) - still_awaited)]
        self._step([(case, Rewarding(reward)) for case, reward in due])
        for _ in due:
            self._results.popleft()

    def _step(self, steps: list[tuple[int, Opening | Observing | Rewarding]]) -> list[CaseAnswer]:
        jobs = [Operation(PROJECT, new_key(), case, body) for case, body in steps]
        answers = self._ask(jobs) if jobs else []
        return [msgspec.json.decode(answer.body, type=CaseAnswer) for answer in answers]

    def _ask(self, jobs: Sequence[Job]) -> list[Answer]:
        answers = []
        for result in self._backend.writer.commit(jobs):
            if isinstance(result, Refusal):
                raise result
            answers.append(result)
        return answers
