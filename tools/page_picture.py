"""A picture of a page that askwise wrote, for the documentation.

    python tools/page_picture.py tumours.html docs/tutorial-page.png

`tumours.html` is what the commands of docs/tutorial.md write.
"""

import argparse
import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
WIDTH, HEIGHT = 1300, 1700
COLOURS = 256


def main() -> None:
    """Take the picture of the top of the page, in few colours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    given = parser.parse_args()
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(given.page.resolve().as_uri())
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(given.picture, optimize=True)


if __name__ == "__main__":
    main()
