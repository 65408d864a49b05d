"""Every joint of the catalogue and every part: pose, motion subspace and bias, and how v moves q."""

from __future__ import annotations

import math

import numpy as np
import oracle
import pytest
from machines import NO_GRAVITY, Machine, pack, shift, tree_link
from pydantic import ValidationError
from scipy.spatial.transform import Rotation
from shape_oracle import FIELDS_OF_SHAPES, POSES_OF_SHAPES
from shapes import RUNS as SHAPES
from strategies import OBLIQUE, X, Y, Z, random_placement, random_state

from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import (
    PartCode,
    ball,
    exponential_ball,
    floating,
    offset,
    screwing,
    sliding,
    turning,
)
from multibody_cli.joints.euler_angles import SEQUENCES, angles_of, has_equal_ends
from multibody_cli.joints.spherical import PARAMETRIZATIONS
from multibody_cli.model import KERNEL_BALL
from multibody_cli.observation.state import report_coordinates
from multibody_cli.tree.configuration import displace, normalize, rate, recentre
from multibody_cli.tree.kinematics import forward_kinematics

RUNS = {
    "turning x": (turning(X),),
    "turning y": (turning(Y),),
    "turning z": (turning(Z),),
    "turning about any axis": (turning(OBLIQUE),),
    "sliding": (sliding(OBLIQUE),),
    "screwing": (screwing(OBLIQUE, 0.3),),
    "screwing y": (screwing(Y, -0.3),),
    "ball": (ball(),),
    "exponential": (exponential_ball(),),
    "free": (floating(),),
    "fixed": (),
    "ball on a slider on a hinge": (turning(OBLIQUE), sliding(X), ball()),
    "exponential, slider, hinge": (exponential_ball(), sliding(OBLIQUE), turning(Z)),
    "screw after free": (floating(), screwing(OBLIQUE, 0.2)),
    "a hinge driven aside": (turning(Z), turning(X), turning(Z), sliding(Y)),
    "hinges about two points": (offset(X), turning(Z), offset(OBLIQUE), turning(X), offset((-0.3, 0.0, 0.7))),
    "a ball between offsets, and a hinge": (offset(Y), ball(), offset(OBLIQUE), turning(Z)),
    "two shapes about a hinge": (*SHAPES["torus on ellipsoid"], turning(OBLIQUE), *SHAPES["spline curve"]),
} | SHAPES
"""All parts, alone and after one another."""

runs = pytest.mark.parametrize("parts", RUNS.values(), ids=RUNS)
seeds = pytest.mark.parametrize("seed", [0, 1, 2])


def on_a_moving_base(parts, seed):
    """The joint between a free body in any motion and a child, both frames displaced and turned."""
    rng = np.random.default_rng(seed)
    base = tree_link(1, 0, (floating(),), *random_state(rng, (floating(),)))
    q, v = random_state(rng, parts)
    child = tree_link(2, 1, parts, q, v, origin=random_placement(rng), child_origin=random_placement(rng))
    return pack(Machine([base, child], NO_GRAVITY))


def on_the_ground(parts, q=(), v=()):
    return pack(Machine([tree_link(1, 0, parts, q, v)], NO_GRAVITY))


class Placed:
    """Pose, twist and acceleration of the last body at (q, v) with dv/dt = 0, and its columns of S, in world axes."""

    def __init__(self, packed, q, v):
        work = packed.method("rk4", 1e-3).work
        forward_kinematics(packed.tree.tree, q, v, np.zeros_like(v), work)
        body, link = work.bodies[-1], packed.tree.tree.links[-1]
        self.R, self.x = body["R"].reshape(3, 3).T.copy(), body["x"].copy()
        self.w, self.v, self.alpha, self.a = (body[name].copy() for name in ("w", "v", "alpha", "a"))
        S = work.columns[link["iv"] :]
        self.S = np.hstack([S["angular"], S["linear"]]).T
        if link["joint_kernel"] == KERNEL_BALL:  # a ball keeps no columns: they are its orientation
            self.S = np.vstack([self.R, np.zeros((3, 3))])


def displaced(packed, q, v, h):
    q = q.copy()
    displace(packed.tree.tree, q, v, h)
    return q


