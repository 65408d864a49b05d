"""A scene and its export as MJCF are the same mechanism: in this program after import, and in MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.errors import SceneError
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.options import Options
from multibody_cli.joints.contract import PartCode
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.packing.layout import joint_data
from multibody_cli.peers import ENGINES
from multibody_cli.scene.topology import inboard_joints
from multibody_cli.spec.rotations import rotation_matrix
from multibody_cli.studies.equations_of_motion import EquationsOfMotion, places_by_name
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.mjcf_elements import Loss
from multibody_cli.studies.mjcf_export import export_mjcf
from multibody_cli.studies.simulation import PreparedSimulation, prepare

mujoco = pytest.importorskip("mujoco")

SCENES = Path(__file__).parents[2] / "scenes"
EVERY = sorted([*SCENES.glob("gallery/*.yaml"), *SCENES.glob("validation/*.yaml")])
WITHOUT_FORCE = {"constraints", "couplings", "contacts", "simulation", "sensors", "inputs", "world", "bodies"}
"""Sections whose losses change neither mass matrix nor bias."""

REFUSED = {
    "affine_body": "bodies of MJCF are rigid",
    "massless_bodies": "an inertia that no body has",
    **dict.fromkeys(
        [
            "bead_bspline",
            "bead_cycloid",
            "bead_helix",
            "board_on_surface",
            "curve_joint",
            "redmax_scene_21",
            "redmax_scene_22",
            "screw_joint",
            "sphere_sphere_joint",
            "spherical_joint",
            "spline_curve_joint",
            "spline_curve_one_body",
            "spline_surface_joint",
            "spline_surface_one_body",
            "surface_surface_joint",
            "symbolic_joint",
            "torus_chain",
            "torus_chain_on_curve",
            "torus_geodesic",
            "windmill",
        ],
        "no joint for this motion",
    ),
}
"""Scenes that MJCF cannot hold, with the reason."""

HAVE_ROTORS = {"dc_motor"}
"""Scenes with motors, which are dropped with the inertia of their rotors."""

HELD = 129
"""Least number of scenes that MJCF holds."""


def written(text: str, folder: Path) -> Path:
    path = folder / "scene.yaml"
    path.write_text(f"mbsim: 1\nsimulation: {{duration: 1 s, step: 1 ms}}\n{text}")
    return path


def exported(source: Path, folder: Path) -> tuple[PreparedSimulation, Path, list[Loss]]:
    simulation = prepare(source)
    text, losses = export_mjcf(simulation, folder)
    path = folder / "model.xml"
    path.write_text(text)
    return simulation, path, losses


def imported(path: Path) -> tuple[Draft, PreparedSimulation]:
    draft = read_model(path, Options(), Problems())
    return draft, prepare(ReadScene(path, draft.tree(), Usage()), ["simulation.state=start"])


class Coordinates:
    """State of the import by the state of the scene, with v' = T v and a' = T a + c."""

    def __init__(self, scene: PreparedSimulation, model: PreparedSimulation) -> None:
        self._bodies = []
        places, others = places_by_name(scene.compiled.model), places_by_name(model.compiled.model)
        inboard, inboard_of_model = inboard_joints(scene.scene), inboard_joints(model.scene)
        for body in scene.scene.bodies:
            name, other = inboard.get(body, body), inboard_of_model.get(body, body)
            joint = scene.scene.joints.get(name) if body in inboard else None
            if joint is None or joint.coordinates:
                self._bodies.append(
                    (joint, [place[name] for place in places[:2]], [place[other] for place in others[:2]])
                )

    def convert(self, q: Any, v: Any, size: int, n: int) -> tuple[Any, Any, Any]:
        """Return q', T and c."""
        found, T, c = np.zeros(size), np.zeros((n, n)), np.zeros(n)
        for joint, (own_q, own_v), (new_q, new_v) in self._bodies:
            found[new_q], T[new_v, own_v] = q[own_q], np.eye(own_v.stop - own_v.start)
            parts, _, _, origin, child_origin = joint_data(joint) if joint else ((), None, None, None, None)
            code = next((part.code for part in parts if part.nv), None)
            if code is PartCode.BALL:
                C = child_origin.rotation
                found[new_q] = quaternion(C @ rotation_matrix(q[own_q]) @ C.T)
                T[new_v, own_v] = C
            elif code is PartCode.FREE:
                back, F = child_origin.inverse(), origin.rotation
                R, w = rotation_matrix(q[own_q][3:]), v[own_v][3:]
                arm = R @ back.position
                position = origin.position + F @ (q[own_q][:3] + arm)
                found[new_q] = [*position, *quaternion(F @ R @ back.rotation)]
                turning = np.array([np.cross(axis, arm) for axis in np.eye(3)]).T
                T[new_v, own_v] = np.block([[F, F @ turning], [np.zeros((3, 3)), F]])
                c[new_v.start : new_v.start + 3] = F @ np.cross(w, np.cross(w, arm))
        return found, T, c


