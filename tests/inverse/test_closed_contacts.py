"""Contacts that stay closed in inverse dynamics: forces within the friction cones, of least norm, and residuals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from test_contact_forces_of_runs import SLEDGE

import mbsim
from multibody_cli.errors import ArgumentError
from multibody_cli.kernel import Floats
from multibody_cli.output.trajectory import read_trajectory
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
from multibody_cli.studies.inverse.least_forces import Part, least_forces
from multibody_cli.studies.inverse.motion import MeasuredMotion
from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question
from multibody_cli.studies.simulation import prepare

pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

G = 10.0
GAP = 1e-4


def at_once(text: str, folder: Path, q: list[float], v: list[float], a: list[float], *on: str) -> InverseDynamics:
    """Return the inverse dynamics of two instants with equal coordinates, rates and accelerations of the tree."""
    path = folder / "scene.yaml"
    path.write_text(text)
    values = [np.tile(np.array(row, float), (2, 1)) for row in (q, v, a)]
    motion = MeasuredMotion("given", np.array([0.0, 1.0]), np.arange(len(q)), *values)
    return InverseProblem(prepare(path, OVERRIDES), Question(None, on, gap=GAP), motion).solve()


def random_problem(generator: np.random.Generator) -> tuple[Floats, list[Part]]:
    """Return effects of random drives, muscles and contacts along one to six motions."""
    parts, m = list[Part](), 0
    for kind in generator.choice(["drive", "muscle", "sliding", "cone"], size=generator.integers(1, 7)).tolist():
        friction = float(generator.choice([0.0, 0.3, 1.2])) if kind == "cone" else None
        low, high = {"muscle": (0.01, 1.0), "sliding": (0.0, np.inf)}.get(kind, (-np.inf, np.inf))
        parts.append(Part(m, friction, low, high))
        m += 3 if kind == "cone" else 1
    return generator.normal(size=(generator.integers(1, 7), m)), parts


def projected(x: Floats, parts: list[Part]) -> Floats:
    """Return the nearest admissible forces, written apart from the program: by the angle from the axis of a cone."""
    found = x.copy()
    for first, friction, low, high in parts:
        if friction is None:
            found[first] = np.clip(x[first], low, high)
        else:
            n, slip = x[first], math.hypot(*x[first + 1 : first + 3])
            half, own, size = math.atan(friction), math.atan2(slip, n), math.hypot(n, slip)
            if own > half:
                along = size * max(math.cos(own - half), 0.0) if own - half < math.pi / 2 else 0.0
                scale = along * math.sin(half) / slip
                found[first : first + 3] = along * math.cos(half), scale * x[first + 1], scale * x[first + 2]
    return found


@pytest.mark.parametrize("seed", range(40))
def test_admissible_forces_are_found_and_are_the_least(seed: int) -> None:
    generator = np.random.default_rng(seed)
    A, parts = random_problem(generator)
    x = projected(3.0 * generator.normal(size=A.shape[1]), parts)
    muscles = [part.first for part in parts if part.high == 1.0]
    x[muscles] = generator.uniform(0.01, 1.0, len(muscles))
    b = A @ x
    found = least_forces(A, b, parts)
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-9 * (1.0 + np.linalg.norm(b)))
    np.testing.assert_allclose(A @ found.x + found.residual, b, atol=1e-12 * (1.0 + np.linalg.norm(b)))
    np.testing.assert_allclose(projected(found.x, parts), found.x, atol=1e-9 * (1.0 + np.linalg.norm(b)))
    limits = [
        {"type": "ineq", "fun": lambda x, i=i, mu=mu: mu * x[i] - math.hypot(x[i + 1], x[i + 2])}
        for i, mu, *_ in parts
        if mu is not None
    ]
    bounds = [(-np.inf, np.inf)] * A.shape[1]
    for i, mu, low, high in parts:
        bounds[i] = (low if mu is None else 0.0, high)
    other = minimize(
        lambda x: 0.5 * x @ x,
        found.x + 0.01,
        jac=lambda x: x,
        method="SLSQP",
        constraints=[{"type": "eq", "fun": lambda x: A @ x - b}, *limits],
        bounds=bounds,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    if other.success:
        assert np.linalg.norm(found.x) <= np.linalg.norm(other.x) + 1e-5 * (1.0 + np.linalg.norm(b))


@pytest.mark.parametrize("seed", range(40))
def test_without_admissible_forces_the_residual_is_the_least(seed: int) -> None:
    """No admissible change of the forces reduces the residual: x is the projection of x + A^T r."""
    generator = np.random.default_rng(100 + seed)
    A, parts = random_problem(generator)
    b = generator.normal(size=len(A))
    found = least_forces(A, b, parts)
    change = projected(found.x + A.T @ found.residual, parts) - found.x
    np.testing.assert_allclose(change, 0.0, atol=1e-4)
    np.testing.assert_allclose(A @ found.x + found.residual, b, atol=1e-12)


def test_the_drives_of_a_box_that_slides_and_its_contacts_come_back(tmp_path: Path) -> None:
    path, run, result = tmp_path / "sledge.yaml", tmp_path / "run.h5", tmp_path / "found.h5"
    path.write_text(SLEDGE.replace('"2*t"]', "0]"))
    mbsim.load(path).run(run)
    found = mbsim.inverse(path, run, contacts=GAP, on=["slide/0", "hinge"], output=result)
    t, n = found.times, slice(1, None)  # the start of a run has no step, and no contact forces
    np.testing.assert_allclose(found.force("slide/0")[n], 3.0 * np.sin(4.0 * t[n]), atol=1e-10)
    np.testing.assert_allclose(found.force("hinge")[n], 0.2 * np.cos(5.0 * t[n]), atol=1e-10)
    np.testing.assert_allclose(found.force("slide/1")[n], 0.0, atol=1e-10)
    assert found.residuals == ("slide/1",)
    assert not found.remarks
    wanted, own = read_trajectory(run), read_trajectory(result)
    for channel in ("bodies/contact_force", "joints/slide/acceleration", "joints/hinge/force"):
        expected = wanted.channel(channel).values
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(own.channel(channel).values[n], expected[n], atol=1e-10)
    np.testing.assert_allclose(found.contact_force("sledge"), own.channel("bodies/contact_force").values[:, 0], atol=0)


FREE_BOX = """mbsim: 1
gravity: [0, 0, -10]
world: {shapes: [{type: plane}]}
bodies:
  box:
    mass: 2
    com: [0.03, 0.01, 0]
    inertia: {principal: [0.1, 0.1, 0.1]}
    shapes: [{type: box, size: [0.4, 0.3, 0.2]}]
