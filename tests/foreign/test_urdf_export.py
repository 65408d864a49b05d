"""A scene and its export as URDF are the same mechanism: in this program after import, and in Pinocchio."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from round_trip import EVERY, daily, differences, exported, imported, keeps_forces, written

from multibody_cli.errors import SceneError
from multibody_cli.foreign.frames import FramePose
from multibody_cli.peers import ENGINES
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.rotations import rotation_matrix
from multibody_cli.studies.export.losses import Loss
from multibody_cli.studies.export.urdf import angles_of
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import PreparedSimulation, prepare

HELD_TYPES = {
    "revolute",
    "prismatic",
    "fixed",
    "free",
    "universal",
    "cylindrical",
    "planar",
    "translational",
    "free2d",
    "composite",
}
"""Types of joints that are joints of URDF, or chains of them."""

HELD = 140
"""Least number of scenes that URDF holds."""

SINGULAR = {"testset_caraxis"}
"""Scenes with bodies without mass, whose prescribed motion is dropped."""

NO_STATE = "URDF has no initial coordinates and velocities"
EFFORT = "`effort` and `velocity`, which limits of URDF require, are 1e+10"


def is_held(scene: PreparedSimulation) -> bool:
    joints = [scene.scene.joints[name] for name in inboard_joints(scene.scene).values()]
    types = {one.type for joint in joints for one in (joint, *getattr(joint, "parts", ()))}
    return types <= HELD_TYPES and all(body.kind != "affine" for body in scene.scene.bodies.values())


@pytest.mark.parametrize("source", daily())
def test_scenes_are_the_same_after_export_and_import(source: Path, tmp_path: Path) -> None:
    """M and b at random states to 1e-12, of this program on both; M also in Pinocchio."""
    scene = prepare(source)
    if not is_held(scene):
        with pytest.raises(SceneError, match=r"URDF has no joint for this motion|bodies of URDF are rigid"):
            exported(source, tmp_path, "urdf")
        return
    _, path, losses = exported(source, tmp_path, "urdf")
    if source.stem in SINGULAR:
        with pytest.raises(SceneError, match="moves no mass or inertia"):
            imported(path)
        return
    draft, model = imported(path, f"gravity={list(scene.scene.gravity)}")
    of_M, of_b = differences(scene, model)
    lost = {str(loss.path[2]) for loss in losses if len(loss.path) > 2 and loss.path[0] == "joints"}
    if "armature" not in lost and not any(getattr(one, "rotor_inertia", 0) for one in scene.scene.actuators.values()):
        assert of_M < 1e-12
    assert of_b < 1e-12 or not keeps_forces([loss for loss in losses if loss.path != ("gravity",)], scene)
    pytest.importorskip("pinocchio")
    found = check_import(model, draft, ENGINES["urdf"].read(path))
    assert not found.absent
    assert found.differences["mass_matrix"] < 1e-12


@pytest.mark.nightly
def test_most_scenes_are_held() -> None:
    assert sum(is_held(prepare(source)) for source in EVERY) >= HELD


def test_fields_of_joints_are_elements(tmp_path: Path) -> None:
    source = written(
        """
bodies:
  a: &rod {density: 1000, shapes: [{type: box, size: [0.1, 0.1, 1], color: red, position: [0, 0, 0.1]}]}
  b:
    mass: 1
    com: [0, 0, 0.5]
    inertia: {matrix: [[3, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 3]]}
    points: {tip: [0, 0, 1]}
  c: *rod
joints:
  hinge:
    type: revolute
    child: a
    axis: [0, 1, 0]
    child_origin: {position: [0, 0, 0.5], rotation: {axis: [0, 0, 1], angle: 90 deg}}
    stiffness: 2
    armature: 4
    damping: 3
    limits: [-1, 4]
    friction: {torque: 5}
  cross: {type: universal, parent: a, child: b, damping: [1, 2]}
  free: {type: free, child: c, damping: 1, v: {linear: [1, 0, 0]}}
couplings:
  belt: {type: linear, terms: {hinge: 2, cross/1: -4}, value: 6}
