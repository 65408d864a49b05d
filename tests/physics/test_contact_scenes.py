"""Contacts against closed forms, as users run them, for every method, beyond the expectations of scenes."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from multibody_cli import MemorySink, prepare
from multibody_cli.errors import SceneError
from multibody_cli.methods import METHODS
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.studies.expect import evaluate

SCENES = Path(__file__).parents[2] / "scenes" / "validation"
G, WORLD = 9.81, -1

METHOD = pytest.mark.parametrize("method", sorted(METHODS))

LEANING = """
mbsim: 1
gravity: ["${9.81*sin(alpha)*cos(heading)}", "${9.81*sin(alpha)*sin(heading)}", "${-9.81*cos(alpha)}"]
vars: {alpha: 20 deg, heading: 0 deg, mu: 0.4}
world: {shapes: [{type: plane}]}
contacts: {friction: "${mu}"}
bodies: {box: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.1]}], position: [0, 0, 0.05]}}
simulation: {duration: 0.1 s, step: 1 ms}
output: {every: 1 ms}
"""
"""A box on a floor under gravity that leans: the tangents of its contacts are the axes of the world."""


def run(scene: Path, *settings: str) -> Trajectory:
    sink = MemorySink()
    prepare(scene, [*settings, "expect=[]"]).run(sink)
    trajectory = sink.trajectory()
    assert trajectory.attributes["status"] == "complete"
    return trajectory


@pytest.fixture
def lean(tmp_path: Path) -> Callable[..., np.ndarray]:
    """Give the speed of the leaning box in the end."""
    scene = tmp_path / "leaning.yaml"
    scene.write_text(LEANING, encoding="utf-8")
    return lambda *settings: run(scene, *settings).channel("bodies/linear_velocity").values[-1, 0]


# --- forces -------------------------------------------------------------------------------------------------------
PRESSED = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 0.5}
bodies:
  low: {mass: 2, shapes: [{type: box, size: [1, 1, 0.2]}], position: [0, 0, 0.1]}
  top: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0.3, 0, 0.3]}
forces: {push: {body: low, force: [3, 2, 0], point: [0, 0.1, 0.2]}}
simulation: {duration: 20 ms, step: 1 ms}
"""
"""Two boxes at rest, pushed above the center of the lower one."""


@METHOD
def test_contacts_balance_all_other_forces_and_torques_on_a_body_at_rest(method, tmp_path):
    scene = tmp_path / "pressed.yaml"
    scene.write_text(PRESSED, encoding="utf-8")
    found = run(scene, f"simulation.method={method}")
    force, torque = (found.channel(f"bodies/low/contact_{word}").values for word in ("force", "torque"))
    assert np.abs(np.stack([force[0], torque[0]])).max() == 0.0  # before the first step
    np.testing.assert_allclose(force[-1], [-3, -2, 2 * G], atol=1e-9)
    np.testing.assert_allclose(torque[-1], -np.cross([0, 0.1, 0.2], [3, 2, 0]), atol=1e-9)
    np.testing.assert_allclose(found.channel("bodies/top/contact_force").values[-1], [0, 0, G], atol=1e-9)


STACK = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 0.5}
bodies:
  low: {mass: 4, shapes: [{type: box, size: [1, 1, 0.2]}], position: [0, 0, 0.1]}
  mid: {mass: 2, shapes: [{type: box, size: [0.5, 0.5, 0.2]}], position: [0, 0, 0.3]}
  top: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.5]}
forces: {push: {body: mid, force: [2, 1, 0]}}
simulation: {duration: 20 ms, step: 1 ms}
output: {every: 2 ms}
expect:
  - {channel: "contacts/mid:low/force", at: final, value: [2, 1, -29.43], atol: 1e-8}
  - {channel: "contacts/low:mid/force", component: z, max: 29.4301 N, min: 0}
  - {channel: "contacts/low:mid/force", component: z, max: 29.4299 N}
