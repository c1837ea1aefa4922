"""Checks for every learner, with cases as in real life."""

from __future__ import annotations

import numpy as np

from askwise.learners.learner import rounds_of
from askwise.problem import Value
from askwise.testing.playing import (
    MakesLearner,
    assert_same_future,
    begin,
    models,
    play,
    refuses,
    refuses_to_open,
    see,
)


def check_what_happens_late(make: MakesLearner) -> None:
    """Defaults give way, corrections replace, and cancelled cases leave: nothing counts twice."""
    for model in models(make):
        tidy, untidy = make(model.problem, rng=14), make(model.problem, rng=14)
        rng = np.random.default_rng(10)
        full = model.sample(rng, 30).tolist()
        rewards = rng.random(30).tolist()
        cases = [[see(begin(x, one), model.problem, one) for one in full] for x in (tidy, untidy)]
        for case, reward in zip(cases[0], rewards, strict=True):
            case.reward(reward)
        for k in rng.permutation(30).tolist():
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
        assert_same_future(tidy, untidy, model)
        acted, looking = see(begin(untidy, full[0]), model.problem, full[0]), begin(untidy, full[1])
        before = untidy.statistics.action_counts.sum()
        for case in (acted, looking):
            case.cancel()
            refuses(case, f"case {case.id}", case.reward, 1.0)
        assert not untidy.cases
        assert not rounds_of(untidy).looking
        assert untidy.statistics.action_counts.sum() == before
        play(untidy, model, 20, rng)


def check_takes_what_is_on_file(make: MakesLearner) -> None:
    """Checks that values on file are known, cost nothing and are not bought again."""
    for model in models(make):
        learner, problem = make(model.problem, rng=15), model.problem
        play(learner, model, 20, np.random.default_rng(11))
        to_buy = [o for o in problem.observations if not o.given]
        given = {o.name: o.outcomes[0] for o in problem.observations if o.given}
        if learner.statistics.lattice.m == 0:
            refuses_to_open(learner, given | {to_buy[0].name: to_buy[0].values[0]}, "at most 0")
            continue
        for observation in to_buy:
            known: dict[str, Value | None] = {observation.name: observation.values[-1]}
            case = learner.open(given | known)
            acting = [a.cost for a in problem.actions if a.name == case.action]
            assert case.cost == sum(acting)
            assert observation.name not in case.wanted
            see(case, problem, [0] * len(problem.observations))
            assert case.state[observation.name] == observation.values[-1]
            bought = [
                problem.observations[learner.statistics.lattice.order[i]] for i, _ in case.path
            ]
            assert observation not in bought
            assert len(bought) < learner.statistics.lattice.m
            case.reward(1.0)
        refuses_to_open(learner, given | {"nobody": 1}, "nobody")
        for name in given:
            without = {n: v for n, v in given.items() if n != name}
            refuses_to_open(learner, without, name)
