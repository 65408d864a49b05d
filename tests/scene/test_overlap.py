"""Overlapping bodies in the initial state are refused with their names and the depth, without compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BALL = "mass: 1, shapes: [{type: sphere, radius: 0.1}]"
START = f"""
mbsim: 1
world: {{shapes: [{{type: plane}}]}}
contacts: {{}}
simulation: {{duration: 2 ms, step: 1 ms}}
output: {{every: 1 ms}}
bodies:
  left: {{{BALL}, position: [0, 0, 1]}}
"""
DEEP = (
    "move them apart, or exclude the contact (`contacts.exclude`, `contacts.overlap: exclude`, or `contact: false` of "
    "a shape)"
)


def mbsim(folder: Path, text: str, *words: str) -> tuple[int, list[str]]:
    """Run a command on a scene; its exit code and its messages."""
    (folder / "scene.yaml").write_text(START + text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "multibody_cli", *words],
        cwd=folder,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return ended.returncode, (ended.stdout + ended.stderr).splitlines()


def test_every_pair_is_reported_with_its_deepest_point(tmp_path):
    others = f"""
  right: {{{BALL}, position: [0.15, 0, 1]}}
  box: {{mass: 1, shapes: [{{type: box, size: [0.2, 0.2, 0.2]}}], position: [2, 0, 0.07]}}
"""
    code, said = mbsim(tmp_path, others, "validate", "scene.yaml")
    assert code == 2
    assert said == [
        f"scene.yaml:10:3: bodies.right: lies 0.05 m deep in `left` at the start: {DEEP}",
        f"scene.yaml:11:3: bodies.box: lies 0.03 m deep in `world` at the start: {DEEP}",
    ]


def test_overlap_is_checked_in_the_initial_configuration(tmp_path):
    hung = f"""
  hung: {{{BALL}}}
joints: {{slide: {{type: prismatic, axis: [0, 0, 1], child: hung, q: 0.06}}}}
"""
    code, said = mbsim(tmp_path, hung, "validate", "scene.yaml")
    assert (code, said) == (2, [f"scene.yaml:10:3: bodies.hung: lies 0.04 m deep in `world` at the start: {DEEP}"])
    apart = hung.replace("0.06", "0.11")
    assert mbsim(tmp_path, apart, "validate", "scene.yaml") == (0, ["scene.yaml: ok"])


def test_pairs_without_contacts_may_overlap(tmp_path):
    other = f"  right: {{{BALL}, position: [0.15, 0, 1]}}\n"
    words = ("validate", "scene.yaml", "--set", "contacts.pairs=[[left, world]]")
    assert mbsim(tmp_path, other, *words) == (0, ["scene.yaml: ok"])


def test_small_overlaps_are_corrected_without_a_velocity(tmp_path):
    close = f"  near: {{{BALL}, position: [2, 0, {0.1 - 0.9e-7!r}]}}\n"
    expected = """
expect:
  - {at: final, channel: bodies/near/position, value: [2, 0, 0.1], atol: 1e-12}
  - {at: 1 ms, channel: bodies/near/linear_velocity, value: [0, 0, 0], atol: 1e-12}
"""
    code, said = mbsim(tmp_path, close + expected, "run", "scene.yaml")
    assert code == 0, said
    deeper = close.replace(repr(0.1 - 0.9e-7), repr(0.1 - 1.1e-7))
    code, said = mbsim(tmp_path, deeper, "validate", "scene.yaml")
    assert (code, said) == (2, [f"scene.yaml:9:3: bodies.near: lies 1.1e-07 m deep in `world` at the start: {DEEP}"])


def test_bodies_that_overlap_are_excluded_on_request_and_named(tmp_path):
    """Of three balls the two that overlap fall through each other, and one of them through the floor below it.

    The third, close above the floor, stays on it.
    """
    scene = f"""
  right: {{{BALL}, position: [0.15, 0, 1]}}
  sunk: {{{BALL}, position: [2, 0, 0.07]}}
  rests: {{{BALL}, position: [3, 0, 0.1]}}
expect:
  - {{at: final, channel: bodies/left/position, value: [0, 0, "${{1 - 9.81e-6*3}}"], atol: 1e-12}}
  - {{at: final, channel: bodies/right/position, value: [0.15, 0, "${{1 - 9.81e-6*3}}"], atol: 1e-12}}
  - {{at: final, channel: bodies/sunk/position, value: [2, 0, "${{0.07 - 9.81e-6*3}}"], atol: 1e-12}}
  - {{at: final, channel: bodies/rests/position, value: [3, 0, 0.1], atol: 1e-12}}
