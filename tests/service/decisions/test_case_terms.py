"""Stakes and prices of single cases, and what people did, in the service: one event each."""

import gc
import threading
from functools import partial

import numpy as np
import pytest

import askwise as aw
from askwise.learners.learner import rounds_of
from askwise.learners.registry import LEARNERS
from askwise.policy.alike import PolicyBetween
from askwise.service.api.messages import Acting, Cancelling, Observing, Opening, Rewarding
from askwise.service.api.refusals import Refusal
from askwise.service.dashboard.summaries import case_story, summary
from askwise.service.decisions.case_decider import CaseDecider
from askwise.service.decisions.case_terms import Terms, policy_for
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.replanning.policy_versions import PolicyCache, PolicyVersion
from askwise.service.replanning.replanner import Replanner
from serving import (  # noqa: F401 (fixtures)
    PROBLEM,
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
)
from waiting import PATIENCE

OUTCOMES = {"mammogram": ["low", "high"], "mri": ["neg", "pos", None]}
PRICES = {"mammogram": 1.0, "mri": 9.0}


def writer_of(ledger):
    return Writer(ledger, PolicyCache(ledger))


def decider_of(ledger):
    project = ledger.project("clinic")
    return CaseDecider(project, partial(PolicyCache(ledger).version_or_thin, project.id))


class Book:
    """What happened, in plain numbers."""

    def __init__(self):
        self.done = {"wait": [], "treat": []}
        """The cases in which people did it, against advice or before it."""
        self.advised, self.actions, self.rewards = {}, {}, {}
        self.unasked = dict.fromkeys(OUTCOMES, 0)
        self.gain = 0.0

    def overruled(self):
        rows = []
        for action in ("wait", "treat"):
            cases = [n for n, a in self.actions.items() if a == action and self.advised[n] != a]
            got = [self.rewards[n] for n in cases if n in self.rewards]
            if cases:
                mean = round(sum(got) / len(got), 9) if got else None
                rows.append((action, len(cases), len(got), mean))
        return rows


def a_day(ledger, seed, steps=150):
    """Cases by plain luck, put to a writer that remembers nothing of those before now and then."""
    rng, book, cases, stakes = np.random.default_rng(seed), Book(), {}, {}
    writer, replanner = writer_of(ledger), Replanner(ledger)
    for step in range(steps):
        if step % 20 == 19:
            writer = writer_of(ledger)
        if step % 50 == 49:
            assert replanner.step() == 1
        number = int(rng.integers(1, len(cases) + 2))
        if number > len(cases) or rng.random() < 0.3:
            stake = float(rng.choice([1.0, 0.25, 8.0, 1024.0]))
            prices = {"mri": float(rng.choice([0.5, 2.0]))} if rng.random() < 0.4 else None
            answer = decoded(ask(writer, Opening(None, prices, stake)))
            number = answer["case"]
            stakes[number] = stake, PRICES | (prices or {})
        else:
            answer = one_step(writer, rng, book, cases[number], stakes[number][0])
        if answer["action"] is not None and number not in book.actions:
            book.advised.setdefault(number, answer["action"])
            book.actions[number] = answer["action"]
        cases[number] = cases.get(number, {"known": {}, "ended": False}) | answer
    return book, cases, stakes


def one_step(writer, rng, book, case, stake):
    number, unknown = case["case"], [n for n in OUTCOMES if n not in case["known"]]
    what = str(rng.choice(["observe", "observe", "unasked", "act", "reward", "cancel"]))
    if case["ended"] or (what == "cancel" and rng.random() < 0.7):
        return case
    body = None
    if what == "observe" and case["wanted"]:
        body = look(rng, case, case["wanted"], False)
    elif what == "unasked" and unknown:
        name = str(rng.choice(unknown))
        book.unasked[name] += name not in case["wanted"]
        body = look(rng, case, [name], True)
    elif what == "act":
        body = Acting(str(rng.choice(["wait", "treat"])), bool(rng.integers(2)))
        book.advised.setdefault(number, None)
        book.actions[number] = body.action
    elif what == "reward" and case["action"] is not None:
        body = Rewarding(float(rng.integers(9)) / 8)
        book.rewards[number] = body.reward
        book.gain += 100.0 * stake * body.reward
    elif what == "cancel":
        body = Cancelling()
    case["ended"] = what in ("reward", "cancel") and body is not None
    return case if body is None else decoded(ask(writer, body, number))


