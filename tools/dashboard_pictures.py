"""The pictures of docs/service.md, taken of a server that has simulated patients.

    askwise serve --demo --db demo.db          # for some minutes
    python tools/dashboard_pictures.py http://127.0.0.1:8350 TOKEN

It follows a case, points at a chart, and writes docs/dashboard.png and docs/dashboard-phone.png.
"""

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

DOCS = Path(__file__).parents[1] / "docs"
CHROMIUM = Path("/usr/bin/chromium")
COLOURS = 256
"""Of a picture: text and lines need no more, and the file is a quarter as large."""


def main() -> None:
    """Take both pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("token", help="one that may decide")
    given = parser.parse_args()
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        page = open_demo(browser, given, width=1280, height=2100)
        page.get_by_role("button", name="Open a case").click()
        page.locator("text=/^Case [0-9]+$/").wait_for()
        page.locator("svg.chart").first.hover(position={"x": 500, "y": 60})
        save(page, "dashboard.png")
        page = open_demo(browser, given, width=390, height=1900, color_scheme="dark")
        save(page, "dashboard-phone.png")
        browser.close()


def open_demo(
    browser: Browser, given: argparse.Namespace, *, width: int, height: int, **how: str
) -> Page:
    """The page of the project demo, once everything on it is there."""
    context = browser.new_context(viewport={"width": width, "height": height}, **how)
    context.set_default_timeout(120_000)
    context.add_init_script(f'sessionStorage.setItem("askwise.token", "{given.token}")')
    page = context.new_page()
    page.goto(f"{given.url}/#/p/demo")
    page.get_by_text("Still to learn").first.wait_for()
    page.wait_for_timeout(3000)
    return page


def save(page: Page, name: str) -> None:
    """What can be seen of the page, in few colours."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)


if __name__ == "__main__":
    main()
