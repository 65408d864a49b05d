"""Hooks of MkDocs: the site has the pages of `docs`, the pages of the root, and a page for each scene.

Links in pages are those of the repository, so that they also work there; in the site they lead to the same pages.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gallery
import yaml
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
AT_ROOT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "CITATION.cff")
SCENES = sorted((ROOT / "scenes").rglob("*.yaml"))
FILMS = "films"

_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")
_CARD = re.compile(r"^\| \[(\w+)\]\((\S+)\) \| (.+) \|$", re.MULTILINE)
_HEAD_OF_TABLE = re.compile(r"^\| scene \| description \|\n\| --- \| --- \|$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root and of the scenes, and the pictures of the gallery."""
    for name in AT_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for scene in SCENES:
        place = scene.relative_to(ROOT).as_posix()
        files.append(File.generated(config, _in_site(place), content=_page_of(scene, place, config)))
    for scene, folder in gallery.pictures(gallery.SCENES).items() if config.extra["pictures"] else ():
        for path in folder.iterdir():
            files.append(File.generated(config, f"{FILMS}/{scene.stem}/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links lead to pages of the site, and give the gallery its films."""
    here = page.file.src_uri
    if here == "gallery.md":
        markdown = _HEAD_OF_TABLE.sub('<div class="cards" markdown>\n', markdown)
        markdown = _CARD.sub(lambda row: _card(*row.groups(), config), markdown)
        markdown = re.sub(r"(</article>\n)(?=\n|\Z)", r"\1\n</div>\n", markdown)
    origin = here if here in AT_ROOT or here.startswith("scenes/") else f"docs/{here}"

    def in_site(link: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link[0]))
        known = (ROOT / place).is_file()
        return posixpath.relpath(_in_site(place), posixpath.dirname(here) or ".") if known else link[0]

    return _LINK.sub(in_site, markdown)


def _in_site(place: str) -> str:
    """Return the path in the site of a file of the repository: a scene has a page."""
    return re.sub(r"^(scenes/.*)\.yaml$", r"\1.md", place.removeprefix("docs/"))


def _card(name: str, link: str, text: str, config: Any) -> str:
    """Return an entry of the gallery."""
    film = _film(name, FILMS) if config.extra["pictures"] and "/gallery/" in link else ""
    return f"<article markdown>\n{film}\n**[{name}]({link})**  \n{text}\n\n</article>"


def _film(name: str, films: str) -> str:
    """Return a film that leads to the player of its scene."""
    place = f"{films}/{name}"
    return (
        f'<a href="{place}/{gallery.PLAYER}" title="Open the player"><video src="{place}/{gallery.FILM}" '
        f'poster="{place}/{gallery.FIRST}" preload="none" muted loop playsinline></video></a>\n'
    )


def _page_of(scene: Path, place: str, config: Any) -> str:
    return "\n".join(_lines_of(scene, place, config))


def _lines_of(scene: Path, place: str, config: Any) -> Iterator[str]:
    text = scene.read_text(encoding="utf-8")
    yield f"# {scene.stem}\n"
    yield f"{' '.join(str(yaml.safe_load(text).get('description', '')).split())}\n"
    if config.extra["pictures"] and scene in gallery.SCENES:
        yield _film(scene.stem, f"../../{FILMS}")
    if not {"suites", "parts", "papers"} & set(scene.parts):
        yield f"```console\n$ mbsim run {place}\n```\n"
    yield f'```yaml title="{place}"\n{text}```'
