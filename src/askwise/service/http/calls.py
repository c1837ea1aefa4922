"""The calls, once: the routing table and the OpenAPI document are both made from this list."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from askwise import __version__
from askwise._support.documents import prepare
from askwise.service.http.messages import (
    BatchItem,
    Cancelling,
    CaseAnswer,
    CaseStory,
    EventLine,
    NewProject,
    Observing,
    Opening,
    PolicyAnswer,
    ProblemDetails,
    ProjectAnswer,
    Rewarding,
    Summary,
    TokenAnswer,
    WorthAnswer,
)

P = "/v1/projects/{project}"
C = P + "/cases/{case}"


class Projects(msgspec.Struct):
    """All projects."""

    projects: list[ProjectAnswer]


class Cases(msgspec.Struct):
    """Some cases, in the order that was asked for."""

    cases: list[CaseStory]


class BatchAnswer(msgspec.Struct, omit_defaults=True):
    """What one request of a batch was answered."""

    status: int
    answer: CaseAnswer | None = None
    problem: ProblemDetails | None = None


class Call(NamedTuple):
    """One call of the service."""

    method: str
    path: str
    handler: str
    """The method of `Routes`."""
    scope: str
    """Empty: any token that is good."""
    says: str
    answers: Any
    status: int = 200
    body: Any = None
    kind: str = "application/json"
    query: tuple[tuple[str, int, int], ...] = ()
    """Whole numbers: name, least, most."""


CALLS = (
    Call("GET", "/v1/token", "token", "", "What this token may do.", TokenAnswer),
    Call("GET", "/v1/projects", "projects", "", "The projects that this token is for.", Projects),
    Call(
        "POST",
        "/v1/projects",
        "create",
        "admin",
        "Create a project. The answer shows a token for it, once.",
        ProjectAnswer,
        201,
        NewProject,
    ),
    Call("GET", P, "project", "read", "A project as it stands.", ProjectAnswer),
    Call(
        "GET",
        P + "/cases",
        "cases",
        "read",
        "The newest cases.",
        Cases,
        query=(("before", 1, 2**53), ("limit", 1, 500)),
    ),
    Call(
        "GET",
        P + "/awaited",
        "awaited",
        "read",
        "Cases whose reward is still awaited, the oldest first.",
        Cases,
        query=(("limit", 1, 500),),
    ),
    Call("POST", P + "/cases", "open", "decide", "Open a case.", CaseAnswer, 201, Opening),
    Call("GET", C, "case", "read", "A case as it stands.", CaseStory),
    Call(
        "POST",
        C + "/observations",
        "observe",
        "decide",
        "Report what was bought.",
        CaseAnswer,
        200,
        Observing,
    ),
    Call(
        "POST",
        C + "/reward",
        "reward",
        "decide",
        "Report, default or correct a reward.",
        CaseAnswer,
        200,
        Rewarding,
    ),
    Call("POST", C + "/cancel", "cancel", "decide", "Abandon a case.", CaseAnswer, 200, Cancelling),
    Call(
        "POST",
        P + "/batch",
        "batch",
        "decide",
        "Many of those at once, each with a key of its own.",
        list[BatchAnswer],
        200,
        list[BatchItem],
    ),
    Call(
        "GET",
        P + "/policy",
        "policy",
        "read",
        "The policy as a tree.",
        PolicyAnswer,
        query=(("version", 1, 2**53),),
    ),
    Call("GET", P + "/worth", "worth", "read", "What observations are worth.", WorthAnswer),
    Call(
        "GET",
        P + "/summary",
        "summary",
        "read",
        "Gain, spend and cases, by day and by case.",
        Summary,
    ),
    Call(
        "GET",
        P + "/events",
        "events",
        "read",
        "All events, a line of JSON each.",
        EventLine,
        kind="application/x-ndjson",
        query=(("after", 0, 2**53),),
    ),
    Call(
        "GET",
        P + "/live",
        "live",
        "read",
        "What changes, as server-sent events.",
        str,
        kind="text/event-stream",
    ),
)


_STATUS = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
_READY = _STATUS | {
    "properties": {
        "status": {"type": "string"},
        "warnings": {"type": "array", "items": {"type": "string"}},
    }
}
WATCHING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "/healthz": ("Whether it runs.", "application/json", _STATUS),
    "/readyz": ("Whether it can decide: 503 and why, if not.", "application/json", _READY),
    "/metrics": ("For Prometheus; needs the scope read.", "text/plain", {"type": "string"}),
}
"""What whoever looks after the service asks: path, what it says, and how."""


def document(*, authenticates: bool = True) -> dict[str, Any]:
    """The OpenAPI document; where tokens are switched off, it says so."""
    types = [call.answers for call in CALLS] + [c.body for c in CALLS if c.body is not None]
    types.append(ProblemDetails)
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    # the end of a text is \Z in Python and $ in the patterns of a schema
    components = msgspec.json.decode(msgspec.json.encode(components).replace(rb"\\Z", b"$"))
    answers = dict(zip(range(len(CALLS)), schemas, strict=False))
    bodies = iter(schemas[len(CALLS) :])
    paths: dict[str, Any] = {}
    for k, call in enumerate(CALLS):
        body = next(bodies) if call.body is not None else None
        paths.setdefault(call.path, {})[call.method.lower()] = _operation(call, body, answers[k])
    for path, (says, kind, schema) in WATCHING.items():
        paths[path] = {"get": _watching(path, says, kind, schema)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "askwise", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _plain(components),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if authenticates else [],
    }


_REFUSED = {
    "description": "Refused; nothing was changed.",
    "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
    },
}


def _operation(call: Call, body: Any, answer: Any) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in (
            ("project", {"type": "string", "minLength": 1, "maxLength": 64}),
            ("case", {"type": "integer", "minimum": 1, "maximum": 2**53}),
        )
        if f"{{{name}}}" in call.path
    ]
    parameters += [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": {"type": "integer", "minimum": least, "maximum": most},
        }
        for name, least, most in call.query
    ]
    if call.method == "POST" and call.handler != "batch":
        key = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}
        parameters.append(
            {"name": "Idempotency-Key", "in": "header", "required": True, "schema": key}
        )
    operation = {
        "operationId": call.handler,
        "summary": call.says,
        "description": f"Needs {f'the scope {call.scope}' if call.scope else 'a token'}.",
        "parameters": parameters,
        "responses": {
            str(call.status): {
                "description": "As asked.",
                "content": {call.kind: {"schema": _plain(answer)}},
            },
            "default": _REFUSED,
        },
    }
    if body is not None:
        content = {"application/json": {"schema": _plain(body)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _watching(path: str, says: str, kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    operation = {
        "operationId": path[1:],
        "summary": says,
        "responses": {
            "200": {"description": "As asked.", "content": {kind: {"schema": schema}}},
            "default": _REFUSED,
        },
    }
    return operation if path == "/metrics" else operation | {"security": []}


def _plain(schema: Any) -> Any:
    """Without defaults that JSON cannot write."""
    if isinstance(schema, dict):
        return {
            key: _plain(value)
            for key, value in schema.items()
            if not (key == "default" and isinstance(value, float) and not math.isfinite(value))
        }
    return [_plain(item) for item in schema] if isinstance(schema, list | tuple) else schema


prepare(Projects, Cases, BatchAnswer)