def quaternion(R: Any) -> Any:
    numbers = np.zeros(4)
    mujoco.mju_mat2Quat(numbers, R.ravel())
    return numbers


def random_state(scene: PreparedSimulation, random: Any) -> Any:
    state = scene.fresh_state()
    state.v[:] = random.normal(size=len(state.v))
    prescribed = {name for name, joint in scene.scene.joints.items() if any(joint.driven)}
    for name, positions in places_by_name(scene.compiled.model)[0].items():
        if name not in prescribed:
            state.q[positions] = random.normal(size=positions.stop - positions.start)
    for row in scene.compiled.model.system.tree.quaternions:
        part = slice(int(row["iq"]), int(row["iq"]) + 4)
        state.q[part] /= np.linalg.norm(state.q[part])
    return state


def difference(scene: PreparedSimulation, model: PreparedSimulation, with_bias: bool = True) -> float:
    """Largest relative difference of M and b at random states."""
    ours, theirs = (EquationsOfMotion(one.compiled.model) for one in (scene, model))
    assert ours.n == theirs.n
    coordinates, random, largest = Coordinates(scene, model), np.random.default_rng(0), 0.0
    for _ in range(3):
        state, other = random_state(scene, random), model.fresh_state()
        v = state.v[: ours.n]
        q, T, c = coordinates.convert(state.q, state.v, len(other.q), ours.n)
        other.q[:], other.v[: ours.n] = q, T @ v
        M, M_of_model = ours.mass_matrix(state), theirs.mass_matrix(other)
        b = ours.inverse_dynamics(state, np.zeros(ours.n))
        b_of_model = T.T @ theirs.inverse_dynamics(other, c)
        scale = np.sqrt(np.diag(M))
        errors = [np.abs((M - T.T @ M_of_model @ T) / np.outer(scale, scale)).max(initial=0.0)]
        if with_bias:
            errors.append(np.abs((b - b_of_model) / scale).max(initial=0.0) / np.abs(b / scale).max(initial=1.0))
        largest = max(largest, *map(float, errors))
    return largest


def keeps_forces(losses: list[Loss], scene: PreparedSimulation) -> bool:
    """Whether the losses change no force that M and b contain; a dropped loop may have springs."""
    for section, *rest in (loss.path for loss in losses):
        if section == "joints" and len(rest) == 1:
            joint = scene.scene.joints[str(rest[0])]
            if any(getattr(joint, key, None) is not None for key in ("stiffness", "damping", "force", "motion")):
                return False
        elif section not in WITHOUT_FORCE and not (
            section == "joints" and rest[1] in ("limits", "friction", "restitution")
        ):
            return False
    return True


@pytest.mark.parametrize("source", EVERY, ids=lambda path: path.stem)
def test_scenes_are_the_same_after_export_and_import(source: Path, tmp_path: Path) -> None:
    """M and b at random states to 1e-12, of this program on both, and of MuJoCo on the file."""
    if source.stem in REFUSED:
        with pytest.raises(SceneError, match=REFUSED[source.stem]):
            exported(source, tmp_path)
        return
    scene, path, losses = exported(source, tmp_path)
    draft, model = imported(path)
    if source.stem not in HAVE_ROTORS:
        assert difference(scene, model, with_bias=keeps_forces(losses, scene)) < 1e-12
    found = check_import(model, draft, ENGINES["mjcf"].read(path))
    assert not found.absent
    assert found.differences["mass_matrix"] < 1e-12


def test_most_scenes_are_held() -> None:
    assert len(EVERY) - len(REFUSED) >= HELD


def test_keyframe_and_loop_are_those_of_the_scene(tmp_path: Path) -> None:
    """MuJoCo has the poses of the scene in the keyframe `start`; the points of a closed loop coincide there."""
    _, path, losses = exported(SCENES / "gallery/stewart_platform.yaml", tmp_path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("start").id)
    mujoco.mj_forward(model, data)
    assert data.body("platform").xpos == pytest.approx([0.0, 0.0, 1.2], abs=1e-12)
    assert model.neq == 6
    assert np.abs(data.efc_pos[: 3 * model.neq]).max() < 1e-9
    assert ("approximated", ("joints", "head0"), "loops of MuJoCo are soft") in losses


