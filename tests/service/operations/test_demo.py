"""The simulated patients of `askwise serve --demo`."""

import threading
import time
from functools import partial

import msgspec
import pytest
from typer.testing import CliRunner

from askwise.cli import app
from askwise.errors import LedgerError
from askwise.service.dashboard.summaries import awaited, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.operations.demo import (
    AWAITED,
    COST,
    PROJECT,
    SimulatedPatients,
    check_project,
)
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.settings import Settings
from askwise.simulation.environments import breast_cancer
from serving import create
from waiting import PATIENCE


def test_a_project_of_that_name_with_another_problem_is_left_alone(tmp_path):
    db = str(tmp_path / "ledger.db")
    ledger = open_ledger(db)
    create(Writer(ledger, PolicyCache(ledger)), PROJECT)
    tokens = ledger.tokens()
    patients = SimulatedPatients(Settings(db=db))
    with pytest.raises(LedgerError, match="another problem"):
        patients.run()
    patients._backend.ledger.close()
    result = CliRunner().invoke(app, ["serve", "--demo", "--db", db, "--port", "0"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert isinstance(result.exception, LedgerError)
    assert "rename the project" in str(result.exception)
    assert ledger.project(PROJECT).opened == 0
    assert ledger.tokens() == tokens
    ledger.close()


def test_a_demo_with_other_prices_goes_on(tmp_path):
    db = str(tmp_path / "ledger.db")
    ledger, model = open_ledger(db), breast_cancer(cost=COST, max_observations=4)
    create(Writer(ledger, PolicyCache(ledger)), PROJECT, model.problem)
    check_project(ledger)
    project, name = ledger.project(PROJECT), model.problem.observations[0].name
    other = msgspec.json.encode(model.problem.priced({name: 2.5}))
    with ledger.transaction() as transaction:
        transaction.change_project(project._replace(problem=other))
    check_project(ledger)
    ledger.close()


def test_simulated_patients_come_at_once_and_none_is_left_without_its_result(tmp_path):
    db = str(tmp_path / "ledger.db")
    patients = SimulatedPatients(Settings(db=db))
    thread = threading.Thread(target=patients.run)
    thread.start()
    ledger = open_ledger(db)

    def awaits():
        project = ledger.project(PROJECT)
        return 0 if project is None else len(awaited(ledger, project.id, 500))

    deadline = time.monotonic() + PATIENCE
    while awaits() < AWAITED and time.monotonic() < deadline:
        time.sleep(0.05)
    patients.stop()
    thread.join(PATIENCE)
    project = ledger.project(PROJECT)
    decider = CaseDecider(project, partial(PolicyCache(ledger).version_or_thin, project.id))
    found = summary(ledger, decider)
    assert found.cases >= AWAITED
    assert found.statuses["rewarded"] == found.cases
    assert awaits() == 0
    assert verify(ledger, PROJECT).differences == []
    ledger.close()