def twist_between(before: Placed, after: Placed, time: float) -> np.ndarray:
    """Mean twist [angular; linear] of a motion between two poses, world axes, at the midpoint to second order."""
    turn = Rotation.from_matrix(after.R @ before.R.T).as_rotvec()
    return np.concatenate([turn, after.x - before.x]) / time


@runs
@seeds
def test_columns_are_derivatives_of_the_pose(parts, seed):
    packed = on_a_moving_base(parts, seed)
    q, v, h = packed.tree.q, packed.tree.v, 1e-5
    here, still = Placed(packed, q, v), np.zeros_like(v)
    first = packed.tree.first_v[2]
    for j in range(first, len(v)):
        unit = np.eye(len(v))[j]
        ends = [Placed(packed, displaced(packed, q, unit, s), still) for s in (-h, h)]
        np.testing.assert_allclose(here.S[:, j - first], twist_between(*ends, 2 * h), atol=1e-9)


@runs
@seeds
def test_twist_and_acceleration_are_derivatives_along_the_motion(parts, seed):
    packed = on_a_moving_base(parts, seed)
    q, v, h = packed.tree.q, packed.tree.v, 1e-5
    here = Placed(packed, q, v)
    before, after = (Placed(packed, displaced(packed, q, v, s), v) for s in (-h, h))
    size = 1 + np.abs(v).max() ** 3
    np.testing.assert_allclose(np.concatenate([here.w, here.v]), twist_between(before, after, 2 * h), atol=1e-8 * size)
    np.testing.assert_allclose(here.alpha, (after.w - before.w) / (2 * h), atol=1e-8 * size)
    np.testing.assert_allclose(here.a, (after.v - before.v) / (2 * h), atol=1e-8 * size)


@runs
def test_the_twist_across_a_joint_is_S_v(parts):
    rng = np.random.default_rng(4)
    packed = on_the_ground(parts, *random_state(rng, parts))
    placed = Placed(packed, packed.tree.q, packed.tree.v)
    np.testing.assert_allclose(np.concatenate([placed.w, placed.v]), placed.S @ packed.tree.v, atol=1e-14)


@runs
@seeds
def test_rate_is_the_derivative_of_displace(parts, seed):
    packed = on_a_moving_base(parts, seed)
    q, v, h = packed.tree.q, packed.tree.v, 1e-5
    dq = np.empty_like(q)
    rate(packed.tree.tree, q, v, dq)
    difference = (displaced(packed, q, v, h) - displaced(packed, q, v, -h)) / (2 * h)
    np.testing.assert_allclose(dq, difference, atol=1e-9)


@runs
def test_displacements_add_up_and_keep_quaternions_of_unit_length(parts):
    packed = on_a_moving_base(parts, 5)
    q, v = packed.tree.q, packed.tree.v
    once, twice = displaced(packed, q, v, 0.8), displaced(packed, displaced(packed, q, v, 0.3), v, 0.5)
    np.testing.assert_allclose(once, twice, atol=1e-14)
    unit = once.copy()
    normalize(packed.tree.tree, unit)
    np.testing.assert_allclose(once, unit, atol=1e-15)


def test_a_displacement_by_a_full_turn_is_the_identity():
    packed = on_the_ground((ball(),), v=(0.0, 2 * math.pi, 0.0))
    start = Placed(packed, packed.tree.q, packed.tree.v)
    end = Placed(packed, displaced(packed, packed.tree.q, packed.tree.v, 1.0), packed.tree.v)
    np.testing.assert_allclose(end.R, start.R, atol=1e-15)


@pytest.mark.parametrize("angle", [0.0, 1.0, 4.7, 4.72, 5.5, 6.2])
def test_recentring_keeps_pose_and_twist(angle):
    rng = np.random.default_rng(6)
    p = angle * np.array(OBLIQUE)
    u = rng.normal(size=3)
    packed = on_the_ground((exponential_ball(),), tuple(p), tuple(u))
    q, v = packed.tree.q.copy(), packed.tree.v.copy()
    before = Placed(packed, q, v)
    moved = recentre(packed.tree.tree, q, v)
    after = Placed(packed, q, v)
    assert moved == (angle > 1.5 * math.pi)
    assert np.linalg.norm(q) <= 1.5 * math.pi
    np.testing.assert_allclose(after.R, before.R, atol=1e-14)
    np.testing.assert_allclose(after.w, before.w, atol=1e-12)
    np.testing.assert_allclose(after.alpha, angular_acceleration_of(q, v), atol=1e-12)


