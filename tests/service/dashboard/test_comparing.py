"""Finding, comparing and looking back in a real Chromium."""

import itertools
import time

import pytest

from askwise.service.ledger import open_ledger
from dashboard_steps import create, decide, learn


@pytest.fixture(scope="module", name="learned")
def learned_fixture(ask, replan):
    """A project whose policy buys by now; its first one bought nothing."""
    create(ask, "learned")
    learn(ask, replan, "learned")
    return "learned"


def test_cases_are_found_by_number_and_by_words(open_page, server, ask, learned):
    decide(ask, learned, 40)
    page = open_page(f"/#/p/{learned}", server.token)
    words = page.get_by_label("A number, or words")
    find = page.get_by_role("button", name="Find", exact=True)
    find.click()
    page.get_by_text("Still missing: what to look for.").wait_for()
    words.fill("#3")
    find.click()
    page.get_by_role("heading", name="Case 3", exact=True).wait_for()
    words.fill("high treat rewarded")
    find.click()
    cases = ask(f"/projects/{learned}/cases?limit=500")["cases"]
    expected = [
        one["case"]
        for one in cases
        if "high" in one["known"].values() and one["action"] == "treat" and one["reward"] == 1
    ]
    page.get_by_text(f"of the newest {len(cases)}, which are all.").wait_for()
    section = page.locator("section", has=page.get_by_role("heading", name="Find a case"))
    found = section.locator(".number").all_inner_texts()
    assert found == [f"#{case}" for case in expected[:20]]
    words.fill("rewarded")  # more than are shown at a time
    find.click()
    page.get_by_text(f"{len(cases)} cases found, 20 shown, of the newest {len(cases)}").wait_for()
    more = page.get_by_role("button", name="Look further")
    for seen in range(20, len(cases), 20):
        assert section.locator(".number").count() == seen
        more.click()
        section.locator(".number").nth(seen).wait_for()
    found = section.locator(".number").all_inner_texts()
    assert found == [f"#{case['case']}" for case in cases]
    assert more.is_hidden()
    words.fill("purple")
    find.click()
    page.get_by_text("0 cases of the newest").wait_for()


def test_what_changed_since_a_day(open_page, server, ask, learned, db):
    ledger = open_ledger(db)
    project = ledger.project(learned)
    heads = ledger.latest_policies(project.id, 2**53, 100)
    ledger.close()
    assert [h.version for h in heads] == sorted((h.version for h in heads), reverse=True)
    page = open_page(f"/#/p/{learned}", server.token)
    page.get_by_role("button", name="Show what changed").click()
    page.get_by_text("There was no policy yet on that day").wait_for()
    trees = page.locator("section", has=page.get_by_role("heading", name="What has changed"))
    assert trees.locator(".tree").count() == 2
    assert trees.locator(".differs").count() > 0
    summary = ask(f"/projects/{learned}/summary")
    row = trees.get_by_role("row", name="cases opened").inner_text().split()
    assert row[-2:] == [f"{summary['cases']}", f"+{summary['cases']}"]
    tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86_400))
    versions = ask(f"/projects/{learned}/versions?before={int(time.time()) + 86_400}&limit=2")
    assert [v["version"] for v in versions["versions"]] == [h.version for h in heads[:2]]
    assert versions["versions"][0]["planned"][:10] <= tomorrow


def test_two_versions_beside_each_other(open_page, server, ask, learned):
    page = open_page(f"/#/p/{learned}", server.token)
    newest = ask(f"/projects/{learned}")["policy_version"]
    page.get_by_label("From version").fill(str(newest))
    page.get_by_role("button", name="Show what changed").click()
    page.get_by_text("They buy and do the same.").wait_for()
    page.get_by_label("From version").fill("1")
    page.get_by_role("button", name="Show what changed").click()
    page.get_by_role("heading", name="version 1", exact=True).wait_for()
    page.get_by_role("heading", name=f"version {newest}", exact=True).wait_for()
    page.get_by_label("From version").fill("9999")
    page.get_by_role("button", name="Show what changed").click()
    page.get_by_text("version must be a whole number").wait_for()
    assert [w for w in open_page.wrong if "status of 400" not in w] == []
    open_page.wrong.clear()


