"""Patients who send everything that can be sent, a fifth of it twice, and old requests late.

Each holds several cases at a time and goes on with any of them. What it does next depends on its
own seed and on the answers; when the server dies meanwhile, it sends the same request again.
"""

import asyncio
import contextlib
import random

import msgspec

import askwise as aw
from askwise.service.api.messages import CaseAnswer
from chaos.record import Order, Record, encode
from chaos.wire import NoAnswerError, Reply, Wire

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("age", values=["young", "old"], given=True),
        aw.Observation("mammogram", values=["low", "mid", "high"], cost=1.0),
        aw.Observation("mri", values=["neg", "pos"], cost=9.0, fails="refunded"),
        aw.Observation("biopsy", values=["neg", "pos"], cost=20.0),
    ],
    actions=["wait", "watch", "treat"],
    reward_value=100.0,
)
VALUES = {o.name: list(o.values) for o in PROBLEM.observations}

TWICE = 0.2
"""The part of all requests that is sent again though it was answered."""

GIVEN_UP = 0.02
"""The part of the requests without an answer that is not sent again."""

PAUSE = 0.1
"""Seconds before a request without an answer is sent again."""


class Item(msgspec.Struct):
    """The answer to a part of a batch."""

    status: int
    answer: msgspec.Raw = msgspec.Raw(b"")
    problem: msgspec.Raw = msgspec.Raw(b"")


class Held:
    """A case, as far as the patient knows."""

    def __init__(self) -> None:
        self.number = 0
        self.wanted: tuple[str, ...] = ()
        self.is_acted = self.is_rewarded = False