joints:
  free: {type: free, child: box, q: {position: [0, 0, 0.1]}}
contacts: {friction: FRICTION}
simulation: {duration: 0.1, step: 1 ms}
output: {every: 10 ms}
"""


def test_a_free_box_that_slides_has_the_contacts_of_its_run(tmp_path: Path) -> None:
    """Force and torque of the contacts about the origin of the body, which is not its center of mass."""
    path, run, result = tmp_path / "box.yaml", tmp_path / "run.h5", tmp_path / "found.h5"
    path.write_text(FREE_BOX.replace("FRICTION", "0.2").replace("0.1]}}", "0.1]}, v: {linear: [2, 0, 0]}}"))
    mbsim.load(path).run(run)
    found = mbsim.inverse(path, run, contacts=GAP, output=result)
    assert any("no coordinate has a drive" in text for text in found.remarks)
    assert len(found.remarks) == 1
    own, wanted = (
        {path: file.channel(path).values[1:] for path in PATHS} for file in map(read_trajectory, (result, run))
    )
    force, torque, velocity = (wanted[path][:, 0] for path in PATHS)
    np.testing.assert_allclose(own[PATHS[0]][:, 0], force, atol=1e-9)
    torque = torque + np.cross(1e-3 * velocity, force)  # contacts of a run are those at the start of its step
    np.testing.assert_allclose(own[PATHS[1]][:, 0], torque, atol=1e-9)
    assert np.abs(torque).max() > 0.5
    np.testing.assert_allclose(found.contact_force("box")[1:, 2], 20.0, atol=1e-9)


PATHS = ("bodies/contact_force", "bodies/contact_torque", "bodies/linear_velocity")


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_table_on_four_legs_has_forces_of_least_norm(friction: float, tmp_path: Path) -> None:
    """With the legs at (+-a, +-b) and the mass at (x, y): N = m g/4 (1 +- x/a +- y/b)."""
    text = FREE_BOX.replace("FRICTION", repr(friction))
    found = at_once(text, tmp_path, [0, 0, 0.1, 0, 0, 0], [0.0] * 6, [0.0] * 6)
    assert len(found.contacts[0]) == 4
    for one in found.contacts[0]:
        a, b = np.sign(one.point[:2]) * [0.2, 0.15]
        sign = 1.0 if one.body_b == "box" else -1.0
        np.testing.assert_allclose(sign * one.force, [0, 0, 5.0 * (1.0 + 0.03 / a + 0.01 / b)], atol=1e-9)
    np.testing.assert_allclose(found.forces, 0.0, atol=1e-9)


BLOCK = """mbsim: 1
gravity: [GX, 0, GZ]
world: {shapes: [{type: plane}]}
bodies:
  block: {mass: 2, inertia: {principal: [0.1, 0.1, 0.1]}, shapes: [{type: box, size: [0.4, 0.3, 0.2]}]}
