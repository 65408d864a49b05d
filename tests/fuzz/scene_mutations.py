"""Strategies: scenes of the gallery with random changes, and lists of arguments."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import strategies as st

from multibody_cli.cli.app import VERBS

ROOT = Path(__file__).parents[2]
COMPILED = re.compile(r"type: (curve|spline_\w+|surface_\w+|symbolic|mesh)|include:|method: symbolic")
"""Scenes whose joints are compiled for them, which takes seconds, or that need other files."""

SCENES = [
    text
    for path in sorted((ROOT / "scenes/gallery").glob("*.yaml"))
    if len(text := path.read_text(encoding="utf-8")) < 4000 and not COMPILED.search(text)
]

NUMBERS = ["0", "-1", "1e308", "-1e308", "5e-324", "1e-30", "1e22", "1e9", "9007199254740993", ".inf", ".nan", "1e160"]
NUMBERS += ["1e-160", '"1e308 deg"', '"-0 kg"', '"1e-30 ms"', "99999999999999999999", "0x7fffffffffffffff", "2", "1e-3"]
TEXTS = [
    r'"\x1b[2J\u202e"',
    r'"\0"',
    '"a b"',
    "world",
    '"${"',
    '"${n}"',
    '"${[1, 2, 3]}"',
    '"${1/0}"',
    "''",
    "null",
    "true",
]
TEXTS += [
    "[]",
    "{}",
    "[[[]]]",
    "{a: {b: {}}}",
    "&x [*x]",
    "*x",
    "<<",
    "!!python/name:os",
    "---",
    "/dev/zero",
    "../../etc",
]
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e-?\d+)?(?![\w.])")
_WORD = re.compile(r"(?<![\w$])[A-Za-z_]\w*")


@st.composite
def changed(draw: st.DrawFn, text: str) -> str:
    """The text with one random change."""
    kind = draw(st.sampled_from(["number", "number", "number", "word", "text", "line", "cut", "letter"]))
    if kind in ("number", "word", "text"):
        places = list((_WORD if kind == "word" else _NUMBER).finditer(text))
        if not places:
            return text
        place = draw(st.sampled_from(places))
        words = {"number": NUMBERS, "text": TEXTS, "word": [match[0] for match in _WORD.finditer(text)]}[kind]
        return text[: place.start()] + draw(st.sampled_from(words)) + text[place.end() :]
    lines = text.splitlines(keepends=True)
    if kind == "line":
        first, second = draw(st.sampled_from(range(len(lines)))), draw(st.sampled_from(range(len(lines))))
        return "".join([*lines[:first], lines[second], *lines[first:]])
    if kind == "cut":
        first = draw(st.integers(0, len(lines) - 1))
        return "".join([*lines[:first], *lines[first + draw(st.integers(1, 3)) :]])
    place = draw(st.integers(0, len(text) - 1))
    return text[:place] + draw(st.characters(exclude_categories=["Cs"])) + text[place + draw(st.integers(0, 1)) :]


@st.composite
def scenes(draw: st.DrawFn) -> str:
    """A scene of the gallery with one to four changes."""
    text = draw(st.sampled_from(SCENES))
    for _ in range(draw(st.integers(1, 4))):
        text = draw(changed(text))
    return text


_LETTERS = st.characters(exclude_categories=("Cs",))
_OPTIONS = [
    "--json",
    "--force",
    "-o",
    "out.h5",
    "--set",
    "--step",
    "--duration",
    "--method",
    "--integrator",
    "-q",
    "-v",
]
_OPTIONS += ["--resume", "--check", "--baseline", "--junit", "--markdown", "--channels", "--size", "--", "-", "--help"]
_VALUES = [
    "pendulum.yaml",
    "stiff.yaml",
    ".",
    "/dev/null",
    "missing.yaml",
    "vars.n=2",
    "simulation.step=1",
    "0.01",
    "aba",
]
_VALUES += [
    "simulation.step=5e-324",
    "bodies.rod.mass=1e308",
    "include=[/etc/passwd]",
    "vars.n=[[[[1]]]]",
    "methods",
    "x.h5",
]
argument_lists = st.tuples(
    st.sampled_from([verb for verb in VERBS if verb not in ("bench", "warm", "cache", "certify")] + ["rum"]),
    st.lists(st.one_of(st.sampled_from(_OPTIONS + _VALUES), st.text(_LETTERS, max_size=8)), max_size=6),
)
"""A verb and its arguments; those verbs excepted that measure, compile everything or clear the user's cache."""