"""
"""Three boxes at rest, the one in the middle pushed."""


@METHOD
def test_the_force_between_two_bodies_of_a_stack_is_the_weight_above(method, tmp_path):
    scene = tmp_path / "stack.yaml"
    scene.write_text(STACK, encoding="utf-8")
    found = run(scene, f"simulation.method={method}")

    def force(a, b):
        return found.channel(f"contacts/{a}:{b}/force").values

    loads = {("mid", "top"): [0, 0, G], ("low", "mid"): [-2, -1, 3 * G], ("world", "low"): [-2, -1, 7 * G]}
    for (a, b), load in loads.items():
        np.testing.assert_allclose(force(a, b)[1:], np.tile(load, (10, 1)), atol=1e-8)
        np.testing.assert_array_equal(force(b, a), -force(a, b))
        assert not force(a, b)[0].any()  # before the first step
    assert not force("top", "low").any()  # they do not touch
    bodies = ("world", "low", "mid", "top")
    for b in bodies[1:]:
        whole = sum(force(a, b) for a in bodies if a != b)
        np.testing.assert_allclose(whole, found.channel(f"bodies/{b}/contact_force").values, rtol=0, atol=1e-12)


def test_the_force_between_two_bodies_can_be_expected(tmp_path):
    scene, sink = tmp_path / "stack.yaml", MemorySink()
    scene.write_text(STACK, encoding="utf-8")
    simulation = prepare(scene)
    simulation.run(sink)
    assert [one.passed for one in evaluate(simulation.scene.expect, sink.trajectory())] == [True, True, True, False]
    with pytest.raises(SceneError, match=r"reads `contacts/step`, .*but `output.channels` excludes them"):
        prepare(scene, ["output.channels=[bodies]"])


# --- slopes -------------------------------------------------------------------------------------------------------
@METHOD
@pytest.mark.parametrize("heading", [0, 22.5, 45, 70])
@pytest.mark.parametrize(("solver", "margin"), [("proximal", 1e-6), ("staggered_projections", 1e-8)])
def test_the_threshold_of_a_slope_is_the_same_in_all_directions(lean, method, heading, solver, margin):
    threshold = math.tan(math.radians(20.0))
    words = [f"simulation.method={method}", f"contacts.method={solver}", f"vars.heading={heading} deg"]
    assert np.abs(lean(*words, f"vars.mu={threshold * (1 + margin)!r}")).max() < 1e-15
    assert np.linalg.norm(lean(*words, f"vars.mu={threshold * (1 - margin)!r}")) == pytest.approx(
        margin * G * math.sin(math.radians(20.0)) * 0.1, rel=1e-4
    )


# --- stacks -------------------------------------------------------------------------------------------------------
@METHOD
@pytest.mark.parametrize("n", [5, 10])
def test_each_cube_carries_those_above_it(method, n):
    found = run(SCENES / "box_stack.yaml", f"simulation.method={method}", f"vars.n={n}", "simulation.duration=0.5 s")
    contacts = found.contacts(-1)
    loads = {
        below: contacts["normal_impulse"][contacts["body_a"] == below].sum() / 1e-3 for below in (WORLD, *range(n - 1))
    }
    weights = {below: (n - 1 - below) * 0.5 * G for below in (WORLD, *range(n - 1))}
    assert loads == pytest.approx({WORLD: n * 0.5 * G} | {k: w for k, w in weights.items() if k >= 0}, rel=1e-9)
    still = found.channel("bodies/position").values
    assert np.abs(still - still[0]).max() < 1e-12


@METHOD
@pytest.mark.parametrize(("share", "stands"), [(0.98, True), (1.02, False)])
def test_bricks_reach_out_as_far_as_the_harmonic_series(method, share, stands):
    settings = [f"simulation.method={method}", f"vars.share={share}", "simulation.duration=1 s"]
    top = run(SCENES / "box_stack_overhang.yaml", *settings).channel("bodies/position").values[:, 4, 2]
    assert abs(top[-1] - top[0]) < 1e-10 if stands else top[-1] < top[0] - 0.02


# --- cards --------------------------------------------------------------------------------------------------------
@METHOD
@pytest.mark.parametrize("angle", [10, 15, 20, 30])
def test_cards_stand_as_long_as_the_floor_is_rough_enough(method, angle):
    """mu >= tan(th)/2; the scene knows by how much the round edges of its cards lower that."""
    drops = []
    for share in (0.95, 1.05):
        settings = [f"simulation.method={method}", f"vars.th={angle} deg", f"vars.share={share}"]
        found = run(SCENES / "two_cards.yaml", *settings)
        height = found.channel("bodies/position").values[:, :, 2]
        drops.append((height[0] - height[-1]).max())
    assert drops[0] > 0.01
    assert abs(drops[1]) < 1e-12


def test_forces_between_cards_follow_from_statics():
    th, r = math.radians(20.0), 1e-3
    contacts = run(SCENES / "two_cards.yaml", "simulation.duration=0.1 s").contacts(-1)
    between = contacts["body_a"] != WORLD
    assert contacts["normal_impulse"][~between].sum() / 1e-3 == pytest.approx(2 * 0.1 * G, rel=1e-9)
    horizontal = 0.1 * G * math.tan(th) / 2 / (1 + r / math.cos(th))
    assert contacts["normal_impulse"][between].sum() / 1e-3 == pytest.approx(horizontal, rel=1e-9)


# --- energy -------------------------------------------------------------------------------------------------------
@METHOD
@pytest.mark.parametrize(
    ("scene", "settings"),
    [
        ("incline_stick_slip", ["simulation.duration=0.2 s", "output.every=0.5 ms"]),
        ("box_stack", ["simulation.duration=0.2 s", "output.every=1 ms"]),
        ("box_stack_overhang", ["simulation.duration=0.8 s", "output.every=1 ms", "vars.share=1.02"]),
        ("rod_impact", []),
        ("bouncing_ball", ["simulation.duration=1 s", "output.every=0.1 ms"]),
        ("sphere_slide_to_roll", []),
        ("two_cards", ["output.every=1 ms", "vars.share=0.95"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_contacts_never_add_energy(method, scene, settings):
    """From step to step."""
    energy = run(SCENES / f"{scene}.yaml", f"simulation.method={method}", *settings).channel("energy/total").values
    assert np.diff(energy).max() < 1e-13 * max(1.0, np.abs(energy).max())


# --- heaps ----------------------------------------------------------------------------------------------------------
WALL = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {}
simulation: {duration: 0.1 s, step: 2 ms}
output: {every: 2 ms}
bodies:
"""


