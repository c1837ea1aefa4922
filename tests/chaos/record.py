"""What was sent and what was answered, and every contradiction in it."""

from collections import Counter
from typing import Any, NamedTuple

import msgspec

from chaos.wire import Reply

encode = msgspec.json.Encoder().encode

PATHS = {
    "open": "cases",
    "observe": "cases/{case}/observations",
    "reward": "cases/{case}/reward",
    "cancel": "cases/{case}/cancel",
    "prices": "prices",
}
FIELDS = {"open": "open", "observe": "observations", "reward": "reward", "cancel": "cancel"}
"""What they are called in a batch."""


class Order(NamedTuple):
    """A request that is sent until it is answered, always with the same key."""

    key: str
    kind: str
    case: int
    """0 for one that is to be opened."""
    body: dict[str, Any]

    @property
    def path(self) -> str:
        """Where it is sent by itself."""
        return PATHS[self.kind].format(case=self.case)

    @property
    def item(self) -> dict[str, Any]:
        """As part of a batch."""
        where = {"case": self.case} if self.case else {}
        return {"key": self.key, **where, FIELDS[self.kind]: self.body}


class Record:
    """All that the patients know."""

    def __init__(self) -> None:
        self.sent: dict[str, Order] = {}
        self.acknowledged: dict[str, Reply] = {}
        self.refused: set[str] = set()
        self.unclear: set[str] = set()
        """Keys of requests that once got no answer."""
        self.abandoned: set[str] = set()
        """Keys of requests that were given up without an answer."""
        self.taken_for_abandoned: set[int] = set()
        """Cases that were cancelled though a patient went on, such as after a long pause."""
        self.counts: Counter[str] = Counter()
        self.contradictions: list[str] = []

    def send(self, order: Order) -> None:
        """It is on its way."""
        self.sent[order.key] = order
        self.counts["requests"] += 1

    def lose(self, order: Order) -> None:
        """No answer came."""
        self.unclear.add(order.key)
        self.counts["without an answer"] += 1

    def answer(self, order: Order, reply: Reply) -> None:
        """An answer came, which must be that of before if there was one."""
        key, status = order.key, reply.status
        if 200 <= status < 300:
            before = self.acknowledged.setdefault(key, reply)
            if before != reply:
                self.contradict(f"{key} was answered {before}, then {reply}")
        elif 400 <= status < 500:
            self.refused.add(key)
            if key in self.acknowledged:
                self.contradict(f"{key} was acknowledged, then refused: {reply}")
        elif status == 503:
            self.counts["come again"] += 1
        else:
            self.contradict(f"{key}: {reply}")

    def contradict(self, what: str) -> None:
        """What must not be."""
        self.contradictions.append(what)
