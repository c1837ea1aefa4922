"""The requests of operators about tokens and whole projects, as jobs for the writer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from askwise.errors import AskwiseError
from askwise.problem import Problem
from askwise.service.api.administration import (
    Deleted,
    Deleting,
    NewToken,
    Renaming,
    Repricing,
    TokenStory,
)
from askwise.service.api.refusals import Refusal, in_fields
from askwise.service.decisions.creation import project_answer
from askwise.service.decisions.jobs import Administration, Written
from askwise.service.ledger.contract import Ledger, Transaction
from askwise.service.ledger.counters import MEMORY
from askwise.service.ledger.rows import Project, StoredToken
from askwise.service.logging import timestamp
from askwise.service.replanning.memory import Blocks, Memory
from askwise.service.replanning.policy_versions import learner_of
from askwise.service.replanning.prices import PRICES, paid_kinds, price_increments
from askwise.service.tokens import SIGN_IN, new_token

_encode = msgspec.json.Encoder().encode


# --- tokens --------------------------------------------------------------------------------------


def token_story(token: StoredToken) -> TokenStory:
    """Returns the facts of a token."""
    return TokenStory(
        id=token.id,
        scope=token.scope,
        project=token.project or None,
        created=timestamp(token.created),
        expires=timestamp(token.expires) if token.expires else None,
        revoked=timestamp(token.revoked) if token.revoked else None,
        rate=token.rate or None,
    )


def token_creation(key: str, body: NewToken) -> tuple[str, Administration]:
    """A token that is shown once, and what makes it."""
    project = body.project or ""
    token, stored = new_token(
        body.scope, project, expires_in=body.expires_in or 0, rate=body.rate or 0
    )

    def make(transaction: Transaction, at: int) -> Written:
        if project and transaction.project(project) is None:
            raise Refusal(422, f"there is no project {project!r}", "#/project")
        transaction.add_token(stored)
        return Written(201, _encode(token_story(stored)))

    return token, Administration(key, "token", _encode(body), make)


def token_rotation(key: str, id: str, overlap: int) -> tuple[str, Administration]:
    """A token in place of another, and what makes it; the old one is good for a while still."""
    token, fresh = new_token("read")

    def rotate(transaction: Transaction, at: int) -> Written:
        old = _good_token(transaction, id, at)
        if old.scope == SIGN_IN:
            raise _no_token(id)
        new = fresh._replace(
            scope=old.scope,
            project=old.project,
            rate=old.rate,
            # not what is left of the old one, which may be within the overlap of a rotation
            expires=fresh.created + old.lasts if old.lasts else 0,
            lasts=old.lasts,
        )
        transaction.add_token(new)
        if overlap:
            until = at + overlap * 1_000_000
            until = min(until, old.expires) if old.expires else until
            transaction.change_token(old._replace(expires=until))
        else:
            transaction.change_token(old._replace(revoked=at))
        return Written(201, _encode(token_story(new)))

    body = _encode({"token": id, "overlap": overlap})
    return token, Administration(key, "rotate", body, rotate)


def token_revocation(key: str, id: str) -> Administration:
    """Makes a token invalid. The last admin token for all projects is kept."""

    def revoke(transaction: Transaction, at: int) -> Written:
        token = _good_token(transaction, id, at)
        others = [
            t
            for t in transaction.tokens()
            if t.id != id
            and t.scope == "admin"
            and not t.project
            and t.is_good(at)
            and (token.expires or not t.expires)  # one that will expire is no lasting key
        ]
        if token.scope == "admin" and not token.project and not others:
            why = "this is the last token for everything: rotate it, or make another one first"
            raise Refusal(409, why, "path:token")
        revoked = token._replace(revoked=at)
        transaction.change_token(revoked)
        return Written(200, _encode(token_story(revoked)))

    return Administration(key, "revoke", _encode({"token": id}), revoke)


def _good_token(transaction: Transaction, id: str, at: int) -> StoredToken:
    for token in transaction.tokens():
        if token.id == id and token.is_good(at):
            return token
    raise _no_token(id)


def _no_token(id: str) -> Refusal:
    return Refusal(404, f"there is no token {id[:40]!r} that is still good", "path:token")


# --- projects ------------------------------------------------------------------------------------


def archiving(ledger: Ledger, key: str, name: str, *, archives: bool) -> Administration:
    """Makes a project refuse requests, or accept them again."""

    def change(transaction: Transaction, project: Project, at: int) -> Written:
        if bool(project.archived) == archives:
            state = "archived already" if archives else "not archived"
            raise Refusal(409, f"the project {name!r} is {state}", "path:project")
        changed = project._replace(archived=at if archives else 0)
        transaction.change_project(changed)
        return Written(200, _encode(project_answer(changed)))

    return _about_project(ledger, key, "archive" if archives else "restore", name, {}, change)


def renaming(ledger: Ledger, key: str, name: str, body: Renaming) -> Administration:
    """Gives a project another name, and its tokens too."""

    def rename(transaction: Transaction, project: Project, at: int) -> Written:
        if transaction.project(body.name) is not None:
            detail = f"there is a project {body.name!r} already, choose another name"
            raise Refusal(409, detail, "#/name")
        changed = project._replace(name=body.name)
        transaction.change_project(changed)
        for token in transaction.tokens():
            if token.project == name:
                transaction.change_token(token._replace(project=body.name))
        return Written(200, _encode(project_answer(changed)))

    return _about_project(ledger, key, "rename", name, {"name": body.name}, rename)


def deletion(ledger: Ledger, key: str, name: str, body: Deleting) -> Administration:
    """Deletes a project with everything in it."""
    if body.name != name:
        raise Refusal(422, f"expected the name of the project once more: {name!r}", "#/name")

    def delete(transaction: Transaction, project: Project, at: int) -> Written:
        transaction.remove_project(project.id)
        for token in transaction.tokens():  # another project may get the name
            if token.project == name and not token.revoked:
                transaction.change_token(token._replace(revoked=at))
        return Written(200, _encode(Deleted(name, project.seq)))

    return _about_project(ledger, key, "delete", name, {}, delete)


def _about_project(
    ledger: Ledger,
    key: str,
    kind: str,
    name: str,
    body: dict[str, str],
    change: Callable[[Transaction, Project, int], Written],
) -> Administration:
    """A job that changes a project; a key that was used before is found even if that is gone."""
    found = ledger.project(name)
    locked = () if found is None else (found.id,)

    def apply(transaction: Transaction, at: int) -> Written:
        project = transaction.project(name)
        if project is None:
            raise Refusal(404, f"there is no project {name!r}", "path:project")
        if project.id not in locked:
            raise Refusal(503, "the project was renamed just now; nothing was done", retry=1)
        return change(transaction, project, at)

    return Administration(key, kind, _encode({"project": name, **body}), apply, locks=locked)


def repricing(project: Project, key: str, body: Repricing) -> Administration:
    """Sets other prices of observations, as an event of the project."""
    problem = msgspec.json.decode(project.problem, type=Problem)
    known = {o.name: o for o in problem.observations if not o.given}
    unknown = [name for name in body.prices if name not in known]
    if unknown:
        expected = ", ".join(known)
        why = f"prices: {unknown[0][:40]!r} is not bought, expected some of: {expected}"
        raise Refusal(422, why, "#/prices")

    blocks = Blocks.of(learner_of(project))

    def reprice(transaction: Transaction, at: int) -> Written:
        now = transaction.project(project.name)
        if now is None or now.id != project.id:
            raise Refusal(503, "the project was renamed just now; nothing was done", retry=1)
        if now.archived:
            raise Refusal(409, f"the project {now.name!r} is archived", "path:project")
        before = msgspec.json.decode(now.problem, type=Problem)
        try:
            after = before.priced(body.prices)
        except AskwiseError as error:
            raise Refusal(422, in_fields(str(error)), "#/prices") from None
        changed = now._replace(problem=_encode(after), seq=now.seq + 1)
        transaction.change_project(changed)
        positions = [i for i, name in enumerate(known) if name in body.prices]
        memory = Memory.of(transaction.counter_values(project.id, MEMORY))
        kinds = paid_kinds(blocks, memory, now.opened)
        counted = partial(transaction.counter_values, project.id)
        increments = price_increments(positions, kinds, counted)
        return Written(200, _encode(project_answer(changed)), increments)

    return Administration(key, PRICES, _encode(body), reprice, log=project.id, locks=(project.id,))
