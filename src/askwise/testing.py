"""Checks that every learner must pass, shipped for those who write their own.

    from askwise.testing import check_learner
    check_learner(MyLearner)                    # or a function (problem, *, rng) -> learner

`LEARNER_CHECKS` holds them one by one, for a parametrised test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from askwise._typing import RandomSource
from askwise.cases import Case
from askwise.environments import Population, random_model, stream
from askwise.errors import AskwiseError, CaseError, FileError
from askwise.learners import BaseLearner
from askwise.learners.saving import read
from askwise.models import Model
from askwise.problem import Observation, Panel, Problem, Value
from askwise.simulation import simulate


class MakesLearner(Protocol):
    """A learner's class, or anything called like one."""

    def __call__(self, problem: Problem, *, rng: RandomSource) -> BaseLearner:
        """A new learner for the problem."""


def play(learner: BaseLearner, model: Model, cases: int, rng: np.random.Generator) -> list[Case]:
    """Run cases drawn from the model one by one, with 0/1 rewards at once; returns them."""
    played = []
    for full in model.sample(rng, cases):
        case = see(begin(learner, full.tolist()), learner.problem, full.tolist())
        mean = model.reward[tuple(full)][case.action_index]
        case.reward(float(rng.random() < mean))
        played.append(case)
    return played


def begin(learner: BaseLearner, full: list[int]) -> Case:
    """Open a case of a full state, with what is given there."""
    observations = learner.problem.observations
    pairs = zip(observations, full, strict=True)
    return learner.open({o.name: o.outcomes[x] for o, x in pairs if o.given})


def see(case: Case, problem: Problem, full: list[int]) -> Case:
    """Show the case what it wants of a full state until it acts."""
    values: dict[str, Value | None] = {
        o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)
    }
    while case.wanted:
        case.observe({name: values[name] for name in case.wanted})
    return case


def check_learner(make: MakesLearner) -> None:
    """Run every check; the first that fails raises."""
    for check in LEARNER_CHECKS:
        check(make)


def check_same_seed_same_run(make: MakesLearner) -> None:
    """Two learners with one seed decide alike."""
    for model in _models():
        first, second = make(model.problem, rng=3), make(model.problem, rng=3)
        runs = [play(x, model, 200, np.random.default_rng(1)) for x in (first, second)]
        assert _decisions(runs[0]) == _decisions(runs[1])
        assert first.statistics == second.statistics


def check_saved_and_loaded_goes_on(make: MakesLearner) -> None:
    """A learner loaded from its file decides as the original does, open cases included."""
    for model in _models():
        learner = make(model.problem, rng=5)
        rng = np.random.default_rng(2)
        play(learner, model, 100, rng)
        full = model.sample(rng, 2).tolist()
        begin(learner, full[1])  # one case is still looking, another has acted
        see(begin(learner, full[0]), model.problem, full[0])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "learner.askwise"
            learner.save(path)
            loaded = _load(path, learner)
        assert type(loaded) is type(learner)
        assert loaded.options == learner.options
        assert loaded.problem == learner.problem
        assert loaded.statistics == learner.statistics
        assert loaded.round == learner.round
        for x in (learner, loaded):
            for case in list(x.cases.values()):
                see(case, model.problem, full[1]).reward(1.0)
        _assert_same_future(learner, loaded, model)


def check_compiled_run_equals_the_face(make: MakesLearner) -> None:
    """`simulate` decides, counts and draws just as the same cases do when opened one by one."""
    for model in _models():
        environment = Population(model)
        compiled, face = make(model.problem, rng=6), make(model.problem, rng=6)
        for steps, seed in ((150, 1), (1, 2), (400, 3)):  # begins and ends within a round
            run = simulate(compiled, environment, steps=steps, rng=seed)
            cases, rounds = [], []
            for draws in stream(environment, np.random.default_rng(seed), steps):
                for full, rewards in zip(draws.values.tolist(), draws.rewards, strict=True):
                    case = see(begin(face, full), model.problem, full)
                    rounds.append(face.round)
                    case.reward(rewards[case.action_index])
                    cases.append(case)
            assert run.state.tolist() == [case.state_index for case in cases]
            assert run.action.tolist() == [case.action_index for case in cases]
            assert run.cost.tolist() == [case.cost for case in cases]
            assert run.round.tolist() == rounds
            assert compiled.statistics == face.statistics
            _assert_same_future(compiled, face, model)


