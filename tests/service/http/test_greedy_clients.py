"""Clients with a token that take more than their share: little in must not cost much."""

import json
import secrets

import numpy as np
import pytest

import askwise as aw
from askwise.service.api.messages import Opening
from askwise.service.api.refusals import LONGEST, Refusal
from askwise.service.decisions.writer import Writer
from askwise.service.http.bodies import check_depth
from askwise.service.ledger import open_ledger
from askwise.service.replanning import policy_versions as policies
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.service.replanning.replanner import Replanner
from service_calls import as_json, get, post, send
from serving import PROBLEM, ask, create, served


@pytest.mark.parametrize("end", [b"", b'"', b"\\", b'\\"'])
def test_a_text_that_does_not_end_is_looked_through_once(end):
    """Looked through again from every quote, this would take hours."""
    body = b'{"name":"' + b'\\"' * 500_000 + end
    with pytest.raises(Refusal, match="nested deeper"):
        check_depth(body)
    check_depth(b'["' + b'\\"[' * 100_000 + b'"]')  # brackets in a text do not count


@pytest.fixture(name="server", scope="module")
def server_fixture(tmp_path_factory):
    many = [
        aw.Observation(f"{'x' * 150}{k}", values=["a", "b"], cost=1.0, other="b")
        for k in range(200)
    ]
    problem = aw.Problem(observations=many, actions=["wait", "treat"], max_observations=1)
    with served(str(tmp_path_factory.mktemp("greedy") / "ledger.db")) as server:
        for name, one in (("many", problem), ("clinic", PROBLEM)):
            assert post(server, "/v1/projects", {"name": name, "problem": as_json(one)}).is_success
        yield server


def test_a_refusal_is_short_however_much_there_is_to_name(server):
    items = [{"key": secrets.token_hex(8), "open": {"known": {"z": "a"}}} for _ in range(50)]
    answer = post(server, "/v1/projects/many/batch", items)
    assert {item["status"] for item in answer.json()} == {422}
    assert len(answer.content) < 50 * 3 * LONGEST


def test_what_is_seen_is_no_longer_than_a_value_may_be(server):
    name = f"{'x' * 150}0"
    path = "/v1/projects/many/cases"
    assert post(server, path, {"known": {name: "y" * 200}}).status_code == 201
    refused = post(server, path, {"known": {name: "y" * 201}})
    assert refused.status_code == 422
    assert "200" in refused.json()["detail"]


def test_the_body_of_a_request_that_only_reads_is_not_kept(server):
    head = f"Host: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Length: 1000000"
    answer = server.raw(f"GET /v1/token HTTP/1.1\r\n{head}\r\n\r\n".encode() + b"x" * 1000)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer


def test_a_body_that_is_packed_is_refused(server):
    path = "/v1/projects/clinic/cases"
    content = json.dumps({}).encode()
    packed = send(server, "POST", path, content, content_encoding="gzip", idempotency_key="packed")
    assert packed.status_code == 415
    assert get(server, "/v1/projects/clinic").json()["cases"] == 0


def test_versions_at_hand_are_bounded_by_their_bytes(tmp_path, monkeypatch):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer, replanner = Writer(ledger, PolicyCache(ledger)), Replanner(ledger)
    create(writer)
    for _ in range(12):
        ask(writer, Opening())
        replanner.step()
    newest = ledger.project("clinic").version
    assert newest > 5
    policy_cache = PolicyCache(ledger)
    policy_cache.prepare(1, newest)
    largest = max(policy_cache._sizes.values())
    monkeypatch.setattr(policies, "MOST_BYTES", 3 * largest)
    for _ in range(2):
        for version in range(1, newest + 1):
            assert policy_cache.version(1, version).version == version
    assert len(policy_cache._kept) <= 5
    assert (1, newest) in policy_cache._kept
    assert policy_cache._sizes.keys() == policy_cache._kept.keys()
    ledger.close()


def test_prices_of_one_case_are_not_worked_out_for_all_subsets():
    """There may be 500,000 of them, and every case that tells what it paid has its own prices."""
    names = [f"o{k}" for k in range(30)]
    problem = aw.Problem(
        observations=[aw.Observation(n, values=["a", "b"], cost=1.5) for n in names],
        actions=["wait", "treat"],
        max_observations=2,
        reward_value=100.0,
        panels=[aw.Panel(observations=names[:10], fee=0.3)],
    )
    lattice = aw.states.Lattice(problem)
    own = lattice.priced({"o3": 2.7})
    states = np.random.default_rng(0).integers(lattice.size, size=200).tolist()
    alone = [own.spent(state) for state in states]
    assert "subset_costs" not in own.__dict__
    assert alone == own.costs_of(np.array(states)).tolist()  # the same bits
    assert alone == [own.spent(state) for state in states]
