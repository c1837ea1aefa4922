"""A server that the tests of a module share."""

import pytest

from askwise.service.ledger import open_ledger
from askwise.service.replanning.replanner import Replanner
from service_calls import as_json, new_case, post
from serving import PROBLEM, served


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return str(tmp_path_factory.mktemp("server") / "ledger.db")


@pytest.fixture(scope="module")
def server(db):
    with served(db) as server:
        both = {"name": "fixed-set", "options": {"observations": ["mammogram", "mri"]}}
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": both}
        assert post(server, "/v1/projects", body).status_code == 201
        assert new_case(server)["case"] == 1  # it goes on looking
        yield server


@pytest.fixture
def replan(db):
    """Plan now, for every project that has something new."""
    ledger = open_ledger(db)
    yield Replanner(ledger).step
    ledger.close()
