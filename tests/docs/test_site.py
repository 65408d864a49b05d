"""The site is built without warnings, loads nothing from elsewhere, and none of its links is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import ROOT

LOADED = {"script": "src", "img": "src", "video": "src", "source": "src", "iframe": "src", "link": "href"}
"""Attribute of an element that names a file that a browser loads at once."""


class Found(HTMLParser):
    """Files that a page loads, the targets of its links, the places in it, and the text of its paragraphs."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.paragraphs: list[str] = []
        self._is_paragraph = False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and LOADED[tag] in given and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(given[LOADED[tag]])
        if tag == "p":
            self.paragraphs.append("")
        self._is_paragraph = tag == "p" or (self._is_paragraph and tag in ("a", "code", "em", "strong"))

    def handle_endtag(self, tag: str) -> None:
        self._is_paragraph = self._is_paragraph and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._is_paragraph:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Found]:
    """The pages of the site, built without films."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "MBSIM_SITE_PICTURES": "false", "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    ended = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return {page: Found(page) for page in folder.rglob("*.html") if page.name != "404.html"}


def test_the_site_has_every_page_and_every_scene(pages):
    [index] = [page for page in pages if page.name == "index.html" and page.parent.name != "theory"]
    names = {page.relative_to(index.parent).with_suffix("").as_posix() for page in pages}
    documents = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    scenes = {path.relative_to(ROOT) for path in (ROOT / "scenes").rglob("*.yaml")}
    wanted = {path.with_suffix("").as_posix().replace("README", "index") for path in documents | scenes}
    assert names == wanted | {"index", "CONTRIBUTING", "CHANGELOG", "SECURITY"}


def test_no_page_loads_anything_from_elsewhere(pages):
    for page, found in pages.items():
        assert [one for one in found.loaded if urlsplit(one).netloc] == [], page.name
    root = min((page.parent for page in pages), key=lambda folder: len(folder.parts))
    for sheet in root.rglob("*.css"):
        assert "url(http" not in sheet.read_text(encoding="utf-8"), sheet.name


def test_every_link_leads_to_a_page_and_a_place_in_it(pages):
    for page, found in pages.items():
        for link in (*found.links, *found.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), (page.name, link)
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].places, (page.name, link)


def test_lists_are_lists_in_the_site_too(pages):
    """Python-Markdown begins a list only after an empty line, unlike the forge."""
    for page, found in pages.items():
        assert [text for text in found.paragraphs if "\n- " in text or "\n1. " in text] == [], page.name
