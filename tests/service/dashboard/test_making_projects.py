"""Projects made in a real Chromium: by a form, from a table; and the link that signs in once."""

import pytest

from askwise.service.ledger import open_ledger
from askwise.service.tokens import new_link

ROWS = [("neg", 31, "wait"), ("neg", 64, "wait"), ("pos", 33, "treat"), ("pos", 66, "treat")]
TABLE = "mri,age,best\n" + "".join(f"{m},{a},{b}\n" for m, a, b in ROWS * 25)


def upload(page, text, name="past.csv"):
    file = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    page.get_by_label("Table", exact=True).set_input_files(file)


def create(page):
    page.get_by_role("button", name="Create the project").click()


def test_a_project_by_a_form(open_page, server, ask):
    page = open_page("", server.token)
    create(page)
    page.get_by_role("alert").get_by_text("Still missing: the name of the project.").wait_for()
    page.get_by_label("Name").fill("desk")
    page.get_by_role("button", name="Add an observation").click()
    third = page.locator(".observation").nth(2)
    create(page)
    page.get_by_text("Still missing: the name of an observation.").wait_for()
    third.get_by_label("Observation").fill("bureau")
    third.get_by_label("Values").fill("thin")
    create(page)
    page.get_by_text("Still missing: two values or more of bureau.").wait_for()
    third.get_by_label("Values").fill("thin, poor, good")
    third.get_by_label("Price").fill("0.6")
    third.get_by_label("It shows nothing").select_option("charged")
    second = page.locator(".observation").nth(1)
    second.get_by_label("It is", exact=True).select_option("given")
    page.locator(".observation").nth(0).get_by_role("button", name="Remove").click()
    page.get_by_label("Actions").fill("approve, review, decline")
    page.get_by_label("A reward is").select_option("money")
    page.get_by_label("Lowest that is earned").fill("-500")
    page.get_by_label("Highest").fill("30")
    page.get_by_label("as JSON").check()  # shows what the form says
    assert '"bureau"' in page.get_by_label("Problem").input_value()
    page.get_by_label("by a form").check()
    create(page)
    page.get_by_role("link", name="Look at it").wait_for()
    problem = ask("/projects/desk")["problem"]
    assert [o["name"] for o in problem["observations"]] == ["mri", "bureau"]
    assert problem["observations"][0]["given"] is True
    bureau = problem["observations"][1]
    assert (bureau["values"], bureau["cost"]) == (["thin", "poor", "good"], 0.6)
    assert bureau["fails"] == "charged"
    assert problem["actions"] == ["approve", "review", "decline"]
    assert problem["rewards"] == [-500, 30]


def test_a_project_from_a_table(open_page, server, ask):
    page = open_page("", server.token)
    page.get_by_label("Name").fill("from-table")
    page.get_by_label("from a table").check()
    create(page)
    page.get_by_role("alert").get_by_text("Still missing: a table.").wait_for()
    upload(page, "x" * 900_001)
    page.get_by_text("at most 900 are taken here").wait_for()
    upload(page, "mri,age,best\nneg,31\n")
    page.get_by_text("line 2 has 2 cells, the first line has 3: column 'best'").wait_for()
    upload(page, TABLE)
    page.get_by_text("100 cases, 3 columns.").wait_for()
    page.get_by_role("button", name="Draft the problem").click()
    page.get_by_text("Still missing: the column of the right action.").wait_for()
    page.get_by_label("The right action").select_option("best")
    page.get_by_role("button", name="Draft the problem").click()
    page.get_by_text("Every price is 1 as yet").wait_for()
    assert page.locator(".observation").count() == 2
    page.locator(".observation").nth(0).get_by_label("Price").fill("2.5")
    page.get_by_role("button", name="See the first tree").click()
    page.locator(".creation .tree b", has_text="buy mri (2.5)").wait_for()
    page.locator(".observation").nth(0).get_by_label("Price").fill("3")
    assert page.locator(".creation .tree").count() == 0  # it was of another price
    create(page)
    page.get_by_role("link", name="Look at it").click()
    page.get_by_role("heading", name="from-table").wait_for()
    page.locator(".tree b", has_text="buy mri (3)").first.wait_for()
    problem = ask("/projects/from-table")["problem"]
    assert {o["name"]: o["cost"] for o in problem["observations"]} == {"mri": 3, "age": 1}
    assert [w for w in open_page.wrong if "status of 422" not in w] == []
    open_page.wrong.clear()


def test_a_table_of_decisions_step_by_step_with_stakes(open_page, server, ask):
    lines = ["neg,,wait,1,mri,2", 'pos,61,treat,0,"mri,age",1', ",33,wait,0,age,3"]
    page = open_page("", server.token)
    page.get_by_label("Name").fill("step-by-step")
    page.get_by_label("from a table").check()
    upload(page, "mri,age,did,got,looks,weight\n" + "\n".join(lines * 30))
    page.get_by_label("The table says").select_option("action")
    page.get_by_label("What was done").select_option("did")
    page.get_by_label("What it earned").select_option("got")
    page.get_by_label("What to look at was chosen").select_option("sequential")
    page.get_by_label("The stake of a case").select_option("weight")
    page.get_by_role("button", name="Draft the problem").click()
    page.get_by_text("Still missing: the column of the order of the looks.").wait_for()
    page.get_by_label("The order of the looks").select_option("looks")
    page.get_by_role("button", name="Draft the problem").click()
    page.locator(".remarks").get_by_text("mri is empty in 30 of 90 rows").wait_for()
    assert page.locator(".observation").count() == 2
    page.get_by_role("button", name="See the first tree").click()
    page.get_by_role("heading", name="What 90 cases say").wait_for()
    create(page)
    page.get_by_role("link", name="Look at it").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_the_forms_fit(open_page, server, scheme):
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
    page = open_page("", server.token, **phone)
    page.get_by_label("from a table").check()
    upload(page, TABLE)
    page.get_by_text("100 cases, 3 columns.").wait_for()
    page.get_by_label("The table says").select_option("action")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") == 0


