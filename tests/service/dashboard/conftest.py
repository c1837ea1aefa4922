"""A server, a browser and pages that are watched, for the tests of the dashboard."""

import itertools
from pathlib import Path

import httpx
import pytest

from askwise.service.ledger import open_ledger
from askwise.service.replanning.replanner import Replanner
from serving import served
from waiting import PATIENCE

CHROMIUM = Path("/usr/bin/chromium")

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective));
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return str(tmp_path_factory.mktemp("dashboard") / "ledger.db")


@pytest.fixture(scope="module")
def server(db):
    with served(db) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    """The real Chromium of Debian; without one, whatever asks for it is skipped."""
    if not CHROMIUM.exists():
        pytest.skip("there is no Chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def usual_context(browser):
    """Where pages open that ask for nothing special: a page keeps nothing but its own session."""
    context = browser.new_context()
    context.new_page()  # with a page open, the next ones start no process of their own
    yield context
    context.close()


@pytest.fixture
def open_page(browser, usual_context, server):
    """Pages that are watched: an error in the console, or a breach of the CSP, fails the test."""
    pages, contexts, wrong = [], [], []

    def open_one(path="", token=None, **how):
        context = usual_context
        if how:
            context = browser.new_context(**how)
            contexts.append(context)
        page = context.new_page()
        pages.append(page)
        page.set_default_timeout(1000 * PATIENCE)
        page.add_init_script(WATCH)
        if token is not None:
            page.add_init_script(f'sessionStorage.setItem("askwise.token", "{token}")')
        page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda r: r.url.startswith(server.url) or wrong.append(r.url))
        page.goto(server.url + path)
        return page

    open_one.wrong = wrong
    yield open_one
    breaches = [b for page in pages for b in page.evaluate("violations")]
    for opened in (*pages, *contexts):
        opened.close()
    assert (wrong, breaches) == ([], [])


@pytest.fixture(scope="module")
def ask(server):
    with httpx.Client(
        base_url=server.url,
        headers={"authorization": f"Bearer {server.token}"},
        timeout=PATIENCE,
    ) as c:
        keys = itertools.count()

        def ask(path, body=None):
            if body is None:
                answer = c.get(f"/v1{path}")
            else:
                answer = c.post(
                    f"/v1{path}", json=body, headers={"idempotency-key": f"ask-{next(keys)}"}
                )
            assert answer.is_success, answer.text
            return answer.json()

        yield ask


@pytest.fixture(scope="module")
def replan(db):
    """Plan now, for every project that has something new."""
    ledger = open_ledger(db)
    yield Replanner(ledger).step
    ledger.close()
