"""The documentation site: built strictly, every link resolves, and search needs no network."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
CHROMIUM = Path("/usr/bin/chromium")
ZENSICAL = Path(sys.executable).with_name("zensical")

pytestmark = pytest.mark.skipif(
    not ZENSICAL.exists(), reason="zensical is not installed: pip install -e '.[docs]'"
)


def built(folder):
    """Build the site of a folder, strictly; returns the finished process."""
    command = [ZENSICAL, "build", "--strict", "--config-file", "mkdocs.yml"]
    return subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,  # a test looks at what it returned
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built in a folder of its own; the repository is not changed."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "src", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    done = built(folder)
    assert done.returncode == 0, done.stdout
    return folder / "site"


def broken_links(site):
    """Every link of a page to a page, a file or an anchor that the site does not have."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in site.glob("*.html")}
    anchors = {name: set(re.findall(r'\bid="?([^\s">]+)', text)) for name, text in texts.items()}
    broken = []
    for name, text in texts.items():
        if name == "404.html":  # its links are absolute, since it is served at any depth
            continue
        for link in re.findall(r'\b(?:href|src)="?([^\s">]+)', text):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme or parts.netloc:
                continue
            there, anchor = unquote(parts.path).removeprefix("./") or name, unquote(parts.fragment)
            is_there = (site / there).exists()
            if not is_there or (anchor and anchor not in anchors.get(there, ())):
                broken.append(f"{name}: {link}")
    return broken


def test_every_link_and_anchor_of_the_site_resolves(site):
    assert len(list(site.glob("*.html"))) == 1 + len(list(ROOT.glob("docs/*.md")))
    assert broken_links(site) == []


def test_a_broken_link_is_found(site, tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x"><a href="c.html"><a id="y" href="#y">')
    (tmp_path / "b.html").write_text('<h1 id="z">')
    assert broken_links(tmp_path) == ["a.html: b.html#x", "a.html: c.html"]


def test_the_site_loads_nothing_from_elsewhere(site):
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'\bsrc="?(?:https?:)?//[^\s">]+', text), page.name
        assert not re.findall(r'<link[^>]+href="?(?:https?:)?//[^\s">]+', text), page.name


def test_search_knows_every_page(site):
    found = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    pages = {item["location"].partition("#")[0] or "index.html" for item in found}
    assert {page.name for page in site.glob("*.html")} - pages <= {"404.html", "index.html"}


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium: apt-get install chromium")
def test_search_works_without_a_network(site):
    from playwright.sync_api import expect, sync_playwright

    handler = functools.partial(_Quiet, directory=site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address, elsewhere = f"http://127.0.0.1:{server.server_port}/", []

    def route(asked):
        """Let through what the site itself has; note anything else, and refuse it."""
        if asked.request.url.startswith((address, "blob:", "data:")):
            asked.continue_()
        else:
            elsewhere.append(asked.request.url)
            asked.abort()

    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page()
            page.route("**/*", route)
            page.goto(address + "index.html")
            page.keyboard.press("/")
            page.keyboard.type("doubly robust")
            expect(page.get_by_text("What a policy would have gained")).to_be_visible()
            assert elsewhere == []
            browser.close()
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
