"""One table of calls: the routes, the document and the client all follow from it."""

import asyncio
from typing import get_type_hints

import pytest

from askwise.service.api.call import Call
from askwise.service.api.calls import CALLS
from askwise.service.api.openapi import document
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import Backend
from askwise.service.client.client import AsyncClient, Client
from askwise.service.client.requests import ClientRequest
from askwise.service.http.administration_handlers import AdministrationHandlers
from askwise.service.http.decision_handlers import DecisionHandlers
from askwise.service.http.handlers import Handlers
from askwise.service.http.project_handlers import ProjectHandlers
from askwise.service.http.report_handlers import ReportHandlers
from askwise.service.http.requests import Request
from askwise.service.http.routing import Router
from askwise.service.http.table_handlers import TableHandlers
from askwise.service.settings import Settings

HANDLERS = (
    AdministrationHandlers,
    DecisionHandlers,
    ProjectHandlers,
    ReportHandlers,
    TableHandlers,
)


def by_name(calls):
    return pytest.mark.parametrize("call", calls, ids=lambda call: call.name)


def is_handler(method):
    hints = get_type_hints(method) if callable(method) else {}
    return hints.get("request") is Request and "return" in hints


def test_every_handler_has_a_call_and_every_call_has_a_handler():
    written = {
        f"{group.__name__}.{name}"
        for group in HANDLERS
        for name, method in vars(group).items()
        if not name.startswith("_") and is_handler(method)
    }
    assert written == {call.handler for call in CALLS}
    assert len({call.name for call in CALLS}) == len(CALLS)
    assert len({(call.method, call.path) for call in CALLS}) == len(CALLS)


@by_name(CALLS)
def test_what_the_client_sends_is_routed_to_its_call(call):
    router = Router(CALLS, find=lambda name: name)
    sent = ClientRequest(
        call, project="a b/ä%", case=7, token="x/y", query={"limit": 3, "before": None}
    )
    path, _, query = sent.path.partition("?")
    route, target = router.find(Request(sent.method, path, query, {}))
    assert route.handler == call.handler
    assert route.scope == call.scope
    assert target.project == ("a b/ä%" if "{project}" in call.path else "")
    assert target.case == (7 if "{case}" in call.path else 0)
    assert query == "limit=3"
    assert ("idempotency-key" in sent.headers) == (call.method == "POST")


@by_name(CALLS)
def test_the_document_describes_it(call):
    operation = document()["paths"][call.path][call.method.lower()]
    assert operation["operationId"] == call.name
    assert ("requestBody" in operation) == (call.body is not None)
    assert list(operation["responses"][str(call.status)]["content"]) == [call.content_type]
    named = {p["name"] for p in operation["parameters"] if p["in"] == "query"}
    assert named == {name for name, *_ in call.query}


def test_a_path_that_no_call_has_is_refused():
    router = Router(CALLS, find=lambda name: name)
    for path, method, status in (
        ("/v1/nothing", "GET", 404),
        ("/v1/projects/p/cases/x", "GET", 404),
        ("/v1/projects/p/worth", "POST", 405),
    ):
        with pytest.raises(Refusal) as refused:
            router.find(Request(method, path, "", {}))
        assert refused.value.status == status


def test_handlers_are_found_by_the_names_of_the_table(tmp_path):
    async def find():
        backend = Backend(Settings(db=str(tmp_path / "ledger.db")))
        handlers = Handlers(backend)
        found = [handlers.find(call.handler).__qualname__ for call in CALLS]
        handlers.close()
        backend.ledger.close()
        return found

    assert asyncio.run(find()) == [call.handler for call in CALLS]


def test_both_clients_have_the_same_calls():
    def public(client):
        return {name for name in vars(client) if not name.startswith("_")}

    assert public(Client) == public(AsyncClient)


def test_a_call_of_the_table_needs_no_method_of_the_client():
    answer = b'{"scope": "read", "project": null}'
    call = Call(
        method="GET",
        path="/v1/new",
        handler="ProjectHandlers.new",
        scope="",
        summary="",
        answer=dict[str, str | None],
    )
    request = ClientRequest(call)
    assert (request.method, request.path) == ("GET", "/v1/new")
    assert request.read(200, answer) == {"scope": "read", "project": None}
