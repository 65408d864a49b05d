"""Draw `layers.svg`: the packages of `multibody_cli` in their layers, with the walk of a run through them.

    python docs/pictures/layers.py

The layers are those that import-linter enforces (`pyproject.toml`), the texts the first sentences of the packages.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_name("layers.svg")

WALK = (
    "cli",
    "studies",
    "document",
    "scene",
    "compile",
    "packing",
    "initial",
    "methods",
    "timeline",
    "observation",
    "output",
)
"""Packages in the order in which a run passes them."""

WIDTH, ROW, GAP, MARGIN = 1060, 62, 10, 20


def layers() -> list[list[str]]:
    """Return the names of the packages and modules of each layer, from the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def subject(name: str) -> str:
    """Return the first sentence of the docstring of a package or module."""
    path = ROOT / "multibody_cli" / name
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = docstring.split("\n\n")[0].replace("\n", " ")
    return first.split(".  ")[0].split(". ")[0].rstrip(".")


def box(name: str, x: float, y: float, width: float) -> list[str]:
    """Return the SVG of one package: its name, its place in the walk, and its subject."""
    lines = textwrap.wrap(subject(name), max(12, int(width / 5.6)), max_lines=3, placeholder=" ...")
    walked = name in WALK
    parts = [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{ROW - GAP}" rx="4" '
        f'fill="{"#e3edf7" if walked else "#f6f6f6"}" stroke="#667"/>',
        f'<text x="{x + 8:g}" y="{y + 15:g}" font-size="12" font-weight="bold">{escape(name)}</text>',
    ]
    if walked:
        number = WALK.index(name) + 1
        parts.append(f'<circle cx="{x + width - 13:g}" cy="{y + 12:g}" r="9" fill="#1f5f99"/>')
        parts.append(
            f'<text x="{x + width - 13:g}" y="{y + 15.5:g}" font-size="10" fill="white" text-anchor="middle">'
            f"{number}</text>"
        )
    parts += [
        f'<text x="{x + 8:g}" y="{y + 27 + 10 * k:g}" font-size="9" fill="#333">{escape(line)}</text>'
        for k, line in enumerate(lines)
    ]
    return parts


def picture() -> str:
    """Return the whole picture as SVG."""
    rows = layers()
    height = 2 * MARGIN + ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for k, names in enumerate(rows):
        width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        for i, name in enumerate(names):
            parts += box(name, MARGIN + i * (width + GAP), MARGIN + k * ROW, width)
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
