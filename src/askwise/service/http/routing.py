"""The router finds the call of a path, and the names in the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from askwise.service.api.call import Call
from askwise.service.api.refusals import Refusal
from askwise.service.http.requests import Handler, Request, Target, segments

PROJECT, CASE = 2, 4
"""Where the project and the case stand in /v1/projects/{project}/cases/{case}."""


class Route(NamedTuple):
    """A call that can be answered."""

    path: str
    scope: str
    handler: Handler
    is_for_one: bool
    """Whether a token for one project may ask it there."""


class Router:
    """Finds the route of a request, with one lookup in a dictionary."""

    def __init__(self, calls: Sequence[Call[Any]], find: Callable[[str], Handler]) -> None:
        self._by_shape: dict[tuple[str, ...], dict[str, Route]] = {}
        for call in calls:
            route = Route(call.path, call.scope, find(call.handler), call.is_for_one)
            methods = self._by_shape.setdefault(_shape(call.path[1:].split("/")), {})
            methods[call.method] = route

    def find(self, request: Request) -> tuple[Route, Target]:
        """The route of a request, and what its path names; a refusal if there is none."""
        parts = segments(request.path)
        methods = self._by_shape.get(_shape(parts))
        if methods is None:
            raise Refusal(404, "there is nothing at this path", "path")
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            raise wrong_method(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
        case = 0
        if len(parts) > CASE:
            case = _case_number(parts[CASE])
        name = parts[PROJECT] if len(parts) > PROJECT else ""
        if parts[1] == "tokens":  # which may be called like a project
            return route, Target("", case, token_id=name)
        return route, Target(name, case)


def wrong_method(allowed: list[str]) -> Refusal:
    """The refusal of a request whose path takes other methods."""
    return Refusal(405, f"expected {' or '.join(allowed)}", allowed=allowed)


def _shape(parts: list[str]) -> tuple[str, ...]:
    """A path without the names in it."""
    return tuple("" if k in (PROJECT, CASE) else part for k, part in enumerate(parts))


def _case_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and 0 < int(text) <= 2**53):
        raise Refusal(404, f"there is no case {text[:40]!r}", "path:case")
    return int(text)
