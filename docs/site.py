"""Makes pages of the documents in the repository's root, and of the notebooks. A hook of MkDocs; `mkdocs.yml` names it.

The README is the first page. In the repository links lead from folder to folder; on the site all pages lie beside each
other.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "CHANGELOG.md", "COMPATIBILITY.md", "CONTRIBUTING.md", "SECURITY.md")
NOTEBOOKS = ROOT / "examples"
_LINK = re.compile(r"\]\((?:\.\./)?(?:docs/|examples/|(?=\w+\.(?:md|ipynb)))?([\w.]+)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that do not lie in `docs`."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in DOCUMENTS}
    texts |= {path.name: notebook_text(path) for path in NOTEBOOKS.glob("*.ipynb")}
    for name, text in texts.items():
        files.append(File.generated(config, page_of(name), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links to pages of the site, and gives the tables of pairs the room of the table of contents."""
    if page.file.src_uri == "concurrency.md":
        page.meta["hide"] = ["toc"]
    return _LINK.sub(lambda link: f"]({page_of(link[1])}", markdown)


def page_of(name: str) -> str:
    """The page of a file of the repository, by the file's name."""
    if name == "README.md":
        return "index.md"
    return "first_steps.md" if name == NOTEBOOKS.name else name.replace(".ipynb", ".md")


def notebook_text(path: Path) -> str:
    """A notebook with what it showed, as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", *map(_shown, cell["outputs"])]
    return "\n\n".join(parts)


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return (
            f'<img alt="What the cell drew" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
        )
    if "text/html" in data:
        # The site gives tables without a class its own look.
        html = "".join(data["text/html"]).replace('<table border="1" class="dataframe">', "<table>")
        return f'<div class="output">{html}</div>'
    return f"```text\n{''.join(output.get('text') or data['text/plain'])}\n```"
