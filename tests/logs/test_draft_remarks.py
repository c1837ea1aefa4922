"""A draft fits its own log, and says what a reader should check."""

import numpy as np
import pytest

import askwise as aw
from askwise.errors import TableError
from askwise.logs import draft

RNG = np.random.default_rng(0)
N = 400
LOANS = {
    "income": RNG.integers(900, 9000, N).tolist(),
    "region": RNG.choice(["north", "south"], N).tolist(),
    "decision": RNG.choice(["lend", "decline"], N).tolist(),
    "amount": RNG.integers(1, 40, N).tolist(),
}
PER_UNIT = np.where(np.array(LOANS["decision"]) == "lend", RNG.normal(20, 40, N), 0.0)
LOANS["earned"] = (PER_UNIT * LOANS["amount"]).tolist()
LOANS["each"] = PER_UNIT.tolist()
COLUMNS = {"action": "decision", "stake": "amount"}


def test_rewards_are_said_to_be_per_unit_of_stake():
    log = {name: cells for name, cells in LOANS.items() if name != "earned"}
    drafted = draft(log, reward="each", **COLUMNS)
    assert "# rewards are per unit of stake\n" in drafted.text()
    assert drafted.remarks == ()
    assert "per unit" not in draft(log, action="decision", reward="each").text()


def test_totals_are_found_by_how_they_grow_with_the_stake():
    log = {name: cells for name, cells in LOANS.items() if name != "each"}
    rows = zip(log["amount"], log["decision"], strict=True)
    log["earned"] = [20.0 * s if d == "lend" else 0 for s, d in rows]
    (remark,) = draft(log, reward="earned", **COLUMNS).remarks
    assert "grows with amount (correlation 1.00)" in remark
    assert "earned divided by amount" in remark


@pytest.mark.parametrize("stake", [None, "amount"])
def test_another_form_of_the_reward_is_left_out(stake):
    log = LOANS | {"amount": LOANS["amount"] if stake else [3.0] * N}
    if stake is None:
        log["earned"] = (3.0 * PER_UNIT).tolist()
    drafted = draft(log, action="decision", reward="each", stake=stake)
    assert "follows from the reward within each action" in drafted.left_out["earned"]
    assert "income" in [o.name for o in drafted.problem.observations]


