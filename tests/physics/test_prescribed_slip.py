"""Friction where drives alone move bodies along it: it opposes the slip, and the drives work against it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from multibody_cli import MemorySink, prepare
from multibody_cli.methods import METHODS
from multibody_cli.output.trajectory import Trajectory

G, MASS, MU, DURATION = 9.81, 2.0, 0.4, 0.3
WEIGHT = MASS * G
FRICTION = MU * WEIGHT

METHOD = pytest.mark.parametrize("method", sorted(METHODS))

SCENE = """
mbsim: 1
name: dragged
world: {{shapes: [{{type: plane}}]}}
contacts: {{friction: {friction}}}
bodies: {{box: {{mass: 2, shapes: [{shape}]}}}}
joints: {{rail: {joint}}}
simulation: {{duration: 0.3 s, step: 1 ms}}
output: {{every: 10 ms}}
"""
BOX = "{type: box, size: [0.2, 0.2, 0.1]}"


def run(folder: Path, text: str, *settings: str) -> Trajectory:
    scene, sink = folder / "dragged.yaml", MemorySink()
    scene.write_text(text, encoding="utf-8")
    prepare(scene, list(settings)).run(sink)
    found = sink.trajectory()
    assert found.attributes["status"] == "complete"
    assert not found.channel("contacts/unsolved").values.any()
    return found


def dragged(velocity: str, start: str = "[1, 0, 0]", turn: float = 0.0, friction: str = f"{MU}") -> str:
    """A box on the floor, on three axes turned by an angle about the vertical one, some of which have a drive."""
    joint = (
        f"{{type: translational, child: box, origin: {{rotation: {{axis: [0, 0, 1], angle: {turn!r} deg}}}}, "
        f"q: [0, 0, 0.05], v: {start}, motion: {{velocity: {velocity}}}}}"
    )
    return SCENE.format(friction=friction, shape=BOX, joint=joint)


def steps_across(v: float, h: float, speed: float = 1.0) -> tuple[float, float]:
    """Return way and velocity across the drive: v' = v - h mu g v' / |(speed, v')|, y' = y + h v' in each step."""
    y = 0.0
    for _ in range(round(DURATION / h)):
        before = v
        v = brentq(lambda u, v=before: u - v + h * MU * G * u / math.hypot(speed, u), 0.0, before, xtol=1e-16)
        y += h * v
    return y, v


@METHOD
@pytest.mark.parametrize("turn", [0.0, 33.0, 90.0])
def test_friction_opposes_the_slip_along_and_across_a_drive(tmp_path, method, turn):
    """The axes of the contact are those of the drive, or others: at 0 and 90 deg, one of them has no response."""
    found = run(tmp_path, dragged("[1, null, null]", "[1, 0.1, 0]", turn), f"simulation.method={method}")
    y, v = steps_across(0.1, 1e-3)
    np.testing.assert_allclose(found.channel("joints/rail/q").values[-1], [DURATION, y, 0.05], atol=1e-12)
    np.testing.assert_allclose(found.channel("joints/rail/v").values[-1], [1.0, v, 0.0], atol=1e-12)
    force = found.channel("bodies/box/contact_force").values[-1]
    along, slip = np.radians(turn), np.array([1.0, v]) / math.hypot(1.0, v)
    axes = np.array([[np.cos(along), np.sin(along)], [-np.sin(along), np.cos(along)]])
    np.testing.assert_allclose(force, [*(-FRICTION * slip @ axes), WEIGHT], atol=1e-9)
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
def test_the_way_across_a_drive_converges_to_the_solution_of_its_equation(tmp_path, method):
    solution = solve_ivp(
        lambda _, z: [z[1], -MU * G * z[1] / math.hypot(1.0, z[1])],
        (0.0, DURATION), [0.0, 0.1], rtol=1e-12, atol=1e-15,
    )  # fmt: skip
    ends = np.array(
        [
            run(
                tmp_path, dragged("[1, null, null]", "[1, 0.1, 0]"), f"simulation.method={method}",
                f"simulation.step={h} ms",
            ).channel("joints/rail/q").values[-1, 1]
            for h in (2.0, 1.0, 0.5)
        ]
    )  # fmt: skip
    errors = ends - solution.y[0, -1]
    assert abs(errors[-1]) < 2e-5
    np.testing.assert_allclose(errors[:-1] / errors[1:], 2.0, atol=0.02)


@METHOD
def test_a_drive_works_against_the_friction_of_the_body_that_it_drags(tmp_path, method):
    """The velocity across the drive is exactly 0."""
    found = run(tmp_path, dragged("[1, null, null]"), f"simulation.method={method}")
    time = found.channel("time").values
    for work in ("energy/work/joints/rail/motion", "energy/dissipation/contacts/friction"):
        np.testing.assert_allclose(found.channel(work).values, FRICTION * time, atol=1e-12)
    np.testing.assert_allclose(
        found.channel("bodies/box/contact_force").values[1:], [[-FRICTION, 0.0, WEIGHT]] * 30, atol=1e-10
    )
    np.testing.assert_allclose(found.channel("joints/rail/force").values[1:, 3], FRICTION, atol=1e-10)
    assert not found.channel("joints/rail/q").values[:, 1].any()
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
@pytest.mark.parametrize("heading", [0.0, 36.869897645844, 90.0, 217.3])
def test_friction_against_a_slip_that_drives_prescribe_alone_has_its_direction(tmp_path, method, heading):
    slip = [math.cos(math.radians(heading)), math.sin(math.radians(heading))]
    velocity = f"[{slip[0]!r}, {slip[1]!r}, null]"
    found = run(tmp_path, dragged(velocity, velocity.replace("null", "0")), f"simulation.method={method}")
    force = found.channel("bodies/box/contact_force").values[1:]
    np.testing.assert_allclose(force, [[-FRICTION * slip[0], -FRICTION * slip[1], WEIGHT]] * len(force), atol=1e-10)
    work = found.channel("energy/work/joints/rail/motion").values
    np.testing.assert_allclose(work, FRICTION * found.channel("time").values, atol=1e-12)


@METHOD
def test_a_drive_that_stops_leaves_its_body_at_rest_on_the_floor(tmp_path, method):
    """Without slip along the drive the box sticks, and friction and drive have forces within the cone."""
    found = run(tmp_path, dragged('["max(1 - 10*t, 0)", null, null]', "[1, 0.1, 0]"), f"simulation.method={method}")
    stopped = found.channel("time").values > 0.1005
    force = found.channel("bodies/box/contact_force").values[stopped]
    assert np.hypot(force[:, 0], force[:, 1]).max() <= FRICTION
    np.testing.assert_allclose(found.channel("joints/rail/v").values[stopped], 0.0, atol=1e-15)
    assert np.ptp(found.channel("joints/rail/q").values[stopped], axis=0).max() < 1e-15
    assert np.ptp(found.channel("energy/dissipation/contacts/friction").values[stopped]) < 1e-15
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
def test_friction_reverses_with_its_drive(tmp_path, method):
    """The step in which the velocity is 0 has no friction along the drive: less than mu m g (10 m/s^2 h) h.

    Variational steps have the loss of the rates at their start, which is h / 2 times the change of |v| away.
    """
    h = 1e-3
    found = run(tmp_path, dragged("[1 - 10*t, null, null]"), f"simulation.method={method}")
    force = found.channel("bodies/box/contact_force").values[:, 0]
    time = found.channel("time").values
    np.testing.assert_allclose(force[1:10], -FRICTION, atol=1e-10)
    np.testing.assert_allclose(force[11:], FRICTION, atol=1e-10)
    way = np.where(time < 0.1, time - 5.0 * time**2, 0.05 + 5.0 * (time - 0.1) ** 2)
    lost = found.channel("energy/dissipation/contacts/friction").values
    first_order = 0.5 * h if METHODS[method].own_integrator else 0.0
    np.testing.assert_allclose(lost, FRICTION * way, atol=1.001 * FRICTION * (10.0 * h**2 + first_order))
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
@pytest.mark.parametrize("motion", ["position: t**2 + 0.5*t", "velocity: 2*t + 0.5", "acceleration: 2"])
def test_the_ledger_of_a_drive_that_accelerates_is_balanced(tmp_path, method, motion):
    """A table carries a box, which sticks to it: the drive works at the mean of its rates before and after a step."""
    speed = ", v: 0.5" if motion.startswith("acceleration") else ""
    text = f"""
mbsim: 1
name: table
contacts: {{friction: 0.9}}
bodies:
  table: {{mass: 5, shapes: [{{type: box, size: [4, 1, 0.2]}}]}}
  box:
    mass: 1
    shapes: [{{type: box, size: [0.2, 0.2, 0.2]}}]
    position: [0, 0, 0.2]
    velocity: {{linear: [0.5, 0, 0]}}
joints: {{rail: {{type: prismatic, axis: [1, 0, 0], child: table, motion: {{{motion}}}{speed}}}}}
simulation: {{duration: 0.1 s, step: 1 ms}}
output: {{every: 10 ms}}
"""
    found = run(tmp_path, text, f"simulation.method={method}")
    assert found.channel("bodies/box/linear_velocity").values[-1, 0] > 0.69
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
def test_the_slip_of_a_drive_selects_the_kinetic_coefficient(tmp_path, method):
    friction = "{static: 0.5, kinetic: 0.3, stribeck_speed: 1 cm/s}"
    found = run(tmp_path, dragged("[1, null, null]", friction=friction), f"simulation.method={method}")
    np.testing.assert_allclose(found.channel("bodies/box/contact_force").values[1:, 0], -0.3 * WEIGHT, atol=1e-10)


@METHOD
def test_a_drive_that_spins_a_ball_works_against_its_torsional_friction(tmp_path, method):
    joint = "{type: cylindrical, axis: [0, 0, 1], child: box, q: [0, 0.1], v: [3, 0], motion: {velocity: [3, null]}}"
    friction = f"{{static: {MU}, torsional: 3 mm, rolling: 2 mm}}"
    text = SCENE.format(friction=friction, shape="{type: sphere, radius: 0.1}", joint=joint)
    found = run(tmp_path, text, f"simulation.method={method}")
    np.testing.assert_allclose(found.channel("bodies/box/contact_torque").values[1:, 2], -3e-3 * WEIGHT, atol=1e-12)
    np.testing.assert_allclose(
        found.channel("energy/work/joints/rail/motion").values,
        3e-3 * WEIGHT * 3.0 * found.channel("time").values,
        atol=1e-12,
    )
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
def test_round_off_of_a_prescribed_spin_has_no_friction(tmp_path, method):
    """A wheel about a horizontal axis, whose frames are skew: the part of its spin along the normal is 1e-16."""
    text = """
mbsim: 1
name: wheel
world: {shapes: [{type: plane}]}
contacts: {friction: {static: 0.0, torsional: 3 mm, rolling: 2 mm}}
bodies:
  fork: {mass: 1, inertia: {principal: [0.1, 0.1, 0.1]}}
  ball: {mass: 2, shapes: [{type: sphere, radius: 0.1}]}
joints:
  lift: {type: prismatic, axis: [0, 0, 1], child: fork, q: 0.1}
  wheel:
    type: revolute
    parent: fork
    child: ball
    axis: [0.9507143204384063, 0.19349019521845037, 0.24228872294777856]
    origin: {rotation: {axis: [0.3, 0.5, 0.7], angle: 40 deg}}
    child_origin: {rotation: {axis: [0.1, -0.5, 0.7], angle: 77 deg}}
    motion: {velocity: 3}
simulation: {duration: 0.1 s, step: 1 ms}
output: {every: 10 ms}
"""
    torque = run(tmp_path, text, f"simulation.method={method}").channel("bodies/ball/contact_torque").values[1:]
    assert np.abs(torque[:, 2]).max() < 1e-13
    np.testing.assert_allclose(np.linalg.norm(torque, axis=1), 2e-3 * 3 * G, rtol=1e-9)


@METHOD
def test_a_belt_drags_along_guides_that_hold_a_box(tmp_path, method):
    """The drive moves the belt, and the box has no coordinate along it."""
    text = f"""
mbsim: 1
name: held
contacts: {{friction: {MU}}}
bodies:
  belt: {{mass: 5, shapes: [{{type: box, size: [4, 1, 0.2]}}]}}
  box: {{mass: 2, shapes: [{{type: box, size: [0.2, 0.2, 0.2]}}]}}
joints:
  rail: {{type: prismatic, axis: [1, 0, 0], child: belt, motion: {{velocity: 1}}}}
  guide:
    type: composite
    parts: [{{type: prismatic, axis: [0, 1, 0]}}, {{type: prismatic, axis: [0, 0, 1]}}]
    child: box
    q: [0, 0.2]
    v: [0.1, 0]
simulation: {{duration: 0.3 s, step: 1 ms}}
output: {{every: 10 ms}}
"""
    found = run(tmp_path, text, f"simulation.method={method}")
    np.testing.assert_allclose(found.channel("joints/guide/v").values[-1, 0], steps_across(0.1, 1e-3)[1], atol=1e-12)
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-12


@METHOD
def test_a_dragged_box_with_friction_in_a_joint_slides_in_the_same_way(tmp_path, method):
    """Passes over trees solve contacts beside joint friction."""
    text = dragged("[1, null, null]", "[1, 0.1, 0]")
    text = text.replace("bodies: {", "bodies: {wheel: {mass: 0.5, inertia: {principal: [0.01, 0.01, 0.01]}}, ")
    wheel = "wheel: {type: revolute, axis: [0, 0, 1], parent: box, child: wheel, v: 5, friction: {torque: 0.01 N*m}}"
    found = run(tmp_path, text.replace("joints: {", f"joints: {{{wheel}, "), f"simulation.method={method}")
    y, v = steps_across(0.1, 1e-3)
    np.testing.assert_allclose(found.channel("joints/rail/q").values[-1, 1], y, atol=1e-10)
    np.testing.assert_allclose(found.channel("joints/rail/v").values[-1, 1], v, atol=1e-10)
    np.testing.assert_allclose(
        found.channel("energy/dissipation/joints/wheel/friction").values[-1], 0.01 * 1.455, rtol=1e-3
    )
    assert np.abs(found.channel("energy/ledger_residual").values).max() < 1e-10


@METHOD
def test_a_motion_that_presses_a_body_into_the_floor_has_no_contact_force(tmp_path, method):
    """No force determines the normal impulse, so that there is no friction either."""
    found = run(tmp_path, dragged("[1, null, -1e-3]", "[1, 0.1, -1e-3]"), f"simulation.method={method}")
    assert not found.channel("bodies/box/contact_force").values.any()
    np.testing.assert_allclose(found.channel("joints/rail/v").values[:, 1], 0.1, atol=1e-15)


def test_staggered_projections_have_the_same_friction(tmp_path):
    for turn in (0.0, 33.0):
        text = dragged("[1, null, null]", "[1, 0.1, 0]", turn)
        found = run(tmp_path, text, "contacts.method=staggered_projections")
        np.testing.assert_allclose(found.channel("joints/rail/q").values[-1, 1], steps_across(0.1, 1e-3)[0], atol=1e-11)
    text = dragged("[0.6, 0.8, null]", "[0.6, 0.8, 0]")
    force = run(tmp_path, text, "contacts.method=staggered_projections").channel("bodies/box/contact_force").values[1:]
    np.testing.assert_allclose(force, [[-0.6 * FRICTION, -0.8 * FRICTION, WEIGHT]] * len(force), atol=1e-10)