def look(rng, case, names, unasked):
    values = {name: OUTCOMES[name][rng.integers(len(OUTCOMES[name]))] for name in names}
    case["known"] |= values
    return Observing(values, None, unasked, bool(rng.integers(2)))


@pytest.mark.parametrize(
    ("database", "learner"),
    [
        *(("sqlite", name) for name in ("learner", "seq-oos", "sim-oos", "psrl")),
        ("postgresql", "learner"),
    ],
    indirect=["database"],
)
def test_what_happened_is_what_is_told_and_follows_from_the_events(ledger, learner):
    create(writer_of(ledger), learner=learner)
    book, cases, stakes = a_day(ledger, 5)
    decider = decider_of(ledger)
    found = summary(ledger, decider)
    told = [(row.action, row.cases, row.rewarded, row.reward) for row in found.overruled]
    assert told == book.overruled()
    assert found.unasked == {name: n for name, n in book.unasked.items() if n}
    spent = 0.0
    for number, case in cases.items():
        price = stakes[number][1]
        cost = sum(price[n] for n, x in case["known"].items() if (n, x) != ("mri", None))
        assert case["cost"] == cost
        spent += cost
        story = case_story(decider, ledger.cases(ledger.project("clinic").id, [number])[number])
        assert (story.stake, story.known) == (stakes[number][0], case["known"])
        acted = book.actions.get(number)
        assert story.overruled == (acted is not None and acted != book.advised[number])
        assert story.action == acted
    assert (found.spend, found.gain) == (spent, book.gain - spent)
    verdict = verify(ledger, "clinic")
    assert verdict.differences == []
    overruled = sum(row.cases for row in found.overruled)
    assert min(len(book.rewards), overruled, sum(book.unasked.values())) >= 1


def test_what_people_did_costs_what_it_costs(ledger):
    problem = aw.Problem(
        observations=PROBLEM.observations,
        actions=["wait", aw.Action("treat", cost=4.0), aw.Action("operate", requires=["mri"])],
        reward_value=100.0,
    )
    writer = writer_of(ledger)
    create(writer, problem=problem, learner="no-information")
    case = decoded(ask(writer, Opening()))["case"]
    refusal = ask(writer, Acting("operate"), case)
    assert (refusal.status, refusal.pointer) == (422, "#/action")
    for action, cost in (("treat", 4.0), ("wait", 0.0), ("treat", 4.0)):
        assert decoded(ask(writer, Acting(action), case))["cost"] == cost
        assert summary(ledger, decider_of(ledger)).spend == cost
    assert verify(ledger, "clinic").differences == []


def test_rewards_of_those_who_knew_more_are_not_learned_from(ledger):
    writer = writer_of(ledger)
    create(writer, learner="seq-oos")
    for knew_more in (True, False, True):
        case = decoded(ask(writer, Opening()))["case"]
        ask(writer, Acting("treat", knew_more), case)
        ask(writer, Rewarding(1.0), case)
    project = ledger.project("clinic").id
    assert sum(ledger.counter_values(project, "action_counts").values()) == 1
    (told,) = summary(ledger, decider_of(ledger)).overruled
    assert (told.action, told.cases, told.rewarded, told.reward) == ("treat", 3, 3, 1.0)


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        (Opening(stake=1e8), "#/stake", "stake must be from"),
        (Opening(prices={"mri": -1.0}), "#/prices", "'mri'"),
        (Opening(prices={"xray": 1.0}), "#/prices", "unknown observation 'xray'"),
        (Opening(prices={"mri": 1e10}), "#/prices", "at most"),
    ],
    ids=str,
)
def test_terms_that_cannot_be_are_refused(ledger, body, pointer, detail):
    writer = writer_of(ledger)
    create(writer)
    refusal = ask(writer, body)
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.pointer) == (422, pointer)
    assert detail in refusal.detail


def test_what_people_cannot_have_done_is_refused(ledger):
    writer = writer_of(ledger)
    create(writer, learner="fixed-set")
    case = decoded(ask(writer, Opening()))["case"]
    refusal = ask(writer, Acting("operate"), case)
    assert (refusal.status, refusal.pointer) == (422, "#/action")
    assert ask(writer, Acting("wait"), 99).status == 404
    ask(writer, Acting("wait"), case)
    ask(writer, Rewarding(1.0), case)
    for body in (Acting("treat"), Observing({"mri": "neg"}, unasked=True)):
        assert ask(writer, body, case).status == 409
    assert verify(ledger, "clinic").differences == []