def test_as_many_observations_are_allowed_as_a_row_has():
    log = {f"test {k}": RNG.choice(["a", "b"], N).tolist() for k in range(6)}
    log |= {"action": LOANS["decision"], "reward": [0.0, 1.0] * (N // 2)}
    problem = draft(log).problem
    assert problem.max_observations == 6
    assert aw.fit(log, problem).rows == N


def test_empty_cells_are_said_to_be_no_failures():
    log = LOANS | {"bureau": ["good", "poor", "good", None] * 100}
    del log["earned"]
    drafted = draft(log, reward="each", **COLUMNS)
    assert any("bureau is empty in 100 of 400 rows" in remark for remark in drafted.remarks)
    assert "# check: bureau is empty" in drafted.text()
    with pytest.raises(TableError, match="write 'unavailable' in the cell, and declare fails="):
        aw.fit(log, drafted.problem, reward="each", **COLUMNS)
    log["bureau"] = [cell or "unavailable" for cell in log["bureau"]]
    problem = draft(log, reward="each", **COLUMNS).problem
    assert aw.fit(log, problem, reward="each", **COLUMNS).rows == N


def test_a_word_among_numbers_is_named():
    log = LOANS | {"income": [str(x) for x in LOANS["income"]]}
    log["income"][7] = "n/a"
    drafted = draft(log, reward="each", **COLUMNS)
    (income,) = (o for o in drafted.problem.observations if o.name == "income")
    assert income.edges is not None
    (remark,) = (remark for remark in drafted.remarks if remark.startswith("income: "))
    assert "399 of 400 cells are numbers, row 7 is 'n/a'" in remark


def test_too_many_combinations_are_named():
    log = LOANS | {"city": [f"city {k % 30}" for k in range(N)]}
    del log["earned"]
    drafted = draft(log, reward="each", **COLUMNS)
    (remark,) = drafted.remarks
    assert remark == (
        "city has 30 values: 240 combinations of values for 400 rows. Leave city out, or merge "
        "its values"
    )
    found = aw.fit(log, drafted.problem, reward="each", **COLUMNS)
    assert found.notes[-1] == f"{remark}."
    rows = {name: cells * 2 for name, cells in log.items()}
    assert draft(rows, reward="each", **COLUMNS).remarks == ()


# --- columns that tell nothing, or too much ------------------------------------------------------


def table(n=300):
    rng = np.random.default_rng(1)
    bad = rng.random(n) < 0.3
    return {
        "score": np.where(bad, rng.normal(0, 1, n), rng.normal(1, 1, n)).tolist(),
        "claim": np.where(bad, rng.exponential(3000, n), 0.0).tolist(),
        "closed": [["in court", "paid"][k % 2] if x else None for k, x in enumerate(bad)],
        "country": ["FR"] * n,
        "best": np.where(bad, "decline", "accept").tolist(),
    }


def test_a_column_that_tells_the_label_alone_is_named():
    drafted = draft(table(), label="best")
    claim, closed = (next(r for r in drafted.remarks if r.startswith(n)) for n in ("cla", "clo"))
    assert claim.startswith("claim alone tells the label in 300 of 300 rows. Leave it out if")
    assert closed.startswith("closed alone tells")
    assert not any(remark.startswith("score") for remark in drafted.remarks)
    assert "# check: claim alone" in drafted.text()


def test_few_rows_may_be_told_by_chance():
    log = table(60)
    assert log["best"].count("decline") < 20
    assert draft(log, label="best").remarks == ()


def test_a_copy_of_a_column_is_named():
    log = table()
    copies = {"score again": list(log["score"]), **log}
    (remark,) = (r for r in draft(copies, label="best").remarks if "same cells" in r)
    assert remark.startswith("score has the same cells as score again in every row: leave out one")


def test_a_column_of_one_value_is_said_to_have_one():
    assert "one value only" in draft(table(), label="best").left_out["country"]


def test_a_log_of_one_action_has_nothing_to_decide():
    (remark,) = draft(LOANS | {"best": ["lend"] * N}, label="best").remarks
    assert remark.startswith("best has one action only, 'lend': there is nothing to decide")


# --- what a draft says of the orders of a log ----------------------------------------------------


def orders(column="order"):
    """The age is on the form; the bureau is asked in every second row."""
    asked = [True, False] * (N // 2)
    log = {
        "age": LOANS["income"],
        "bureau": [cell if one else None for cell, one in zip(LOANS["region"], asked, strict=True)],
        column: ["bureau" if one else "" for one in asked],
        "action": LOANS["decision"],
        "reward": [0.0, 1.0] * (N // 2),
    }
    return log, draft(log, order=None if column == "order" else column)


@pytest.mark.parametrize("column", ["order", "looks"])
def test_what_every_row_has_and_no_order_names_is_given(column, tmp_path):
    log, drafted = orders(column)
    assert [(o.name, o.given, o.cost) for o in drafted.problem.observations] == [
        ("age", True, 0.0),
        ("bureau", False, 1.0),
    ]
    (tmp_path / "draft.yaml").write_text(drafted.text(), encoding="utf-8")
    problem = aw.Problem.load(tmp_path / "draft.yaml")
    assert aw.fit(log, problem, acquisition="sequential", order=column).rows == N


def test_a_draft_can_be_edited_as_it_says(tmp_path):
    """Where all may be bought, no number stands in the way of an observation that is given."""
    text = draft(LOANS, action="decision", reward="each", stake="amount").text()
    edited = text.replace("{name: income, cost: 1.0,", "{name: income, given: true,")
    assert edited != text
    (tmp_path / "draft.yaml").write_text(edited, encoding="utf-8")
    assert aw.Problem.load(tmp_path / "draft.yaml").m == 1  # the region


def test_the_order_of_a_label_is_refused():
    with pytest.raises(aw.AskwiseError, match="order= and propensity= go with action= and reward="):
        draft(table(), label="best", order="score")
