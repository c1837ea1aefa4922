"""Where people overruled, as the dashboard shows it, in a real Chromium."""

import msgspec

from serving import PROBLEM


def test_what_people_did_is_shown_with_its_result(open_page, server, ask):
    problem = msgspec.to_builtins(PROBLEM)
    ask("/projects", {"name": "desk", "problem": problem, "learner": {"name": "seq-oos"}})
    page = open_page("/#/p/desk", token=server.token)
    page.get_by_role("heading", name="Earned and spent").wait_for()
    title = page.get_by_role("heading", name="Where people overruled")
    assert title.count() == 0  # nothing to see yet
    case = ask("/projects/desk/cases", {"stake": 8.0})["case"]
    path = f"/projects/desk/cases/{case}"
    ask(f"{path}/observations", {"values": {"mri": "pos"}, "unasked": True})
    ask(f"{path}/acted", {"action": "treat"})
    ask(f"{path}/reward", {"reward": 0.5})
    title.wait_for()
    row = page.get_by_role("row", name="treat")
    row.get_by_text("0.500").wait_for()  # a page that was made before the reward shows none
    assert row.inner_text().split("\t") == ["treat", "1 (100%)", "1", "0.500"]
    page.get_by_text("Looked at without being asked: mri 1 time.").wait_for()
    newest = page.locator("ol.cases li").first
    newest.get_by_text("gain 391").wait_for()  # 8 · 100 · 0.5 − 9
    assert "people treat" in newest.inner_text().replace("\n", " ")
    page.set_viewport_size({"width": 360, "height": 800})
    beyond = "[...document.querySelectorAll('.card')].filter(e => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(f"{beyond}.length") == 0
