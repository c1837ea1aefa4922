"""A plain book of what happened in cases, to compare a learner with."""

import itertools
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from askwise.learners.cases import Case

UNITS = 2**30
"""Of a reward."""

LOOKING, ACTED, DEFAULTED, REWARDED, CANCELLED = [
    "looking",
    "acted",
    "defaulted",
    "rewarded",
    "cancelled",
]


@dataclass
class Entry:
    """A case as a plain person would note it down."""

    case: Case | None
    given: dict
    on_file: dict
    known: dict
    steps: list = field(default_factory=list)
    """(what was known before, the name of what was bought, what was known then)"""
    phase: str = LOOKING
    has_acted: bool = False
    action: str | None = None
    units: int | None = None
    """Its reward."""


class Book:
    """All cases, and what must have been counted of them."""

    def __init__(self, problem, *, at_once, counts_looks=True, counts_abandoned=True):
        self.problem = problem
        self.at_once, self.counts_looks, self.counts_abandoned = (
            at_once,
            counts_looks,
            counts_abandoned,
        )
        self.entries = {}
        contexts = np.prod([len(o.outcomes) for o in problem.observations if o.given])
        self.is_given = contexts > 1

    def expected(self):
        """Every counter, from nothing but the entries."""
        acted, earned, steps, visits, sets = (Counter() for _ in range(5))
        for e in self.entries.values():
            begun = frozenset((e.given | e.on_file).items())
            if e.units is not None:
                acted[frozenset(e.known.items()), e.action] += 1
                earned[frozenset(e.known.items()), e.action] += e.units
            abandoned = e.phase == CANCELLED and not e.has_acted
            if not self.counts_looks:
                continue
            if not self.at_once:
                if e.has_acted or (abandoned and self.counts_abandoned):
                    steps.update(e.steps)
                    if self.is_given and not e.on_file:
                        visits[begun] += 1
            elif e.has_acted and e.on_file:  # in the order of declaration, however it was seen
                before = begun
                for o in self.problem.observations:
                    if o.name in e.known and o.name not in e.given | e.on_file:
                        after = before | {(o.name, e.known[o.name])}
                        steps[before, o.name, after] += 1
                        before = after
            elif e.has_acted:
                bought = [(n, x) for n, x in e.known.items() if n not in e.given]
                for k in range(len(bought) + 1):
                    for part in itertools.combinations(bought, k):
                        visits[begun | set(part)] += 1
                        sets[begun, frozenset(n for n, _ in part)] += 1
        cases = sum(e.has_acted for e in self.entries.values())
        earned = Counter({key: units for key, units in earned.items() if units})
        return {
            "cases": cases, "acted": acted, "earned": earned,
            "steps": steps, "visits": visits, "sets": sets,
        }  # fmt: skip


def counted(statistics, states):
    """The counters of a learner as the book has them."""
    lattice = statistics.lattice
    row_states = statistics.states.tolist()
    found = {name: {} for name in ("acted", "earned", "steps", "visits", "sets")}
    arrays = dict(statistics.arrays())
    for name, array in (("acted", arrays["action_counts"]), ("earned", arrays["reward_sums"])):
        for row, a in np.argwhere(array).tolist():
            key = states[row_states[row]], lattice.problem.action_names[a]
            found[name][key] = int(array[row, a])
    for row, slot in np.argwhere(arrays["transitions"]).tolist():
        state = row_states[row]
        name = lattice.observations[lattice.domain(state)[slot]].name
        after = states[state]
        before = frozenset(pair for pair in after if pair[0] != name)
        found["steps"][before, name, after] = int(arrays["transitions"][row, slot])
    for [row] in np.argwhere(arrays["visits"]).tolist():
        found["visits"][states[row_states[row]]] = int(arrays["visits"][row])
    for [context_subset] in np.argwhere(arrays["subset_visits"]).tolist():
        subset, context = divmod(context_subset, lattice.contexts)
        names = frozenset(lattice.observations[i].name for i in lattice.members(subset))
        found["sets"][states[context], names] = int(arrays["subset_visits"][context_subset])
    return {"cases": statistics.cases} | found
