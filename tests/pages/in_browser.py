"""The site in headless Chromium. `make test-docs` builds it and runs this; screenshots go to build/pages."""

from __future__ import annotations

import functools
import http.server
import re
import threading
from pathlib import Path

import pytest

from tests.chromium import Watched, chromium, take_screenshot

SITE = Path(__file__).resolve().parent.parent.parent / "build" / "site"
SHOTS = SITE.parent / "pages"
PAGES = sorted(page.name for page in SITE.glob("*.html") if page.name != "404.html")
#: Those that a screenshot is taken of.
SHOWN = ("index.html", "faq.html", "api.html", "format.html", "sharing.html")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=SITE)
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def pages(browser, address):
    pages = Watched(browser, (address, "data:", "blob:"))
    yield pages
    assert not pages.wrong


def test_there_are_pages():
    assert {"index.html", "faq.html", "api.html", "format.html"} <= set(PAGES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_pages_open_and_ask_nobody_else(pages, address, scheme, width):
    page = pages.new_page(scheme, width)
    for name in PAGES:
        page.goto(address + name)
        page.wait_for_selector("h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth)"), (
            name
        )
        if name in SHOWN:
            take_screenshot(page, SHOTS, f"{name[:-5]}_{scheme}_{width}", full_page=False)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("key_granularity", "api.html#"),
        ("spark.qbeast.progress", "life.html#"),
        ("sampleFractions", "indexing.html#"),
        ("smallest_group", "tolerance.html#"),
        ("QbeastTable", "api.html#pyqbeast.QbeastTable"),
    ],
)
def test_the_search_finds_a_name(pages, address, name, place):
    page = pages.new_page()
    page.goto(address)
    page.locator(".md-search__input").click()
    page.keyboard.type(name)
    page.locator(".md-search-result__link").first.wait_for()
    # What is found is put in order as the pages are looked through.
    page.wait_for_timeout(1000)
    found = page.locator(".md-search-result__item").evaluate_all(
        "items => items.slice(0, 3).flatMap(item => [...item.querySelectorAll('a')].map(link => link.href))"
    )
    assert any(place in _bare(link) for link in found), found


@pytest.mark.parametrize("width", [1400, 1900])
def test_the_tables_of_writers_are_seen_whole(pages, address, width):
    page = pages.new_page(width=width)
    page.goto(address + "concurrency.html")
    hidden = page.locator(".md-typeset__scrollwrap").evaluate_all(
        "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
    )
    assert hidden
    assert max(hidden) == 0
    take_screenshot(page, SHOTS, f"concurrency_light_{width}", full_page=False)


def _bare(link: str) -> str:
    """The address without the words that the page shall mark."""
    return re.sub(r"\?h=[^#]*", "", link)