class Patient:
    """One of many."""

    def __init__(
        self, name: str, seed: int, project: str, wires: tuple[Wire, Wire], held: int
    ) -> None:
        self.name = name
        self.rng = random.Random(seed)
        self._base = f"/v1/projects/{project}"
        self._wire, self._other_wire = wires
        self._held = [Held() for _ in range(held)]
        self._late: list[Order] = []
        self._orders = 0

    async def live(self, record: Record, stop: asyncio.Event) -> None:
        """Send until told to stop; then send what is late, and end."""
        self._record = record
        while not stop.is_set():
            if self._late and self.rng.random() < TWICE / 2:
                await self._send_late()
            elif self.rng.random() < 0.1:
                await self._send_batch()
            else:
                await self._send_next()
        while self._late:
            await self._send_late()
        self._wire.close()
        self._other_wire.close()

    # --- what to send ----------------------------------------------------------------------------

    def _next(self, case: Held) -> Order:
        rng, number = self.rng, case.number
        if not number:
            known = {"age": rng.choice(VALUES["age"])}
            if rng.random() < 0.1:
                known["mammogram"] = rng.choice(VALUES["mammogram"])
            return self._order("open", 0, {"known": known})
        luck = rng.random()
        if case.is_rewarded:
            return self._order("reward", number, {"reward": rng.random(), "replaces": True})
        if luck < 0.04:
            return self._order("cancel", number, {})
        if case.wanted and luck > 0.06:  # else a reward that comes too early
            values = {name: self._seen(name) for name in case.wanted}
            is_cheap = "mammogram" in values and rng.random() < 0.1
            paid = {"paid": {"mammogram": 0.5}} if is_cheap else {}
            return self._order("observe", number, {"values": values, **paid})
        default = {"default": True} if rng.random() < 0.2 else {}
        return self._order("reward", number, {"reward": rng.random(), **default})

    def _seen(self, name: str) -> str | None:
        if name == "mri" and self.rng.random() < 0.1:
            return None
        return self.rng.choice(VALUES[name])

    def _order(self, kind: str, case: int, body: dict) -> Order:
        self._orders += 1
        return Order(f"{self.name}-{self._orders}", kind, case, body)

    def _learn(self, place: int, order: Order, reply: Reply | None) -> None:
        """Go on from the answer; without one, or when the case is over, begin another."""
        case = self._held[place]
        if reply is None or order.kind == "cancel":
            self._held[place] = Held()
        elif reply.status < 300:
            answer = msgspec.json.decode(reply.body, type=CaseAnswer)
            case.number, case.wanted = answer.case, answer.wanted
            case.is_acted = answer.action is not None
            if order.kind == "reward" and "default" not in order.body:
                is_over = case.is_rewarded or self.rng.random() < 0.8
                case.is_rewarded = True
                if is_over:
                    self._held[place] = Held()
        elif reply.status == 409 and b"cancelled" in reply.body:  # the audit looks whether it was
            self._record.taken_for_abandoned.add(case.number)
            self._held[place] = Held()
        elif order.kind != "reward":  # a reward that came too early is refused, as it should be
            self._record.contradict(f"{order} was refused: {reply}")
            self._held[place] = Held()

    # --- sending ---------------------------------------------------------------------------------

    async def _send_next(self) -> None:
        place = self.rng.randrange(len(self._held))
        order = self._next(self._held[place])
        luck = self.rng.random()
        if luck < TWICE / 2:
            self._record.counts["at the same time"] += 1
            reply, _ = await asyncio.gather(
                self._ask(order, self._wire), self._ask(order, self._other_wire)
            )
        else:
            reply = await self._ask(order, self._wire)
            if luck < TWICE:
                self._late.append(order)
        self._learn(place, order, reply)

    async def _send_late(self) -> None:
        """A request of before, when its case may have gone on long since; or another in its key."""
        order = self._late.pop(self.rng.randrange(len(self._late)))
        if order.key not in self._record.acknowledged:
            return
        if self.rng.random() < 0.1:
            other = order._replace(kind="reward", case=order.case or 1, body={"reward": 0.123})
            with contextlib.suppress(NoAnswerError):
                reply = await self._send(other, self._wire)
                self._record.counts["another body"] += 1
                if reply.status not in (409, 503):
                    self._record.contradict(f"the key of {order} was taken for {other}: {reply}")
            return
        self._record.counts["again later"] += 1
        await self._ask(order, self._wire)

    async def _send_batch(self) -> None:
        """The next request of every case at once; what was not answered is sent again by itself."""
        orders = [self._next(case) for case in self._held]
        known = [order for order in self._late if order.key in self._record.acknowledged]
        again = self.rng.sample(known, min(len(known), 2))
        for order in (*orders, *again):
            self._record.send(order)
        self._late += [order for order in orders if self.rng.random() < TWICE]
        parts: list[Reply | None] = [None] * len(orders)
        try:
            body = encode([order.item for order in (*orders, *again)])
            reply = await self._wire.post(f"{self._base}/batch", body)
        except NoAnswerError:
            for order in (*orders, *again):
                self._record.lose(order)
        else:
            self._record.counts["batches"] += 1
            self._record.counts["again in a batch"] += len(again)
            parts = _parts(reply, len(orders) + len(again))
            for order, part in zip((*orders, *again), parts, strict=True):
                self._record.answer(order, part)
        for place, (order, part) in enumerate(zip(orders, parts, strict=False)):
            is_open = part is None or part.status >= 500
            self._learn(place, order, await self._ask(order, self._wire) if is_open else part)

    async def _ask(self, order: Order, wire: Wire) -> Reply | None:
        """Send it until there is an answer; now and then, give up."""
        while True:
            reply = await self._post(order, wire)
            if reply is None and self.rng.random() < GIVEN_UP:
                self._record.abandoned.add(order.key)
                return None
            if reply is not None:
                self._record.answer(order, reply)
                if reply.status < 500:
                    return reply
            await asyncio.sleep(PAUSE)

    async def _post(self, order: Order, wire: Wire) -> Reply | None:
        self._record.send(order)
        try:
            return await self._send(order, wire)
        except NoAnswerError:
            self._record.lose(order)
            return None

    async def _send(self, order: Order, wire: Wire) -> Reply:
        return await wire.post(f"{self._base}/{order.path}", encode(order.body), order.key)


def _parts(reply: Reply, size: int) -> list[Reply]:
    """The answer to each part of a batch."""
    if reply.status != 200:
        return [reply] * size
    items = msgspec.json.decode(reply.body, type=list[Item])
    return [Reply(item.status, bytes(item.answer) + bytes(item.problem)) for item in items]
