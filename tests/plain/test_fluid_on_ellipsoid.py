"""Forces of a fluid on an ellipsoid: published added masses, limits, and the loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from force_scenes import INERTIA, thrown, twists, wrenches
from loops import loaded
from scipy.spatial.transform import Rotation

from multibody_cli.compile import compile_scene
from multibody_cli.errors import SceneError
from multibody_cli.forces.fluid_on_ellipsoid import added_mass
from multibody_cli.tree.workspace import Work

NO_DRAG = {"drag": {"blunt": 0, "slender": 0, "angular": 0}}
NO_LIFT = {"lift": {"kutta": 0, "magnus": 0}}
RHO, ETA = 20.0, 0.3


def pushed(rng: np.random.Generator, viscosity: float = 0.0, **fields: Any) -> tuple[np.ndarray, Work, float]:
    """The wrench (6,) on a body about the centre of its ellipsoid, the body, and the loss."""
    fluid = {"density": RHO, "viscosity": viscosity, "wind": fields.pop("wind", [0, 0, 0])}
    at = {"body": "a", "point": [0, 0, 0], "fluid": fluid}
    system = compile_scene(loaded({"bodies": {"a": INERTIA}, "forces": {"e": {**at, **fields}}})).model.system
    work = thrown(system, rng)
    found, powers = wrenches(system, work)
    return found[1], work, float(powers[0])


def motion(work: Work) -> tuple[np.ndarray, np.ndarray]:
    V = twists(work)[1]
    return V[3:], V[:3]


@pytest.mark.parametrize(
    ("slenderness", "along", "across", "turning"),
    [
        (1.5, 0.305, 0.621, 0.094),
        (2.0, 0.209, 0.702, 0.240),
        (2.99, 0.122, 0.803, 0.465),
        (3.99, 0.082, 0.860, 0.608),
        (6.01, 0.045, 0.918, 0.764),
        (9.97, 0.021, 0.960, 0.883),
    ],
)
def test_added_masses_of_prolate_spheroids_are_those_of_lamb(slenderness, along, across, turning):
    """Lamb, Hydrodynamics, articles 114 and 115: closed forms, and the table with its errors of 0.0023.

    In units of mass and moment of inertia of the displaced fluid.
    """
    a, b = 0.2 * slenderness, 0.2
    e = math.sqrt(1 - (b / a) ** 2)
    k = 2 * (1 - e * e) / e**3 * (math.atanh(e) - e)
    k_across = 1 / e**2 - (1 - e * e) / e**3 * math.atanh(e)
    masses, moments = added_mass((a, b, b))
    volume = 4 / 3 * math.pi * a * b * b
    wanted = [k / (2 - k), k_across / (2 - k_across), k_across / (2 - k_across)]
    np.testing.assert_allclose(masses / volume, wanted, rtol=1e-12)
    np.testing.assert_allclose(wanted, [along, across, across], atol=2.3e-3)
    inertia = volume / 5 * (a * a + b * b)
    np.testing.assert_allclose(moments / inertia, [0, turning, turning], atol=2.3e-3)


def test_added_masses_of_a_sphere_and_of_thin_plates_and_rods_are_their_closed_forms():
    masses, moments = added_mass((0.3, 0.3, 0.3))
    np.testing.assert_allclose(masses, 2 / 3 * math.pi * 0.3**3, rtol=1e-14)
    np.testing.assert_array_equal(moments, 0.0)
    masses, moments = added_mass((0.5, 0.5, 1e-9))  # a disc
    np.testing.assert_allclose(masses, [0, 0, 8 / 3 * 0.5**3], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moments, [16 / 45 * 0.5**5, 16 / 45 * 0.5**5, 0], rtol=1e-8, atol=1e-8)
    masses, moments = added_mass((1.0, 1e-6, 1e-6))
    volume = 4 / 3 * math.pi * 1e-12
    np.testing.assert_allclose(masses / volume, [0, 1, 1], atol=1e-10)
    np.testing.assert_allclose(moments / volume * 5, [0, 1, 1], atol=1e-10)


def test_nearly_equal_axes_have_the_moments_of_equal_ones():
    for offset in (1e-15, 1e-12, 1e-9):
        moments = added_mass((0.3, 0.3 * (1 + offset), 0.2))[1]
        np.testing.assert_allclose(moments, added_mass((0.3, 0.3, 0.2))[1], rtol=1e-8, atol=1e-20)


@pytest.mark.parametrize("seed", range(3))
def test_a_sphere_has_stokes_resistance_drag_and_the_force_of_magnus(seed):
    r = 0.25
    wrench, work, _ = pushed(np.random.default_rng(seed), ETA, ellipsoid=[r, r, r], drag={"blunt": 0.6})
    u, w = motion(work)
    speed, rate = np.linalg.norm(u), np.linalg.norm(w)
    drag = RHO * 0.6 * math.pi * r * r * speed
    lift = RHO * (1.0 - 0.5) * 4 / 3 * math.pi * r**3 * np.cross(w, u)  # added mass cancels a half
    turn = RHO * 1.5 * 8 / 15 * math.pi * r**5 * rate
    np.testing.assert_allclose(wrench[3:], lift - (6 * math.pi * ETA * r + drag) * u, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(wrench[:3], -(8 * math.pi * ETA * r**3 + turn) * w, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_without_rotation_there_are_drag_lift_and_the_moment_of_munk(seed):
    """Along an axis the area is the projected one, and the lift is 0."""
    rng = np.random.default_rng(seed)
    a, b, c = semiaxes = [0.5, 0.3, 0.1]
    fields = {"body": "a", "point": [0, 0, 0], "ellipsoid": semiaxes, "fluid": {"density": RHO}}
    system = compile_scene(loaded({"bodies": {"a": INERTIA}, "forces": {"e": fields}})).model.system
    work = thrown(system, rng)
    R = work.bodies[1]["R"].reshape(3, 3).T
    work.bodies["w"] = 0.0
    for axis, area in enumerate((b * c, c * a, a * b)):
        work.bodies["v"] = 2.0 * R[:, axis]
        found = wrenches(system, work)[0][1]
        force = RHO * math.pi * (0.5 * area + 0.25 * (a * b - area)) * 2.0 * 2.0
        np.testing.assert_allclose(found[3:], -force * R[:, axis], atol=1e-12)
        np.testing.assert_allclose(found[:3], 0.0, atol=1e-13)
    u = np.array([1.0, 0.7, -0.4])
    work.bodies["v"] = R @ u
    found = wrenches(system, work)[0][1]
    np.testing.assert_allclose(R.T @ found[:3], np.cross(RHO * added_mass((a, b, c))[0] * u, u), rtol=1e-12)


def test_a_body_at_rest_has_no_force():
    fields = {"body": "a", "ellipsoid": [0.5, 0.3, 0.1], "fluid": {"density": RHO, "viscosity": ETA}}
    system = compile_scene(loaded({"bodies": {"a": INERTIA}, "forces": {"e": fields}})).model.system
    work = thrown(system, np.random.default_rng(0))
    work.bodies["v"], work.bodies["w"] = 0.0, 0.0
    found, powers = wrenches(system, work)
    np.testing.assert_array_equal(found, 0.0)
    np.testing.assert_array_equal(powers, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_added_mass_and_lift_do_no_work_in_a_fluid_at_rest(seed):
    rng = np.random.default_rng(seed)
    wrench, work, loss = pushed(rng, ellipsoid=[0.5, 0.3, 0.1], **NO_DRAG)
    u, w = motion(work)
    size = np.linalg.norm(wrench[3:]) * np.linalg.norm(u) + np.linalg.norm(wrench[:3]) * np.linalg.norm(w)
    assert size > 0.5
    assert abs(wrench[3:] @ u + wrench[:3] @ w) < 1e-14 * size
    assert abs(loss) < 1e-14 * size


@pytest.mark.parametrize("seed", range(5))
def test_drag_only_loses_energy_and_lift_is_normal_to_the_flow(seed):
    rng = np.random.default_rng(seed)
    fields = {"ellipsoid": [0.5, 0.3, 0.1], "rotation": {"axis": [1, 2, 3], "angle": 0.4}}
    with_lift, work, loss = pushed(np.random.default_rng(seed), ETA, **fields)
    without, _, loss_without = pushed(rng, ETA, **fields, **NO_LIFT)
    u, _ = motion(work)
    lift = with_lift - without
    assert loss == pytest.approx(loss_without, rel=1e-13)
    assert loss > 0.0
    assert abs(lift[3:] @ u) < 1e-13 * np.linalg.norm(lift) * np.linalg.norm(u)
    np.testing.assert_allclose(lift[:3], 0.0, atol=1e-14 * np.linalg.norm(without))


@pytest.mark.parametrize("seed", range(3))
def test_the_force_is_that_of_the_same_ellipsoid_by_other_axes(seed):
    """The same ellipsoid by other names of its axes, in a wind."""
    turned = Rotation.from_matrix(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])).as_rotvec()
    angle = float(np.linalg.norm(turned))
    rotation = {"axis": (turned / angle).tolist(), "angle": angle}
    wind = [0.4, -0.2, 0.3]
    first = pushed(np.random.default_rng(seed), ETA, ellipsoid=[0.5, 0.3, 0.1], wind=wind)
    second = pushed(np.random.default_rng(seed), ETA, ellipsoid=[0.3, 0.1, 0.5], wind=wind, rotation=rotation)
    np.testing.assert_allclose(first[0], second[0], rtol=1e-12, atol=1e-13)
    assert first[2] == pytest.approx(second[2], rel=1e-12)


@pytest.mark.parametrize("shape", ["box", "ellipsoid"])
def test_a_fluid_without_properties_is_refused(shape):
    force = {"body": "b", shape: [0.5, 0.3, 0.2], "fluid": {"wind": [1, 0, 0]}}
    with pytest.raises(SceneError, match="has no effect without `density` and `viscosity`: give one of them, or both"):
        loaded({"bodies": {"b": INERTIA}, "forces": {"e": force}})
    force["fluid"] = {"density": 0}
    loaded({"bodies": {"b": INERTIA}, "forces": {"e": force}})