def test_projects_beside_each_other(open_page, server, ask, learned):
    create(ask, "other")
    decide(ask, "other", 4)
    page = open_page("", server.token)
    page.get_by_role("link", name="Compare projects").click()
    page.get_by_text("Nothing to compare yet.").wait_for()
    page.get_by_label(learned, exact=True).check()
    page.get_by_label("other", exact=True).check()
    table = page.locator(".compared")
    table.wait_for()
    cases = [ask(f"/projects/{name}/summary")["cases"] for name in ("learned", "other")]
    heads = table.locator("thead a").all_inner_texts()
    row = table.get_by_role("row", name="cases").first.inner_text().split()
    assert dict(zip(heads, row[-2:], strict=True)) == {
        "learned": f"{cases[0]}",
        "other": f"{cases[1]}",
    }
    page.get_by_role("heading", name="Their policies").wait_for()
    assert page.locator(".differs").count() > 0
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_what_is_missing_is_said_all_at_once(open_page, server, ask):
    given = [{"name": n, "values": ["a", "b"], "given": True} for n in ("age", "sex")]
    scan = {"name": "scan", "values": ["a", "b"], "cost": 1.0}
    create(ask, "missing", observations=[*given, scan], max_observations=1)
    page = open_page("/#/p/missing", server.token)
    page.get_by_role("button", name="Open a case").click()
    page.get_by_text("Still missing: what was seen of age, sex.").wait_for()
    assert page.evaluate("document.activeElement.name") == "age"
    page.locator(".follow select[name=age]").select_option("a")
    page.get_by_role("button", name="Open a case").click()
    page.get_by_text("Still missing: what was seen of sex.").wait_for()
    assert ask("/projects/missing")["cases"] == 0
    page.locator(".follow select[name=sex]").select_option("b")
    page.get_by_role("button", name="Open a case").click()
    page.get_by_role("heading", name="Case 1").wait_for()


CLOSE = """async ([wide, levels, ys]) => {
  const { LineChart } = await import("/chart.js");
  const write = { axis: String, value: (y) => y.toFixed(1) };
  const chart = new LineChart({ title: "t", across: "case", write });
  const frame = document.createElement("div");
  frame.id = "frame-of-test";
  document.getElementById("main").replaceChildren(frame);
  frame.append(chart.element);
  frame.setAttribute("class", "card");
  chart.frame.setAttribute("data-test", "");
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`#frame-of-test { width: ${wide}px }`);
  document.adoptedStyleSheets = [sheet];
  const kinds = ["everything", "nothing"];
  chart.show({ name: "as decided", points: ys.map((y, x) => ({ x: x + 1, y, words: "" })),
    levels: levels.map((y, k) => ({ y, kind: kinds[k], name: `buying ${kinds[k]}` })) });
  const box = (e) => { const b = e.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height] };
  return [...chart.picture.querySelectorAll(".name")].map(box);
}"""


def test_names_of_levels_never_overlap(open_page, server):
    charts = [
        ([80.0, 80.0], [70, 85, 90]),
        ([80.0, 80.3], [80, 80.1, 80.2]),
        ([80.0, 79.0], [60, 79.5, 80]),
        ([80.0, 60.0], [61, 79, 70]),
    ]
    page = open_page("", server.token)
    page.locator(".projects").wait_for()
    for wide, (levels, ys) in itertools.product([340, 600], charts):
        one, other = page.evaluate(CLOSE, [wide, levels, ys])
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (wide, levels, one, other)
        for left, top, right, bottom in (one, other):
            assert left >= 0
            assert top >= -2
            assert right <= wide
            assert bottom <= 232


def test_no_line_crosses_a_name_however_steep_it_is(open_page, server):
    """The first cases of the demo: from 13 to 66 between two points, past a level at 48."""
    page = open_page("", server.token)
    page.locator(".projects").wait_for()
    ys = [13, 66, 72, *[82] * 26]
    names = page.evaluate(CLOSE, [600, [73.5, 48.4], ys])
    drawn = page.evaluate(ON_LINE)
    assert len(drawn) > 500
    for left, top, right, bottom in names:
        assert not [p for p in drawn if left < p["x"] < right and top < p["y"] < bottom]


ON_LINE = """() => {
  const line = document.querySelector("#frame-of-test .chart .line");
  const long = line.getTotalLength();
  return Array.from({ length: Math.floor(long) }, (_, k) => {
    const { x, y } = line.getPointAtLength(k);
    return { x, y };
  });
}"""