def test_fields_of_joints_are_attributes(tmp_path: Path) -> None:
    source = written(
        """
gravity: [0, 0, -1]
bodies:
  a: &rod {density: 1000, shapes: [{type: box, size: [0.1, 0.1, 1]}]}
  b: *rod
  c: *rod
joints:
  hinge:
    type: revolute
    child: a
    axis: [0, 1, 0]
    child_origin: {position: [0, 0, 0.5], rotation: {axis: [0, 0, 1], angle: 90 deg}}
    q: 3
    stiffness: 2
    rest: 0.1
    damping: 3
    armature: 4
    limits: [-1, 4]
    friction: {torque: 5}
  slide: {type: prismatic, parent: a, child: b, axis: [1, 0, 0], friction: {force: 6}}
  ball: {type: spherical, parent: b, child: c, damping: [1, 2, 3]}
couplings:
  belt: {type: linear, terms: {hinge: 2, slide: -4}, value: 6}
""",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(path))
    hinge = model.joint("hinge")
    assert hinge.axis == pytest.approx([-1.0, 0.0, 0.0], abs=1e-15)  # y of the joint frame is -x of the body
    assert hinge.pos == pytest.approx([0.0, 0.0, 0.5])
    assert [hinge.stiffness[0], hinge.damping[0], hinge.armature[0], hinge.frictionloss[0]] == [2.0, 3.0, 4.0, 5.0]
    assert model.qpos_spring[hinge.qposadr[0]] == 0.1
    assert hinge.range.tolist() == [-1.0, 4.0]
    assert hinge.limited[0]
    assert model.joint("slide").frictionloss[0] == 6.0
    assert model.eq_data[0][:2].tolist() == [3.0, 2.0]  # hinge = 3 + 2 slide
    one_value = "a joint of MJCF has one value for all its coordinates"
    assert losses == [
        Loss("dropped", ("joints", "ball", "damping"), one_value),
        Loss("approximated", ("couplings", "belt"), "couplings of MuJoCo are soft"),
    ]


def test_shapes_are_geoms(tmp_path: Path) -> None:
    """Sizes, pose, friction and groups return; a plane that moves, and a torus, are dropped."""
    source = written(
        """
world: {shapes: [{type: plane, normal: [0, 1, 0], position: [0, -5, 0]}]}
contacts: {exclude: [[a, world]]}
bodies:
  a:
    mass: 1
    inertia: {principal: [1, 1, 1]}
    shapes:
      - {type: box, size: [0.2, 0.4, 0.6], friction: {static: 0.3, torsional: 0.01, rolling: 0.02}}
      - {type: capsule, radius: 0.1, length: 1, position: [1, 2, 3], contact: false}
      - {type: ellipsoid, radii: [0.1, 0.2, 0.3], groups: [hand], collides_with: [default, hand]}
      - {type: torus, major_radius: 1, minor_radius: 0.1, contact: false}
""",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    assert data.geom_xmat[0].reshape(3, 3)[:, 2] == pytest.approx([0.0, 1.0, 0.0], abs=1e-15)
    assert model.geom_size[1:].tolist() == [[0.1, 0.2, 0.3], [0.1, 0.5, 0.0], [0.1, 0.2, 0.3]]
    assert model.geom_friction[1].tolist() == [0.3, 0.01, 0.02]
    assert model.geom_condim.tolist() == [3, 6, 3, 3]
    assert list(zip(model.geom_contype, model.geom_conaffinity, strict=True)) == [(1, 1), (1, 1), (0, 0), (2, 3)]
    assert model.nexclude == 1
    assert [loss.path for loss in losses if loss.fate == "dropped"] == [("bodies", "a", "shapes", 3)]


def test_a_free_body_and_a_joint_of_one_name_have_their_own_states(tmp_path: Path) -> None:
    source = written(
        """
bodies:
  one: {mass: 1, inertia: {principal: [1, 1, 1]}, position: [1, 2, 3]}
  two: {mass: 1, inertia: {principal: [1, 1, 1]}}
joints:
  one: {type: prismatic, child: two, axis: [1, 0, 0], q: 0.5}
""",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.key("start").qpos.tolist() == [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.5]
    assert not losses