"""
    words = ("--set", "contacts.overlap=exclude")
    note = (
        "warning: bodies overlap at the start and never touch in this run: `world` and `sunk` by 0.03 m and `left` and "
        "`right` by 0.05 m: move them apart, or list them in `contacts.exclude` if this is meant"
    )
    assert mbsim(tmp_path, scene, "validate", "scene.yaml", *words) == (0, ["scene.yaml: ok", note])
    for method in ("aba", "baraff"):
        code, said = mbsim(
            tmp_path, scene, "run", "scene.yaml", "--force", *words, "--set", f"simulation.method={method}"
        )
        assert (code, note in said) == (0, True), said
    quiet = ("--set", "simulation.alarms.overlap=false")
    assert mbsim(tmp_path, scene, "validate", "scene.yaml", *words, *quiet) == (0, ["scene.yaml: ok"])
    list_of_pairs = ("--set", "contacts.exclude=[[world, sunk], [left, right]]")
    assert mbsim(tmp_path, scene, "validate", "scene.yaml", *list_of_pairs) == (0, ["scene.yaml: ok"])


def test_the_stored_scene_excludes_the_same_bodies(tmp_path):
    other = f"  right: {{{BALL}, position: [0.15, 0, 1]}}\n"
    code, said = mbsim(tmp_path, other, "run", "scene.yaml", "--set", "contacts.overlap=exclude")
    assert code == 0, said
    code, said = mbsim(tmp_path, other, "validate", "outputs/scene.h5")
    assert (code, said[0]) == (0, "outputs/scene.h5: ok")
    assert "`left` and `right` by 0.05 m" in said[1]


SUNK = f"""
  trunk: {{mass: 4, shapes: [{{type: box, size: [0.4, 0.3, 0.1]}}], position: [0, 0, 0.449]}}
  leg: {{mass: 1, shapes: [{{type: box, size: [0.3, 0.3, 0.4]}}]}}
  cart: {{{BALL}}}
  held: {{{BALL}}}
  tower: {{mass: 1, shapes: [{{type: box, size: [0.2, 0.2, 0.2]}}]}}
joints:
  hip: {{type: prismatic, axis: [0, 0, 1], parent: trunk, child: leg, origin: {{position: [0, 0, -0.25]}}}}
  rails:
    type: composite
    parts: [{{type: prismatic, axis: [1, 0, 0]}}, {{type: prismatic, axis: [0, 0.6, 0.8]}}]
    child: cart
    origin: {{position: [2, 0, 0.06]}}
  level: {{type: prismatic, axis: [1, 0, 0], child: held, origin: {{position: [4, 0, 0.07]}}}}
  stand: {{type: fixed, child: tower, origin: {{position: [6, 0, 0]}}}}
couplings: {{hold: {{type: linear, terms: {{hip: 1}}}}}}
"""


def test_mechanisms_start_outside_of_the_world_on_request(tmp_path):
    """A robot whose leg is 1 mm in the floor stands on it, and a cart on inclined rails leaves it along these.

    The rail of a ball keeps it in the floor, so that both never touch.
    """
    expected = """
expect:
  - {at: 0, channel: bodies/leg/position, value: [0, 0, 0.2], atol: 1e-12}
  - {at: final, channel: bodies/trunk/position, value: [0, 0, 0.45], atol: 1e-9}
  - {at: 0, channel: bodies/cart/position, value: [2, 0.03, 0.1], atol: 1e-9}
  - {at: final, channel: bodies/held/position, value: [4, 0, 0.07], atol: 1e-12}
"""
    words = ("--set", "contacts.overlap=separate")
    moved = (
        "warning: bodies overlap the world at the start and are moved out of it: `trunk` by [0, 0, 0.001] m and `cart` "
        "by [0, 0.03, 0.04] m: correct their initial positions"
    )
    apart = (
        "warning: bodies overlap at the start and never touch in this run: `world` and `held` by 0.03 m: move them "
        "apart, or list them in `contacts.exclude` if this is meant"
    )
    assert mbsim(tmp_path, SUNK, "validate", "scene.yaml", *words) == (0, ["scene.yaml: ok", moved, apart])
    for method in ("aba", "redmax", "symbolic", "baraff", "variational", "variational_maximal"):
        setting = f"simulation.method={method}"
        code, said = mbsim(tmp_path, SUNK + expected, "run", "scene.yaml", "--force", *words, "--set", setting)
        assert (code, moved in said) == (0, True), (method, said)


def test_a_mechanism_that_a_constraint_holds_in_the_world_stays(tmp_path):
    held = f"""
  hung: {{{BALL}, position: [0, 0, 0.05]}}
constraints: {{rod: {{type: distance, between: [{{body: hung}}, {{body: world, point: [0, 0, 2]}}], length: 1.95}}}}
"""
    code, said = mbsim(tmp_path, held, "validate", "scene.yaml", "--set", "contacts.overlap=separate")
    assert code == 0
    assert any("never touch" in line for line in said), said
    assert not any("moved out" in line for line in said)


def test_a_wall_and_a_floor_separate_by_the_smallest_displacement(tmp_path):
    corner = f"  ball: {{{BALL}, position: [1.95, 0, 0.06]}}\n"
    walls = "world.shapes=[{type: plane}, {type: box, size: [1, 9, 9], position: [2.5, 0, 0]}]"
    words = ("--set", walls, "--set", "contacts.overlap=separate")
    code, said = mbsim(tmp_path, corner, "validate", "scene.yaml", *words)
    assert code == 0
    assert "`ball` by [-0.05, 0, 0.04] m" in said[1]


def test_a_mechanism_does_not_climb_a_steep_wall(tmp_path):
    """Along its vertical slide, 0.008 m into a wall of 84 degrees are 0.08 m."""
    lift = f"""
  lift: {{{BALL}}}
joints: {{lift: {{type: prismatic, child: lift, axis: [0, 0, 1], origin: {{position: [-0.41, 0, 5]}}}}}}
"""
    words = ("--set", "world.shapes=[{type: plane, normal: [0.995, 0, 0.1]}]", "--set", "contacts.overlap=separate")
    code, said = mbsim(tmp_path, lift, "validate", "scene.yaml", *words)
    assert code == 0
    assert any("`world` and `lift` by 0.00795 m: move them apart" in line for line in said), said
    assert not any("moved out" in line and "`lift`" in line for line in said)
