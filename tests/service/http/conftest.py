"""A server that the tests of a module share."""

import pytest

from service_calls import as_json, new_case, post
from serving import PROBLEM, served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(str(tmp_path_factory.mktemp("server") / "ledger.db")) as server:
        both = {"name": "fixed-set", "options": {"observations": ["mammogram", "mri"]}}
        body = {"name": "clinic", "problem": as_json(PROBLEM), "learner": both}
        assert post(server, "/v1/projects", body).status_code == 201
        assert new_case(server)["case"] == 1  # it goes on looking
        yield server
