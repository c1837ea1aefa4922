"""What changes in a project, as server-sent events: a few numbers whenever one of them moved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from askwise.service.ledger.contract import StoredToken
from askwise.service.operations.project_store import House

LOOKS_EVERY = 0.5
"""Seconds between two looks for what changed."""

QUIET = 15.0
"""Seconds after which a stream says that it is still there."""


async def changes(
    house: House, name: str, token: StoredToken, is_closing: asyncio.Event
) -> AsyncIterator[bytes]:
    """One event at once, then one for each change, until the server closes or the token ends."""
    loop = asyncio.get_running_loop()
    before, said = b"", loop.time()
    while not is_closing.is_set() and house.tokens.is_good(token):
        project = house.projects.get(name)
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
            elif loop.time() - said > QUIET:
                said = loop.time()
                yield b": still here\n\n"
        await asyncio.sleep(LOOKS_EVERY)
