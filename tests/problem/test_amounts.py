"""How large an amount may be, wherever one is told; and that no sum of them loses a unit."""

import json
import math
import secrets

import numpy as np
import pytest

import askwise as aw
from askwise.counting import PAID_UNIT
from askwise.errors import (
    AskwiseError,
    FileError,
    LedgerError,
    OptionError,
    ProblemError,
    StatisticsError,
)
from askwise.problem.amounts import LARGEST_AMOUNT, LARGEST_SUM, LEAST_AMOUNT, LEAST_REWARD_VALUE
from askwise.service.api.messages import Observing, Opening
from askwise.service.dashboard.summaries import summary
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.ledger.rows import Head, Increment
from askwise.service.replanning.policy_versions import PolicyCache
from askwise.simulation.environments import random_model
from serving import (  # noqa: F401 (fixtures)
    ask,
    create,
    database_fixture,
    decoded,
    ledger_fixture,
    postgres_fixture,
    served,
)

TOO_LARGE = [1e14, 8.7e12, 1e308, 1e9 * (1 + 2**-50), 10**10, np.float64(2e9)]
NO_AMOUNT = [math.nan, math.inf, -math.inf, -1, -1e-320, True, np.True_, "3", None, [1]]


def problem(cost=9.0, fee=1.0, reward_value=100.0):
    return aw.Problem(
        observations=[
            aw.Observation("mri", values=["neg", "pos"], cost=cost),
            aw.Observation("age", values=["old", "young"], cost=1.0),
        ],
        actions=["wait", "treat"],
        reward_value=reward_value,
        panels=[aw.Panel(observations=["mri", "age"], fee=fee)],
    )


@pytest.mark.parametrize("amount", [3e-7, 9.99e-7, 5e-324, np.float64(1e-9)])
@pytest.mark.parametrize("field", ["cost", "fee"])
def test_what_would_be_counted_as_free_is_refused_with_a_remedy(field, amount):
    with pytest.raises(ProblemError, match=field) as caught:
        problem(**{field: amount})
    for words in ("0 or at least 0.000001", repr(amount), "smaller unit of the currency"):
        assert words in str(caught.value)


def test_the_least_amount_is_counted():
    learner = aw.Learner(problem(cost=1e-6, fee=0.0))
    with pytest.raises(ProblemError, match=r"'mri': cost must be 0 or at least"):
        learner.reprice({"mri": 3e-7})
    assert learner.problem.observations[0].cost == 1e-6
    assert round(1e-6 / PAID_UNIT) == 1


@pytest.mark.parametrize("amount", TOO_LARGE + NO_AMOUNT)
@pytest.mark.parametrize("field", ["cost", "fee", "reward_value"])
def test_what_is_no_amount_or_too_large_a_one_is_refused_by_its_name(field, amount):
    with pytest.raises(ProblemError, match=field) as caught:
        problem(**{field: amount})
    if any(amount is one for one in TOO_LARGE):
        assert "1,000,000,000" in str(caught.value)
        assert "in another unit of the currency" in str(caught.value)


@pytest.mark.parametrize("amount", [0, -0.0, LEAST_AMOUNT, 2**-19, LARGEST_AMOUNT, 10**9])
def test_every_other_amount_is_taken(amount):
    made = problem(cost=amount, fee=amount)
    kept = made.observations[0].cost, made.panels[0].fee
    assert kept == (amount, amount)
    assert not any(math.copysign(1.0, one) < 0 for one in kept)  # −0.0 is 0.0


@pytest.mark.parametrize("value", [1e-320, 9.9e-10, 0, -0.0])
def test_a_reward_value_that_is_next_to_nothing_is_refused(value):
    with pytest.raises(ProblemError, match="reward_value must be"):
        problem(reward_value=value)
    assert problem(reward_value=LEAST_REWARD_VALUE).reward_value == LEAST_REWARD_VALUE


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize("line", ["cost", "fee", "reward_value"])
def test_a_problem_file_is_refused_with_the_place_and_the_bound(tmp_path, suffix, line):
    path = tmp_path / f"problem{suffix}"
    problem(**{line: 12345.0}).save(path)
    path.write_text(path.read_text().replace("12345.0", "1.0e+14"))
    with pytest.raises(FileError, match=rf"{line} must be .*1,000,000,000.*1e\+14|100000000000000"):
        aw.Problem.load(path)