def test_few_cases_with_a_plan_of_their_own_are_kept_in_memory(ledger, monkeypatch):
    """Each may keep a whole plan: a client that opens thousands would fill the memory."""
    monkeypatch.setattr("askwise.service.decisions.case_decider.MOST_OWN_POLICIES", 3)
    writer, prices = writer_of(ledger), [0.5 + 0.25 * k for k in range(6)]
    create(writer)
    numbers = [decoded(ask(writer, Opening(None, {"mri": p})))["case"] for p in prices]
    numbers += [decoded(ask(writer, Opening(None, None, 2.0)))["case"]]
    numbers += [decoded(ask(writer, Opening()))["case"] for _ in range(6)]
    decider = writer._find_decider("clinic")
    assert sorted(decider.cached(numbers)) == numbers[:3] + numbers[7:]
    for number in numbers:  # those that are not kept go on all the same
        assert decoded(ask(writer, Cancelling(), number))["case"] == number


def version_of(learner="learner", problem=PROBLEM, **options):
    found = LEARNERS[learner](problem, rng=1, **options)
    return PolicyVersion(1, found, found.policy)


def start_of(planned, known):
    start = planned.lattice.index(known)
    return start, planned.lattice.subset_of(start)


def test_a_case_with_values_on_file_does_not_wait_for_the_plan_of_another():
    planned, found = version_of(), []
    at = start_of(planned, {"mammogram": "low"})
    with rounds_of(planned.learner).lock:  # as it is held as long as a plan takes
        finding = threading.Thread(target=lambda: found.append(policy_for(planned, *at, Terms())))
        finding.start()
        finding.join(PATIENCE)
        assert found == [planned.policy]
    finding.join()


def test_values_in_panels_have_a_policy_of_their_own():
    panel = aw.Panel(["mammogram", "mri"], fee=5.0)
    parts = {"observations": PROBLEM.observations, "actions": PROBLEM.actions}
    planned = version_of(problem=aw.Problem(**parts, reward_value=100.0, panels=[panel]))
    at = start_of(planned, {"mammogram": "low"})
    assert policy_for(planned, *at, Terms()) is not planned.policy


@pytest.mark.parametrize("learner", ["learner", "sim-oos", "fixed-set"])
def test_policies_of_cases_that_ended_are_not_remembered(learner):
    planned = version_of(learner)
    known = [{"mammogram": "low"}, {"mammogram": "high"}, {"mri": "neg"}, {"mri": "pos"}]
    for values in known:
        at = start_of(planned, values)
        kept = policy_for(planned, *at, Terms())
        assert policy_for(planned, *at, Terms()) is kept
    del kept
    rounds_of(planned.learner).case_policies.clear()
    gc.collect()
    assert dict(planned.case_policies) == {}


def between(planned, plans):
    """A policy between those of two stakes, which are alike before anything is observed."""
    alike = np.zeros(planned.lattice.size, np.bool_)
    alike[0] = True
    found = PolicyBetween(planned.policy, alike, lambda: plans.append(1) or planned.policy)
    planned.case_policies[0, 0, (), 2.0] = found
    return found


def test_a_stake_between_two_others_is_planned_before_the_writer_has_the_case(ledger):
    policy_cache, plans = PolicyCache(ledger), []
    writer = Writer(ledger, policy_cache)
    create(writer, learner="fixed-set", observations=["mammogram", "mri"])
    project = ledger.project("clinic")
    planned = policy_cache.newest(project.id, 1)
    decider = CaseDecider(project, partial(policy_cache.version_or_thin, project.id))
    policy, opening = between(planned, plans), Opening(stake=2.0)
    ask(writer, opening)
    assert writer.in_memory("clinic", 1).may_plan
    stored = writer.in_memory("clinic", 1).stored
    for body in (Observing({"mri": "blue"}), Observing({}), Acting("wait")):
        assert decider.prepare_step(stored, body) is policy
        assert plans == []
    seen = Observing({"mammogram": "low"})
    assert decider.prepare_step(stored, seen) is policy
    assert plans == [1]
    assert decoded(ask(writer, seen, 1))["wanted"] == ["mri"]
    assert not writer.in_memory("clinic", 1).may_plan  # it follows the plan for its stake
    plans.clear()
    policy = between(planned, plans)  # as in a process that has not seen the case yet
    assert decider.prepare_step(ledger.case(project.id, 1), Cancelling()) is policy
    assert plans == [1]
    assert decoded(ask(Writer(ledger, policy_cache), Observing({"mri": "neg"}), 1))["action"]
    assert plans == [1]
    assert verify(ledger, "clinic").differences == []
