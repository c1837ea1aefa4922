"""Checks for every learner on stakes, and on actions of people instead of the advice."""

from __future__ import annotations

import numpy as np

from askwise.errors import CaseError
from askwise.estimation.models import Model
from askwise.learners import BaseLearner
from askwise.learners.cases import Case
from askwise.learners.learner import rounds_of
from askwise.learners.saving import from_bytes
from askwise.testing.playing import (
    MakesLearner,
    begin,
    decisions,
    models,
    play,
    refuses,
    see,
)

STAKES = (1.0, 0.001, 3.0, 3.5, 10_000.0)


def check_takes_stakes(make: MakesLearner) -> None:
    """A stake changes what a case does, not what it costs nor what its reward says of others."""
    for model in models(make):
        learner, rng = make(model.problem, rng=16), np.random.default_rng(12)
        play(learner, model, 20, rng)
        cases = [_with_stake(learner, model, rng, stake) for stake in STAKES * 4]
        loaded = from_bytes(learner.to_bytes(), {learner.name: type(learner)})
        rounds_of(learner).forgetting = None  # what is forgotten would be missing
        before = learner.statistics.reward_sums.sum()
        for full, case in cases:
            assert loaded.cases[case.id].stake == case.stake
            for x in (case, loaded.cases[case.id]):
                see(x, model.problem, full)
                acting = model.problem.actions[x.action_index].cost
                assert x.cost == acting + x.lattice.spent(x.state_index)
            assert decisions([case]) == decisions([loaded.cases[case.id]])
            case.reward(0.5)
        assert learner.statistics.reward_sums.sum() - before == len(cases) << 29
        for bad in (0.0, -1.0, float("nan"), float("inf"), 1e300, "much", None):
            _refuses_stake(learner, model, bad)


def _with_stake(
    learner: BaseLearner, model: Model, rng: np.random.Generator, stake: float
) -> tuple[list[int], Case]:
    (full,) = model.sample(rng, 1).tolist()
    return full, learner.open(_given(model, full), stake=stake)


def _given(model: Model, full: list[int]) -> dict[str, str | int | None]:
    pairs = zip(model.problem.observations, full, strict=True)
    return {o.name: o.outcomes[x] for o, x in pairs if o.given}


def _refuses_stake(learner: BaseLearner, model: Model, stake: object) -> None:
    before = (learner.statistics.copy(), set(learner.cases), rounds_of(learner).now.opened)
    try:
        learner.open(_given(model, [0] * len(model.problem.observations)), stake=stake)  # type: ignore[arg-type]
    except CaseError as error:
        assert "stake" in str(error), f"{str(error)!r} does not name the stake"
    else:
        raise AssertionError(f"a case with a stake of {stake!r} was opened")
    assert (learner.statistics, set(learner.cases), rounds_of(learner).now.opened) == before


def _another(case: Case) -> str | None:
    """An action that is allowed and was not advised, if there is one."""
    names = case.lattice.problem.action_names
    allowed = [n for a, n in enumerate(names) if case.lattice.allows(case.state_index, a)]
    return next((name for name in reversed(allowed) if name != case.action), None)


def check_learns_nothing_from_who_knew_more(make: MakesLearner) -> None:
    """Checks that a case in which people overruled counts like an abandoned case."""
    for model in models(make):
        overruled, abandoned = make(model.problem, rng=17), make(model.problem, rng=17)
        number = 0
        for x in (overruled, abandoned):
            play(x, model, 15, np.random.default_rng(13))
        for k, full in enumerate(model.sample(np.random.default_rng(14), 20).tolist()):
            one, other = begin(overruled, full), begin(abandoned, full)
            if k % 2:
                see(one, model.problem, full)
                see(other, model.problem, full)
            action = _another(one)
            other.cancel()
            if action is None:
                one.cancel()
                continue
            number += 1
            one.act(action)
            assert (one.wanted, one.is_overruled, one.propensity) == ((), True, None)
            one.reward(float(k % 3 == 0))
        assert overruled.statistics.overrides.cases == number
        assert sum(x.rewarded for x in overruled.statistics.overrides.by_action()) == number
        assert not overruled.cases
        assert not rounds_of(overruled).looking
        runs = [play(x, model, 15, np.random.default_rng(15)) for x in (overruled, abandoned)]
        assert decisions(runs[0]) == decisions(runs[1])
        counted = zip(overruled.statistics.arrays(), abandoned.statistics.arrays(), strict=True)
        for (name, mine), (_, theirs) in counted:
            assert name in ("overruled", "unasked") or np.array_equal(mine, theirs), name


def check_counts_who_knew_no_more(make: MakesLearner) -> None:
    """Checks that actions of people who knew no more count, and that unasked values are known."""
    for model in models(make):
        learner, problem = make(model.problem, rng=18), model.problem
        play(learner, model, 20, np.random.default_rng(16))
        lattice, looks = learner.statistics.lattice, 0
        for full in model.sample(np.random.default_rng(17), 20).tolist():
            case = begin(learner, full)
            values = {
                o.name: o.outcomes[x] for o, x in zip(problem.observations, full, strict=True)
            }
            known = [lattice.observations[i].name for i in range(lattice.buyable)]
            unknown = [name for name in known if name not in case.wanted]
            if unknown and lattice.m:
                cost = case.cost
                case.observe({unknown[0]: values[unknown[0]]}, unasked=True, knew_more=False)
                looks += 1
                assert case.state[unknown[0]] == values[unknown[0]]
                assert unknown[0] not in case.wanted
                assert case.cost >= cost
            see(case, problem, full)
            assert len(case.path) <= lattice.m
            action = _another(case)
            if action is None:
                case.cancel()
                continue
            case.act(action, knew_more=False, propensity=0.5)
            state, chosen = case.acted_in, lattice.action(action)
            before = learner.statistics.count_of(state, chosen)
            case.reward(1.0)
            assert learner.statistics.count_of(state, chosen) == before + 1
            refuses(case, "reward", case.act, action)
        assert sum(learner.statistics.overrides.looks().values()) == looks
        case = begin(learner, [0] * len(problem.observations))
        refuses(case, "nothing at all", case.act, "nothing at all")
        case.cancel()
        refuses(case, "cancelled", case.act, problem.action_names[0])