def _assert_same_future(one: BaseLearner, other: BaseLearner, model: Model) -> None:
    futures = [_decisions(play(x, model, 20, np.random.default_rng(3))) for x in (one, other)]
    assert futures[0] == futures[1]
    assert one.statistics == other.statistics
    assert one.rng.random() == other.rng.random()


def check_buys_at_most_m_and_counts_the_cost(make: MakesLearner) -> None:
    """No case buys more than it may, nothing twice, and its cost is the sum of the prices."""
    for model in _models():
        problem = model.problem
        given = sum(o.given for o in problem.observations)
        learner = make(problem, rng=7)
        for case in play(learner, model, 200, np.random.default_rng(4)):
            known = list(case.state)
            assert len(known) == len(set(known)) <= given + learner.lattice.m
            charged = {
                o.name: o.cost
                for o in problem.observations
                if o.name in case.state
                and not (o.fails == "refunded" and case.state[o.name] is None)
            }
            fees = [p.fee for p in problem.panels if charged.keys() & set(p.observations)]
            assert abs(case.cost - sum(charged.values()) - sum(fees)) < 1e-12


def check_counts_each_case_once(make: MakesLearner) -> None:
    """Every case is one case and one reward, the reward at the exact state acted in."""
    for model in _models():
        learner = make(model.problem, rng=8)
        learner.memory = None  # nor does it forget any
        played = play(learner, model, 200, np.random.default_rng(5))
        counted = learner.statistics.dense().action_counts
        expected = np.zeros_like(counted)
        for case in played:
            expected[case.state_index, case.action_index] += 1
        assert learner.statistics.cases == 200
        assert np.array_equal(counted, expected)
        assert not learner.cases


def check_rewards_come_in_any_order(make: MakesLearner) -> None:
    """Rewards of open cases give the same statistics whatever the order."""
    for model in _models():
        counted = []
        for order in (1, -1):
            learner = make(model.problem, rng=9)
            rng = np.random.default_rng(6)
            play(learner, model, 50, rng)
            full = model.sample(rng, 40).tolist()
            cases = [see(begin(learner, one), model.problem, one) for one in full]
            rewards = rng.random(40).tolist()
            for case, reward in list(zip(cases, rewards, strict=True))[::order]:
                case.reward(reward)
            counted.append(learner.statistics)
        assert counted[0] == counted[1]


def check_bad_input_changes_nothing(make: MakesLearner) -> None:
    """Whatever a case cannot take raises an error that names it, and leaves all as it was."""
    for model in _models():
        learner = make(model.problem, rng=10)
        play(learner, model, 60, np.random.default_rng(7))
        case = begin(learner, [0] * len(model.problem.observations))
        before = learner.statistics.copy()
        names = [o.name for o in model.problem.observations]
        unwanted = [name for name in names if name not in case.wanted]
        _refuses(case, "nobody", case.observe, {"nobody": 1})
        for name in unwanted:
            _refuses(case, name, case.observe, {name: 0})
        for name in case.wanted:
            _refuses(case, "'no such value'", case.observe, {name: "no such value"})
            _refuses(case, "True", case.observe, {name: True})
        if case.wanted:
            _refuses(case, case.wanted[0], case.observe, {})
            _refuses(case, case.wanted[0], case.reward, 1.0)
        assert learner.statistics == before
        see(case, model.problem, [0] * len(names))
        before = learner.statistics.copy()
        for reward in (float("nan"), -0.1, 1.1, float("inf"), "1", None, True):
            _refuses(case, repr(reward), case.reward, reward)
        assert learner.statistics == before
        case.reward(0.5)
        before = learner.statistics.copy()
        _refuses(case, f"case {case.id}", case.reward, 0.5)
        _refuses(case, f"case {case.id}", case.observe, {names[0]: 0})
        assert learner.statistics == before


