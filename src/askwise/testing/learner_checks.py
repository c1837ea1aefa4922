"""Checks for every learner, with cases as in the paper."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from askwise.errors import FileError
from askwise.learners.learner import rounds_of
from askwise.simulation import simulate
from askwise.simulation.environments import Population, stream
from askwise.testing.playing import (
    MakesLearner,
    assert_same_future,
    begin,
    decisions,
    load_like,
    long_then_short,
    models,
    play,
    refuses,
    see,
)


def check_same_seed_same_run(make: MakesLearner) -> None:
    """Two learners with one seed decide alike."""
    for model in models(make):
        first, second = make(model.problem, rng=3), make(model.problem, rng=3)
        runs = [play(x, model, 40, np.random.default_rng(1)) for x in (first, second)]
        assert decisions(runs[0]) == decisions(runs[1])
        assert first.statistics == second.statistics


def check_saved_and_loaded_goes_on(make: MakesLearner) -> None:
    """A learner loaded from its file decides as the original does, open cases included."""
    for model, cases in long_then_short(models(make), 100, 30):
        learner = make(model.problem, rng=5)
        rng = np.random.default_rng(2)
        play(learner, model, cases, rng)
        full = model.sample(rng, 2).tolist()
        begin(learner, full[1])  # one case is still looking, another has acted
        see(begin(learner, full[0]), model.problem, full[0])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.askwise"
            learner.save(path)
            loaded = load_like(path, learner)
        assert type(loaded) is type(learner)
        assert loaded.options == learner.options
        assert loaded.problem == learner.problem
        assert loaded.statistics == learner.statistics
        assert rounds_of(loaded).now.round == rounds_of(learner).now.round
        for x in (learner, loaded):
            for case in list(x.cases.values()):
                see(case, model.problem, full[1]).reward(1.0)
        assert_same_future(learner, loaded, model)


def check_reading_changes_nothing(make: MakesLearner) -> None:
    """Whatever is read of a learner, and new counters that it makes, leave it as it was."""
    for model in models(make):
        learner = make(model.problem, rng=8)
        play(learner, model, 30, np.random.default_rng(3))
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder) / "before.askwise", Path(folder) / "after.askwise"
            learner.save(before)
            names = {name for kind in type(learner).__mro__ for name in vars(kind)}
            for name in sorted(n for n in names if isinstance(_found(learner, n), property)):
                getattr(learner, name)
            learner.recommend()
            learner.evidence()
            fresh = rounds_of(learner).new_counters()
            assert fresh.cases == 0
            assert fresh is not learner.statistics
            learner.save(after)
            assert _content(before) == _content(after)


def _content(path: Path) -> dict[str, bytes]:
    """The content of a saved learner, without the times in a zip file."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _found(learner: object, name: str) -> object:
    return getattr(type(learner), name, None)


def check_compiled_run_equals_the_face(make: MakesLearner) -> None:
    """`simulate` decides, counts and draws just as the same cases do when opened one by one."""
    for model, cases_of in long_then_short(models(make), (80, 1, 150), (25, 1, 40)):
        environment = Population(model)
        compiled, face = make(model.problem, rng=6), make(model.problem, rng=6)
        for seed, steps in enumerate(cases_of, start=1):  # begins and ends within a round
            run = simulate(compiled, environment, steps=steps, rng=seed)
            cases, rounds = [], []
            for draws in stream(environment, np.random.default_rng(seed), steps):
                for full, rewards in zip(draws.values.tolist(), draws.rewards, strict=True):
                    case = see(begin(face, full), model.problem, full)
                    rounds.append(rounds_of(face).now.round)
                    case.reward(rewards[case.action_index])
                    cases.append(case)
            assert run.state.tolist() == [case.state_index for case in cases]
            assert run.action.tolist() == [case.action_index for case in cases]
            assert run.cost.tolist() == [case.cost for case in cases]
            assert run.round.tolist() == rounds
            assert compiled.statistics == face.statistics
            assert rounds_of(compiled).now.lengths == rounds_of(face).now.lengths
            assert_same_future(compiled, face, model)


def check_buys_at_most_m_and_counts_the_cost(make: MakesLearner) -> None:
    """No case buys more than it may, nothing twice, and its cost is the sum of the prices.

    What it buys and does, it may.
    """
    for model in models(make):
        problem = model.problem
        given = sum(o.given for o in problem.observations)
        learner = make(problem, rng=7)
        for case in play(learner, model, 40, np.random.default_rng(4)):
            known = list(case.state)
            assert len(known) == len(set(known)) <= given + learner.statistics.lattice.m
            charged = {
                o.name: o.cost
                for o in problem.observations
                if o.name in case.state
                and not (o.fails == "refunded" and case.state[o.name] is None)
            }
            fees = [p.fee for p in problem.panels if charged.keys() & set(p.observations)]
            (action,) = (a for a in problem.actions if a.name == case.action)
            spent = action.cost + sum(charged.values()) + sum(fees)
            assert abs(case.cost - spent) < 1e-12
            assert {*action.requires} <= {*known}
            for observation in problem.observations:
                assert observation.name not in known or {*observation.requires} <= {*known}


