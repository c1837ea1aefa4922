"""The jobs of operators, and the answers to all jobs.

A request of an operator becomes an event like any other. A change of prices is an event of its
project, and other requests are events of no project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from askwise.service.api.refusals import Refusal
from askwise.service.ledger.contract import Transaction
from askwise.service.ledger.counters import ERASED
from askwise.service.ledger.rows import NO_PROJECT, Event, Increment


class Answer(NamedTuple):
    """The committed answer to a request."""

    status: int
    body: bytes
    is_new: bool = True
    """Whether it was decided just now; else it is the answer that was given before."""


Result = Answer | Refusal


class Written(NamedTuple):
    """The changes by an operator's request."""

    status: int
    answer: bytes
    increments: Sequence[Increment] = ()


class Administration(NamedTuple):
    """An operator's request about a token or a whole project, which becomes an event as well."""

    key: str
    kind: str
    body: bytes
    apply: Callable[[Transaction, int], Written]
    """Changes something in the transaction, at that time; or raises a Refusal, and has not."""
    log: int = NO_PROJECT
    """The project of which it becomes an event."""
    locks: tuple[int, ...] = ()
    """The projects that it changes."""


def erased_key(seed: int, key: str) -> str:
    """What is kept of the key of an event that was erased: a digest, by the seed of its project.

    So a request that comes once more, much too late, does not bring back what was erased.
    """
    secret = seed.to_bytes(8, "little")
    digest = hashlib.blake2b(key.encode(), digest_size=16, key=secret).hexdigest()
    return f"{ERASED} {digest}"


def was_erased() -> Refusal:
    """The answer to a request that was answered before, about a case that is erased since."""
    why = "this idempotency key was used for a case that was erased since; nothing was done"
    return Refusal(410, why, "header:Idempotency-Key")


class StaleProjectError(Exception):
    """A project is not any more what this process knows of it: it has another name, or is gone."""


def administer(job: Administration, transaction: Transaction, at: int) -> Result:
    """Do what an operator asks, and write it down; the caller has locked what it changes."""
    before = transaction.events_with_keys(job.log, [job.key]).get(job.key)
    try:
        if before is not None:
            return repeated_answer(before, job.kind, 0, job.body)
        written = job.apply(transaction, at)
    except Refusal as refusal:
        return refusal
    head = transaction.lock([job.log])[job.log]
    event = Event(
        seq=head.seq + 1,
        key=job.key,
        kind=job.kind,
        case=0,
        body=job.body,
        status=written.status,
        answer=written.answer,
        at=at,
    )
    head = head._replace(seq=event.seq)
    transaction.append(job.log, head, [event], [], written.increments)
    return Answer(written.status, written.answer)


def repeated_answer(before: Event, kind: str, case: int, body: bytes) -> Answer:
    """The answer that this key was given before, if the request is the same; else a refusal."""
    asked = before.kind, 0 if kind == "open" else before.case, before.body
    if asked != (kind, case, body):
        raise Refusal(
            409,
            "this idempotency key was used for another request; a new request needs a new key",
            "header:Idempotency-Key",
        )
    return Answer(before.status, before.answer, is_new=False)
