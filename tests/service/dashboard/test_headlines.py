"""The first figures of a project's page: like is compared with like, and not before it can be."""

import re

import msgspec

from dashboard_steps import create, decide
from serving import PROBLEM


def tiles(page):
    page.locator(".tree b").first.wait_for()
    return page.locator(".tiles").inner_text()


def stake_cases(ask, project, stake, cases):
    for _ in range(cases):
        case = ask(f"/projects/{project}/cases", {"stake": stake})
        while case["wanted"]:
            values = {n: "low" if n == "mammogram" else "neg" for n in case["wanted"]}
            case = ask(f"/projects/{project}/cases/{case['case']}/observations", {"values": values})
        ask(f"/projects/{project}/cases/{case['case']}/reward", {"reward": 0.5})


def test_few_rewards_are_not_compared_and_open_cases_are_counted(open_page, server, ask):
    looks = {"name": "fixed-set", "options": {"observations": ["mammogram"]}}
    ask("/projects", {"name": "few", "problem": msgspec.to_builtins(PROBLEM), "learner": looks})
    decide(ask, "few", 1)
    for _ in range(3):
        ask("/projects/few/cases", {})
    page = open_page("/#/p/few", server.token)
    text = tiles(page)
    assert "against buying nothing: after 30 rewards" in text
    assert "in the last 1 case" in text
    assert re.search(r"4\ncases, 3 still open, 0 rewards", text), text
    across = page.locator(".chart").first.locator('text[y="212"]').all_text_contents()
    assert across
    assert all(tick.isdigit() for tick in across), across


def test_gains_are_per_unit_of_stake_and_so_it_is_said(open_page, server, ask, replan):
    create(ask, "staked")
    stake_cases(ask, "staked", 20.0, 40)
    replan()
    page = open_page("/#/p/staked", server.token)
    text = tiles(page)
    summary = ask("/projects/staked/summary")
    gain = (100 * summary["reward"] - summary["spend"]) / (40 * 20.0)
    assert f"{gain:.1f}\ngain per unit of stake, in the last 40 cases" in text
    assert "against buying nothing at stake 1, as believed today" in text
    assert "per unit of stake" in page.locator(".key").first.inner_text()
    page.get_by_role("button", name="Show what changed").click()
    row = page.get_by_role("row", name="gain per unit of stake")
    assert f"{gain:.1f}" in row.inner_text()


def test_an_archived_project_says_so_and_opens_no_case(open_page, server, ask):
    create(ask, "old")
    page = open_page("/#/p/old", server.token)
    page.get_by_role("button", name="Open a case").wait_for()
    ask("/projects/old/archive", {})
    page.reload()
    page.get_by_text("Archived", exact=False).first.wait_for()
    page.get_by_role("button", name="Open a case").wait_for(state="detached")
    assert "takes no cases" in page.locator(".archived").inner_text()


def test_while_it_loads_it_says_so(open_page, server, ask):
    create(ask, "cold")
    page = open_page("/", server.token)
    page.route("**/v1/projects/cold/summary", lambda route: page.wait_for_timeout(0))
    page.goto(f"{server.url}/#/p/cold")
    page.get_by_text("Loading…").first.wait_for()
    assert "loading" in page.locator(".tiles").inner_text()
    assert page.get_by_text("nothing to draw yet").count() == 0
    page.unroute_all(behavior="ignoreErrors")


def test_a_budget_has_a_tile(open_page, server, ask, replan):
    options = {"name": "learner", "options": {"budget": {"spend_per_case": 2.0}}}
    ask("/projects", {"name": "ward", "problem": msgspec.to_builtins(PROBLEM), "learner": options})
    decide(ask, "ward", 20)
    replan()
    budget = ask("/projects/ward/summary")["budget"]
    text = tiles(open_page("/#/p/ward", server.token))
    assert budget["spent"] > 0
    assert re.search(r"of 2(\.0+)?\nspent on observations in a case, within the budget", text), text
    create(ask, "free")
    assert "within the budget" not in tiles(open_page("/#/p/free", server.token))
