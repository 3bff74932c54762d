#!/usr/bin/env python3
"""The site in a headless browser: links, console, search, size, widths, themes. `make site-test` runs it after `make site`.

    build/site/env/bin/python tests/site/site_test.py     CHROMIUM names the browser (default: what is on the path)

Screenshots of the main pages, wide and narrow, light and dark, are left in build/site/screenshots to be looked at.
"""

import functools
import http.server
import os
import shutil
import sys
import threading
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

from playwright.sync_api import sync_playwright

HTML = Path(__file__).resolve().parents[2] / "build" / "site" / "html"
SHOTS = HTML.parent / "screenshots"
LANDING_BYTES = 300_000
TIMEOUT_MS = 180_000  # where other programs run beside the browser
MAIN = [
    "index",
    "start",
    "recipes/neural_recording",
    "course/14_tiled",
    "reference/tapline",
    "reference/cpp",
    "benchmarks",
    "conventions",
]
GENERATED = {"genindex.html", "py-modindex.html", "search.html"}  # Sphinx's own lists

failures = []


def check(condition, message):
    if not condition:
        failures.append(message)


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if tag == "a" and named.get("href"):
            self.links.append(named["href"])
        if tag == "img" and named.get("src"):
            self.links.append(named["src"])
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}


def check_links():
    pages = {path: Page(path) for path in sorted(HTML.rglob("*.html"))}
    to = {}
    for path, page in pages.items():
        to[path] = set()
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or link.startswith("//"):
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            check(target.exists(), f"{path.relative_to(HTML)}: no {link}")
            if target in pages:
                to[path].add(target)
                known = not url.fragment or urllib.parse.unquote(url.fragment) in pages[target].anchors
                check(known, f"{path.relative_to(HTML)}: no anchor {link}")
    reached = {HTML / "index.html"}
    for _ in range(2):
        reached |= set().union(*(to[page] for page in reached))
    for path in pages:
        check(path in reached or path.name in GENERATED, f"{path.relative_to(HTML)}: more than two clicks away")
    return pages


def serve():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(HTML)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def watch(page, home):
    page.set_default_timeout(TIMEOUT_MS)
    page.on("console", lambda m: check(m.type not in ("error", "warning"), f"{page.url}: console: {m.text}"))
    page.on("pageerror", lambda e: check(False, f"{page.url}: {e}"))
    page.on("request", lambda r: check(r.url.startswith((home, "data:")), f"{page.url}: asks for {r.url}"))
    page.on("response", lambda r: check(r.status < 400, f"{page.url}: {r.status} for {r.url}"))


def check_landing(browser, home):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    watch(page, home)
    bodies = []
    page.on("response", lambda r: bodies.extend([r]))
    page.goto(f"{home}/index.html", wait_until="networkidle")
    size = sum(len(r.body()) for r in bodies)
    check(size < LANDING_BYTES, f"the landing page loads {size} bytes")
    page.get_by_text("CuPy", exact=True).first.click()
    check(page.get_by_text("import cupy as xp").is_visible(), "the tab CuPy does not open")
    grounds = set()
    for _ in range(3):  # auto, light, dark
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.locator(".theme-toggle:visible").first.click()
    check(len(grounds) == 2, f"the theme does not change: {grounds}")
    page.close()
    return size


def check_search(browser, home):
    page = browser.new_page()
    watch(page, home)
    page.goto(f"{home}/index.html")
    page.locator("input.sidebar-search").fill("convolve")
    page.locator("input.sidebar-search").press("Enter")
    page.wait_for_selector("ul.search li a", timeout=20_000)
    page.wait_for_function("!document.querySelector('#search-progress')?.textContent")
    found = page.locator("ul.search li a").evaluate_all("links => links.map(a => a.getAttribute('href'))")
    check(any("reference/tapline.html" in link for link in found), f"the search for convolve finds {found[:5]}")
    page.close()
    return len(found)


def check_pages(browser, home, pages):
    """Every page in the browser, as narrow as a phone: it must not be wider than the screen."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    watch(page, home)
    for path in pages:
        page.goto(f"{home}/{path.relative_to(HTML)}")
        width = page.evaluate("document.scrollingElement.scrollWidth")
        check(width <= 390, f"{path.relative_to(HTML)}: {width} pixels wide on a phone of 390")
    page.close()


def take_screenshots(browser, home):
    shutil.rmtree(SHOTS, ignore_errors=True)
    SHOTS.mkdir(parents=True)
    for scheme in ("light", "dark"):
        for width in (1440, 390):
            page = browser.new_page(viewport={"width": width, "height": 1100}, color_scheme=scheme)
            for name in MAIN:
                page.goto(f"{home}/{name}.html")
                page.screenshot(path=SHOTS / f"{name.replace('/', '_')}_{scheme}_{width}.png")
            page.close()


def main():
    pages = check_links()
    home = serve()
    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        size = check_landing(browser, home)
        found = check_search(browser, home)
        check_pages(browser, home, pages)
        take_screenshots(browser, home)
        browser.close()
    print(*failures, sep="\n")
    print(f"{len(pages)} pages, the landing page {size:,} bytes, {found} results for convolve; {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
