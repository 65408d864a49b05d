"""Forces of rows at markers of affine bodies reach the bodies: momentum changes by that of the weight alone."""

from __future__ import annotations

import numpy as np
import pytest
from loops import loaded, start

from multibody_cli.errors import SceneError

POINT, PLACE = np.array([0.1, -0.1, 0.15]), np.array([0.3, 0.4, 0.5])
BODY = {"mass": 1.3, "kind": "affine", "position": PLACE.tolist(), "shapes": [{"type": "box", "size": [0.2, 0.3, 0.4]}]}
END = {"mass": 0.5, "inertia": {"principal": [0.01, 0.02, 0.015]}}


def at_a_limit():
    """A limit of the coordinate of a joint between a rigid body and a marker, held by forces of the joint."""
    parts = [{"type": kind, "axis": axis} for kind in ("prismatic", "revolute") for axis in np.eye(3).tolist()]
    gap = {"type": "composite", "parts": parts, "parent": "end", "child": "body"}
    gap |= {"child_origin": {"position": POINT.tolist()}, "limits": [[0.1, None], *5 * [None]]}
    end = {**END, "position": (PLACE + POINT - [0.1, 0.3, 0.05]).tolist()}
    return {"bodies": {"body": BODY, "end": end}, "joints": {"gap": {**gap, "force": [-5, 3, 2, 0, 0, 0]}}}


def in_a_cycle():
    """Balls between an affine body and two rigid ones: the rows of one ball close a cycle."""
    at = {"body": PLACE, "b": np.add(PLACE, [0.3, 0.0, 0.2]), "c": np.add(PLACE, [0.0, 0.4, 0.2])}
    balls = {"one": ("body", "b", POINT), "two": ("b", "c", [0.2, 0.3, 0.3]), "three": ("body", "c", [-0.1, 0.1, 0.1])}
    joints = {}
    for name, (parent, child, place) in balls.items():
        origins = [{"position": (PLACE + place - at[one]).tolist()} for one in (parent, child)]
        joints[name] = {"type": "spherical", "parent": parent, "child": child}
        joints[name] |= {"origin": origins[0], "child_origin": origins[1]}
    turning = {**BODY, "velocity": {"angular": [1.0, 2.0, 0.5]}}
    return {"bodies": {"body": turning, "b": {**END, "position": at["b"].tolist()}, "c": END}, "joints": joints}


@pytest.mark.parametrize("scene", [at_a_limit(), in_a_cycle()])
def test_rows_at_markers_keep_the_momentum(scene):
    run = start(scene, "baraff", integrator="semi_implicit_euler", step=0.01)
    rows, mass = run.method.work.rows, sum(body["mass"] for body in scene["bodies"].values())
    auxiliary = rows["multiplier"][(rows["primary"] == 0) & (rows["active"] == 1)]
    assert np.abs(auxiliary).max() > 0.01
    before = run.observed().linear_momentum[0].copy()
    after = run.advance(0.05).observed().linear_momentum[0]
    np.testing.assert_allclose(after - before, [0.0, 0.0, -9.81 * mass * 0.05], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("section", ["joints", "constraints"])
def test_affine_bodies_are_not_connected_in_scenes_with_joint_friction(section):
    floor, end = {"shapes": [{"type": "plane"}]}, {**END, "shapes": [{"type": "sphere", "radius": 0.1}]}
    body = {**BODY, "shapes": [{**BODY["shapes"][0], "contact": False}]}
    ball = {"type": "spherical", "parent": "body", "child": "end"}
    rod = {"type": "distance", "between": [{"body": "body"}, {"body": "end"}], "length": 1.0}
    scene = {"world": floor, "bodies": {"body": body, "end": end, "door": END}, "contacts": {}}
    hinge = {"type": "revolute", "child": "door", "axis": [0, 0, 1], "friction": {"torque": 0.1}}
    joints, constraints = {"hinge": hinge}, {}
    (joints if section == "joints" else constraints)["one"] = ball if section == "joints" else rod
    with pytest.raises(SceneError, match=rf"{section}.one: `body` is affine: with dry friction"):
        loaded({**scene, "joints": joints, "constraints": constraints}, method="baraff")
