"""A new project: its learner is made and plans once, before anything is written."""

from __future__ import annotations

import secrets
import time

import msgspec

from askwise.errors import AskwiseError
from askwise.service.errors import Refusal
from askwise.service.ledger.contract import Plan, Project
from askwise.service.messages import NewProject
from askwise.service.policies import first_plan, new_learner
from askwise.service.readings import project_answer
from askwise.service.tokens import new_token
from askwise.service.writer import Creation

_encode = msgspec.json.Encoder().encode


def creation_of(key: str, body: NewProject) -> tuple[str, Creation]:
    """A project to be written, and the token that is shown once."""
    seed = secrets.randbits(62)
    try:
        learner = new_learner(body.problem, body.learner.name, body.learner.options, seed)
        blob = first_plan(learner)
    except (AskwiseError, MemoryError) as error:
        raise Refusal(422, str(error) or "the problem is too large", "#/learner") from None
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