""",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path, "urdf")
    root = ElementTree.parse(path).getroot()
    joints = {joint.get("name"): joint for joint in root.iter("joint")}
    hinge = joints["hinge"]
    assert [float(x) for x in hinge.find("axis").get("xyz").split()] == pytest.approx([-1, 0, 0], abs=1e-15)
    assert hinge.find("dynamics").attrib == {"damping": "3.0", "friction": "5.0"}
    assert [hinge.find("limit").get(name) for name in ("lower", "upper", "effort")] == ["-1.0", "4.0", "10000000000.0"]
    assert hinge.find("mimic").attrib == {"joint": "cross_1", "multiplier": "2.0", "offset": "3.0"}
    assert [joints[name].get("type") for name in ("cross_0", "cross_1", "free")] == ["continuous"] * 2 + ["floating"]
    assert joints["cross_1"].find("parent").get("link") == "cross_0"
    links = {link.get("name"): link for link in root.iter("link")}
    assert list(links) == ["world", "a", "cross_0", "b", "tip", "c"]
    assert links["a"].find("visual/origin").get("xyz") == "0.0 0.0 -0.4"  # from the anchor
    assert links["b"].find("inertial/inertia").get("iyz") == "0.3"
    assert losses == [
        Loss("dropped", ("joints", "hinge", "q"), NO_STATE),  # the coupling turns it
        Loss("dropped", ("joints", "hinge", "stiffness"), "joints of URDF have no stiffness"),
        Loss("dropped", ("joints", "hinge", "armature"), "joints of URDF have no armature"),
        Loss("approximated", ("joints",), EFFORT),
        Loss("dropped", ("joints", "free", "q"), NO_STATE),
        Loss("dropped", ("joints", "free", "damping"), "free joints of URDF have no damping"),
    ]


def test_shapes_are_visual_and_touch_where_the_scene_has_contacts(tmp_path: Path) -> None:
    source = written(
        """
contacts: {}
bodies:
  a:
    mass: 1
    inertia: {principal: [1, 1, 1]}
    shapes:
      - {type: capsule, radius: 0.1, length: 1, rotation: {axis: [0, 1, 0], angle: 90 deg}, friction: 0.3}
      - {type: cylinder, radius: 0.1, length: 1, contact: false}
      - {type: box, size: [1, 1, 1], visible: false}
      - {type: ellipsoid, radii: [0.1, 0.2, 0.3]}
""",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path, "urdf")
    _, model = imported(path)
    shapes = model.scene.bodies["a"].shapes
    assert [(one.type, one.contact) for one in shapes] == [
        *[("cylinder", True), ("sphere", True), ("sphere", True), ("box", True)],
        *[("cylinder", False), ("sphere", False), ("sphere", False), ("cylinder", False)],
    ]
    assert shapes[2].position == pytest.approx((0.5, 0.0, 0.0), abs=1e-15)
    assert [(loss.fate, loss.path) for loss in losses] == [
        ("dropped", ("bodies", "a", "shapes", 0, "friction")),
        ("approximated", ("bodies", "a", "shapes", 0)),
        ("dropped", ("bodies", "a", "shapes", 3)),
        ("dropped", ("contacts",)),
    ]


@pytest.mark.parametrize("pitch", [0.3, np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, np.pi / 2 - 1e-5, 0.0, np.pi])
def test_angles_are_those_of_the_rotation(pitch: float) -> None:
    """Angles about fixed axes return the matrix, also where the first and the last axis are parallel."""
    for roll, yaw in ((0.0, 0.0), (0.4, -2.1), (np.pi, np.pi / 2), (np.pi / 2, np.pi)):
        R = FramePose.of_euler([0.0, 0.0, 0.0], [roll, pitch, yaw]).rotation
        np.testing.assert_allclose(FramePose.of_euler([0, 0, 0], angles_of(R)).rotation, R, rtol=0, atol=4e-16)
    R = rotation_matrix((0.5, 0.5, 0.5, 0.5))
    np.testing.assert_allclose(FramePose.of_euler([0, 0, 0], angles_of(R)).rotation, R, rtol=0, atol=4e-16)


def test_points_of_one_name_are_links_of_several(tmp_path: Path) -> None:
    source = written(
        """
bodies:
  a: &point {mass: 1, inertia: {principal: [1, 1, 1]}, points: {tip: [0, 0, 1], b: [1, 0, 0]}}
  b: *point
""",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path, "urdf")
    links = [link.get("name") for link in ElementTree.parse(path).getroot().iter("link")]
    assert links == ["world", "a", "tip", "b_", "b", "tip_", "b__"]
    assert losses == [
        Loss("approximated", ("bodies", body, "points", point), f"its link is `{link}`, since another one has its name")
        for body, point, link in (("a", "b", "b_"), ("b", "tip", "tip_"), ("b", "b", "b__"))
    ]


def test_events_are_losses(tmp_path: Path) -> None:
    source = written(
        """
bodies: {a: {mass: 1, inertia: {principal: [1, 1, 1]}}}
joints: {hinge: {type: revolute, child: a, axis: [0, 0, 1]}}
events: {apex: {when: joints.hinge.v}}
""",
        tmp_path,
    )
    _, _, losses = exported(source, tmp_path, "urdf")
    assert Loss("dropped", ("events", "apex"), "an event is not exported") in losses
