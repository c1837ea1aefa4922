"""From a log to a server: a project that begins with what a learner knows."""

import numpy as np
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.errors import LedgerError, OptionError
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.decisions.creation import creation_from_learner
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from inside import now_of, strategy_of
from serving import ask, decoded

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("mammogram", values=["low", "high"], cost=1),
        aw.Observation("mri", values=["neg", "pos"], cost=9),
    ],
    actions=["wait", "treat"],
    reward_value=100,
)


def log(n=2000):
    rng = np.random.default_rng(0)
    ill = rng.random(n) < 0.2
    right = rng.random(n) < 0.9
    return {
        "mammogram": np.where(ill == right, "high", "low").tolist(),
        "mri": np.where(ill, "pos", "neg").tolist(),
        "best": np.where(ill, "treat", "wait").tolist(),
    }


@pytest.fixture(name="ledger")
def ledger_fixture(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    yield ledger
    ledger.close()


def plan_now(ledger, name):
    replanner = Replanner(ledger)
    assert replanner.plan(ledger.project(name), ledger.take_lease("test").fence)


def test_what_a_learner_knew_stays_known(ledger):
    learner = aw.fit(log(), PROBLEM, label="best").learner(rng=1)
    before = learner.statistics.cases
    _, creation = creation_from_learner("key", "clinic", learner)
    policy_cache = PolicyCache(ledger)
    writer = Writer(ledger, policy_cache)
    assert writer.commit([creation])[0].status == 201
    for k in range(30):
        answer = decoded(ask(writer, Opening()))
        while answer["wanted"]:
            seen = {name: {"mammogram": "low", "mri": "neg"}[name] for name in answer["wanted"]}
            answer = decoded(ask(writer, Observing(seen), answer["case"]))
        ask(writer, Rewarding(1.0), answer["case"])
        if k % 10 == 9:
            plan_now(ledger, "clinic")
    project = ledger.project("clinic")
    planned = policy_cache.version(project.id, project.version)
    assert project.version == 4
    assert planned.learner.statistics.cases == before + 30
    assert now_of(planned.learner).t == before + 31
    assert not verify(ledger, "clinic").differences
    assert (
        planned.learner.recommend().tree()
        == aw.fit(log(), PROBLEM, label="best").recommend().tree()
    )


def test_many_observations_keep_their_tallies(ledger):
    names = [f"o{i}" for i in range(12)]
    problem = aw.Problem(
        observations=[aw.Observation(n, values=[0, 1], cost=1) for n in names],
        actions=["a", "b"],
        max_observations=2,
        reward_value=10,
    )
    learner = aw.Learner(problem, rng=0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        case = learner.open()
        while case.wanted:
            case.observe({name: int(rng.integers(2)) for name in case.wanted})
        case.reward(float(rng.random()))
    before = {name: array.copy() for name, array in strategy_of(learner).tallies().items()}
    Writer(ledger, PolicyCache(ledger)).commit([creation_from_learner("k", "many", learner)[1]])
    plan_now(ledger, "many")
    again = PolicyCache(ledger).version(ledger.project("many").id, 2).learner
    for name, array in strategy_of(again).tallies().items():
        assert (array == before[name]).all()
    assert again.statistics.cases == 50


def test_what_cannot_be_served_is_refused(ledger, tmp_path):
    with pytest.raises(OptionError, match="'random-choice' cannot be served"):
        creation_from_learner("k", "p", aw.baselines.RandomChoice(PROBLEM))
    with pytest.raises(OptionError, match="project 'a b'"):
        creation_from_learner("k", "a b", aw.SeqOOS(PROBLEM))
    assert ledger.projects() == []


def test_the_command_line_creates_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    aw.fit(log(), PROBLEM, label="best").learner().save("clinic.askwise")
    run = CliRunner().invoke
    result = run(app, ["ledger", "create", "clinic", "clinic.askwise"])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("clinic: askw_")
    with pytest.raises(LedgerError, match="there is a project 'clinic' already, choose another"):
        run(app, ["ledger", "create", "clinic", "clinic.askwise"], catch_exceptions=False)
    assert run(app, ["ledger", "verify"]).output.endswith("equal\n")
