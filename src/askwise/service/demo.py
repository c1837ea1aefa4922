"""Simulated patients, gently and without end, so that there is something to see at once."""

from __future__ import annotations

import secrets
import threading

import msgspec
import numpy as np

from askwise.environments import Population, breast_cancer
from askwise.service.creating import creation_of
from askwise.service.errors import Refusal
from askwise.service.house import House
from askwise.service.messages import (
    CaseAnswer,
    ChosenLearner,
    NewProject,
    Observing,
    Opening,
    Rewarding,
)
from askwise.service.settings import Settings
from askwise.service.writer import Answer, Job, Operation

PROJECT = "demo"
EVERY = 0.05
"""Seconds between two patients."""

COST = 5.0


class Patients:
    """Cases of the breast-cancer population of the paper's experiment."""

    def __init__(self, settings: Settings) -> None:
        self._house = House(settings)
        self._model = breast_cancer(cost=COST)
        self._stop = threading.Event()

    def stop(self) -> None:
        """No more patients."""
        self._stop.set()

    def run(self) -> None:
        """One patient after the other."""
        if self._house.ledger.project(PROJECT) is None:
            body = NewProject(PROJECT, self._model.problem, ChosenLearner())
            self._ask(creation_of(secrets.token_hex(16), body)[1])
        population, rng = Population(self._model), np.random.default_rng()
        while not self._stop.wait(EVERY):
            values, rewards = population.draw(rng, 1)
            try:
                self._house.look()
                self._treat(values[0].tolist(), rewards[0].tolist())
            except Refusal:
                self._stop.wait(1.0)
        self._house.ledger.close()

    def _treat(self, values: list[int], rewards: list[float]) -> None:
        """One case, from the door to its reward."""
        problem = self._model.problem
        shown = {o.name: o.values[x] for o, x in zip(problem.observations, values, strict=True)}
        case = self._step(0, Opening())
        while case.wanted:
            case = self._step(case.case, Observing({name: shown[name] for name in case.wanted}))
        assert case.action is not None
        self._step(case.case, Rewarding(rewards[problem.actions.index(case.action)]))

    def _step(self, case: int, body: Opening | Observing | Rewarding) -> CaseAnswer:
        answer = self._ask(Operation(PROJECT, secrets.token_hex(16), case, body))
        return msgspec.json.decode(answer.body, type=CaseAnswer)

    def _ask(self, job: Job) -> Answer:
        (result,) = self._house.writer.commit([job])
        if isinstance(result, Refusal):
            raise result
        return result
