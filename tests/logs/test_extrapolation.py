"""What a policy does that a log of decisions never tried, and where that is said."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import askwise as aw
from askwise.cli import app
from askwise.logs import extrapolation
from askwise.logs.extrapolation import untried_share
from askwise.service.api.tables import Fitting
from askwise.service.dashboard.tables import fitted as fitted_table

PROBLEM = aw.Problem(
    observations=[
        aw.Observation("channel", values=["agent", "web"], given=True),
        aw.Observation("photos", values=["fit", "odd"], cost=1.0),
        aw.Observation("history", values=["none", "some"], cost=1.0),
    ],
    actions=["pay", "refuse"],
    reward_value=100.0,
)
CHANNEL, PHOTOS, HISTORY = [0.6, 0.4], [0.7, 0.3], [0.5, 0.5]
SHARE = np.einsum("i,j,k->ijk", CHANNEL, PHOTOS, HISTORY)
ALL, FIT, NO_HISTORY = np.s_[:], np.s_[:, 0], np.s_[:, :, 0]


def recommended(*, paying):
    """The best policy of a population in which just these cases should be paid."""
    right = np.zeros((2, 2, 2))
    right[paying] = 1.0
    model = aw.Model(PROBLEM, SHARE, np.stack([right, 1 - right], axis=-1))
    return aw.oracle.sequential(model)


def log(rule, cases=2_000):
    """The decisions of a rule: photos for everybody, then what the rule says."""
    rng, rows = np.random.default_rng(0), []
    for _ in range(cases):
        channel, photos = rng.random() < CHANNEL[1], rng.random() < PHOTOS[1]
        seen = {"channel": ["agent", "web"][channel], "photos": ["fit", "odd"][photos]}
        action = rule(seen)
        earned = float((action == "pay") == (seen["photos"] == "fit"))
        rows.append(
            {**seen, "history": None, "order": "photos", "action": action, "reward": earned}
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


def by_photos(seen):
    return "pay" if seen["photos"] == "fit" else "refuse"


def fitted(rule):
    return aw.fit(log(rule), PROBLEM, acquisition="sequential")


def test_what_the_log_did_is_no_extrapolation():
    policy = recommended(paying=FIT)
    assert untried_share(policy, fitted(by_photos).decisions) == 0.0


def test_cases_in_which_the_log_never_took_the_action_are_counted():
    """All are paid without photos. The log paid where the photos fit, in seven cases of ten."""
    pay_all = recommended(paying=ALL)
    share = untried_share(pay_all, fitted(by_photos).decisions)
    assert share == pytest.approx(PHOTOS[1], abs=0.03)
    assert untried_share(pay_all, fitted(lambda seen: "pay").decisions) == 0.0


def test_what_the_log_never_looked_at_is_extrapolated():
    policy = recommended(paying=NO_HISTORY)
    assert untried_share(policy, fitted(by_photos).decisions) == pytest.approx(1.0)


def test_a_fit_names_the_share_that_was_never_tried():
    fit = fitted(by_photos)
    (note,) = fit.notes_on(recommended(paying=ALL))
    share = untried_share(recommended(paying=ALL), fit.decisions)
    assert note.startswith(f"About {share:.0%} of the cases end with an action that the log never")
    assert fit.notes_on(recommended(paying=FIT)) == ()
    records = {
        "channel": ["web"],
        "photos": ["fit"],
        "history": ["none"],
        "pay": [1],
        "refuse": [0],
    }
    assert aw.fit(records, PROBLEM).notes_on(recommended(paying=ALL)) == ()


def test_it_is_said_wherever_a_fit_is_shown(tmp_path, monkeypatch):
    table = log(by_photos, cases=60)
    fit = aw.fit(table, PROBLEM, acquisition="sequential")
    monkeypatch.setattr(extrapolation, "untried_share", lambda policy, decisions: 0.3)
    said = "About 30% of the cases end with an action that the log never took"
    assert said in str(aw.explain(fit))
    assert said in aw.explain(fit).html()
    assert said in fit._repr_html_()
    monkeypatch.chdir(tmp_path)
    PROBLEM.save("p.yaml")
    pd.DataFrame(table).to_csv("log.csv", index=False)
    arguments = ["fit", "log.csv", "--problem", "p.yaml", "--acquisition", "sequential"]
    assert said in CliRunner().invoke(app, arguments).stdout
    asked = Fitting(
        table=pd.DataFrame(table).to_csv(index=False),
        problem=PROBLEM,
        action="action",
        reward="reward",
        order="order",
        acquisition="sequential",
    )
    assert any(note.startswith(said) for note in fitted_table(asked).notes)