def check_refuses_damaged_files(make: MakesLearner) -> None:
    """A file cut short, changed or of another kind is refused with an error that names it."""
    model = next(_models())
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
                loaded = _load(path, learner)
            except FileError as error:
                assert str(path) in str(error)
                refused += 1
            else:  # it hit a date or the like, which nobody reads
                assert loaded.statistics == learner.statistics
        assert refused > len(damaged) // 2


def check_works_from_threads(make: MakesLearner) -> None:
    """Cases opened, observed and rewarded from several threads are all counted."""
    for model in _models():
        learner = make(model.problem, rng=12)
        learner.memory = None
        with ThreadPoolExecutor(4) as pool:
            runs = [
                pool.submit(play, learner, model, 100, np.random.default_rng(seed))
                for seed in range(4)
            ]
        for run in runs:
            run.result()  # raises what the thread raised
        assert learner.statistics.cases == int(learner.statistics.action_counts.sum()) == 400


def check_policy_is_frozen_and_readable(make: MakesLearner) -> None:
    """A policy does not change under later cases, cannot be written to, and prints as a tree."""
    for model in _models():
        learner = make(model.problem, rng=13)
        policy = learner.policy
        tree, gain = policy.tree(), policy.evaluate(model)
        play(learner, model, 100, np.random.default_rng(9))
        assert policy.tree() == tree
        assert policy.evaluate(model) == gain
        assert not policy.actions.flags.writeable
        assert any(action in tree for action in model.problem.actions)


def check_what_happens_late(make: MakesLearner) -> None:
    """Defaults give way, corrections replace, and cancelled cases leave: nothing counts twice."""
    for model in _models():
        tidy, untidy = make(model.problem, rng=14), make(model.problem, rng=14)
        rng = np.random.default_rng(10)
        full = model.sample(rng, 60).tolist()
        rewards = rng.random(60).tolist()
        cases = [[see(begin(x, one), model.problem, one) for one in full] for x in (tidy, untidy)]
        for case, reward in zip(cases[0], rewards, strict=True):
            case.reward(reward)
        for k in rng.permutation(60).tolist():
            case, reward = cases[1][k], rewards[k]
            if k % 3 == 0:
                case.reward_by_default(0.25)
                assert case.id in untidy.cases
                case.reward_by_default(0.5)
                case.reward(reward)
            elif k % 3 == 1:
                case.reward(1.0 - reward)
                case.reward(reward, replaces=True)
            else:
                case.reward(reward)
                case.reward_by_default(0.75)
            assert case.earned == reward
            assert case.is_rewarded
        assert tidy.statistics == untidy.statistics
        assert not untidy.cases
        _assert_same_future(tidy, untidy, model)
        acted, looking = see(begin(untidy, full[0]), model.problem, full[0]), begin(untidy, full[1])
        before = untidy.statistics.action_counts.sum()
        for case in (acted, looking):
            case.cancel()
            _refuses(case, f"case {case.id}", case.reward, 1.0)
        assert not untidy.cases
        assert not untidy.looking
        assert untidy.statistics.action_counts.sum() == before
        play(untidy, model, 20, rng)


