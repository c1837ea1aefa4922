"""Plans before the writer: batches keep few of them, and projects take turns."""

import asyncio
import threading
from types import SimpleNamespace
from weakref import WeakSet

import pytest

from askwise.service.api.messages import Acting, Cancelling, Observing, Opening, Rewarding
from askwise.service.api.refusals import Refusal
from askwise.service.backend.backend import NO_PLAN, Backend, CasePlan
from askwise.service.decisions.commit_groups import Operation
from askwise.service.decisions.stored_cases import CachedCase
from askwise.service.http import plans_ahead
from askwise.service.http.plans_ahead import PlansAhead
from waiting import PATIENCE


@pytest.fixture(autouse=True)
def any_time(monkeypatch):
    """On a busy machine a plan may take long: what follows from that has its own test."""
    monkeypatch.setattr(plans_ahead, "LONGEST", PATIENCE)


class Policy:
    """Something that can be counted as long as it is kept."""


class Writes:
    """Takes the place of the writer: it notes what is submitted, and which plans there are then."""

    def __init__(self, live):
        self.live, self.parts, self.refuses_from = live, [], 99
        self.found_by_case = {}

    def submit(self, jobs, render):
        if len(self.parts) >= self.refuses_from:
            raise Refusal(503, "the server is shutting down, nothing was written", retry=1)
        self.parts.append([job.key for job in jobs])
        for policy in self.live:
            self.found_by_case.setdefault(policy.key, set()).add(policy.version)
        future = asyncio.get_running_loop().create_future()
        future.set_result(render([f"answer {job.key}" for job in jobs]))
        return future


class Planner:
    """Takes the place of the backend: it notes what is planned, and when."""

    def __init__(self, size=10_000_000):
        self.size, self.version, self.order, self.most = size, 1, [], 0
        self.live = WeakSet()
        self.looked_up = []
        self.before = lambda stake: None
        """What happens meanwhile, before the case with this stake is planned."""
        self.writer = SimpleNamespace(in_memory=lambda project, case: None)
        self.deciders = {name: self.decider(name) for name in ("one", "other")}

    def decider(self, name):
        return SimpleNamespace(
            project=SimpleNamespace(name=name),
            lattice=SimpleNamespace(size=100_000),
            needs_own_policy=lambda body: body.stake != 1.0,
        )

    def plan_opening(self, decider, body):
        self.before(body.stake)
        policy = Policy()
        policy.key, policy.version = body.stake, self.version
        self.live.add(policy)
        self.most = max(self.most, len(self.live))
        self.order.append((decider.project.name, body.stake))
        return CasePlan(policy, self.version, self.size)

    def cases_to_plan(self, decider, numbers):
        self.looked_up += sorted(numbers)
        return {}


def opening(k, project="one"):
    return Operation(project, f"key {k}", 0, Opening(stake=float(k)))


def run(asked):
    return asyncio.run(asyncio.wait_for(asked(), PATIENCE))


