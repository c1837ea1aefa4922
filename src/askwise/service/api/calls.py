"""The table of calls: every HTTP call, with its token and its answer.

The routes (`http/routing.py`), the OpenAPI document (`api/openapi.py`) and the requests of the
client (`client/requests.py`) are all made from this table.

**Where would I add a new HTTP call?** Two places:

1. here, one more `Call`; a body or an answer of a new shape is a type in `api/messages.py`;
2. its handler, the method that `handler` names.

`DecisionHandlers` (`http/decision_handlers.py`) decides about cases. `ProjectHandlers`
(`http/project_handlers.py`) creates and lists projects. `ReportHandlers`
(`http/report_handlers.py`) reports on projects. `AdministrationHandlers`
(`http/administration_handlers.py`) is for operators. `TableHandlers` (`http/table_handlers.py`)
reads tables of past cases.

The call is then served, checked for its token, counted in the metrics and described in
/openapi.json, and `Client.call` and `AsyncClient.call` can make it. A method of the clients with
its own name and arguments is two lines in `client/client.py`.
"""

from __future__ import annotations

from typing import Any

from askwise.service.api.administration import SigningIn, TokenStory
from askwise.service.api.call import CASE, LARGEST, PROJECT, STAKE, Call
from askwise.service.api.messages import (
    Acting,
    BatchAnswer,
    BatchItem,
    Cancelling,
    CaseAnswer,
    EventLine,
    NewProject,
    Observing,
    Opening,
    PolicyAnswer,
    ProjectAnswer,
    Projects,
    Rewarding,
    Summary,
    TokenAnswer,
    WorthAnswer,
)
from askwise.service.api.operator_calls import OPERATOR_CALLS
from askwise.service.api.reports import Alarms, Cases, CaseStory, Versions
from askwise.service.api.tables import DraftAnswer, Drafting, FitAnswer, Fitting

