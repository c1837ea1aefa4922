"""The OpenAPI document, made from the table of calls and the types of the messages."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from askwise import __version__
from askwise.service.api.call import LARGEST, Call
from askwise.service.api.calls import CALLS
from askwise.service.api.messages import ProblemDetails

_STATUS = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
_READY = _STATUS | {
    "properties": {
        "status": {"type": "string"},
        "warnings": {"type": "array", "items": {"type": "string"}},
    }
}
MONITORING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "/healthz": ("Whether it runs.", "application/json", _STATUS),
    "/readyz": ("Whether it can decide: 503 and why, if not.", "application/json", _READY),
    "/metrics": ("For Prometheus; needs the scope read.", "text/plain", {"type": "string"}),
}
"""The paths for monitoring, outside of /v1: path → summary, content type, schema of the answer."""


def document(*, authenticates: bool = True) -> dict[str, Any]:
    """The OpenAPI document; where tokens are switched off, it says so."""
    types = [call.answer for call in CALLS] + [c.body for c in CALLS if c.body is not None]
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
    for path, (summary, content_type, schema) in MONITORING.items():
        paths[path] = {"get": _monitoring(path, summary, content_type, schema)}
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


def _number(least: float, most: float) -> dict[str, object]:
    kind = "integer" if isinstance(least, int) else "number"
    return {"type": kind, "minimum": least, "maximum": most}


def _operation(call: Call[Any], body: Any, answer: Any) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in (
            ("project", {"type": "string", "minLength": 1, "maxLength": 64}),
            ("case", {"type": "integer", "minimum": 1, "maximum": LARGEST}),
            ("token", {"type": "string", "pattern": "^[0-9a-f]{12}$"}),
        )
        if f"{{{name}}}" in call.path
    ]
    parameters += [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": _number(least, most),
        }
        for name, least, most in call.query
    ]
    if call.method == "POST" and call.has_key:
        key = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}
        parameters.append(
            {"name": "Idempotency-Key", "in": "header", "required": True, "schema": key}
        )
    operation = {
        "operationId": call.name,
        "summary": call.summary,
        "description": f"Needs {f'the scope {call.scope}' if call.scope else 'a token'}.",
        "parameters": parameters,
        "responses": {
            str(call.status): {
                "description": "As asked.",
                "content": {call.content_type: {"schema": _plain(answer)}},
            },
            "default": _REFUSED,
        },
    }
    if body is not None:
        content = {"application/json": {"schema": _plain(body)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _monitoring(
    path: str, summary: str, content_type: str, schema: dict[str, Any]
) -> dict[str, Any]:
    operation = {
        "operationId": path[1:],
        "summary": summary,
        "responses": {
            "200": {"description": "As asked.", "content": {content_type: {"schema": schema}}},
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