def test_a_link_signs_in_once_and_leaves_no_trace(open_page, server, db):
    text, kept = new_link()
    ledger = open_ledger(db)
    ledger.add_token(kept)
    ledger.close()
    page = open_page(f"/#/sign-in/{text}")
    page.get_by_role("button", name="Create the project").wait_for()
    assert text not in page.url
    assert page.evaluate("sessionStorage.getItem('askwise.token')") not in (None, text)
    page.reload()
    page.get_by_role("button", name="Create the project").wait_for()  # signed in still
    other = open_page(f"/#/sign-in/{text}")
    other.get_by_text("This link was used already, or has expired").wait_for()
    assert text not in other.url
    assert other.evaluate("sessionStorage.length") == 0
    assert [w for w in open_page.wrong if "status of 401" not in w] == []
    open_page.wrong.clear()


def test_what_is_wrong_stands_by_its_field_in_words(open_page, server):
    page = open_page("", server.token)
    page.get_by_label("Name").fill("wrong")
    first = page.locator(".observation").nth(0)
    first.get_by_label("Price").fill("-1")
    create(page)
    said = first.locator(".refused")
    said.wait_for()
    assert said.inner_text().startswith("observation 'mammogram': cost must be")
    assert "#/" not in page.locator("main").inner_text()
    assert first.get_by_label("Price").get_attribute("aria-invalid") == "true"
    assert page.locator(".creation .refused").count() == 1
    first.get_by_label("Price").fill("1")
    said.wait_for(state="detached")
    assert first.get_by_label("Price").get_attribute("aria-invalid") is None
    assert [w for w in open_page.wrong if "status of 422" not in w] == []
    open_page.wrong.clear()


def test_a_table_shows_no_example_and_old_errors_go(open_page, server):
    page = open_page("", server.token)
    page.get_by_label("Name").fill("tabled")
    page.get_by_label("from a table").check()
    assert page.locator(".observation:visible").count() == 0
    create(page)
    page.get_by_text("Still missing: a table.").wait_for()
    upload(page, TABLE)
    page.get_by_text("100 cases, 3 columns.").wait_for()
    assert page.locator(".creation .refused").count() == 0
    page.get_by_label("The right action").select_option("best")
    create(page)  # of no draft
    page.get_by_text("Still missing: the draft of the problem").wait_for()
    page.get_by_role("button", name="Draft the problem").click()
    page.get_by_text("Every price is 1 as yet").wait_for()
    assert page.locator(".creation .refused").count() == 0
    names = page.locator(".observation").get_by_label("Observation")
    assert [name.input_value() for name in names.all()] == ["mri", "age"]


@pytest.mark.parametrize("width", [1280, 800, 375])
def test_rows_keep_their_columns_and_cut_no_choice(open_page, server, width):
    page = open_page("", server.token, viewport={"width": width, "height": 800})
    rows = page.locator(".observation")
    rows.nth(1).get_by_label("It is", exact=True).select_option("given")
    rows.nth(1).get_by_label("It shows nothing").select_option("refunded")
    for label in ("Price", "It is", "It shows nothing"):
        boxes = [rows.nth(k).get_by_label(label, exact=True).bounding_box() for k in (0, 1)]
        assert boxes[0]["x"] == boxes[1]["x"]
    wanted = """s => { const c = s.cloneNode(true); c.value = s.value;
        c.style.width = "max-content"; document.body.append(c);
        const w = c.getBoundingClientRect().width; c.remove();
        return w - s.getBoundingClientRect().width; }"""
    for label in ("It is", "It shows nothing"):
        assert rows.nth(1).get_by_label(label, exact=True).evaluate(wanted) <= 0


def test_values_and_actions_of_a_table_may_have_commas(open_page, server, ask):
    rows = ['"dense, bad","refer, ""now"""', "clear,wait"] * 40
    page = open_page("", server.token)
    page.get_by_label("Name").fill("no good name")
    create(page)
    page.get_by_role("alert").get_by_text("It begins with a letter or a digit.").wait_for()
    page.get_by_label("Name").fill("commas")
    page.get_by_label("from a table").check()
    upload(page, "scan,best\n" + "\n".join(rows) + "\n")
    page.get_by_label("The right action").select_option("best")
    page.get_by_role("button", name="Draft the problem").click()
    page.get_by_text("Every price is 1 as yet").wait_for()
    create(page)
    page.get_by_role("link", name="Look at it").wait_for()
    problem = ask("/projects/commas")["problem"]
    assert sorted(problem["observations"][0]["values"]) == ["clear", "dense, bad"]
    assert sorted(problem["actions"]) == ['refer, "now"', "wait"]
