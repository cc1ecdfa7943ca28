"""The Chromium of the machine, for tests of pages: that of CHROMIUM, or the one on the path. Playwright drives it."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
#: Chromium itself asks for nothing either.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.contextmanager
def chromium():
    """The browser, headless. Skips a test where there is none."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: install one, or name it by CHROMIUM=path")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Watched:
    """Pages of a browser, and what went wrong in them: errors of scripts, and requests that leave `home`."""

    def __init__(self, browser, home: tuple[str, ...]):
        self.wrong: list[str] = []
        self._browser, self._home = browser, home

    def new_page(self, scheme: str = "light", width: int = 1400, *, is_phone: bool = False):
        """A page with nothing in it, on a screen that is touched if it is a phone's."""
        page = self._browser.new_context(
            viewport={"width": width, "height": 1000},
            color_scheme=scheme,
            has_touch=is_phone,
            is_mobile=is_phone,
        ).new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on(
            "console",
            lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None,
        )
        page.on(
            "request",
            lambda asked: None if asked.url.startswith(self._home) else self.wrong.append(asked.url),
        )
        return page


def take_screenshot(page, folder: Path, name: str, *, full_page: bool = True):
    """Puts a picture of a page into a folder, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(500)
    page.screenshot(path=folder / f"{name}.png", full_page=full_page)
