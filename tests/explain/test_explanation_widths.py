"""The page for the decision maker in a real browser: nothing is cut off, however wide it is."""

from pathlib import Path

import pytest

import askwise as aw
from askwise.simulation.environments import breast_cancer

CHROMIUM = Path("/usr/bin/chromium")
HIDDEN = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
TREE = "document.querySelector('.picture')"
TREE_HIDDEN = f"{TREE}.scrollWidth - {TREE}.clientWidth"
BEYOND = "document.documentElement.scrollWidth - innerWidth"
A4 = 688
"""The width between the margins of a sheet."""


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium: apt-get install chromium")
def test_the_page_is_seen_whole_on_a_phone_a_tablet_a_screen_and_paper(tmp_path):
    from playwright.sync_api import sync_playwright

    learner = aw.Learner(breast_cancer(cost=5.0).problem, rng=0)
    patients = aw.environments.Population(breast_cancer(cost=5.0))
    aw.simulate(learner, patients, steps=1_000, rng=1)
    aw.explain(learner).save(tmp_path / "tests.html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.goto((tmp_path / "tests.html").as_uri())
        for width in (390, 768, 820, 1024, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(HIDDEN) == [0], width
            assert page.evaluate(BEYOND) == 0
        page.emulate_media(media="print")
        page.set_viewport_size({"width": A4, "height": 900})
        assert (page.evaluate(BEYOND), page.evaluate(TREE_HIDDEN)) == (0, 0)
        browser.close()