joints:
  base: {type: composite, child: block, parts: [{type: prismatic, axis: [1, 0, 0]}, {type: prismatic, axis: [0, 0, 1]}],
    q: [0, 0.1]}
contacts: {friction: 0.4}
simulation: {duration: 0.1, step: 1 ms}
output: {every: 10 ms}
"""


def on_a_slope(angle: float) -> str:
    return BLOCK.replace("GX", repr(G * math.sin(angle))).replace("GZ", repr(-G * math.cos(angle)))


def test_a_wedge_within_the_cone_of_friction_rests(tmp_path: Path) -> None:
    found = at_once(on_a_slope(0.3), tmp_path, [0, 0.1], [0, 0], [0, 0])
    force = 2.0 * G * np.array([-math.sin(0.3), 0.0, math.cos(0.3)])
    np.testing.assert_allclose(found.contact_force("block")[0], force, atol=1e-9)
    np.testing.assert_allclose(found.forces, 0.0, atol=1e-9)


def test_a_wedge_that_is_too_steep_has_the_least_residual(tmp_path: Path) -> None:
    """The weight is projected onto the cone: the residual is m g sin(angle - angle of friction), across its edge."""
    edge = math.atan(0.4)
    found = at_once(on_a_slope(0.6), tmp_path, [0, 0.1], [0, 0], [0, 0])
    size = 2.0 * G * math.sin(0.6 - edge)
    np.testing.assert_allclose(np.linalg.norm(found.forces[0]), size, rtol=1e-5)
    np.testing.assert_allclose(found.forces[0], size * np.array([-math.cos(edge), -math.sin(edge)]), atol=1e-4)
    [text] = [text for text in found.remarks if "no admissible forces" in text]
    assert "at 2 of 2 instants" in text
    assert "base/0 at t = 0 s" in text


def test_a_wedge_that_slides_follows_the_direction_of_coulomb(tmp_path: Path) -> None:
    """Down with the acceleration g (sin - mu cos); the same acceleration while it moves up has a residual."""
    a = G * (math.sin(0.6) - 0.4 * math.cos(0.6))
    down = at_once(on_a_slope(0.6), tmp_path, [0, 0.1], [0.5, 0], [a, 0])
    np.testing.assert_allclose(down.forces, 0.0, atol=1e-9)
    normal = 2.0 * G * math.cos(0.6)
    np.testing.assert_allclose(down.contact_force("block")[0], [-0.4 * normal, 0.0, normal], atol=1e-9)
    up = at_once(on_a_slope(0.6), tmp_path, [0, 0.1], [-0.5, 0], [a, 0], "base/0")
    np.testing.assert_allclose(up.force("base/0"), -2.0 * 0.4 * normal, rtol=1e-9)  # a drive replaces both frictions
    np.testing.assert_allclose(up.force("base/1"), 0.0, atol=1e-8)


def test_a_contact_that_would_have_to_pull_leaves_a_residual(tmp_path: Path) -> None:
    """A block that is pulled down by 15 m/s^2, and one that is lifted."""
    found = at_once(on_a_slope(0.0), tmp_path, [0, 0.1], [0, 0], [0, -15.0])
    np.testing.assert_allclose(found.force("base/1"), -2.0 * 5.0, rtol=1e-6)
    np.testing.assert_allclose(found.contact_force("block"), 0.0, atol=1e-6)
    assert any("a residual of 10 on base/1" in text for text in found.remarks)
    lifted = at_once(on_a_slope(0.0), tmp_path, [0, 0.1 + 2 * GAP], [0, 0], [0, 0])
    assert lifted.contacts == ((), ())
    np.testing.assert_allclose(lifted.force("base/1"), 20.0, rtol=1e-12)


ARM = """mbsim: 1
gravity: [0, 0, -10]
world: {shapes: [{type: plane}]}
bodies:
  upper: {mass: 1, com: [0.25, 0, 0], inertia: {principal: [0.001, 0.02, 0.02]}}
  fore: {mass: 0.8, com: [0.2, 0, 0], inertia: {principal: [0.001, 0.015, 0.015]},
    shapes: [{type: sphere, radius: 0.02, position: [0.4, 0, 0]}]}
