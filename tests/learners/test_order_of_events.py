"""What was counted does not depend on the order in which things happened."""

import numpy as np
import pytest

from case_machines import Additive, AtOnce, AtOnceSparse, Joint, OneByOne, OneByOneSparse
from random_problems import busy_models


class Fate:
    """What becomes of one case, in a tidy way and in an untidy one."""

    def __init__(self, rng, problem, full, *, on_file):
        names = [o.name for o in problem.observations if not o.given]
        self.values = {
            o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)
        }
        self.known = {o.name: self.values[o.name] for o in problem.observations if o.given}
        if on_file and rng.random() < 0.4:
            kept = rng.permutation(names)[: rng.integers(problem.m + 1)].tolist()
            self.known |= {name: self.values[name] for name in kept}
        self.end = str(
            rng.choice(["reward", "default", "acted", "looking"], p=[0.6, 0.1, 0.1, 0.2])
        )
        self.looks = int(rng.integers(0, 3))
        """So many before it is cancelled while looking, if it is."""
        self.reward = float(rng.random())

    def tidily(self, case):
        looks = 0
        while case.wanted and not (self.end == "looking" and looks == self.looks):
            names = case.wanted[:1] if self.end == "looking" else case.wanted
            case.observe({name: self.values[name] for name in names})
            looks += 1
        if self.end == "default":
            case.reward_by_default(self.reward)
        elif self.end == "reward":
            case.reward(self.reward)
        else:
            case.cancel()

    def untidily(self, case, rng, *, shuffle):
        """The same in the end, event by event."""
        looks = 0
        while case.wanted and not (self.end == "looking" and looks == self.looks):
            names = list(case.wanted)
            if shuffle and self.end != "looking":
                rng.shuffle(names)
            if self.end == "looking" or rng.random() < 0.5:
                names = names[:1]
            if names == [case.wanted[0]] and self.values[names[0]] is None:
                case.unavailable(names[0])
            else:
                case.observe({name: self.values[name] for name in names})
            looks += 1
            yield
        if self.end in ("acted", "looking"):
            case.cancel()
            return
        for _ in range(rng.integers(0, 3)):
            case.reward_by_default(float(rng.random()))
            yield
        if self.end == "default":
            case.reward_by_default(self.reward)
            return
        for k in range(rng.integers(0, 3)):
            case.reward(float(rng.random()), replaces=k > 0)
            yield
        case.reward(self.reward, replaces=True)
        yield
        case.reward_by_default(float(rng.random()))


def in_any_order(events, rng):
    """Let the cases go on one event at a time, whichever comes next."""
    events = list(events)
    while events:
        k = int(rng.integers(len(events)))
        try:
            next(events[k])
        except StopIteration:
            events.pop(k)


def compare_orders(make, seed, *, on_file=True, shuffle=True):
    model = busy_models(20 + seed, 1, most=80)[0]
    rng = np.random.default_rng([12, seed])
    tidy, untidy = make(model.problem), make(model.problem)
    for wave in range(6):  # the next wave opens under what was learned from the last
        full = model.sample(rng, 8 * (wave + 1)).tolist()
        fates = [Fate(rng, model.problem, one, on_file=on_file) for one in full]
        left = [tidy.open(fate.known) for fate in fates]
        right = [untidy.open(fate.known) for fate in fates]
        assert [case.wanted for case in left] == [case.wanted for case in right]
        for fate, case in zip(fates, left, strict=True):
            fate.tidily(case)
        pairs = zip(fates, right, strict=True)
        in_any_order((f.untidily(case, rng, shuffle=shuffle) for f, case in pairs), rng)
        assert [(c.state, c.action) for c in left] == [(c.state, c.action) for c in right]
        assert tidy.statistics == untidy.statistics
        one, other = tidy.statistics.dense(), untidy.statistics.dense()
        for (name, mine), (_, theirs) in zip(one.arrays(), other.arrays(), strict=True):
            assert mine.tobytes() == theirs.tobytes(), name
        assert set(tidy.cases) == set(untidy.cases)


MAKERS = [
    machine.make for machine in (OneByOne, OneByOneSparse, AtOnce, AtOnceSparse, Joint, Additive)
]
IDS = ["SeqOOS", "SeqOOS sparse", "SimOOS", "SimOOS sparse", "joint", "additive"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", MAKERS, ids=IDS)
def test_any_order_of_the_same_events_gives_the_same_bits(make, seed):
    compare_orders(lambda problem: make(None, problem), seed, shuffle=False)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", MAKERS[2:4], ids=IDS[2:4])
def test_the_order_in_which_a_set_is_seen_does_not_matter(make, seed):
    compare_orders(lambda problem: make(None, problem), seed, on_file=False)


@pytest.mark.parametrize("make", MAKERS[2:4], ids=IDS[2:4])
def test_the_order_in_which_a_set_is_seen_does_not_matter_beside_a_file(make):
    for seed in range(8):
        compare_orders(lambda problem: make(None, problem), seed)
