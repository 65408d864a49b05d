"""Any text of a scene, and any override, results in a scene or an error of the project."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multibody_cli.errors import MbsimError
from multibody_cli.scene.load import load_scene

SEEDS = [path.read_text() for path in sorted((Path(__file__).parent / "broken").glob("*.yaml"))]
WORDS = sorted({word for seed in SEEDS for word in re.findall(r"\w+|[^\w\s]|\s+", seed)})
WORDS += [
    "${",
    "}",
    "1e999",
    ".nan",
    "-",
    "&a",
    "*a",
    "<<",
    "!!int",
    "---",
    "\0",
    "\ud7ff",
    "\x85",
    "|\n",
    "'",
    '"',
]

quick = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def load(folder: Path, text: str, overrides: list[str] | None = None) -> None:
    path = folder / "scene.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        loaded = load_scene(path, overrides or [])
    except MbsimError:
        return
    path.write_text(loaded.text, encoding="utf-8")
    assert load_scene(path).scene == loaded.scene


@quick
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text(tmp_path, text):
    load(tmp_path, text)


@quick
@given(seed=st.sampled_from(SEEDS), chance=st.randoms(use_true_random=False))
def test_scenes_with_changed_tokens(tmp_path, seed, chance: random.Random):
    pieces = re.findall(r"\w+|[^\w\s]|\s+", seed)
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(pieces) + 1)
        pieces[place : place + chance.randint(0, 2)] = [chance.choice(WORDS)] * chance.randint(0, 2)
    load(tmp_path, "".join(pieces))


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(WORDS))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)


@quick
@given(data=st.data())
def test_values_of_any_type(tmp_path, data):
    import json

    section = data.draw(
        st.sampled_from(
            [
                "vars",
                "repeat",
                "bodies",
                "joints",
                "couplings",
                "constraints",
                "forces",
                "world",
                "simulation",
                "output",
                "expect",
            ]
        )
    )
    content = json.dumps(data.draw(values)).replace("NaN", ".nan").replace("Infinity", ".inf")
    seed = "mbsim: 1\nbodies: {a: {mass: 1, shapes: [{type: sphere, radius: 1}]}}\nsimulation: {duration: 1}\n"
    kept = "".join(line + "\n" for line in seed.splitlines() if not line.startswith(section))
    load(tmp_path, f"{kept}{section}: {content}\n")


@quick
@given(
    key=st.text(max_size=12) | st.sampled_from(["vars.n", "bodies.a.mass", "simulation.step"]),
    value=st.text(),
)
def test_any_override(tmp_path, key, value):
    text = "mbsim: 1\nvars: {n: 1}\nbodies: {a: {mass: 1, shapes: [{type: sphere, radius: 1}]}}\n"
    load(tmp_path, text + "simulation: {duration: 1}\n", [f"{key}={value}", key])


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "- [" * 1000, "a: " + "-" * 100_000, "? " * 10_000],
)
def test_deep_nesting(tmp_path, text):
    load(tmp_path, text)


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9**9",
        "(" * 300,
        "-" * 3000,
        "1" * 5000,
        "1e308*10",
        "lambda: 0",
        "[1][0][0]",
        "concat()",
        "x" * 1999,
    ],
)
def test_hostile_expressions(tmp_path, expression):
    load(tmp_path, f'mbsim: 1\nname: "${{{expression}}}"\n')
