"""Geoms in given poses, and their contacts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from multibody_cli.contacts.detect import detect
from multibody_cli.contacts.forms import Collider, Form, box, capsule, cylinder, ellipsoid, geometry_of, hull, sphere
from multibody_cli.contacts.work import FITS, detection_workspace_for
from multibody_cli.kernel import records

POSE = np.dtype([("x", "f8", 3), ("R", "f8", 9)])
EVERYWHERE = 1e9

SOME_FORMS = {
    "sphere": sphere(0.3),
    "capsule": capsule(0.2, 1.1),
    "box": box([0.6, 0.9, 1.3]),
    "cylinder": cylinder(0.35, 0.8),
    "ellipsoid": ellipsoid([0.5, 0.3, 0.2]),
    "hull": hull(np.random.default_rng(5).normal(0.0, 0.3, (30, 3))),
}


class Pose(NamedTuple):
    """Position (3,) and rotation matrix (3, 3)."""

    x: np.ndarray
    R: np.ndarray

    def after(self, first: Pose) -> Pose:
        """This motion of the world applied to a pose."""
        return Pose(self.R @ first.x + self.x, self.R @ first.R)


def at(*x, R=None) -> Pose:
    return Pose(np.array(x, dtype=float), np.eye(3) if R is None else R)


def turned(*vector) -> np.ndarray:
    return Rotation.from_rotvec(vector).as_matrix()


def random_pose(generator, spread) -> Pose:
    return Pose(generator.uniform(-spread, spread, 3), Rotation.random(rng=generator).as_matrix())


def bodies_at(poses) -> np.ndarray:
    """Records of bodies as `detect` takes them; the first is row 1, for row 0 is the ground."""
    bodies = np.zeros(len(poses) + 1, POSE)
    bodies["R"][0, ::4] = 1.0
    for body, pose in zip(bodies[1:], poses, strict=True):
        body["x"], body["R"] = pose.x, pose.R.T.ravel()
    return records(bodies)


def found(geometry, poses, margin=EVERYWHERE, work=None):
    """The contacts of a geometry, with sufficient capacity."""
    work = (
        detection_workspace_for(geometry, pairs=len(poses) ** 2 + 8, contacts=200 + 20 * len(poses))
        if work is None
        else work
    )
    n, overflow = detect(geometry, bodies_at(poses), margin, work)
    assert overflow == FITS
    return np.array(work.contacts[:n])


def contacts_of(form_a: Form, a: Pose, form_b: Form, b: Pose, margin=EVERYWHERE):
    """The contacts of two shapes on two bodies."""
    return found(geometry_of([Collider(form_a, 1), Collider(form_b, 2)]), [a, b], margin)


def smallest_gaps(form_a: Form, a: Pose, form_b: Form, positions, rotations) -> np.ndarray:
    """The smallest gaps (K,) of a shape and another at K positions (K, 3) with rotations (K, 3, 3)."""
    geometry = geometry_of([Collider(form_a, 1), Collider(form_b, 2)])
    work, bodies, gaps = detection_workspace_for(geometry, pairs=12, contacts=240), bodies_at([a, a]), []
    for x, R in zip(positions, rotations, strict=True):
        bodies[2]["x"], bodies[2]["R"] = x, R.T.ravel()
        n, overflow = detect(geometry, bodies, EVERYWHERE, work)
        assert overflow == FITS
        gaps.append(work.contacts["gap"][:n].min())
    return np.array(gaps)


def surface_points(contact):
    """The points on the surfaces of A and of B."""
    half = 0.5 * contact["gap"] * contact["normal"]
    return contact["point"] - half, contact["point"] + half
