"""Friction surfaces of joints: loads and slip velocities of their points, by statics and kinematics."""

from __future__ import annotations

import numpy as np
import pytest

from multibody_cli.joints.friction import (
    BoxSurface,
    CylinderSurface,
    SphereSurface,
    box_patches,
    cylinder_patches,
    sphere_patches,
    thread_patches,
)

Z = (0.0, 0.0, 1.0)
OBLIQUE = (0.48, 0.6, 0.64)

SURFACES = {
    "revolute": (cylinder_patches(CylinderSurface(radius=0.02, length=0.1), OBLIQUE, slides=False), [(OBLIQUE, 0)]),
    "fine": (cylinder_patches(CylinderSurface(radius=0.02, length=0.1, points=16), Z, slides=False), [(Z, 0)]),
    "cylindrical": (
        cylinder_patches(CylinderSurface(radius=0.02, length=0.1), OBLIQUE, slides=True),
        [(OBLIQUE, 0), (0, OBLIQUE)],
    ),
    "prismatic": (box_patches(BoxSurface(size=(0.1, 0.02, 0.03)), (0.0, 1.0, 0.0)), [(0, (0.0, 1.0, 0.0))]),
}
"""Friction patches, and the free motions of each joint: rotation and translation."""


def constrained(free_motions, generator):
    """A wrench that does no work on the free motions."""
    S = np.array([np.r_[np.broadcast_to(turn, 3), np.broadcast_to(slide, 3)] for turn, slide in free_motions])
    wrench = generator.standard_normal(6)
    return wrench - S.T @ (S @ wrench)


@pytest.mark.parametrize("seed", range(3))
def test_loads_of_a_hinge_are_those_of_least_norm(seed):
    """The normal forces at eight points that have the wrench and the least sum of squares."""
    (patch,) = cylinder_patches(CylinderSurface(radius=0.02, length=0.1), Z, slides=False)
    columns = []
    for end in (-1.0, 1.0):
        for outward in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)):
            x = 0.02 * np.array(outward) + [0.0, 0.0, 0.05 * end]
            columns += [np.r_[np.cross(x, normal), normal] for normal in (np.array(outward), end * np.array(Z))]
    wrench = constrained([(Z, 0)], np.random.default_rng(seed))
    expected = np.abs(np.linalg.pinv(np.array(columns).T) @ wrench).sum()
    assert sum(np.abs(point.loads @ wrench).sum() for point in patch.points) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", SURFACES)
def test_free_motions_cause_no_load(name):
    patches, free_motions = SURFACES[name]
    for turn, slide in free_motions:
        motion = np.r_[np.broadcast_to(turn, 3), np.broadcast_to(slide, 3)]
        assert max(np.abs(point.loads @ motion).max() for patch in patches for point in patch.points) < 1e-12


@pytest.mark.parametrize("name", SURFACES)
def test_every_point_of_a_patch_has_the_slip_of_the_patch(name):
    """The power of a unit friction force at a point, in any free motion of the joint, is the slip of the patch."""
    patches, free_motions = SURFACES[name]
    rates = np.random.default_rng(2).standard_normal(len(free_motions))
    twist = sum(
        rate * np.r_[np.broadcast_to(turn, 3), np.broadcast_to(slide, 3)]
        for rate, (turn, slide) in zip(rates, free_motions, strict=True)
    )
    for patch in patches:
        for point in patch.points:
            np.testing.assert_allclose(point.friction_wrenches @ twist, patch.slip_wrenches @ twist, atol=1e-14)


def test_the_slip_of_a_hinge_is_the_speed_of_its_surface():
    patches, _ = SURFACES["revolute"]
    assert patches[0].slip_wrenches @ np.r_[3.0 * np.array(OBLIQUE), 0, 0, 0] == pytest.approx(0.02 * 3.0)


@pytest.mark.parametrize(
    ("wrench", "total"),
    [
        ([0, 0, 0, 8, 0, 0], 8.0),  # across: two points of each end, pushed half from either side
        ([0, 0, 0, 8, 8, 0], 16.0),  # between the points: all of them
        ([0, 0, 0, 0, 0, 8], 8.0),  # along: all points alike
        ([0.5, 0, 0, 0, 0, 0], 0.5 * (0.05 + 0.02) / (0.05**2 + 0.02**2)),
    ],
)
def test_normal_loads_of_a_journal_bearing(wrench, total):
    """A bending moment loads 4 points radially (arm l/2) and 4 axially (arm r), in proportion to the arms."""
    (patch,) = cylinder_patches(CylinderSurface(radius=0.02, length=0.1), Z, slides=False)
    assert sum(np.abs(point.loads @ wrench).sum() for point in patch.points) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(("points", "ripple"), [(4, 0.172), (8, 0.0396), (16, 0.0097)])
def test_more_points_reduce_the_anisotropy_of_friction(points, ripple):
    """The mean is nearly the same, 4/pi of the load."""
    (patch,) = cylinder_patches(CylinderSurface(radius=0.02, length=0.1, points=points), Z, slides=False)
    angles = np.linspace(0.0, np.pi, 721)
    wrenches = np.array([[0.0, 0.0, 0.0, np.cos(a), np.sin(a), 0.0] for a in angles])
    total = np.abs(np.concatenate([point.loads for point in patch.points]) @ wrenches.T).sum(axis=0)
    assert total[:-1].mean() == pytest.approx(4 / np.pi, rel=1e-3)
    middle = 0.5 * (total.max() + total.min())
    assert (total.max() - middle) / middle == pytest.approx(ripple, rel=0.01)


def test_normal_loads_of_a_ball_joint_are_the_force_components():
    patches = sphere_patches(SphereSurface(radius=0.02))
    wrench = np.array([1.0, 2.0, 3.0, -4.0, 5.0, -6.0])
    assert [np.abs(patch.points[0].loads @ wrench).sum() for patch in patches] == [4.0, 5.0, 6.0]


def test_a_ball_joint_has_no_friction_about_the_axis_of_its_load():
    patch = sphere_patches(SphereSurface(radius=0.02))[2]
    assert not (patch.slip_wrenches @ [0.0, 0.0, 7.0, 0.0, 0.0, 0.0]).any()
    np.testing.assert_allclose(np.linalg.norm(patch.slip_wrenches @ [3.0, 4.0, 0.0, 0.0, 0.0, 0.0]), 0.02 * 5.0)


def patches_of_size(kind, m):
    """The patches of a surface with lengths in a unit m."""
    cylinder = CylinderSurface(radius=0.02 * m, length=0.1 * m, points=8)
    if kind == "hinge":
        return cylinder_patches(cylinder, OBLIQUE, slides=False)
    if kind == "thread":
        return thread_patches(cylinder, Z, 0.03 * m)
    return box_patches(BoxSurface(size=(0.1 * m, 0.02 * m, 0.03 * m)), (0.0, 1.0, 0.0))


@pytest.mark.parametrize("m", [2.0**-40, 2.0**-20, 2.0**20])
@pytest.mark.parametrize("kind", ["hinge", "thread", "box"])
def test_loads_have_the_same_digits_in_any_unit_of_length(kind, m):
    """A load is a moment over a length, or a force: a unit that is a power of two changes no digit of it."""
    unit = np.repeat([1.0 / m, 1.0], 3)
    for one, other in zip(patches_of_size(kind, 1.0), patches_of_size(kind, m), strict=True):
        for point, scaled in zip(one.points, other.points, strict=True):
            np.testing.assert_array_equal(scaled.loads, point.loads * unit)