joints:
  shoulder: {type: revolute, child: upper, axis: [0, 1, 0], origin: {position: [0, 0, 0.42]}, q: 0.1, v: 0.5,
    force: "-1 - 2*t"}
  elbow: {type: revolute, parent: upper, child: fore, axis: [0, 1, 0], origin: {position: [0.5, 0, 0]},
    q: ELBOW, v: RATE}
contacts: {friction: 0.3}
simulation: {duration: 0.12, step: STEP}
output: {every: 10 ms}
"""


def test_an_arm_whose_tip_slides_on_a_table_has_the_torque_and_the_contact_of_its_run(tmp_path: Path) -> None:
    """One drive, one sliding contact, two degrees of freedom: unique, with the error of the steps of contacts."""
    errors = []
    elbow = math.asin((0.42 - 0.02 - 0.5 * math.sin(0.1)) / 0.4) - 0.1
    rate = -0.5 * (0.5 * math.cos(0.1) + 0.4 * math.cos(0.1 + elbow)) / (0.4 * math.cos(0.1 + elbow))
    for step in ("1 ms", "0.5 ms"):
        path, run = tmp_path / "arm.yaml", tmp_path / "run.h5"
        path.write_text(ARM.replace("STEP", step).replace("ELBOW", repr(elbow)).replace("RATE", repr(rate)))
        result = mbsim.load(path).run(run, overwrite=True)
        found = mbsim.inverse(path, run, contacts=1e-3, on=["shoulder"])
        force = np.asarray(result["bodies/contact_force"])[:, 1]
        assert (force[1:, 2] > 1.0).all()
        torque = found.force("shoulder") + 1.0 + 2.0 * found.times
        errors.append([np.abs(torque[1:]).max(), np.abs(found.contact_force("fore") - force)[1:].max()])
        np.testing.assert_allclose(found.force("elbow"), 0.0, atol=1e-9)
    assert max(errors[0]) < 0.1
    np.testing.assert_allclose(np.divide(*errors), 2.0, rtol=0.15)


BIPED = """mbsim: 1
gravity: [0, 0, -10]
world: {shapes: [{type: plane}]}
bodies:
  trunk: {mass: 5, com: [0.02, 0, 0.2], inertia: {principal: [0.2, 0.2, 0.2]}}
  thigh_l: &thigh {mass: 1, com: [0, 0, -0.2], inertia: {principal: [0.01, 0.01, 0.01]}}
  thigh_r: *thigh
  shank_l: &shank {mass: 0.7, com: [0, 0, -0.2], inertia: {principal: [0.01, 0.01, 0.01]},
    shapes: [{type: sphere, radius: 0.01 mm, position: [0, 0, -0.35]}]}
  shank_r: *shank
joints:
  base: {type: composite, child: trunk, parts: [{type: prismatic, axis: [1, 0, 0]}, {type: prismatic, axis: [0, 0, 1]},
    {type: revolute, axis: [0, 1, 0]}], q: [0, 0.9, 0]}
  hip_l: {type: revolute, parent: trunk, child: thigh_l, axis: [0, 1, 0], origin: {position: [0.2, 0.1, 0]}}
  hip_r: {type: revolute, parent: trunk, child: thigh_r, axis: [0, 1, 0], origin: {position: [-0.2, -0.1, 0]}}
  knee_l: {type: revolute, parent: thigh_l, child: shank_l, axis: [0, 1, 0], origin: {position: [0, 0, -0.4]}}
  knee_r: {type: revolute, parent: thigh_r, child: shank_r, axis: [0, 1, 0], origin: {position: [0, 0, -0.4]}}