def wall(rows: int, columns: int) -> str:
    """Bricks in rows, with half bricks at the ends of every other row."""
    lines = []
    for i in range(rows):
        lengths = [0.2] * columns if i % 2 == 0 else [0.1] + [0.2] * (columns - 1) + [0.1]
        for j, length in enumerate(lengths):
            x, z = sum(lengths[:j]) + length / 2, 0.1 * i + 0.05
            shape = f"{{type: box, size: [{length}, 0.1, 0.1], density: 2000}}"
            lines.append(f"  b{i}_{j}: {{shapes: [{shape}], position: [{x!r}, 0, {z!r}]}}\n")
    return WALL + "".join(lines)


@METHOD
def test_a_wall_stands_and_its_energy_never_rises(tmp_path, method):
    scene = tmp_path / "wall.yaml"
    scene.write_text(wall(6, 5), encoding="utf-8")
    found = run(scene, f"simulation.method={method}")
    energy, weight = found.channel("energy/total").values, 6 * 5 * 4.0 * G
    assert np.diff(energy).max() <= 1e-14 * energy[0]
    assert np.abs(found.channel("bodies/position").values - found.channel("bodies/position").values[0]).max() < 1e-12
    assert found.channel("contacts/creep").values.max() < 1e-12
    assert found.channel("contacts/unsolved").values.sum() == 0
    contacts = found.contacts(-1)
    on_floor = contacts["normal_impulse"][contacts["body_a"] == WORLD].sum() / 2e-3
    assert on_floor == pytest.approx(weight, rel=1e-9)


SLIDING_STACK = """
mbsim: 1
world: {shapes: [{type: plane}]}
contacts: {friction: 0.5, max_iterations: 1, tolerance: 1e-15}
bodies:
  lower: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0, 0, 0.1],
          velocity: {linear: [1, 0.3, 0], angular: [0, 0, 2]}}
  upper: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.2]}], position: [0.03, 0, 0.3]}
simulation: {duration: 0.1 s, step: 1 ms}
output: {every: 1 ms}
"""


@METHOD
def test_steps_that_miss_the_tolerance_are_counted(method, tmp_path):
    scene = tmp_path / "stack.yaml"
    scene.write_text(SLIDING_STACK, encoding="utf-8")
    sink = MemorySink()
    summary = prepare(scene, [f"simulation.method={method}"]).run(sink)
    found = sink.trajectory()
    missed = found.channel("contacts/residual").values > 1e-15
    assert missed.sum() > 5
    assert np.array_equal(found.channel("contacts/unsolved").values, missed)
    assert f"did not converge to their tolerance in {missed.sum()} of 100 steps" in summary.outcome.message


def test_a_contact_overflow_is_reported(tmp_path):
    scene = tmp_path / "wall.yaml"
    scene.write_text(wall(2, 1), encoding="utf-8")
    sink = MemorySink()
    summary = prepare(scene, ["contacts.max_contacts=4"]).run(sink)
    assert summary.outcome.status == "diverged"
    assert "more contacts than the contact capacity: increase `contacts.max_contacts`" in summary.outcome.message


CONVEYOR = """
mbsim: 1
contacts: {friction: 0.2, pairs: [[belt, box]]}
bodies:
  belt: {mass: 5, shapes: [{type: box, size: [4, 1, 0.1]}]}
  box: {mass: 1, shapes: [{type: box, size: [0.2, 0.2, 0.1]}], position: [-1, 0, 0.1]}
joints: {rail: {type: prismatic, child: belt, axis: [1, 0, 0], motion: {velocity: 1.5}}}
simulation: {duration: 0.4 s, step: 1 ms}
output: {every: 10 ms}
"""


@METHOD
def test_a_conveyor_pays_for_what_it_carries(method, tmp_path):
    """The drive works at mu m g V; half of the energy that the box does not receive is left where it slides."""
    scene = tmp_path / "conveyor.yaml"
    scene.write_text(CONVEYOR, encoding="utf-8")
    found = run(scene, f"simulation.method={method}")
    time, friction = found.channel("time").values, 0.2 * G
    np.testing.assert_allclose(found.channel("energy/work/joints/rail/motion").values, friction * 1.5 * time, atol=1e-9)
    lost = friction * (1.5 * time - 0.5 * friction * time**2)
    np.testing.assert_allclose(found.channel("energy/dissipation/contacts/friction").values, lost, atol=1e-9)
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-9
