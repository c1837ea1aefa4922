"""The dashboard's figures of single cases and of spending, in a real Chromium."""

import pytest

from dashboard_steps import create, decide

NAMES = ["pulse", "ecg"]
BOTH = {"name": "fixed-set", "options": {"observations": NAMES}}


def problem(**more):
    observed = [{"name": n, "values": ["low", "high"], "cost": 10.0} for n in NAMES]
    return {"observations": observed, "actions": ["wait", "treat"], "reward_value": 100} | more


def finish(ask, project, **terms):
    """A case in which everything that is wanted is low; returns its number."""
    case = ask(f"/projects/{project}/cases", terms)
    while case["wanted"]:
        values = dict.fromkeys(case["wanted"], "low")
        case = ask(f"/projects/{project}/cases/{case['case']}/observations", {"values": values})
    ask(f"/projects/{project}/cases/{case['case']}/reward", {"reward": 1.0})
    return case["case"]


def test_in_a_panel_with_prices_of_its_own_a_case_can_be_followed(open_page, server, ask):
    panel = {"observations": {"pulse": 1.0, "ecg": 2.0}, "fee": 3.0}
    ask("/projects", {"name": "priced", "problem": problem(panels=[panel]), "learner": BOTH})
    page = open_page("/#/p/priced", server.token)
    page.get_by_role("button", name="Open a case").click()
    asked = page.locator(".follow form").first
    asked.get_by_text("pulse").wait_for()
    assert "pulse (4)" in asked.inner_text()  # with the fee
    assert "ecg (2)" in asked.inner_text()
    assert ask("/projects/priced/cases/1")["prices"] == {"pulse": 4.0, "ecg": 2.0}


def test_a_case_shows_the_prices_and_the_stake_that_are_its_own(open_page, server, ask):
    ask("/projects", {"name": "terms", "problem": problem(), "learner": BOTH})
    number = finish(ask, "terms", stake=20.0, prices={"ecg": 4.5})
    still = ask("/projects/terms/cases", {"prices": {"ecg": 4.5}})
    page = open_page("/#/p/terms", server.token)
    page.get_by_role("button", name=f"Follow case {number}", exact=True).click()
    page.locator(".follow", has_text="Reward 1: it gained").wait_for()
    assert "it gained 1,985.5." in page.locator(".follow").inner_text()  # 20 × 100 − 14.5
    assert "gain 1,985.5" in page.locator(".cases").first.inner_text()
    page.get_by_role("button", name=f"Follow case {still['case']}", exact=True).first.click()
    page.locator(".follow form", has_text="ecg (4.5)").wait_for()


def test_buying_everything_costs_its_fees_too(open_page, server, ask):
    panel = {"observations": NAMES, "fee": 40.25}
    ask("/projects", {"name": "fees", "problem": problem(panels=[panel]), "learner": BOTH})
    finish(ask, "fees")
    page = open_page("/#/p/fees", server.token)
    spent = page.locator("figure", has_text="Spent on observations in a case")
    spent.locator("text", has_text="buying everything 60.3").wait_for()
    assert ask("/projects/fees/worth")["cost_of_everything"] == 60.25


def test_where_actions_cost_something_that_is_said_of_what_was_spent(open_page, server, ask):
    actions = [{"name": "wait", "cost": 4.0}, "treat"]
    ask("/projects", {"name": "acting", "problem": problem(actions=actions), "learner": BOTH})
    finish(ask, "acting")
    page = open_page("/#/p/acting", server.token)
    spent = page.locator("figure", has_text="Spent in a case, on observations and its action")
    spent.get_by_text("as decided").wait_for()
    assert "buying everything" not in spent.inner_text()
    assert "spent in a case, on observations and its action" in page.locator(".tiles").inner_text()


def test_nothing_is_loading_in_a_search_that_nobody_began(open_page, server, ask):
    create(ask, "idle")
    decide(ask, "idle", 2)
    page = open_page("/#/p/idle", server.token)
    page.locator(".tree b").first.wait_for()
    assert page.locator("p:visible", has_text="Loading…").count() == 0


@pytest.mark.parametrize("width", [390, 1400])
def test_long_names_and_large_numbers_stay_within_the_page(open_page, server, ask, width):
    name = f"{'a' * 60}{width}"
    long = [{"name": "ü" * 190, "values": ["𝔘" * 190, "b"], "cost": 1.0}]
    body = problem(observations=long, actions=["b" * 200, "c"], reward_value=1_000_000_000)
    ask("/projects", {"name": name, "problem": body})
    finish_long(ask, name)
    page = open_page(f"/#/p/{name}", server.token, viewport={"width": width, "height": 800})
    page.locator(".tree b").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    cut = "[...document.querySelectorAll('.chart text')].filter(t => t.getBBox().x < 0).length"
    page.locator(".chart text").first.wait_for()
    assert page.evaluate(cut) == 0
    page.goto(f"{server.url}/#/compare")
    page.locator(".ways label").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def finish_long(ask, project):
    for _ in range(20):
        case = ask(f"/projects/{project}/cases", {})
        if case["wanted"]:
            values = dict.fromkeys(case["wanted"], "b")
            case = ask(f"/projects/{project}/cases/{case['case']}/observations", {"values": values})
        ask(f"/projects/{project}/cases/{case['case']}/reward", {"reward": 0.5})


@pytest.mark.parametrize("place", ["#/%E0%A4%A", "#/compare/%zz/idle", "#/sign-in/%"])
def test_an_address_that_is_badly_encoded_is_answered(open_page, server, place):
    page = open_page(f"/{place}", server.token)
    if place.startswith("#/sign-in"):
        page.get_by_text("This link was used already").wait_for()
        open_page.wrong.clear()  # the server refused the link
    else:
        page.locator("h1").wait_for()