def angular_acceleration_of(q, v):
    """Of exp[q + v t] at t = 0."""
    R, _ = oracle.across(exponential_ball(), q, v[None, :])
    return oracle.vee(R.second[0] @ R.value.T + R.first[0] @ R.first[0].T)


# --- every joint of the catalogue, as a scene writes it ----------------------------------------------------
def turned(axis, angle):
    return Rotation.from_rotvec(np.multiply(angle, axis)).as_matrix()


def about(anchor, R, d=(0.0, 0.0, 0.0)):
    """A rotation about a point, then a displacement, as a matrix (4, 4)."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, np.add(anchor, d) - R @ anchor
    return X


def of_matrix(X):
    return X[:3, :3], X[:3, 3]


ANCHORS = ([0.3, -0.1, 0.5], [0.0, 0.0, 0.0], [-0.2, 0.4, 0.1])
AXIS = np.array([1.0, -2.0, 2.0]) / 3.0
POSES = {
    "fixed": lambda q: (np.eye(3), np.zeros(3)),
    "revolute": lambda q: (turned(AXIS, q[0]), np.zeros(3)),
    "prismatic": lambda q: (np.eye(3), AXIS * q[0]),
    "screw": lambda q: (turned(AXIS, q[0]), AXIS * 0.25 * q[0] / (2 * math.pi)),
    "cylindrical": lambda q: (turned(AXIS, q[0]), AXIS * q[1]),
    "universal": lambda q: (turned(X, q[0]) @ turned(Y, q[1]), np.zeros(3)),
    "planar": lambda q: (np.eye(3), np.array([q[0], q[1], 0.0])),
    "translational": lambda q: (np.eye(3), np.array(q)),
    "free2d": lambda q: (turned(Z, q[2]), np.array([q[0], q[1], 0.0])),
    "composite": lambda q: of_matrix(
        about(ANCHORS[0], turned(AXIS, q[0]))
        @ about(ANCHORS[1], np.eye(3), [q[1], 0.0, 0.0])
        @ about(ANCHORS[2], turned(Y, q[2]), [0.0, 0.1 * q[2] / (2 * math.pi), 0.0])
    ),
}
"""Pose of the child's joint frame in the parent's, by its coordinates, straight from the words of the scene format."""
POSES |= POSES_OF_SHAPES

EXTRA = {
    "screw": {"pitch": 0.25},
    "composite": {
        "parts": [
            {"type": "revolute", "axis": AXIS.tolist(), "position": ANCHORS[0]},
            {"type": "prismatic", "axis": [1, 0, 0]},
            {"type": "screw", "axis": [0, 1, 0], "pitch": 0.1, "position": ANCHORS[2]},
        ]
    },
}
"""Fields without a default."""
EXTRA |= FIELDS_OF_SHAPES

ROTATION = Rotation.from_rotvec([0.9, -1.2, 0.5])
SPIN = np.array([0.7, 1.5, -0.6])


def written(name, **fields):
    """A joint of a scene file."""
    spec = JOINTS[name].spec
    axis = {"axis": AXIS.tolist()} if "axis" in spec.model_fields else {}
    return spec.model_validate({"type": name, "child": "b", **axis, **EXTRA.get(name, {}), **fields})


def started(name, spec):
    kind = JOINTS[name]
    start = kind.start(spec)
    packed = on_the_ground(tuple(kind.parts(spec)), tuple(start.q), tuple(start.v))
    return packed, Placed(packed, packed.tree.q, packed.tree.v)


@pytest.mark.parametrize("name", sorted(set(JOINTS) - {"spherical", "free"}))
def test_the_initial_pose_agrees_with_the_coordinates(name):
    count = len(written(name).coordinates)
    rng = np.random.default_rng(9)
    q, v = rng.normal(size=count), rng.normal(size=count)
    state = (
        {} if count == 0 else {"q": float(q[0]), "v": float(v[0])} if count == 1 else {"q": q.tolist(), "v": v.tolist()}
    )
    spec = written(name, **state)
    packed, placed = started(name, spec)
    R, x = POSES[name](q)
    np.testing.assert_allclose(placed.R, R, atol=1e-14)
    np.testing.assert_allclose(placed.x, x, atol=1e-14)
    h = 1e-5
    (R0, x0), (R1, x1) = (POSES[name](q + s * v) for s in (-h, h))
    np.testing.assert_allclose(placed.w, Rotation.from_matrix(R1 @ R0.T).as_rotvec() / (2 * h), atol=1e-9)
    np.testing.assert_allclose(placed.v, (x1 - x0) / (2 * h), atol=1e-9)
    reported = np.empty(count)
    report_coordinates(packed.tree.tree, packed.tree.q, reported)
    np.testing.assert_array_equal(reported, q)


@pytest.mark.parametrize("name", sorted(JOINTS.keys() - FIELDS_OF_SHAPES.keys()))
def test_a_joint_without_a_state_starts_at_rest_with_both_frames_together(name):
    spec = written(name)
    _, placed = started(name, spec)
    np.testing.assert_allclose(placed.R, np.eye(3), atol=1e-15)
    for zero in (placed.x, placed.w, placed.v):
        np.testing.assert_array_equal(zero, np.zeros(3))


@pytest.mark.parametrize("name", sorted(JOINTS))
def test_parts_agree_with_the_coordinates_that_the_scene_declares(name):
    spec = written(name)
    assert tuple(kind for part in JOINTS[name].parts(spec) for kind in part.coordinates) == spec.coordinates


@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
@pytest.mark.parametrize(
    "rotvec",
    [
        [0.9, -1.2, 0.5],
        [0.0, 0.0, 2.0],
        [1e-7, 2e-7, -1e-7],
        [0.0, 3.1, 0.0],
        [-2.5, 1.0, 1.5],
        [0.3, 0.0, 0.0001],
    ],
    ids=str,
)
def test_a_spherical_joint_starts_with_its_rotation_and_angular_velocity(parametrization, rotvec):
    if parametrization.startswith("euler"):  # regular angles near the same rotation
        sequence = parametrization.removeprefix("euler_")
        x, y, z, w = Rotation.from_rotvec(rotvec).as_quat().tolist()
        first, middle, last = angles_of(sequence, (w, x, y, z))
        singular = math.sin(middle) if has_equal_ends(sequence) else math.cos(middle)
        middle += 0.4 if abs(singular) < 1e-3 else 0.0
        rotvec = Rotation.from_euler(sequence.upper(), [first, middle, last]).as_rotvec().tolist()
    spec = written("spherical", parametrization=parametrization, q={"rotvec": rotvec}, v=SPIN.tolist())
    _, placed = started("spherical", spec)
    R = Rotation.from_rotvec(rotvec).as_matrix()
    np.testing.assert_allclose(placed.R, R, atol=1e-14)
    np.testing.assert_allclose(placed.w, R @ SPIN, atol=1e-9)
    np.testing.assert_allclose(placed.x, 0, atol=0)


@pytest.mark.parametrize("axis", [X, Y, Z, OBLIQUE])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.5 * math.pi, math.pi, -2.0])
@pytest.mark.parametrize("parametrization", PARAMETRIZATIONS)
def test_any_rotation_has_coordinates_singular_ones_included(parametrization, axis, angle):
    """A rest orientation may lie where the angles are singular."""
    chart = PARAMETRIZATIONS[parametrization]
    x, y, z, w = Rotation.from_rotvec(np.multiply(angle, axis)).as_quat().tolist()
    packed = on_the_ground(chart.parts, tuple(chart.coordinates((w, x, y, z))))
    np.testing.assert_allclose(Placed(packed, packed.tree.q, packed.tree.v).R, turned(axis, angle), atol=1e-14)


@pytest.mark.parametrize(
    "rotvec", [[0.0, 0.0, 0.0], [0.7, 0.0, 0.0], [0.0, math.pi, 0.0], [0.0, 0.0, math.pi]], ids=str
)
def test_angles_that_are_singular_at_the_start_are_refused(rotvec):
    """They could not take most angular velocities, and no acceleration would exist."""
    with pytest.raises(ValidationError, match="singular"):
        written("spherical", parametrization="euler_xzx", q={"rotvec": rotvec})


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("outer", [(0.0, 0.0), (0.5 * math.pi, -0.7), (math.pi, 2.0), (-2.5, -math.pi)])
def test_euler_angles_are_those_of_scipy(sequence, outer):
    """At right angles, too; the middle angle is regular."""
    regular = 0.5 * math.pi if has_equal_ends(sequence) else 0.0
    for middle in (regular - 1.2, regular, regular + 1.2):
        turned = Rotation.from_euler(sequence.upper(), [outer[0], middle, outer[1]])
        x, y, z, w = turned.as_quat().tolist()
        found = angles_of(sequence, (w, x, y, z))
        difference = np.subtract(found, turned.as_euler(sequence.upper()))
        assert np.abs(np.remainder(difference + 1.0, math.tau) - 1.0).max() < 1e-13


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_singular_euler_angles_of_every_sequence_are_refused(sequence):
    middle = 0.0 if has_equal_ends(sequence) else 0.5 * math.pi
    with pytest.raises(ValidationError, match=rf"{sequence.upper()} angles are singular"):
        written(
            "spherical", parametrization=f"euler_{sequence}", q={"euler": [0.3, middle, 0.2], "order": sequence.upper()}
        )


@pytest.mark.parametrize(
    "fields",
    [{"stiffness": 1.0}, {"damping": 1.0}, {"force": [1, 2, 3]}, {"motion": {"velocity": [1, 2, 3]}}],
)
def test_recentred_coordinates_take_no_forces(fields):
    """Energy and force of the same rotation would jump with the coordinates."""
    with pytest.raises(ValidationError, match="recentred"):
        written("spherical", parametrization="exponential", **fields)


def test_a_free_joint_starts_with_its_pose_and_velocity_in_the_parents_joint_frame():
    spec = written(
        "free",
        q={"position": [1, 2, 3], "rotation": {"rotvec": ROTATION.as_rotvec().tolist()}},
        v={"linear": [4, 5, 6], "angular": SPIN.tolist()},
    )
    packed, placed = started("free", spec)
    np.testing.assert_allclose(placed.R, ROTATION.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(placed.x, [1, 2, 3])
    np.testing.assert_allclose(placed.w, SPIN)
    np.testing.assert_allclose(placed.v, [4, 5, 6])
    reported = np.empty(6)
    report_coordinates(packed.tree.tree, packed.tree.q, reported)
    np.testing.assert_allclose(reported, [1, 2, 3, *ROTATION.as_rotvec()], atol=1e-14)


@pytest.mark.parametrize("parametrization", ["quaternion", "exponential"])
def test_a_spherical_rotation_is_reported_as_its_shortest_rotation_vector(parametrization):
    spec = written("spherical", parametrization=parametrization, q={"rotvec": [0.0, 4.0, 0.0]})
    packed, _ = started("spherical", spec)
    reported = np.empty(3)
    report_coordinates(packed.tree.tree, packed.tree.q, reported)
    np.testing.assert_allclose(reported, [0.0, 4.0 - 2 * math.pi, 0.0], atol=1e-14)


def test_every_part_is_a_branch_of_the_switch():
    """Each code has a run above, so that a new kind of part comes with its tests."""
    assert {part.code for parts in RUNS.values() for part in parts} == set(PartCode)


def test_frames_stack_without_a_joint():
    """A fixed joint is its two frames: the child's body frame lies at origin times the inverse of child_origin."""
    rng = np.random.default_rng(2)
    origin, child = random_placement(rng), random_placement(rng)
    packed = pack(
        Machine([tree_link(1, 0, (), origin=origin, child_origin=child), tree_link(2, 1, (), origin=shift(1, 2, 3))])
    )
    placed = Placed(packed, packed.tree.q, packed.tree.v)
    R = origin.rotation @ child.rotation.T
    np.testing.assert_allclose(placed.R, R, atol=1e-15)
    np.testing.assert_allclose(placed.x, origin.position - R @ child.position + R @ [1, 2, 3], atol=1e-14)
