"""A fixed set of seeded runs as hashes: whoever moves code about sees whether a decision changed.

What is hashed is what was bought and done in each case, how likely it was, all counters, and what
is recommended in the end: by every learner, both acquisitions, with what is given and on file,
panels, failures, prices of one case, late rewards, drift, a log before the first case. Numbers are
hashed with six digits, so that another processor's last bit does not matter.

`python tests/seeded_runs.py` prints what changed against `seeded_runs.json`; `--write` accepts it.
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import askwise as aw

RECORDED = Path(__file__).with_suffix(".json")

OPTIONS = {
    "fixed-set": {"observations": ["b"]},
    "lin-ucb": {"observations": ["a", "b"]},
    "ncc-ucrl2": {"window": 80},
    "ucrl2": {"exploration": 0.05},
}
BOTH = ("learner", "psrl")
"""Learners of either acquisition."""


def plain_problem():
    return aw.Problem(
        observations=[
            aw.Observation("a", values=["no", "yes"], cost=0.04),
            aw.Observation("b", values=[0, 1, 2], cost=0.02),
            aw.Observation("c", values=["low", "high"], cost=0.01),
        ],
        actions=["wait", "treat", "refer"],
        max_observations=2,
    )


def tiny_problem():
    """So small that every whole policy can be tried."""
    return aw.Problem(
        observations=[
            aw.Observation("a", values=["no", "yes"], cost=0.04),
            aw.Observation("b", values=["no", "yes"], cost=0.02),
        ],
        actions=["wait", "treat"],
        max_observations=1,
    )


def real_problem():
    return aw.Problem(
        observations=[
            aw.Observation("a", values=["clear", "ill"], cost=0.02, fails="charged"),
            aw.Observation("age", values=["young", "old"], given=True),
            aw.Observation("b", values=["clear", "ill"], cost=0.03, fails="refunded"),
            aw.Observation("c", values=[0, 1], cost=0.005),
        ],
        actions=["wait", "treat"],
        max_observations=2,
        panels=[aw.Panel(observations=["a", "b"], fee=0.02)],
    )


def many_problem():
    observations = [aw.Observation(f"x{i}", values=["no", "yes"], cost=0.01) for i in range(12)]
    return aw.Problem(observations=observations, actions=["wait", "treat"], max_observations=3)


def population(problem, seed):
    rng = np.random.default_rng(seed)
    shape = tuple(len(o.outcomes) for o in problem.observations)
    probability = rng.dirichlet(np.ones(int(np.prod(shape))))
    reward = rng.random((*shape, len(problem.actions))).round(3)
    return aw.Model(problem, probability, reward.reshape(-1, len(problem.actions)))


def draw(model, rng, cases):
    """Full states as {name: value}, and what each action would earn, {action: reward}."""
    problem = model.problem
    for full in model.sample(rng, cases):
        pairs = zip(problem.observations, full.tolist(), strict=True)
        mean = model.reward[tuple(full)]
        earned = ((rng.random(len(mean)) < mean) * 1.0).tolist()
        values = {o.name: o.outcomes[x] for o, x in pairs}
        yield values, dict(zip(problem.action_names, earned, strict=True))


def play(learner, model, seed, cases, *, told, late=0, file=False, prices=False):
    """Cases one by one; rewards come `late` cases later, what happened is told."""
    rng, waiting = np.random.default_rng(seed), []
    given = [o.name for o in learner.problem.observations if o.given]
    for k, (values, earned) in enumerate(draw(model, rng, cases)):
        known = {name: values[name] for name in given}
        if file and k % 3 == 0:
            known["a"] = values["a"]
        own = {"b": 0.001 + 0.01 * (k % 4)} if prices and k % 5 == 0 else None
        case = learner.open(known or None, prices=own)
        bought = []
        while case.wanted:
            bought.append(sorted(case.wanted))
            if k % 17 == 16:
                break
            case.observe({name: values[name] for name in case.wanted})
        if case.wanted:
            case.cancel()
            told.append((k, bought, "cancelled"))
            continue
        waiting.append((case, earned))
        told.append((k, bought, case.action, numbers(case.propensity or ()), f"{case.cost:.6g}"))
        if len(waiting) > late:
            settle(waiting)
    while waiting:
        settle(waiting)


def settle(waiting):
    case, earned = waiting.pop(0)
    reward = earned[case.action]
    if case.id % 13 == 0:
        case.reward_by_default(0.5)
    case.reward(reward)
    if case.id % 29 == 0:
        case.reward(1.0 - reward, replaces=True)


def numbers(floats):
    return [f"{x:.6g}" for x in floats]


def counters(learner):
    s = learner.statistics
    dense = s.dense() if s.is_sparse and s.lattice.size < 10_000 else s
    arrays = [dense.action_counts, dense.reward_sums, dense.visits, dense.transitions]
    return [s.cases, *(hashlib.sha256(np.ascontiguousarray(a)).hexdigest() for a in arrays)]


def digest(told):
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def conclusion(learner):
    policy = learner.recommend()
    return [policy.tree().outline(), f"{policy.value:.5g}", counters(learner)]


def one_run(learner, model, **how):
    """Cases one by one, a compiled run, saved, loaded and gone on with, and what is learned."""
    told = []
    play(learner, model, 1, 120, told=told, **how)
    run = aw.simulate(learner, aw.environments.Population(model), steps=300, rng=2)
    told.append([run.state.tolist(), run.action.tolist(), run.reward.tolist(), run.round.tolist()])
    case = learner.open({o.name: o.outcomes[0] for o in model.problem.observations if o.given})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.askwise"
        learner.save(path)
        learner = aw.load(path)
    told.append([case.wanted, learner.cases[case.id].wanted])
    play(learner, model, 3, 60, told=told, **how)
    return digest([told, conclusion(learner)])


def make(name, problem, options):
    return aw.learners.make(name, problem, options, rng=11)


def all_runs():
    """(what it is, its hash), one after the other."""
    plain, real, many = plain_problem(), real_problem(), many_problem()
    for name in aw.learners.LEARNERS:
        if name == "policy-ucb":
            problem = tiny_problem()
            yield name, one_run(make(name, problem, {}), population(problem, 5))
            continue
        kinds = ("sequential", "simultaneous") if name in BOTH else (None,)
        for kind in kinds:
            options = OPTIONS.get(name, {}) | ({} if kind is None else {KIND: kind})
            label = name if kind is None else f"{name} {kind}"
            yield label, one_run(make(name, plain, options), population(plain, 5))
            yield (
                f"{label}, late",
                one_run(make(name, plain, options), population(plain, 6), late=7),
            )
            learner = make(name, real, options)
            how = {"late": 3, "file": True, "prices": True}
            yield f"{label}, given, panel, on file", one_run(learner, population(real, 7), **how)
    for name in ("learner", "seq-oos", "sim-oos"):
        for drift in ({"window": 96}, {"detect": True}):
            learner = make(name, plain, drift)
            yield f"{name}, {drift}", one_run(learner, population(plain, 8), late=2)
    for kind in ("sequential", "simultaneous"):
        learner = make("learner", many, {KIND: kind, "model": "additive"})
        yield f"many, {kind}", one_run(learner, population(many, 9))
        learner = make("learner", plain, {KIND: kind, "explore_budget": 3.0})
        yield f"budget, {kind}", one_run(learner, population(plain, 9))
    for clock in ("doubling", "exact"):
        for name in ("seq-oos", "sim-oos"):
            options = {"confidence": "theorem", "clock": clock, "storage": "sparse"}
            yield (
                f"{name}, theorem, {clock}",
                one_run(make(name, plain, options), population(plain, 4)),
            )
    for name, log, columns in logs(plain):
        for target in ("learner", "seq-oos"):
            learner = aw.fit(log, plain, **columns).learner(target, rng=3)
            yield f"{target} after {name}", one_run(learner, population(plain, 5))


KIND = "acquisition"
LOOKS, IN_ORDER = "acquisition", "sequential"


def logs(problem):
    """Logged decisions, and complete records."""
    model, rng = population(problem, 5), np.random.default_rng(12)
    learner = make("seq-oos", problem, {})
    run = aw.simulate(learner, aw.environments.Population(model), steps=400, rng=3, log=True)
    yield "decisions", run.frame(), {LOOKS: IN_ORDER}
    table = [(values, earned) for values, earned in draw(model, rng, 200)]
    columns = {name: [values[name] for values, _ in table] for name in table[0][0]}
    for action in problem.action_names:
        columns[action] = [earned[action] for _, earned in table]
    yield "records", columns, {}


def main():
    found = dict(all_runs())
    if "--write" in sys.argv:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    for name in found | recorded:
        if found.get(name) != recorded.get(name):
            print(f"{name}: {recorded.get(name)} became {found.get(name)}")
    print(f"{len(found)} runs")


if __name__ == "__main__":
    main()
