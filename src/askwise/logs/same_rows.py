"""Recognises the rows that a policy was chosen on, wherever they are read from, in any order.

A policy is chosen for being the best on its log, by luck too. Its estimate on the same rows is too
high, and an interval does not say so. A fit keeps a digest of the rewards of its rows, and what it
recommends takes it along, also in a file.
"""

from __future__ import annotations

import hashlib

import numpy as np

from askwise._support.typing import Integers
from askwise.estimation.complete_records import CompleteRecords
from askwise.logs.counting import Decisions
from askwise.policy import Policy

CHOSEN_HERE = (
    "was chosen on these very rows, so its gain is estimated too high: fit on a part of the rows, "
    "and score on the others"
)


def digest_of_decisions(decisions: Decisions) -> str:
    """The digest of how often each action was taken, and what it earned."""
    actions = int(decisions.actions.max(initial=0)) + 1
    sums: Integers = np.zeros((2, actions), np.int64)
    np.add.at(sums[0], decisions.actions, decisions.counts)
    np.add.at(sums[1], decisions.actions, decisions.units)
    return _digest("decisions", sums)


def digest_of_records(records: CompleteRecords) -> str:
    """The digest of the number of rows, and what each action would have earned."""
    rows: Integers = np.array([records.cases], np.int64)
    return _digest("records", np.concatenate([rows, records.units.sum(axis=0)]))


def is_chosen_on(policy: Policy, digest: str) -> bool:
    """Whether a policy was recommended by a fit of the rows with this digest."""
    return bool(digest) and policy.chosen_on == digest


def _digest(kind: str, sums: Integers) -> str:
    text = f"{kind} {sums.tolist()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