def test_a_batch_keeps_few_plans_and_is_written_in_order():
    planner = Planner(size=plans_ahead.MOST_BYTES // 4)
    writes = Writes(planner.live)
    jobs = [opening(k) for k in range(2, 42)]

    async def asked():
        plans = PlansAhead(planner, None, writes)
        return await plans.submit(jobs, tuple)

    assert run(asked) == tuple(f"answer {job.key}" for job in jobs)
    assert [key for part in writes.parts for key in part] == [job.key for job in jobs]
    assert len(writes.found_by_case) == len(jobs)  # each was kept until it was written
    assert planner.most <= 6
    assert len(writes.parts) == 8


def test_cases_on_the_usual_terms_wait_for_no_plan_but_keep_their_place():
    planner = Planner(size=1)
    writes = Writes(planner.live)
    jobs = [opening(1 if k % 2 else k + 2) for k in range(6)]

    async def asked():
        return await PlansAhead(planner, None, writes).submit(jobs, tuple)

    assert len(run(asked)) == 6
    assert [key for part in writes.parts for key in part] == [job.key for job in jobs]
    assert [stake for _, stake in planner.order] == [2, 4, 6]


def test_plans_that_have_become_old_are_written(monkeypatch):
    monkeypatch.setattr(plans_ahead, "LONGEST", 0.25)
    planner = Planner(size=1)
    writes = Writes(planner.live)

    async def asked():
        plans = PlansAhead(planner, None, writes)
        now = plans._loop.time()
        clock = iter(range(1000))
        plans._loop = SimpleNamespace(
            time=lambda: now + next(clock), run_in_executor=plans._loop.run_in_executor
        )
        return await plans.submit([opening(k) for k in range(2, 6)], tuple)

    assert len(run(asked)) == 4
    assert len(writes.parts) == 4


def test_plans_by_a_version_that_has_passed_are_made_again_and_not_kept():
    planner = Planner(size=1)
    writes = Writes(planner.live)

    def publish(stake):
        if stake == 4.0:
            planner.version = 2

    planner.before = publish

    async def asked():
        jobs = [opening(k) for k in range(2, 6)]
        return await PlansAhead(planner, None, writes).submit(jobs, tuple)

    run(asked)
    assert writes.found_by_case == {2.0: {2}, 3.0: {2}, 4.0: {2}, 5.0: {2}}
    assert planner.most <= 4


def test_projects_take_turns():
    planner = Planner(size=1)
    writes = Writes(planner.live)
    begun, go_on = threading.Event(), threading.Event()

    def wait(stake):
        begun.set()
        assert go_on.wait(PATIENCE)

    planner.before = wait

    async def asked():
        plans = PlansAhead(planner, None, writes)
        many = [plans.submit([opening(k) for k in range(2, 12)], tuple)]
        many += [plans.submit([opening(k)], tuple) for k in range(20, 25)]
        many = [asyncio.ensure_future(asked) for asked in many]
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        other = asyncio.ensure_future(plans.submit([opening(99, "other")], tuple))
        await asyncio.sleep(0)
        go_on.set()
        assert await other == ("answer key 99",)
        await asyncio.gather(*many)

    run(asked)
    place = [project for project, _ in planner.order].index("other")
    assert place <= 2
    assert len(planner.order) == 16


def test_each_request_of_a_batch_has_its_own_answer_if_the_server_stops_meanwhile():
    planner = Planner(size=plans_ahead.MOST_BYTES)
    writes = Writes(planner.live)
    writes.refuses_from = 1

    async def asked():
        plans = PlansAhead(planner, None, writes)
        results = await plans.submit([opening(k) for k in range(2, 6)], tuple)
        assert plans._bytes == 0
        writes.refuses_from = 0
        with pytest.raises(Refusal):
            await plans.submit([opening(2)], tuple)
        assert plans._bytes == 0
        return results

    *written, third, fourth = run(asked)
    assert written == ["answer key 2", "answer key 3"]
    assert writes.parts == [["key 2", "key 3"]]
    assert (third.status, fourth.status) == (503, 503)


def test_a_late_reward_is_not_looked_up():
    planner = Planner()
    writes = Writes(planner.live)
    bodies = [Rewarding(1.0), Cancelling(), Rewarding(0.5), Acting("wait"), Observing({"a": "b"})]
    jobs = [Operation("one", f"key {k}", k + 1, body) for k, body in enumerate(bodies)]

    async def asked():
        return await PlansAhead(planner, None, writes).submit(jobs, tuple)

    run(asked)
    assert planner.looked_up == [2, 4, 5]


def test_a_case_in_memory_is_planned_for_where_its_policy_has_no_plan_yet():
    planner, planned = Planner(), []
    writes = Writes(planner.live)
    kept = {1: ("first", False), 2: ("second", True), 3: ("third", True)}
    planner.writer.in_memory = lambda project, case: CachedCase(*kept[case])
    planner.plan_step = lambda decider, *step: planned.append(step) or NO_PLAN
    seen = Observing({"a": "b"})
    jobs = [Operation("one", f"key {k}", k, body) for k, body in enumerate([seen] * 2, 1)]
    jobs.append(Operation("one", "key 3", 3, Acting("wait")))

    async def asked():
        return await PlansAhead(planner, None, writes).submit(jobs, tuple)

    assert len(run(asked)) == 3
    assert planned == [("second", seen)]
    assert planner.looked_up == []


def test_what_cannot_be_planned_is_left_to_the_writer():
    decider = SimpleNamespace(project=SimpleNamespace(id=1, version=1))
    backend = SimpleNamespace(policy_cache=SimpleNamespace(newest=lambda *_: 1 / 0))

    def fails(case, body=None):
        raise ValueError(case)

    decider.prepare_step = decider.plans_for = fails
    assert Backend.plan_opening(backend, decider, Opening(stake=2.0)) is NO_PLAN
    assert Backend.plan_step(backend, decider, "case", Cancelling()) is NO_PLAN
    backend.ledger = SimpleNamespace(cases=lambda project, numbers: dict.fromkeys(numbers, "case"))
    assert Backend.cases_to_plan(backend, decider, [1, 2]) == {}
    decider.plans_for = lambda case: True
    assert Backend.cases_to_plan(backend, decider, [1, 2]) == {1: "case", 2: "case"}
