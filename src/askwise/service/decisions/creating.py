"""A new project: its learner is made and plans once, before anything is written."""

from __future__ import annotations

import os
import secrets
import time

import msgspec

from askwise.errors import AskwiseError, OptionError, TooLargeError
from askwise.learners import LEARNERS
from askwise.learners.learner import BaseLearner
from askwise.learners.saving import read
from askwise.service.dashboard.summaries import project_answer
from askwise.service.decisions.transactions import Creation
from askwise.service.http.messages import ChosenLearner, Name, NewProject
from askwise.service.http.problems import Refusal
from askwise.service.ledger.contract import Plan, Project
from askwise.service.operations.sizes import check_size
from askwise.service.operations.tokens import new_token
from askwise.service.replanning.versions import first_plan, new_learner

_encode = msgspec.json.Encoder().encode


def creation_of(key: str, body: NewProject) -> tuple[str, Creation]:
    """A project to be written, and the token that is shown once."""
    seed = secrets.randbits(62)
    try:
        check_size(body.problem, body.learner.name, body.learner.options)
    except TooLargeError as error:
        raise Refusal(422, str(error), "#/problem") from None
    try:
        learner = new_learner(body.problem, body.learner.name, body.learner.options, seed)
        blob = first_plan(learner)
    except (AskwiseError, MemoryError) as error:
        raise Refusal(422, str(error) or "the problem is too large", "#/learner") from None
    return _creation(key, body, seed, blob)


def load_learner(path: str | os.PathLike[str]) -> BaseLearner:
    """A saved learner to be served; one that is too large is refused before it is built."""
    return read(path, LEARNERS, check_size)


def creation_from(key: str, name: str, learner: BaseLearner) -> tuple[str, Creation]:
    """A project that begins with what a learner knows."""
    seed, options = secrets.randbits(62), dict(learner.options)
    check_size(learner.problem, learner.name, options)
    new_learner(learner.problem, learner.name, options, seed)  # refuses what cannot be served
    try:
        body = NewProject(
            msgspec.convert(name, Name), learner.problem, ChosenLearner(learner.name, options)
        )
    except msgspec.ValidationError as error:
        raise OptionError(f"project {name!r}: {error}") from None
    return _creation(key, body, seed, first_plan(learner))


def _creation(key: str, body: NewProject, seed: int, blob: bytes) -> tuple[str, Creation]:
    now = time.time_ns() // 1000
    options = _encode(body.learner.options)
    problem = _encode(body.problem)
    project = Project(
        0, body.name, problem, body.learner.name, options, seed, now, 0, 0, 1, 0, now, ""
    )
    token, kept = new_token("decide", body.name)
    answer = _encode(project_answer(project))
    plan = Plan(version=1, watermark=0, fence=0, at=now, blob=blob)
    return token, Creation(key, _encode(body), project, plan, kept, answer)