@pytest.mark.parametrize("amount", TOO_LARGE + NO_AMOUNT)
def test_prices_that_are_told_later_have_the_same_bound(amount):
    learner = aw.baselines.FixedSet(problem(), observations=["mri"])
    with pytest.raises(ProblemError, match="'mri': cost"):
        learner.reprice({"mri": amount})
    with pytest.raises(ProblemError, match="'mri': cost"):
        learner.open(prices={"mri": amount})
    case, before = learner.open(), learner.statistics.copy()
    with pytest.raises(AskwiseError, match="paid: observation 'mri'"):
        case.observe({"mri": "neg"}, paid={"mri": amount})
    assert (learner.statistics, case.cost, case.wanted) == (before, 0.0, ("mri",))


def test_a_whole_number_beyond_every_float_is_refused():
    with pytest.raises(ProblemError, match="cost must be a finite number"):
        problem(cost=10**400)
    with pytest.raises(OptionError, match="explore_budget must be"):
        aw.Learner(problem(), explore_budget=10**400)


@pytest.mark.parametrize("budget", [1e308, 2 * LARGEST_SUM, math.nan, -1, True, "1"])
def test_a_budget_is_bounded_too(budget):
    with pytest.raises(OptionError, match="explore_budget must be a number from 0 to"):
        aw.Learner(problem(), explore_budget=budget)
    aw.Learner(problem(reward_value=LEAST_REWARD_VALUE), explore_budget=LARGEST_SUM).open()


def test_merged_payments_never_overflow():
    lattice = aw.states.Lattice(problem())
    half = aw.Statistics(lattice)
    half.paid_sums[0], half.paid_counts[0] = round(0.6 * LARGEST_SUM / PAID_UNIT), 1000
    total = aw.Statistics(lattice) + half
    with pytest.raises(StatisticsError, match="paid for 'mri': at most 1,099,511,627,776 fit"):
        total += half
    assert total == half


@pytest.mark.parametrize("plan", ["sequential", "simultaneous"])
def test_worth_is_finite_at_the_bounds(plan):
    """Break-even prices may be larger than any amount that can be told."""
    for beta, cost in [(LARGEST_AMOUNT, LARGEST_AMOUNT), (LEAST_REWARD_VALUE, LARGEST_AMOUNT)]:
        model = random_model(np.random.default_rng(5), [2, 3])
        told = aw.Problem(
            observations=[
                aw.Observation(o.name, values=o.values, cost=cost * 1e-3 if k else cost)
                for k, o in enumerate(model.problem.observations)
            ],
            actions=model.problem.actions,
            reward_value=beta,
        )
        known = aw.worth(aw.Model(told, model.probability, model.reward), acquisition=plan)
        free = aw.worth(
            aw.Model(told.priced(dict.fromkeys(("o0", "o1"), 0.0)), model.probability, model.reward)
        )
        assert all(math.isfinite(row.gain) and math.isfinite(row.without) for row in known)
        assert free.gain <= beta


# --- the service ---------------------------------------------------------------------------------


