"""A hook of MkDocs: what the pages write for the repository works in the site too.

A page links to a file outside docs/ by its place in the repository, such as ../examples/train.py.
The site has these files in its folder repository/, Markdown as pages, and the links lead there.
Blocks of code that need a GPU are marked for the tests; MkDocs knows their language alone.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/"
OUTSIDE = "repository/"
# The site has these pages even if no other page links to them.
PAGES = ("CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
# [text](target#anchor) and src="target", as the pages write them.
LINK = re.compile(r"(\]\(|\b(?:src|href)=\")([^)\"\s#:]+)(#[^)\"\s]*)?(?=[)\"])")


def place_in_site(name: str) -> str:
    """Where the site has the repository's file `name`."""
    return name[len(DOCS) :] if name.startswith(DOCS) else OUTSIDE + name


def place_in_repository(name: str) -> str:
    """Where the repository has the site's file `name`."""
    return name[len(OUTSIDE) :] if name.startswith(OUTSIDE) else DOCS + name


def targets(markdown: str, page: str) -> set[str]:
    """The repository's files outside docs/ that `page` links to."""
    folder = posixpath.dirname(page)
    found = {posixpath.normpath(posixpath.join(folder, m[2])) for m in LINK.finditer(markdown)}
    return {name for name in found if not name.startswith(DOCS) and (ROOT / name).is_file()}


def on_files(files: Files, config: Any) -> Files:
    """Adds the files outside docs/ that a page of the site links to."""
    waiting = {*PAGES}
    for file in files.documentation_pages():
        waiting |= targets(file.content_string, place_in_repository(file.src_uri))
    added: set[str] = set()
    while waiting - added:
        name = min(waiting - added)
        added.add(name)
        source = os.fspath(ROOT / name)
        files.append(File.generated(config, place_in_site(name), abs_src_path=source))
        if name.endswith(".md"):
            waiting |= targets((ROOT / name).read_text(), name)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turns links between docs/ and the rest into those of the site, and drops the tests' marks."""
    here = place_in_repository(page.file.src_uri)
    folder = posixpath.dirname(page.file.src_uri)

    def moved(match: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(here), match[2]))
        if not (ROOT / name).is_file():
            return match[0]  # MkDocs warns of it
        target = posixpath.relpath(place_in_site(name), folder or ".")
        return f"{match[1]}{target}{match[3] or ''}"

    return re.sub("^```python gpu$", "```python", LINK.sub(moved, markdown), flags=re.MULTILINE)
