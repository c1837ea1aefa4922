"""Learners whose first rewards come late."""

import askwise as aw


def test_a_learner_that_waits_for_its_first_rewards_can_be_loaded():
    """Without rewards the variances of effects wandered off, and no file of it could be read."""
    values = ["a", "b", "c"]
    late = aw.Problem(
        observations=[
            aw.Observation("age", values=values[:2], given=True),
            aw.Observation("swab", values=values[:2], cost=0.4, fails="refunded"),
            aw.Observation("blood", values=values[:2], cost=6.0),
            aw.Observation("scan", values=values, cost=40.0),
        ],
        actions=["wait", "treat"],
        reward_value=100.0,
    )
    learner = aw.Learner(late, rng=0)
    cases = []
    for k in range(500):
        case = learner.open({"age": values[k % 2]})
        while case.wanted:
            case.observe(dict.fromkeys(case.wanted, values[k // 2 % 2]))
        cases.append(case.id)
    again = aw.load(learner.to_bytes())
    for one in (learner, again):
        for k, number in enumerate(cases):
            one.cases[number].reward(float(k % 3 == 0))
    assert again.statistics == learner.statistics
    assert str(again.recommend().tree()) == str(learner.recommend().tree())
