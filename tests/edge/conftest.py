"""The servers that the checks share."""

import pytest

from edge.server import FEW, SHORT, edge_server


@pytest.fixture(scope="session")
def edge(tmp_path_factory):
    """`askwise serve`, with the settings that it has."""
    with edge_server(tmp_path_factory.mktemp("edge")) as server:
        yield server


@pytest.fixture(scope="session")
def hasty(tmp_path_factory):
    """A server that does not wait long for anything, and takes few connections."""
    with edge_server(tmp_path_factory.mktemp("hasty"), most_connections=FEW, **SHORT) as server:
        yield server
