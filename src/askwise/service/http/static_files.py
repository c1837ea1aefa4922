"""The files of the dashboard, as responses."""

from __future__ import annotations

import mimetypes
from importlib import resources

from askwise.service.http.requests import Response

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)


def static_files() -> dict[str, Response]:
    """The response for each path; `/` is the page itself."""
    found = {}
    headers = (("content-security-policy", CONTENT_SECURITY_POLICY),)
    for file in resources.files("askwise.service.dashboard").joinpath("static").iterdir():
        if file.is_file() and not file.name.startswith("."):
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            if kind.startswith("text/") or kind.endswith("javascript"):
                kind += "; charset=utf-8"
            found[f"/{file.name}"] = Response(200, file.read_bytes(), kind, headers)
    found["/"] = found["/index.html"]
    return found
