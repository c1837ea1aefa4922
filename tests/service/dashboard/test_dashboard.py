"""The dashboard in a real Chromium: what people do with it, and what must never happen to them."""

import math
import re
import time
from importlib import resources
from types import SimpleNamespace

import httpx
import msgspec
import pytest

from askwise.service.ledger import open_ledger
from askwise.service.tokens import new_token
from dashboard_steps import create, decide, learn
from serving import PROBLEM, served
from waiting import PATIENCE

ASSETS = resources.files("askwise.service.dashboard").joinpath("static")


def written(number):
    """Three significant digits, and one decimal at least: the reward value is 100."""
    digits = 2 - math.floor(math.log10(abs(number))) if number else 0
    return f"{number:.{max(1, digits)}f}".replace("-", "−")


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_create_a_project_follow_a_case_and_see_the_tree_change(open_page, server, ask, replan):
    page = open_page()
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Name").fill("ward")
    page.get_by_text("Another learner than the default").click()
    page.get_by_label("Learner", exact=True).select_option("seq-oos")
    page.get_by_role("button", name="Create the project").click()
    page.get_by_role("link", name="Look at it").click()
    assert ask("/projects/ward")["problem"]["reward_value"] == 100
    assert ask("/projects/ward")["learner"]["name"] == "seq-oos"

    tree = page.locator(".tree")
    tree.locator("b").first.wait_for()
    before = tree.inner_text()
    page.get_by_role("button", name="Open a case").click()
    page.get_by_role("heading", name="Case 1").wait_for()
    while not page.get_by_label("Reward, from 0 to 1").is_visible():
        wanted = ask("/projects/ward/cases/1")["wanted"]
        for name in wanted:
            page.locator(f".follow select[name={name}]").select_option(index=1)
        page.get_by_role("button", name="That is what was seen").click()
        page.wait_for_function(
            "(n) => !document.querySelector('.follow form:has(select)')"
            " || !n.every((x) => document.querySelector(`.follow select[name=${x}]`))",
            arg=wanted,
        )
    page.get_by_label("Reward, from 0 to 1").fill("0.5")
    page.get_by_role("button", name="Give the reward").click()
    page.get_by_text("Reward 0.5").wait_for()
    story = ask("/projects/ward/cases/1")
    assert story["reward"] == 0.5
    assert story["action"] in page.locator(".action-now").inner_text()

    learn(ask, replan, "ward")
    page.wait_for_function(
        "(before) => document.querySelector('.tree').innerText !== before", arg=before
    )
    now = ask("/projects/ward/policy")
    page.get_by_text(f"policy {now['policy_version']}", exact=True).wait_for()
    assert f"buy {now['follows']['tree']['buy'][0]}" in tree.inner_text()
    cases = ask("/projects/ward")["cases"]
    page.get_by_role("button", name=f"Follow case {cases}", exact=True).wait_for()
    assert (
        f"{cases}\ncases, 0 still open, 0 rewards still awaited"
        in page.locator(".tiles").inner_text()
    )


def test_what_is_shown_is_what_the_service_says(open_page, server, ask, replan):
    create(ask, "figures")
    decide(ask, "figures", 40)
    replan()
    page = open_page("/#/p/figures", server.token)
    page.locator(".tree b").first.wait_for()
    summary, worth = ask("/projects/figures/summary"), ask("/projects/figures/worth")
    gain = (100 * summary["reward"] - summary["spend"]) / 40
    assert page.locator(".tiles b").first.inner_text() == written(gain)
    assert page.locator(".tiles b").nth(1).inner_text() == written(summary["spend"] / 40)
    rows = page.locator(".worth tbody tr")
    assert rows.count() == len(worth["observations"])
    for o in worth["observations"]:
        text = page.locator(".worth tr", has_text=o["name"]).inner_text()
        assert f"{o['bought']:,}" in text
        assert written(o["break_even"]) in text
    chart = page.get_by_role("group", name="Gain of a case")
    chart.focus()
    page.keyboard.press("End")
    read = page.locator(".read-out").first.inner_text()
    points = re.fullmatch(r"cases (\d+) to (\d+): gain (−?[\d.]+), spent ([\d.]+) a case", read)
    assert points is not None, read
    own = [b for b in summary["blocks"] if b["first"] >= int(points[1])]
    acted = sum(b["acted"] for b in own)
    assert float(points[4]) == pytest.approx(sum(b["spend"] for b in own) / acted, abs=0.06)