def check_takes_what_is_on_file(make: MakesLearner) -> None:
    """What was on file is known, costs nothing and is not bought again."""
    for model in _models():
        learner, problem = make(model.problem, rng=15), model.problem
        play(learner, model, 40, np.random.default_rng(11))
        to_buy = [o for o in problem.observations if not o.given]
        given = {o.name: o.outcomes[0] for o in problem.observations if o.given}
        if learner.lattice.m == 0:
            _refuses_to_open(learner, given | {to_buy[0].name: to_buy[0].values[0]}, "at most 0")
            continue
        for observation in to_buy:
            known: dict[str, Value | None] = {observation.name: observation.values[-1]}
            case = learner.open(given | known)
            assert case.cost == 0.0
            assert observation.name not in case.wanted
            see(case, problem, [0] * len(problem.observations))
            assert case.state[observation.name] == observation.values[-1]
            bought = [problem.observations[learner.lattice.order[i]] for i, _ in case.path]
            assert observation not in bought
            assert len(bought) < learner.lattice.m
            case.reward(1.0)
        _refuses_to_open(learner, given | {"nobody": 1}, "nobody")
        for name in given:
            without = {n: v for n, v in given.items() if n != name}
            _refuses_to_open(learner, without, name)


LEARNER_CHECKS: tuple[Callable[[MakesLearner], None], ...] = (
    check_same_seed_same_run,
    check_saved_and_loaded_goes_on,
    check_compiled_run_equals_the_face,
    check_buys_at_most_m_and_counts_the_cost,
    check_counts_each_case_once,
    check_rewards_come_in_any_order,
    check_bad_input_changes_nothing,
    check_refuses_damaged_files,
    check_works_from_threads,
    check_policy_is_frozen_and_readable,
    check_what_happens_late,
    check_takes_what_is_on_file,
)


def _load(path: Path, like: BaseLearner) -> BaseLearner:
    """Loads a learner whether or not it is in the registry."""
    return read(path, {like.name: type(like)})


def _models() -> Iterator[Model]:
    rng = np.random.default_rng(0)
    yield random_model(rng, [2, 3, 2], max_observations=2)
    yield random_model(rng, [3], actions=2, reward_value=100.0, highest_cost=10.0)
    yield random_model(rng, [2, 2, 2], max_observations=0)
    yield _from_real_life(rng)


def _from_real_life(rng: np.random.Generator) -> Model:
    """Something is given, two share a panel, one of them may fail, another is refunded then."""
    problem = Problem(
        observations=[
            Observation("lab", values=["clear"], cost=0.02, fails="charged"),
            Observation("age", values=["young", "old"], given=True),
            Observation("scan", values=["clear"], cost=0.03, fails="refunded"),
            Observation("visit", values=[0, 1], cost=0.0),
        ],
        actions=["wait", "treat"],
        max_observations=2,
        panels=[Panel(observations=["lab", "scan"], fee=0.05)],
    )
    shape = tuple(len(o.outcomes) for o in problem.observations)
    probability = rng.dirichlet(np.ones(int(np.prod(shape))))
    return Model(problem, probability, rng.random((*shape, 2)).reshape(-1, 2))


def _decisions(cases: list[Case]) -> list[tuple[tuple[tuple[int, int], ...], int]]:
    return [(tuple(case.path), case.action_index) for case in cases]


def _refuses_to_open(learner: BaseLearner, known: dict[str, Value | None], offender: str) -> None:
    before = (learner.statistics.copy(), set(learner.cases))
    try:
        learner.open(known)
    except CaseError as error:
        assert offender in str(error), f"{str(error)!r} does not name {offender}"
    else:
        raise AssertionError(f"a case with {known} was opened")
    assert (learner.statistics, set(learner.cases)) == before


def _refuses(case: Case, offender: str, attempt: Callable[[Any], None], given: object) -> None:
    before = (case.state, case.wanted, case.action, case.cost, case.is_rewarded)
    try:
        attempt(given)
    except CaseError as error:
        assert offender in str(error), f"{str(error)!r} does not name {offender}"
    except AskwiseError as error:
        raise AssertionError(f"expected a CaseError, got {error!r}") from error
    else:
        raise AssertionError(f"{offender} was accepted")
    assert (case.state, case.wanted, case.action, case.cost, case.is_rewarded) == before
