"""Simulated patients, gently and without end, so that there is something to see at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

import msgspec
import numpy as np

from askwise.service.client.calls import new_key
from askwise.service.decisions.creating import creation_of
from askwise.service.decisions.transactions import Answer, Job, Operation
from askwise.service.http.messages import (
    CaseAnswer,
    ChosenLearner,
    NewProject,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.http.problems import Refusal
from askwise.service.operations.project_store import House
from askwise.service.operations.settings import Settings
from askwise.simulation.environments import Population, breast_cancer

PROJECT = "demo"
COST = 5.0

AT_ONCE = 1200
"""Patients who come in a rush at first, so that there is something to see;"""
TOGETHER = 16
"""so many of them together."""

EVERY = 0.2
"""Seconds between two patients, later on."""
RUSH = 0.05

NOT_PLANNED = 100
"""Events, or a tenth of all, that the policy may not know of yet while patients rush in: whoever
outruns the plans learns nothing from those before him."""

AWAITED = 9
"""Cases whose result is not known yet."""


class Patients:
    """Cases of the breast-cancer population of the paper's experiment."""

    def __init__(self, settings: Settings) -> None:
        self._house = House(settings)
        self._model = breast_cancer(cost=COST, max_observations=4)
        self._stop = threading.Event()
        self._results: deque[tuple[int, float]] = deque()
        """What cases will earn, in the order in which they acted."""

    def stop(self) -> None:
        """No more patients."""
        self._stop.set()

    def run(self) -> None:
        """One patient after the other."""
        if self._house.ledger.project(PROJECT) is None:
            body = NewProject(PROJECT, self._model.problem, ChosenLearner())
            self._ask([creation_of(new_key(), body)[1]])
        rng = np.random.default_rng()
        self._house.look()
        while not self._stop.wait(RUSH if self._is_rush() else EVERY):
            try:
                self._house.look()
                self._treat(TOGETHER if self._is_rush() else 1, rng)
                self._reward(AWAITED)
            except Refusal:
                self._stop.wait(1.0)
        self._reward(0)  # nobody else knows the results
        self._house.ledger.close()

    def _is_rush(self) -> bool:
        project = self._house.projects[PROJECT]
        new = project.seq - project.watermark
        return project.opened < AT_ONCE and new <= max(NOT_PLANNED, project.seq // 10)

    def _treat(self, patients: int, rng: np.random.Generator) -> None:
        """New cases, from the door to their action."""
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
                    earned = rewards[patient_of[case.case], problem.actions.index(case.action)]
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
        for result in self._house.writer.commit(jobs):
            if isinstance(result, Refusal):
                raise result
            answers.append(result)
        return answers