def test_in_a_panel_the_price_shown_is_the_price_paid(open_page, server, ask):
    names = ["pulse", "ecg"]
    problem = {
        "observations": [{"name": n, "values": ["low", "high"], "cost": 1.5} for n in names],
        "actions": ["wait", "treat"],
        "reward_value": 100,
        "panels": [{"observations": names, "fee": 40.25}],
    }
    both = {"name": "fixed-set", "options": {"observations": names}}
    ask("/projects", {"name": "panels", "problem": problem, "learner": both})
    page = open_page("/#/p/panels", server.token)
    page.get_by_role("button", name="Open a case").click()
    asked = page.locator(".follow form").first
    asked.get_by_text("pulse").wait_for()
    assert "pulse (41.75)" in asked.inner_text()
    assert "ecg (1.5)" in asked.inner_text()
    worth = ask("/projects/panels/worth")["observations"]
    for o in worth:
        price = page.locator(".worth tr", has_text=o["name"]).locator("td").first.inner_text()
        assert float(price) == pytest.approx(o["cost"] + o["fees"])
    assert max(o["fees"] for o in worth) == 40.25


def test_with_the_keyboard_alone(open_page, server, ask):
    create(ask, "keys")
    page = open_page()
    page.get_by_label("Token").wait_for()  # has the focus
    page.keyboard.type(server.token)
    page.keyboard.press("Enter")
    page.locator(".projects a", has_text="keys").wait_for()

    def press_until(found, most=60):
        for _ in range(most):
            page.keyboard.press("Tab")
            here = page.evaluate(
                "() => { const e = document.activeElement, s = getComputedStyle(e);"
                " return [e.innerText ?? '', e.tagName, s.outlineStyle, s.outlineWidth] }"
            )
            assert here[2] != "none", f"the focus cannot be seen on {here}"
            assert here[3] != "0px", f"the focus cannot be seen on {here}"
            if found(*here[:2]):
                return
        raise AssertionError("never reached")

    press_until(lambda text, tag: tag == "A" and text.startswith("keys"))
    page.keyboard.press("Enter")
    page.locator(".tree b").first.wait_for()
    press_until(lambda text, tag: text == "Open a case")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Case 1").wait_for()
    assert ask("/projects/keys")["cases"] == 1
    press_until(lambda text, tag: text == "Cancel the case")
    page.keyboard.press("Enter")
    page.get_by_text("It was cancelled.").wait_for()
    assert ask("/projects/keys/cases/1")["status"] == "cancelled"


