"""The simulated patients of `askwise serve --demo`."""

import threading
import time
from functools import partial

from askwise.service.dashboard.summaries import awaited, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.replay import verify
from askwise.service.ledger import open_ledger
from askwise.service.operations.demo import AWAITED, PROJECT, SimulatedPatients
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.settings import Settings
from waiting import PATIENCE


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
