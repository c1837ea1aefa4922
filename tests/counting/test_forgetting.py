"""A world that changes: what is remembered, when something is forgotten, and that it helps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import askwise as aw
from askwise import testing
from askwise.counting import Statistics
from askwise.counting import forgetting as memories
from askwise.counting.change import Cells, contradict, largest_by_chance
from askwise.counting.forgetting import Forgetting, Knowledge
from askwise.errors import FileError, OptionError
from askwise.simulation import simulate
from askwise.simulation.environments import Population, random_model
from askwise.states import Lattice
from askwise.testing import LEARNER_CHECKS, play, see
from inside import bought, rounds_of, strategy_of

FORGETFUL = {
    "seq-oos, window": lambda problem, *, rng: aw.SeqOOS(problem, window=40, rng=rng),
    "seq-oos, sparse, both": lambda problem, *, rng: aw.SeqOOS(
        problem, window=64, detect=True, storage="sparse", rng=rng
    ),
    "sim-oos, both": lambda problem, *, rng: aw.SimOOS(problem, window=64, detect=True, rng=rng),
    "learner, both": lambda problem, *, rng: aw.Learner(problem, window=80, detect=True, rng=rng),
    "learner, sets, window": lambda problem, *, rng: aw.Learner(
        problem, acquisition="simultaneous", window=40, rng=rng
    ),
    "additive, both": lambda problem, *, rng: aw.Learner(
        problem, model="additive", window=64, detect=True, rng=rng
    ),
}


WITHOUT_FORGETTING = (testing.check_counts_each_case_once, testing.check_works_from_threads)
"""They count cases, so they switch forgetting off: other learners pass them in the same way."""

CHECKS = [check for check in LEARNER_CHECKS if check not in WITHOUT_FORGETTING]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", FORGETFUL)
def test_conformance_of_learners_that_forget(name, check):
    check(FORGETFUL[name])


# --- what is remembered --------------------------------------------------------------------------

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["open", "open", "act", "reward", "default", "correct", "cancel"]),
        st.integers(0, 9),
        st.sampled_from([0.0, 0.25, 0.7, 1.0]),
    ),
    min_size=20,
    max_size=120,
)


class Ledger:
    """A learner, and everything that was counted in it with the block it was counted in."""

    def __init__(self, kind, **options):
        self.model = random_model(np.random.default_rng(4), [2, 3, 2], max_observations=2)
        self.learner = kind(self.model.problem, rng=1, **options)
        self.rng = np.random.default_rng(2)
        self.looking, self.acted, self.rewarded = [], [], []
        self.walked, self.earned = [], {}

    def happens(self, event, which, reward):
        learner = self.learner
        waiting = {"act": self.looking, "correct": self.rewarded}.get(event, self.acted)
        if event == "open":
            self.seen(learner.open())
        elif event == "cancel" and self.looking:
            case = self.looking.pop(which % len(self.looking))
            case.cancel()
            if strategy_of(learner).acquisition.name == "sequential":  # looks are a fair sample
                self.walked.append((rounds_of(learner).forgetting.number, case, False))
        elif waiting:
            case = waiting[which % len(waiting)]
            if event == "act":
                self.looking.remove(case)
                self.seen(see(case, self.model.problem, self.model.sample(self.rng, 1)[0].tolist()))
            elif event == "correct":
                case.reward(reward, replaces=True)
                self.earned[case.id][1] = reward
            else:
                case.reward(reward) if event == "reward" else case.reward_by_default(reward)
                self.earned.setdefault(case.id, [rounds_of(learner).forgetting.number, 0.0, case])[
                    1
                ] = reward
                if event == "reward":
                    self.acted.remove(case)
                    self.rewarded.append(case)

    def seen(self, case):
        if case.action is None:
            self.looking.append(case)
        else:
            self.acted.append(case)
            self.walked.append((rounds_of(self.learner).forgetting.number, case, True))

    def recounted(self, begin, end):
        """What the blocks from `begin` to before `end` counted, from nothing."""
        fresh = Statistics(self.learner.statistics.lattice)
        for block, case, has_acted in self.walked:
            if begin <= block < end:
                if strategy_of(self.learner).acquisition.name == "simultaneous":
                    fresh.count_set(case.state_index)
                elif has_acted:
                    fresh.count_path(case.path, case.start)
                else:
                    fresh.count_steps(case.path, case.start, 0)
        for block, reward, case in self.earned.values():
            if begin <= block < end:
                fresh.count_reward(case.state_index, case.action_index, reward)
        return fresh


@pytest.mark.parametrize("detect", [False, True])
@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS, aw.baselines.NCCUCRL2, aw.Learner])
@given(EVENTS, st.sampled_from([8, 16]))
@settings(max_examples=25)
def test_what_is_remembered_is_what_the_blocks_counted(kind, detect, events, window):
    if kind is aw.baselines.NCCUCRL2 and detect:
        return  # it has no such option
    ledger = Ledger(kind, window=window, **({"detect": True} if detect else {}))
    memory, learner = rounds_of(ledger.learner).forgetting, ledger.learner
    for event in events:
        ledger.happens(*event)
        if kind is aw.Learner:  # it learns only from cases that acted
            ledger.walked = [entry for entry in ledger.walked if entry[2]]
    assert memory.length == window // 8
    assert 8 > memory.number - memory.first >= min(memory.number, 7) or detect
    whole = ledger.recounted(memory.first, memory.number + 1)
    if memory.only_rewards:
        ever = ledger.recounted(0, memory.number + 1)
        assert learner.statistics.cases == ever.cases
        assert np.array_equal(learner.statistics.visits, ever.visits)
        assert np.array_equal(learner.statistics.action_counts, whole.action_counts)
        assert np.array_equal(learner.statistics.reward_sums, whole.reward_sums)
    else:
        assert learner.statistics == whole
        for number, past in memory.pasts.items():
            assert past.statistics == ledger.recounted(memory.first, number)
    for number, block in enumerate(memory.blocks, start=memory.first):
        assert block.statistics == ledger.recounted(number, number + 1)
    held = [*memory.blocks, *memory.pasts.values()]
    for counted in (learner.statistics, *(knowledge.statistics for knowledge in held)):
        assert all(array.min() >= 0 for _, array in counted.arrays() if array.size)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=3, max_size=3))
@settings(max_examples=30)
def test_blocks_that_are_alike_are_not_forgotten(counts):
    lattice = lattice_of([3])
    block, known, memory = Statistics(lattice), Statistics(lattice), Forgetting(None, detect=True)
    for value, (bad, good) in enumerate(counts):
        add(block, value, bad, good)
    for number in range(1, 40):
        known += block
        assert not memory.end_block(Knowledge(known, {}), number * memory.length)
        assert len(memory.pasts) <= memories.SCALES
    assert memory.first == 0
    assert known.cases == 39 * block.cases


def test_only_what_came_before_the_contradiction_is_forgotten():
    lattice = lattice_of([2])
    known, memory = Statistics(lattice), Forgetting(None, detect=True)
    before, after = Statistics(lattice), Statistics(lattice)
    add(before, 0, 30, 70)
    add(after, 0, 70, 30)
    for number in range(1, 7):
        known += before
        assert not memory.end_block(Knowledge(known, {}), number * 125)
    known += after
    assert memory.end_block(Knowledge(known, {}), 7 * 125)
    assert known == after
    assert (memory.first, memory.number, list(memory.pasts)) == (6, 7, [7])
    assert not memory.replace_reward(5, 1, 0, 1.0, 0.0)


def test_a_small_change_shows_in_several_blocks():
    lattice = lattice_of([2])
    known, memory, forgot = Statistics(lattice), Forgetting(None, detect=True), []
    for number in range(1, 65):
        add(known, 0, *((50, 50) if number <= 32 else (38, 62)))
        forgot.append(memory.end_block(Knowledge(known, {}), number * 125))
    assert not any(forgot[:33])  # nor does the first block after the change show it
    assert sum(forgot) == 1
    assert known.cases == (64 - 32) * 100


def lattice_of(values):
    return Lattice(random_model(np.random.default_rng(0), values, actions=1).problem)


def add(statistics, value, bad, good):
    """Cases that bought the one observation, saw this value, and earned 0 or 1."""
    for k in range(bad + good):
        state = statistics.lattice.index({"o0": value})
        statistics.count_path([(0, state)])
        statistics.count_reward(state, 0, float(k < good))


# --- what contradicts ----------------------------------------------------------------------------


@pytest.mark.parametrize("table", [(5, 40, 90, 900), (30, 60, 10, 60), (7, 7, 450, 900)])
def test_ratios_are_those_of_the_likelihood_ratio_test(table):
    s1, n1, s2, n2 = table
    ours = Cells(*(np.array([x]) for x in table))
    counts = [[s1, n1 - s1], [s2, n2 - s2]]
    g = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    assert ours.ratios == pytest.approx([g.statistic])
    assert ours.expected == pytest.approx([g.expected_freq.min()])
    # a threshold of ours is never below that of the exact tail, and not far above it
    for chance in (1e-2, 1e-4, 1e-6):
        exact = stats.chi2.isf(chance, 1)
        assert exact <= largest_by_chance(1, chance) <= 2.2 * exact


def test_rare_outcomes_are_judged_by_the_exact_tail():
    """Of rare outcomes a normal approximation raises alarms far too often; this does not."""
    n1, n2, p = 125, 100_000, 0.008
    s1 = np.arange(60)
    ratios = Cells(s1, np.full(60, n1), np.full(60, p * n2), np.full(60, n2)).ratios
    for chance in (1e-3, 1e-5, 1e-7):
        alarms = (ratios > largest_by_chance(1, chance)) & (s1 > p * n1)
        assert stats.binom.sf(s1[alarms].min() - 1, n1, p) <= chance


@pytest.mark.parametrize("at_once", [True, False])
def test_samples_contradict_as_seldom_as_they_may(at_once):
    rng = np.random.default_rng(0)
    lattice = Lattice(random_model(rng, [2, 3], actions=2).problem)
    one, other = rng.dirichlet(np.ones(6) * 3), rng.dirichlet(np.ones(6))
    earns = rng.uniform(0.2, 0.8, 6)

    def sample(p, cases):
        counted = Statistics(lattice)
        for full in rng.choice(6, p=p, size=cases).tolist():
            seen = {"o0": full // 3, "o1": full % 3}
            counted.record(
                seen, "a0", float(rng.random() < earns[full]), acquisition=bought(at_once)
            )
        return counted

    alarms = sum(contradict(sample(one, 60), sample(one, 240), chance=0.05) for _ in range(150))
    assert alarms <= stats.binom.isf(1e-4, 150, 0.05)
    assert contradict(sample(one, 400), sample(other, 1500), chance=1e-4)
    empty = Statistics(lattice)
    assert not contradict(empty, sample(one, 50), chance=0.5)


# --- that it helps -------------------------------------------------------------------------------


def swapped(model):
    return aw.Model(model.problem, model.probability, model.reward[..., ::-1])


@pytest.mark.parametrize("kind", [aw.SeqOOS, aw.SimOOS, aw.Learner])
@pytest.mark.parametrize("options", [{"detect": True}, {"window": 800}])
def test_recovers_from_an_obvious_change(kind, options):
    problem = aw.Problem(
        observations=[aw.Observation("look", values=[0, 1], cost=0.02)], actions=["no", "yes"]
    )
    model = aw.Model(problem, [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])
    ends = []
    for learner in (kind(problem, rng=0), kind(problem, rng=0, **options)):
        simulate(learner, Population(model), steps=4_000, rng=0)
        after = simulate(learner, Population(swapped(model)), steps=1_500, rng=1)
        ends.append(after.gain[-500:].mean())
    assert rounds_of(learner).forgetting.first > 0
    assert ends[0] < 0.7
    assert ends[1] > 0.8


def test_ncc_ucrl2_forgets_rewards_but_not_what_it_saw():
    model = random_model(np.random.default_rng(1), [2, 2])
    learner = aw.baselines.NCCUCRL2(model.problem, window=80)
    play(learner, model, 1_000, np.random.default_rng(0))
    assert learner.statistics.visits[0] == learner.statistics.cases == 1_000
    assert 70 < learner.statistics.action_counts.sum() <= 80


@pytest.mark.parametrize("window", [7, 0, 8.0, True, "8"])
def test_windows_are_checked(window):
    problem = random_model(np.random.default_rng(1), [2, 2]).problem
    for kind in (aw.SeqOOS, aw.Learner, aw.baselines.NCCUCRL2):
        with pytest.raises(OptionError, match="window must be a whole number of at least 8"):
            kind(problem, window=window)


def test_a_memory_out_of_order_is_refused(tmp_path):
    model = random_model(np.random.default_rng(1), [2, 2])
    learner = aw.SeqOOS(model.problem, window=16)
    play(learner, model, 60, np.random.default_rng(0))
    for name, value in (("first", 40), ("number", 3), ("pasts", {})):
        before = getattr(rounds_of(learner).forgetting, name)
        setattr(rounds_of(learner).forgetting, name, value)
        learner.save(tmp_path / "learner")
        with pytest.raises(FileError, match="memory"):
            aw.load(tmp_path / "learner")
        setattr(rounds_of(learner).forgetting, name, before)