def test_the_tree_stays_as_it_was_folded(open_page, server, ask, replan):
    create(ask, "folds")
    learn(ask, replan, "folds")
    before = ask("/projects/folds")["policy_version"]
    page = open_page("/#/p/folds", server.token)
    root = page.locator(".tree details").first
    root.wait_for()
    root.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert root.get_attribute("open") is None
    decide(ask, "folds", 4)
    replan()
    version = ask("/projects/folds")["policy_version"]
    assert version > before
    page.get_by_text(f"policy {version}", exact=True).wait_for()
    assert page.locator(".tree details").first.get_attribute("open") is None
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(open_page, server, ask, scheme):
    name = f"phone-{scheme}"
    create(ask, name)
    decide(ask, name, 20)
    page = open_page("", server.token, viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.locator(".projects a").first.wait_for()
    assert overflow(page) == 0
    page.goto(f"{server.url}/#/p/{name}")
    page.locator(".tree b").first.wait_for()
    assert overflow(page) == 0
    page.get_by_role("button", name="Open a case").click()
    page.locator(".follow h3").wait_for()
    assert overflow(page) == 0
    page.set_viewport_size({"width": 320, "height": 700})
    assert overflow(page) == 0


def test_names_are_text_whatever_they_are(open_page, server, ask):
    evil = '<img src=x onerror="document.title=1">'
    problem = {
        "observations": [{"name": evil, "values": [evil, "b"], "cost": 1.0}],
        "actions": [evil, "<script>alert(1)</script>"],
    }
    ask("/projects", {"name": "evil", "problem": problem})
    page = open_page("/#/p/evil", server.token)
    page.locator(".tree b").first.wait_for()
    assert page.locator("main img, main script").count() == 0
    assert evil in page.locator("main").inner_text()


def test_a_token_shows_what_it_may(open_page, server, ask, db):
    create(ask, "mine")
    tokens = [new_token("read", "mine"), new_token("read")]
    ledger = open_ledger(db)
    for _, kept in tokens:
        ledger.add_token(kept)
    ledger.close()
    page = open_page("", tokens[0][0])  # the only project it may see
    page.get_by_role("heading", name="mine").wait_for()
    page.locator(".tree b").first.wait_for()
    assert page.get_by_role("button", name="Open a case").count() == 0
    page = open_page("", tokens[1][0])
    page.locator(".projects a").first.wait_for()
    assert page.get_by_role("button", name="Create the project").count() == 0


def test_without_tokens_there_is_nothing_to_sign_in_to(browser, tmp_path):
    with served(str(tmp_path / "ledger.db"), authenticates=False) as server:
        page = browser.new_page()
        page.goto(server.url)
        page.get_by_role("button", name="Create the project").wait_for()
        assert not page.get_by_role("button", name="Sign out").is_visible()
        page.close()


def test_by_day_there_is_a_point_for_every_day(open_page, server, ask, monkeypatch):
    create(ask, "days")
    days = []
    for ago in (2, 1, 0):
        now = time.time_ns() - ago * 86_400 * 10**9
        days.append(time.strftime("%Y-%m-%d", time.gmtime(now // 10**9)))
        monkeypatch.setattr(
            "askwise.service.decisions.commit_groups.time", SimpleNamespace(time_ns=lambda t=now: t)
        )
        decide(ask, "days", 6)
    monkeypatch.undo()
    found = ask("/projects/days/summary")["days"]
    assert [day["day"] for day in found] == days
    page = open_page("/#/p/days", server.token)
    page.get_by_label("Draw by").select_option("day")
    chart = page.get_by_role("group", name="Gain of a case")
    chart.focus()
    for key, day in (("Home", found[0]), ("ArrowRight", found[1]), ("End", found[2])):
        page.keyboard.press(key)
        read = page.locator(".read-out").first.inner_text()
        gain, spent = day["gain"] / 6, day["spend"] / 6
        said = f"{day['day']}: gain {gain:.1f}, spent {spent:.1f} a case".replace("-", "−")
        assert read.replace("-", "−") == said


def test_it_finds_back_to_a_server_that_was_away(browser, tmp_path):
    db = str(tmp_path / "ledger.db")
    with (
        served(db, authenticates=False) as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as http,
    ):
        port = server.port
        problem = msgspec.to_builtins(PROBLEM)
        head = {"idempotency-key": "one"}
        http.post("/v1/projects", json={"name": "away", "problem": problem}, headers=head)
        page = browser.new_page()
        page.goto(f"{server.url}/#/p/away")
        page.locator("#pulse", has_text="live").wait_for()
    page.locator("#pulse.lost", has_text="trying to reach the server").wait_for()
    with served(db, authenticates=False, port=port) as server:
        page.locator("#pulse:not(.lost)", has_text="live").wait_for()
        with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
            http.post("/v1/projects/away/cases", json={}, headers={"idempotency-key": "two"})
        page.get_by_role("button", name="Follow case 1", exact=True).wait_for()
        page.close()


def test_a_refusal_is_shown_and_changes_nothing(open_page, server, ask):
    before = ask("/projects")
    page = open_page("", server.token)
    page.get_by_label("Name").fill("broken")
    page.get_by_label("as JSON").check()
    page.get_by_label("Problem").fill("{")
    page.get_by_role("button", name="Create the project").click()
    page.get_by_role("alert").get_by_text("the problem is not JSON").wait_for()
    page.get_by_label("Problem").fill('{"observations": [], "actions": []}')
    page.get_by_role("button", name="Create the project").click()
    page.get_by_role("alert").get_by_text("observations").wait_for()
    assert ask("/projects") == before
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").fill("askw_wrong")
    page.keyboard.press("Enter")
    page.get_by_text("this token is not known").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    assert [w for w in open_page.wrong if "status of 4" not in w] == []
    open_page.wrong.clear()  # the browser itself notes each 401 and 422


def test_assets_need_nobody_else():
    files = {file.name: file.read_text() for file in ASSETS.iterdir()}
    assert {"index.html", "style.css", "app.js", "favicon.svg"} <= set(files)
    page = files["index.html"]
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)
    for name, text in files.items():
        assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), name
        for other in re.findall(r'from "\./([^"]+)"', text):
            assert other in files, f"{name} imports {other}"