GET_TOKEN = Call(
    method="GET",
    path="/v1/token",
    handler="ProjectHandlers.token",
    scope="",
    summary="What this token may do.",
    answer=TokenAnswer,
)
LIST_PROJECTS = Call(
    method="GET",
    path="/v1/projects",
    handler="ProjectHandlers.projects",
    scope="",
    summary="The projects that this token is for.",
    answer=Projects,
)
CREATE_PROJECT = Call(
    method="POST",
    path="/v1/projects",
    handler="ProjectHandlers.create",
    scope="admin",
    summary="Create a project. The answer shows a token for it, once.",
    body=NewProject,
    answer=ProjectAnswer,
    status=201,
)
SIGN_IN = Call(
    method="POST",
    path="/v1/sign-in",
    handler="ProjectHandlers.sign_in",
    scope="sign-in",
    summary="Change the link that the server printed for a token, once. The link is the token.",
    body=SigningIn,
    answer=TokenStory,
    status=201,
    has_key=False,
)
DRAFT_PROBLEM = Call(
    method="POST",
    path="/v1/draft",
    handler="TableHandlers.draft",
    scope="admin",
    is_for_one=False,
    summary="Draft a problem that a table of past cases fits.",
    body=Drafting,
    answer=DraftAnswer,
    has_key=False,
)
FIT_TABLE = Call(
    method="POST",
    path="/v1/fit",
    handler="TableHandlers.fit",
    scope="admin",
    is_for_one=False,
    summary="Learn from a table of past cases; a project may begin with the answer.",
    body=Fitting,
    answer=FitAnswer,
    has_key=False,
)
GET_PROJECT = Call(
    method="GET",
    path=PROJECT,
    handler="ProjectHandlers.project",
    scope="read",
    summary="A project as it stands.",
    answer=ProjectAnswer,
)
LIST_CASES = Call(
    method="GET",
    path=PROJECT + "/cases",
    handler="ReportHandlers.cases",
    scope="read",
    summary="The newest cases.",
    answer=Cases,
    query=(("before", 1, LARGEST), ("limit", 1, 500)),
)
LIST_AWAITED = Call(
    method="GET",
    path=PROJECT + "/awaited",
    handler="ReportHandlers.awaited",
    scope="read",
    summary="Cases whose reward is still awaited, the oldest first.",
    answer=Cases,
    query=(("limit", 1, 500),),
)
OPEN_CASE = Call(
    method="POST",
    path=PROJECT + "/cases",
    handler="DecisionHandlers.open",
    scope="decide",
    summary="Open a case.",
    body=Opening,
    answer=CaseAnswer,
    status=201,
)
GET_CASE = Call(
    method="GET",
    path=CASE,
    handler="ReportHandlers.case",
    scope="read",
    summary="A case as it stands.",
    answer=CaseStory,
)
OBSERVE = Call(
    method="POST",
    path=CASE + "/observations",
    handler="DecisionHandlers.observe",
    scope="decide",
    summary="Report what was bought.",
    body=Observing,
    answer=CaseAnswer,
)
ACT = Call(
    method="POST",
    path=CASE + "/acted",
    handler="DecisionHandlers.act",
    scope="decide",
    summary="Report what people did, whatever was advised.",
    body=Acting,
    answer=CaseAnswer,
)
REWARD = Call(
    method="POST",
    path=CASE + "/reward",
    handler="DecisionHandlers.reward",
    scope="decide",
    summary="Report, default or correct a reward.",
    body=Rewarding,
    answer=CaseAnswer,
)
CANCEL = Call(
    method="POST",
    path=CASE + "/cancel",
    handler="DecisionHandlers.cancel",
    scope="decide",
    summary="Abandon a case.",
    body=Cancelling,
    answer=CaseAnswer,
)
BATCH = Call(
    method="POST",
    path=PROJECT + "/batch",
    handler="DecisionHandlers.batch",
    scope="decide",
    summary="Many of those at once, each with a key of its own.",
    body=list[BatchItem],
    answer=list[BatchAnswer],
    has_key=False,
)
GET_POLICY = Call(
    method="GET",
    path=PROJECT + "/policy",
    handler="ReportHandlers.policy",
    scope="read",
    summary="The policy as a tree.",
    answer=PolicyAnswer,
    query=(("version", 1, LARGEST), STAKE),
)
LIST_VERSIONS = Call(
    method="GET",
    path=PROJECT + "/versions",
    handler="ReportHandlers.versions",
    scope="read",
    summary="The newest versions of the policy, or those planned before a moment (seconds).",
    answer=Versions,
    query=(("before", 1, LARGEST // 1_000_000), ("limit", 1, 200)),
)
GET_WORTH = Call(
    method="GET",
    path=PROJECT + "/worth",
    handler="ReportHandlers.worth",
    scope="read",
    summary="What observations are worth.",
    answer=WorthAnswer,
    query=(STAKE,),
)
GET_SUMMARY = Call(
    method="GET",
    path=PROJECT + "/summary",
    handler="ReportHandlers.summary",
    scope="read",
    summary="Gain, spend and cases, by day and by case.",
    answer=Summary,
)
LIST_ALARMS = Call(
    method="GET",
    path=PROJECT + "/alarms",
    handler="ReportHandlers.alarms",
    scope="read",
    summary="What an operator should look at.",
    answer=Alarms,
)
LIST_EVENTS = Call(
    method="GET",
    path=PROJECT + "/events",
    handler="ReportHandlers.events",
    scope="read",
    summary="All events, a line of JSON each.",
    answer=EventLine,
    content_type="application/x-ndjson",
    query=(("after", 0, LARGEST),),
)
STREAM_CHANGES = Call(
    method="GET",
    path=PROJECT + "/live",
    handler="ReportHandlers.live",
    scope="read",
    summary="What changes, as server-sent events.",
    answer=str,
    content_type="text/event-stream",
)

CALLS: tuple[Call[Any], ...] = (
    tuple(value for value in list(globals().values()) if isinstance(value, Call)) + OPERATOR_CALLS
)
"""All of the above, in that order, and those of operators (`operator_calls.py`)."""
