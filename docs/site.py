"""Makes pages of the documents in the repository's root. A hook of MkDocs; `mkdocs.yml` names it.

The README is the first page. In the root, links lead to `docs/page.md`; on the site all pages lie beside each other.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "COMPATIBILITY.md": "COMPATIBILITY.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
_FROM_ROOT = re.compile(r"\]\(docs/")
_TO_ROOT = re.compile(r"\]\(\.\./([A-Z]+\.md)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the root."""
    for name, page in PAGES.items():
        text = _FROM_ROOT.sub("](", (ROOT / name).read_text(encoding="utf-8"))
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads the links of a guide to the pages of the root."""
    return _TO_ROOT.sub(lambda link: f"]({PAGES[link[1]]}", markdown)
