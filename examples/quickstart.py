"""The program of the README: a clinic learns which test is worth its price."""

import numpy as np

import askwise as aw

problem = aw.Problem(
    observations=[
        aw.Observation("mammogram", values=["low", "high"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos"], cost=9.0),
    ],
    actions=["wait", "treat"],
    reward_value=100.0,  # what a right decision is worth
)
learner = aw.Learner(problem, rng=7)

rng = np.random.default_rng(0)
for _ in range(2000):
    ill = rng.random() < 0.2  # the learner sees neither this nor the probabilities
    right = rng.random() < 0.9
    results = {"mammogram": "high" if ill == right else "low", "mri": "pos" if ill else "neg"}

    case = learner.open()
    while case.wanted:  # the names to buy now
        case.observe({name: results[name] for name in case.wanted})
    case.reward(1.0 if case.action == ("treat" if ill else "wait") else 0.0)

print(learner.recommend().tree())