def check_counts_each_case_once(make: MakesLearner) -> None:
    """Every case is one case and one reward, the reward at the exact state acted in."""
    for model in models(make):
        learner = make(model.problem, rng=8)
        rounds_of(learner).forgetting = None  # nor does it forget any
        played = play(learner, model, 40, np.random.default_rng(5))
        counted = learner.statistics.dense().action_counts
        expected = np.zeros_like(counted)
        for case in played:
            expected[case.state_index, case.action_index] += 1
        assert learner.statistics.cases == 40
        assert np.array_equal(counted, expected)
        assert not learner.cases


def check_rewards_come_in_any_order(make: MakesLearner) -> None:
    """Rewards of open cases give the same statistics whatever the order."""
    for model in models(make):
        counted = []
        for order in (1, -1):
            learner = make(model.problem, rng=9)
            rng = np.random.default_rng(6)
            play(learner, model, 20, rng)
            full = model.sample(rng, 30).tolist()
            cases = [see(begin(learner, one), model.problem, one) for one in full]
            rewards = rng.random(30).tolist()
            for case, reward in list(zip(cases, rewards, strict=True))[::order]:
                case.reward(reward)
            counted.append(learner.statistics)
        assert counted[0] == counted[1]


def check_bad_input_changes_nothing(make: MakesLearner) -> None:
    """Whatever a case cannot take raises an error that names it, and leaves all as it was."""
    for model in models(make):
        learner = make(model.problem, rng=10)
        play(learner, model, 20, np.random.default_rng(7))
        case = begin(learner, [0] * len(model.problem.observations))
        before = learner.statistics.copy()
        names = [o.name for o in model.problem.observations]
        unwanted = [name for name in names if name not in case.wanted]
        refuses(case, "nobody", case.observe, {"nobody": 1})
        for name in unwanted:
            refuses(case, name, case.observe, {name: 0})
        for name in case.wanted:
            refuses(case, "'no such value'", case.observe, {name: "no such value"})
            refuses(case, "0.5", case.observe, {name: 0.5})
        if case.wanted:
            refuses(case, case.wanted[0], case.observe, {})
            refuses(case, case.wanted[0], case.reward, 1.0)
        assert learner.statistics == before
        see(case, model.problem, [0] * len(names))
        before = learner.statistics.copy()
        for reward in (float("nan"), -0.1, 1.1, float("inf"), "1", None, True):
            refuses(case, repr(reward), case.reward, reward)
        assert learner.statistics == before
        case.reward(0.5)
        before = learner.statistics.copy()
        refuses(case, f"case {case.id}", case.reward, 0.5)
        refuses(case, f"case {case.id}", case.observe, {names[0]: 0})
        assert learner.statistics == before


def check_refuses_damaged_files(make: MakesLearner) -> None:
    """A file cut short, changed or of another kind is refused with an error that names it."""
    model = next(models(make))
    learner = make(model.problem, rng=11)
    play(learner, model, 30, np.random.default_rng(8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.askwise"
        learner.save(path)
        whole = path.read_bytes()
        damaged = [b"", b"hello", whole[: len(whole) // 2], whole[:-1]] + [
            whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
            for place in range(0, len(whole), len(whole) // 50)
        ]
        refused = 0
        for content in damaged:
            path.write_bytes(content)
            try:
                loaded = load_like(path, learner)
            except FileError as error:
                assert str(path) in str(error)
                refused += 1
            else:  # it changed a date or the like, which is not read
                assert loaded.statistics == learner.statistics
        assert refused > len(damaged) // 2


def check_works_from_threads(make: MakesLearner) -> None:
    """Cases opened, observed and rewarded from several threads are all counted."""
    for model in models(make):
        learner = make(model.problem, rng=12)
        rounds_of(learner).forgetting = None
        with _threads_taking_turns_often(), ThreadPoolExecutor(4) as pool:
            runs = [
                pool.submit(play, learner, model, 25, np.random.default_rng(seed))
                for seed in range(4)
            ]
        cases = [case for run in runs for case in run.result()]  # raises what the thread raised
        assert len({case.id for case in cases}) == 100
        assert learner.statistics.cases == int(learner.statistics.action_counts.sum()) == 100


@contextmanager
def _threads_taking_turns_often() -> Iterator[None]:
    """Has threads stop in the middle of what they do; by default they would often finish first."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def check_policy_is_frozen_and_readable(make: MakesLearner) -> None:
    """A policy does not change under later cases, cannot be written to, and prints as a tree."""
    for model in models(make):
        learner = make(model.problem, rng=13)
        policy = learner.policy
        tree, gain = policy.tree(), policy.evaluate(model)
        play(learner, model, 50, np.random.default_rng(9))
        assert policy.tree() == tree
        assert policy.evaluate(model) == gain
        assert not policy.actions.flags.writeable
        assert any(action in tree for action in model.problem.action_names)