def test_a_request_with_too_large_an_amount_is_refused_and_the_project_goes_on(tmp_path):
    with served(str(tmp_path / "ledger.db")) as server:

        def post(path, body):
            key = {"idempotency-key": secrets.token_hex(8)}
            bearer = {"authorization": f"Bearer {server.token}"}
            return server.http.post(path, json=body, headers=key | bearer)

        body = {
            "name": "clinic",
            "problem": {
                "observations": [{"name": "mri", "values": ["neg", "pos"], "cost": 1.0}],
                "actions": ["wait", "treat"],
            },
            "learner": {"name": "fixed-set", "options": {"observations": ["mri"]}},
        }
        for field, text in [("cost", "1e14"), ("cost", "8.7e12"), ("reward_value", "1e308")]:
            bad = json.loads(json.dumps(body))
            place = bad["problem"]["observations"][0] if field == "cost" else bad["problem"]
            place[field] = float(text)
            refused = post("/v1/projects", bad)
            assert refused.status_code == 422
            assert f"{field} must be" in refused.json()["detail"]
            assert "another unit" in refused.json()["detail"]
        assert post("/v1/projects", body).status_code == 201
        case = post("/v1/projects/clinic/cases", {}).json()["case"]
        path = f"/v1/projects/clinic/cases/{case}/observations"
        refused = post(path, {"values": {"mri": "neg"}, "paid": {"mri": 1e14}})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "#/paid")
        assert post(path, {"values": {"mri": "neg"}, "paid": {"mri": 1e9}}).status_code == 200
        for what in ("policy", "worth", "summary"):
            found = server.http.get(
                f"/v1/projects/clinic/{what}", headers={"authorization": f"Bearer {server.token}"}
            )
            assert found.status_code == 200


DEAR = aw.Problem(
    observations=[aw.Observation("mri", values=["neg", "pos"], cost=LARGEST_AMOUNT)],
    actions=["wait", "treat"],
    panels=[aw.Panel(observations=["mri"], fee=LARGEST_AMOUNT - k) for k in range(199)],
)


def test_no_sum_of_what_was_spent_is_too_large_for_a_counter(ledger):
    """A counter of 2⁻²⁰ in 63 bits is full at 8.8e12; these cases spend 1e13 in a day."""
    writer, cases = Writer(ledger, PolicyCache(ledger)), 50
    create(writer, problem=DEAR, learner="fixed-set", observations=["mri"])
    cost = LARGEST_AMOUNT + sum(panel.fee for panel in DEAR.panels)
    for _ in range(cases):
        number = decoded(ask(writer, Opening()))["case"]
        assert decoded(ask(writer, Observing({"mri": "neg"}), number))["cost"] == cost
    assert cases * cost > 2**63 * PAID_UNIT
    found = summary(ledger, writer._find_decider("clinic"))
    assert found.spend == cases * cost  # to the unit: all of it are whole numbers
    assert sum(block.spend for block in found.blocks) == cases * cost
    counters = ledger.snapshot(ledger.project("clinic").id).counters
    assert {type(row.amount) for row in counters} == {int}
    assert verify(ledger, "clinic").differences == []


def test_a_counter_that_is_full_is_refused_and_never_a_float(ledger):
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    project = ledger.project("clinic")
    largest = 2**63 - 1

    def add(amount):
        with ledger.transaction() as transaction:
            transaction.append(project.id, Head(0, 0, 1), [], [], [Increment("day", 0, 4, amount)])

    add(largest)
    with pytest.raises(LedgerError):
        add(1)
    assert ledger.counter_values(project.id, "day") == {(0, 4): largest}
    add(-largest)
    assert ledger.counter_values(project.id, "day") == {(0, 4): 0}


def test_verify_sees_a_counter_that_is_a_float(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    create(writer)
    ask(writer, Opening())
    with ledger.write_session() as session:  # a column without a type keeps a float as one
        session.all("CREATE TABLE loose (project, kind, cell, place, amount)")
        session.all("INSERT INTO loose SELECT * FROM counters")
        session.all("UPDATE loose SET amount = amount * 1.0 WHERE kind = 'status'")
        session.all("DROP TABLE counters")
        session.all("ALTER TABLE loose RENAME TO counters")
    found = verify(ledger, "clinic").differences
    assert found == ["counter status[0, 0]: 1.0 in the ledger, 1 from the events"]
    ledger.close()


def test_a_price_paid_for_an_unknown_observation_is_told_once():
    case = aw.baselines.FixedSet(problem(), observations=["mri"]).open()
    with pytest.raises(
        AskwiseError, match=r"^paid: unknown observation 'mrt', expected one of: mri"
    ):
        case.observe({"mri": "neg"}, paid={"mrt": 1.0})