contacts: {friction: 0.8, pairs: [[shank_l, world], [shank_r, world]]}
simulation: {duration: 1, step: 1 ms}
output: {every: 10 ms}
"""


def test_the_contacts_of_a_biped_carry_its_weight_and_its_acceleration(tmp_path: Path) -> None:
    """A squat on two feet: the sum of the contacts is m (a + g), with the center of mass from the closed form."""
    t = np.linspace(0.0, 1.0, 201)
    thigh, shank, height = 0.4, 0.35, 0.7 - 0.1 * np.sin(np.pi * t) ** 2
    knee = np.arccos((height**2 - thigh**2 - shank**2) / (2.0 * thigh * shank))
    hip = -np.arctan2(shank * np.sin(knee), thigh + shank * np.cos(knee))
    columns = {"base/0": 0 * t, "base/1": height + 1e-5, "base/2": 0 * t}
    columns |= {f"hip_{side}": hip for side in "lr"} | {f"knee_{side}": knee for side in "lr"}
    path, motion = tmp_path / "biped.yaml", tmp_path / "squat.csv"
    path.write_text(BIPED)
    rows = np.column_stack([t, *columns.values()])
    motion.write_text("\n".join([",".join(["time", *columns]), *(",".join(map(repr, row)) for row in rows.tolist())]))
    drives = [f"{joint}_{side}" for joint in ("hip", "knee") for side in "lr"]
    found = mbsim.inverse(path, motion, contacts=1e-3, on=drives)
    assert all(len(own) == 2 for own in found.contacts)
    turned = hip + knee
    hips = height + 1e-5
    x = 5.0 * 0.02 + 2.0 * (-0.2 * np.sin(hip)) + 1.4 * (-0.4 * np.sin(hip) - 0.2 * np.sin(turned))
    z = 5.0 * (hips + 0.2) + 2.0 * (hips - 0.2 * np.cos(hip))
    z += 1.4 * (hips - 0.4 * np.cos(hip) - 0.2 * np.cos(turned))
    step = t[1] - t[0]
    inner = slice(20, -20)
    wanted = np.array([np.gradient(np.gradient(own, step), step) for own in (x, z + 4.2 * G * t**2)]).T
    total = found.contact_force("shank_l") + found.contact_force("shank_r")
    np.testing.assert_allclose(total[inner][:, ::2], wanted[inner], atol=0.02)
    np.testing.assert_allclose(total, -found.contact_force("world"), atol=1e-12)
    residuals = np.array([found.force(f"base/{k}") for k in range(3)])
    np.testing.assert_allclose(residuals[:, inner], 0.0, atol=1e-8)
    for own in found.contacts:
        for one in own:
            normal = one.force @ one.normal
            assert normal >= 0.0
            assert np.linalg.norm(one.force - normal * one.normal) <= 0.8 * normal * (1.0 + 1e-9)


def test_refusals(tmp_path: Path) -> None:
    path, motion = tmp_path / "block.yaml", tmp_path / "rest.csv"
    motion.write_text("time,base/0,base/1\n0,0,0.1\n0.5,0,0.1\n1,0,0.1\n1.5,0,0.1\n2,0,0.1\n2.5,0,0.1\n")
    path.write_text(on_a_slope(0.0).replace("contacts: {friction: 0.4}\n", ""))
    with pytest.raises(ArgumentError, match=r"--contacts: the scene has no contacts"):
        mbsim.inverse(path, motion, contacts=GAP)
    path.write_text(on_a_slope(0.0))
    with pytest.raises(ArgumentError, match=r"--contacts -1, --slip 0\.001: expected numbers that are not negative"):
        mbsim.inverse(path, motion, contacts=-1.0)
    with pytest.raises(ArgumentError, match="--muscles: the scene has no muscles"):
        mbsim.inverse(path, motion, contacts=GAP, muscles=True)
    found = mbsim.inverse(path, motion, contacts=GAP)
    np.testing.assert_allclose(found.contact_force("block")[:, 2], 20.0, atol=1e-9)
