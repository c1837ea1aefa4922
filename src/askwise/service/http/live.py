"""The changes in a project as server-sent events: a few numbers whenever one of them changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from askwise.service.backend.backend import Backend
from askwise.service.ledger.rows import StoredToken

CHECKED_EVERY = 0.5
"""Seconds between two checks for changes."""

SILENT_FOR = 15.0
"""Seconds without a change after which a stream says that it is still there."""


async def changes(
    backend: Backend, name: str, token: StoredToken, is_closing: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yields one event at once, then one for each change, until the server closes or the token
    ends.
    """
    loop = asyncio.get_running_loop()
    before, said = b"", loop.time()
    while not is_closing.is_set() and backend.tokens.is_good(token):
        project = backend.projects.get(name)
        if project is not None:
            now = msgspec.json.encode(
                {
                    "policy_version": project.version,
                    "cases": project.opened,
                    "events": project.seq,
                    "planned_events": project.watermark,
                    "plan_failure": project.failure or None,
                }
            )
            if now != before:
                before, said = now, loop.time()
                yield b"data: " + now + b"\n\n"
            elif loop.time() - said > SILENT_FOR:
                said = loop.time()
                yield b": still here\n\n"
        await asyncio.sleep(CHECKED_EVERY)
