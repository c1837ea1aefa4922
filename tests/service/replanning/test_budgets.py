"""A project within a budget: what its cases spend is counted in the ledger, and planned with."""

import pytest

import askwise as aw
from askwise.service.api.messages import Observing, Opening, Rewarding
from askwise.service.dashboard.summaries import budget_of_version
from askwise.service.decisions.replay import verify
from askwise.service.decisions.writer import Writer
from askwise.service.ledger import open_ledger
from askwise.service.replanning.policy_versions import PolicyCache, read_version
from askwise.service.replanning.replanner import Replanner
from inside import strategy_of
from serving import PROBLEM, ask, create, decoded


@pytest.mark.parametrize("model", ["joint", "additive"])
def test_what_served_cases_spend_is_in_the_next_plan(tmp_path, model):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    options = {"budget": {"spend_per_case": 2.0}, "model": model}
    assert create(writer, **options).status == 201
    spent = 0.0
    for k in range(25):
        case = decoded(ask(writer, Opening()))
        while case["wanted"]:
            seen = {"mammogram": "low", "mri": "pos" if k % 2 else "neg"}
            values = {name: seen[name] for name in case["wanted"]}
            case = decoded(ask(writer, Observing(values), case["case"]))
        if k % 3 == 0:  # people look on after the advice, which is charged to the budget too
            more = ask(writer, Observing({"mri": "neg"}, unasked=True), case["case"])
            case = decoded(more) if more.status == 200 else case
        spent += case["cost"]
        assert ask(writer, Rewarding(float(k % 3 > 0)), case["case"]).status == 200
    assert Replanner(ledger).step() == 1
    learner = read_version(ledger, 1, ledger.project("clinic").version)
    spending = strategy_of(learner).spending
    assert spending.tally[1] == 25
    assert spending.tally[0] / 2**20 * 2.0 == pytest.approx(spent)
    answer = budget_of_version(learner)
    assert answer.spent == pytest.approx(spent / 25)
    assert answer.allowed == 2.0
    assert answer.shadow_price == spending.shadow_price[0] >= 0.0
    assert budget_of_version(aw.Learner(PROBLEM)) is None
    assert learner.options["budget"] == aw.Budget(spend_per_case=2.0)
    assert learner.problem == PROBLEM
    assert verify(ledger, "clinic").differences == []
    ledger.close()


def test_a_budget_that_cannot_be_is_refused(tmp_path):
    ledger = open_ledger(str(tmp_path / "ledger.db"))
    writer = Writer(ledger, PolicyCache(ledger))
    with pytest.raises(Exception, match="spend_per_case"):
        create(writer, budget={"spend": 2.0})
    ledger.close()
