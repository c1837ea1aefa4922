"""A new project: its learner is made and plans once, before anything is written."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from typing import cast

import msgspec

from askwise.errors import AskwiseError, LedgerError, OptionError, TooLargeError
from askwise.learners import LEARNERS
from askwise.learners.learner import BaseLearner
from askwise.learners.saving import read
from askwise.problem import Problem
from askwise.service.api.administration import Cloning
from askwise.service.api.messages import ChosenLearner, Name, NewProject, ProjectAnswer
from askwise.service.api.refusals import Refusal, in_fields
from askwise.service.api.served_learners import new_learner
from askwise.service.api.sizes import check_size
from askwise.service.decisions.carrying import carried_over
from askwise.service.decisions.commit_groups import Creation
from askwise.service.decisions.jobs import Answer, repeated_answer
from askwise.service.ledger.contract import Ledger
from askwise.service.ledger.rows import NO_PROJECT, Project, StoredPolicy
from askwise.service.logging import timestamp
from askwise.service.replanning.policy_versions import (
    first_plan,
    from_blob,
    newest_readable,
    next_plan,
)
from askwise.service.tokens import new_token

_encode = msgspec.json.Encoder().encode


def project_creation(key: str, body: NewProject) -> tuple[str, Creation]:
    """A project to be written, and the token that is shown once."""
    if body.saved is not None:
        return _creation_from_saved(key, body, body.saved)
    if body.problem is None:
        raise Refusal(422, "expected a problem, or a saved learner", "#/problem")
    seed = secrets.randbits(62)
    try:
        check_size(body.problem, body.learner.name, body.learner.options)
    except TooLargeError as error:
        raise Refusal(422, in_fields(str(error)), "#/problem") from None
    try:
        learner = new_learner(body.problem, body.learner.name, body.learner.options, seed)
        blob = first_plan(learner)
    except (AskwiseError, MemoryError) as error:
        raise Refusal(
            422, in_fields(str(error)) or "the problem is too large", "#/learner"
        ) from None
    return _creation(key, body, body.problem, seed, blob)


def _creation_from_saved(key: str, body: NewProject, saved: bytes) -> tuple[str, Creation]:
    """A project that begins with what a learner knows, whose file was sent."""
    if body.problem is not None or body.learner != ChosenLearner():
        raise Refusal(422, "a saved learner has its problem and its options already", "#/saved")
    # what is kept of the request tells it from others, and is short
    asked = msgspec.structs.replace(body, saved=hashlib.sha256(saved).digest())
    try:
        learner = from_blob(saved, check_size)
        token, creation = creation_from_learner(key, body.name, learner)
    except (AskwiseError, MemoryError) as error:
        raise Refusal(422, in_fields(str(error)) or "the learner is too large", "#/saved") from None
    return token, creation._replace(body=_encode(asked))


def cloned_before(ledger: Ledger, name: str, key: str, body: Cloning) -> Answer | None:
    """The answer to this very request, if it was made before; its project may be gone since."""
    before = ledger.events_with_keys(NO_PROJECT, [key]).get(key)
    if before is None:
        return None
    return repeated_answer(before, "create", 0, _clone_body(name, body))


def _clone_body(name: str, body: Cloning) -> bytes:
    return _encode({"clone": name, **msgspec.to_builtins(body)})


def project_clone(
    ledger: Ledger, project: Project, key: str, body: Cloning
) -> tuple[str, Creation]:
    """A project that begins with what another has learned, perhaps of another version of it."""
    asked = _clone_body(project.name, body)
    try:
        now = ledger.snapshot(project.id)
        _, learner = newest_readable(ledger, project.id, now.version)
        _, first = newest_readable(ledger, project.id, 1)
        declared = msgspec.json.decode(project.problem, type=Problem)
        next_plan(learner, now, first, declared)
        if body.problem is not None:
            check_size(body.problem, learner.name, learner.options)
            learner = carried_over(learner, body.problem, secrets.randbits(62))
        token, creation = creation_from_learner(key, body.name, learner)
    except LedgerError:
        raise
    except (AskwiseError, MemoryError) as error:
        raise Refusal(
            422, in_fields(str(error)) or "the problem is too large", "#/problem"
        ) from None
    return token, creation._replace(body=asked)


def load_learner(path: str | os.PathLike[str]) -> BaseLearner:
    """A saved learner to be served; one that is too large is refused before it is built."""
    return read(path, LEARNERS, check_size)


def creation_from_learner(key: str, name: str, learner: BaseLearner) -> tuple[str, Creation]:
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
    return _creation(key, body, learner.problem, seed, first_plan(learner))


def _creation(
    key: str, body: NewProject, problem: Problem, seed: int, blob: bytes
) -> tuple[str, Creation]:
    now = time.time_ns() // 1000
    options = _encode(body.learner.options)
    project = Project(
        id=0,
        name=body.name,
        problem=_encode(problem),
        learner=body.learner.name,
        options=options,
        seed=seed,
        created=now,
        seq=0,
        opened=0,
        version=1,
        watermark=0,
        planned=now,
        failure="",
    )
    token, stored = new_token("decide", body.name)
    answer = _encode(project_answer(project))
    policy = StoredPolicy(version=1, watermark=0, fence=0, at=now, blob=blob)
    creation = Creation(
        key=key, body=_encode(body), project=project, policy=policy, token=stored, answer=answer
    )
    return token, creation


def project_answer(project: Project) -> ProjectAnswer:
    """A project as it stands."""
    return ProjectAnswer(
        name=project.name,
        # as it was written: answers about other projects do not depend on whether it can be read
        problem=cast("Problem", msgspec.Raw(project.problem)),
        learner=ChosenLearner(project.learner, msgspec.json.decode(project.options)),
        created=timestamp(project.created),
        policy_version=project.version,
        cases=project.opened,
        events=project.seq,
        planned_events=project.watermark,
        planned=timestamp(project.planned),
        plan_failure=project.failure or None,
        archived=timestamp(project.archived) if project.archived else None,
    )
