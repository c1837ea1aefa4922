"""What must hold in the end, read from outside: the export, the summary, and `ledger verify`.

The cases are followed once more here, by rules of a few lines that know nothing of the library, and
compared with what the service sums up.
"""

import random
import subprocess
import sys
from collections import Counter

import httpx
import msgspec

from askwise.service.api.messages import EventLine
from askwise.service.operations.compacting import ABANDONED
from chaos.record import Record, encode
from chaos.wire import NoAnswerError, Reply, Wire
from waiting import PATIENCE

Events = dict[str, EventLine]

FORGETS = "forget"
"""The kind of the events that the replanner writes by itself."""


class Sums(msgspec.Struct):
    """What is compared of a summary."""

    cases: int
    statuses: dict[str, int]
    reward: float
    spend: float


async def audit(
    record: Record, url: str, token: str, project: str, db: str, sample: int, rng: random.Random
) -> list[str]:
    """Everything that is wrong; nothing, if nothing was lost or doubled."""
    http = httpx.Client(
        base_url=f"{url}/v1/projects/{project}",
        headers={"authorization": f"Bearer {token}"},
        timeout=PATIENCE,
    )
    with http:
        events, wrong = exported(http)
        wrong += compare(record, events)
        summary = msgspec.json.decode(http.get("/summary").raise_for_status().content, type=Sums)
        wrong += compare_summary(events, summary)
        wire = Wire(int(url.rpartition(":")[2]), token, patience=PATIENCE)
        keys = sorted(record.acknowledged)
        wrong += await asked_again(record, wire, project, rng.sample(keys, min(sample, len(keys))))
        wire.close()
        after, _ = exported(http)
        new = [key for key in after if key not in events and after[key].kind != FORGETS]
        if new or len(events) > len(after):
            wrong.append(f"requests of before were written again: {new}")
    return wrong + verified(db)


def exported(http: httpx.Client) -> tuple[Events, list[str]]:
    """The events by their keys, and what is wrong with them by themselves."""
    events: Events = {}
    wrong = []
    decoder = msgspec.json.Decoder(EventLine)
    with http.stream("GET", "/events") as response:
        response.raise_for_status()
        for number, line in enumerate(response.iter_lines(), start=1):
            event = decoder.decode(line)
            if event.seq != number:
                wrong.append(f"event {number} is missing, found {event.seq}")
                break
            if event.key in events:
                wrong.append(f"{event.key} is there twice: {events[event.key].seq}, {event.seq}")
            events[event.key] = event
    return events, wrong


def compare(record: Record, events: Events) -> list[str]:
    """What was acknowledged, with what is there."""
    wrong = list(record.contradictions)
    for key, reply in record.acknowledged.items():
        event = events.get(key)
        if event is None:
            wrong.append(f"{key} was acknowledged and is lost: {reply}")
        elif (event.status, bytes(event.answer)) != reply:
            wrong.append(f"{key} was answered {reply}, but {bytes(event.answer)!r} is written")
    wrong += [
        f"case {case} was cancelled, but by no request"
        for case in sorted(record.taken_for_abandoned)
        if f"{ABANDONED}{case}" not in events
    ]
    refused = record.refused - record.unclear
    for key, event in events.items():
        order = record.sent.get(key)
        if event.kind == FORGETS or key.startswith(ABANDONED):
            continue
        if order is None:
            wrong.append(f"{key} was never sent")
        elif event.kind != order.kind or (order.case and event.case != order.case):
            wrong.append(f"{key} is written as {event.kind} of case {event.case}, sent: {order}")
        elif msgspec.json.decode(event.body) != order.body:
            wrong.append(f"{key} is written with another body: {bytes(event.body)!r}")
        elif key in refused:
            wrong.append(f"{key} was refused, but is there")
    return wrong


def compare_summary(events: Events, found: Sums) -> list[str]:
    """The cases followed by hand, with what the service sums up."""
    statuses: dict[int, str] = {}
    rewards: dict[int, float] = {}
    costs: dict[int, float] = {}
    for event in sorted(events.values(), key=lambda event: event.seq):
        if not event.case:
            continue  # new prices, or what is forgotten: of no case
        case, body = event.case, msgspec.json.decode(event.body)
        answer = msgspec.json.decode(event.answer)
        costs[case] = answer["cost"]
        if event.kind in ("open", "observe"):
            statuses[case] = "observing" if answer["action"] is None else "acted"
        elif event.kind == "cancel":
            statuses[case] = "cancelled"
        elif not body.get("default"):
            statuses[case], rewards[case] = "rewarded", body["reward"]
        elif statuses[case] != "rewarded":  # a default never replaces a real reward
            statuses[case], rewards[case] = "defaulted", body["reward"]
    expected = Counter(statuses.values())
    wrong = []
    if found.cases != len(statuses):
        wrong.append(f"{len(statuses)} cases were opened, the summary has {found.cases}")
    if +Counter(found.statuses) != expected:
        wrong.append(f"the events make {expected}, the summary has {found.statuses}")
    for name, by_hand, summed in (
        ("reward", sum(rewards.values()), found.reward),
        ("spend", sum(costs.values()), found.spend),
    ):
        if abs(by_hand - summed) > 1e-6 * max(1.0, abs(by_hand)):
            wrong.append(f"{name}: the events make {by_hand}, the summary has {summed}")
    return wrong


async def asked_again(record: Record, wire: Wire, project: str, keys: list[str]) -> list[str]:
    """Acknowledged keys once more, which must be answered in the same bytes."""
    wrong = []
    for key in keys:
        order = record.sent[key]
        try:
            reply = await wire.post(f"/v1/projects/{project}/{order.path}", encode(order.body), key)
        except NoAnswerError as error:
            reply = Reply(0, str(error).encode())
        if reply != record.acknowledged[key]:
            wrong.append(f"{key} was answered {record.acknowledged[key]}, in the end {reply}")
    return wrong


def verified(db: str) -> list[str]:
    """What `askwise ledger verify` says, unless that all is equal."""
    command = [sys.executable, "-m", "askwise", "ledger", "verify", "--db", db]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    is_equal = ended.returncode == 0 and ": equal" in ended.stdout
    return [] if is_equal else [f"ledger verify: {ended.stdout}{ended.stderr}"]
