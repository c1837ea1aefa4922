"""Learners without the guarantee: each is a mutation that the tests of the guarantee must find."""

from unittest import mock

import numpy as np

import askwise as aw
from askwise.estimation.optimistic import Confidence
from askwise.learners import LEARNERS
from askwise.learners.optimistic import Optimistic, OptimisticInFull
from askwise.learners.strategy import Progress
from inside import strategy_of

DELTA = 0.01
EPOCHS = ("reward_epochs", "outcomes_epochs")


class Changed(Confidence):
    """A confidence whose schedule is changed."""

    def __init__(self, of, change):
        super().__init__(of.kind, width=1.0, delta=of.delta, clock=of.clock, cap=of.cap)
        self.change = change

    def schedule(self, lattice, acquisition):
        return self.change(super(), lattice, acquisition)


def scaled(conf1, conf2):
    """Both radii times so much."""

    def change(of, lattice, acquisition):
        schedule = of.schedule(lattice, acquisition)
        factor = {"reward": conf1**2, "outcomes": conf2**2, "per": conf2**2}
        widths = {
            name: getattr(schedule, name) * factor[name.split("_")[0]]
            for name in schedule._fields
            if name.split("_")[0] in factor
        }
        return schedule._replace(**widths)

    return change


def of_theorem_1(of, lattice, acquisition):
    """The radii of the other way to buy."""
    other = {"sequential": "simultaneous", "simultaneous": "sequential"}[acquisition]
    return of.schedule(lattice, other)


class RandomActions(OptimisticInFull):
    """Plans as it should, and acts at random."""

    def full_plan(self, now, lattice):
        policy = super().full_plan(now, lattice)
        rng = np.random.default_rng(now.round)
        actions = rng.integers(len(lattice.problem.actions), size=lattice.size)
        table = policy.table.copy()
        table.actions = actions.astype(np.int16)
        policy.table = table
        return policy


def noting(strategy=None):
    """The strategy, but planned in full every round, with what each plan promised kept."""

    class Noting(strategy or OptimisticInFull):
        def full_plan(self, now, lattice):
            policy = super().full_plan(now, lattice)
            self.promised = [*getattr(self, "promised", []), policy.value]
            return policy

    return Noting


class LateClock(Optimistic):
    """Takes the case before the next for the next."""

    def plan(self, now, lattice):
        with mock.patch.object(Progress, "t", property(lambda now: now.statistics.cases)):
            return super().plan(now, lattice)

    def full_plan(self, now, lattice):
        with mock.patch.object(Progress, "t", property(lambda now: now.statistics.cases)):
            return super().full_plan(now, lattice)


def maker(kind, *, change=None, strategy=None, confidence="theorem", **options):
    """Makes learners of this kind, or a mutation of them."""

    def make(problem, clock="doubling"):
        chosen = kind
        if strategy is not None:
            chosen = type(kind.__name__, (kind,), {"_kind": strategy})
        learner = chosen(problem, confidence=confidence, delta=DELTA, clock=clock, **options)
        if change is not None:
            own = strategy_of(learner)
            own.confidence = Changed(own.confidence, change)
        return learner

    return make


def choose_at_random(problem, clock="doubling"):
    """Makes learners that do not learn."""
    return LEARNERS["random-choice"](problem, rng=0)


MUTATIONS = {
    "conf₂ = 0": {"change": scaled(1.0, 0.0)},
    "conf₁ = 0": {"change": scaled(0.0, 1.0)},
    "no radii": {"change": scaled(0.0, 0.0)},
    "both radii halved": {"change": scaled(0.5, 0.5)},
    "conf₁ halved": {"change": scaled(0.5, 1.0)},
    "conf₂ halved": {"change": scaled(1.0, 0.5)},
    "the other theorem's radius": {"change": of_theorem_1},
    "t off by one": {"strategy": LateClock},
    "random actions": {"strategy": RandomActions},
    "conf₂ capped at 1": {"cap": "printed"},
}
KINDS = (aw.SimOOS, aw.SeqOOS)
