"""The calls of operators, a part of the table in `api/calls.py`."""

from __future__ import annotations

from typing import Any

from askwise.service.api.administration import (
    Archiving,
    Cloning,
    Deleted,
    Deleting,
    Erased,
    Erasing,
    NewToken,
    Renaming,
    Repricing,
    Restoring,
    Revocation,
    Rotation,
    Tokens,
    TokenStory,
)
from askwise.service.api.call import CASE, ONE_TOKEN, PROJECT, Call
from askwise.service.api.messages import ProjectAnswer

LIST_TOKENS = Call(
    method="GET",
    path="/v1/tokens",
    handler="AdministrationHandlers.tokens",
    scope="admin",
    is_for_one=False,
    summary="All tokens: not what they are, but what they may do.",
    answer=Tokens,
)
CREATE_TOKEN = Call(
    method="POST",
    path="/v1/tokens",
    handler="AdministrationHandlers.create_token",
    scope="admin",
    is_for_one=False,
    summary="Make a token. The answer shows it, once.",
    body=NewToken,
    answer=TokenStory,
    status=201,
)
ROTATE_TOKEN = Call(
    method="POST",
    path=ONE_TOKEN + "/rotate",
    handler="AdministrationHandlers.rotate_token",
    scope="admin",
    is_for_one=False,
    summary="Make a token that takes the place of another. The answer shows it, once.",
    body=Rotation,
    answer=TokenStory,
    status=201,
)
REVOKE_TOKEN = Call(
    method="POST",
    path=ONE_TOKEN + "/revoke",
    handler="AdministrationHandlers.revoke_token",
    scope="admin",
    is_for_one=False,
    summary="Revoke a token.",
    body=Revocation,
    answer=TokenStory,
)
ARCHIVE_PROJECT = Call(
    method="POST",
    path=PROJECT + "/archive",
    handler="AdministrationHandlers.archive",
    scope="admin",
    is_for_one=False,
    summary="Let a project take no more requests.",
    body=Archiving,
    answer=ProjectAnswer,
)
RESTORE_PROJECT = Call(
    method="POST",
    path=PROJECT + "/restore",
    handler="AdministrationHandlers.restore",
    scope="admin",
    is_for_one=False,
    summary="Let an archived project take requests again.",
    body=Restoring,
    answer=ProjectAnswer,
)
RENAME_PROJECT = Call(
    method="POST",
    path=PROJECT + "/rename",
    handler="AdministrationHandlers.rename",
    scope="admin",
    is_for_one=False,
    summary="Give a project another name.",
    body=Renaming,
    answer=ProjectAnswer,
)
DELETE_PROJECT = Call(
    method="POST",
    path=PROJECT + "/delete",
    handler="AdministrationHandlers.delete",
    scope="admin",
    is_for_one=False,
    summary="Remove a project and all its events, for ever.",
    body=Deleting,
    answer=Deleted,
)
CLONE_PROJECT = Call(
    method="POST",
    path=PROJECT + "/clone",
    handler="AdministrationHandlers.clone",
    scope="admin",
    is_for_one=False,
    summary="Create a project that begins with what another has learned.",
    body=Cloning,
    answer=ProjectAnswer,
    status=201,
)
REPRICE_PROJECT = Call(
    method="POST",
    path=PROJECT + "/prices",
    handler="AdministrationHandlers.reprice",
    scope="admin",
    is_for_one=False,
    summary="Change prices.",
    body=Repricing,
    answer=ProjectAnswer,
)
ERASE_CASE = Call(
    method="POST",
    path=CASE + "/erase",
    handler="AdministrationHandlers.erase",
    scope="admin",
    summary="Erase a case that is over, for ever; what it added to the counters stays.",
    body=Erasing,
    answer=Erased,
)

OPERATOR_CALLS: tuple[Call[Any], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Call)
)
"""All of the above, in that order."""
