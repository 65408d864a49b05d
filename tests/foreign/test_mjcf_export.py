"""A scene and its export as MJCF are the same mechanism: in this program after import, and in MuJoCo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from round_trip import EVERY, SCENES, Coordinates, daily, differences, exported, imported, keeps_forces, written

from multibody_cli.errors import SceneError
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.peers import ENGINES
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.contact_filters import excluded_pairs
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes.contract import SolidSpec
from multibody_cli.studies.export.losses import SECTIONS, Loss
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import prepare

mujoco = pytest.importorskip("mujoco")

REFUSED = {
    "affine_body": "bodies of MJCF are rigid",
    "affine_contact": "bodies of MJCF are rigid",
    "massless_bodies": "an inertia that no body has",
    **dict.fromkeys(
        [
            "bead_bspline",
            "bead_cycloid",
            "bead_helix",
            "board_on_surface",
            "curve_curve_joint",
            "curve_joint",
            "function_tables",
            "redmax_scene_3",
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

HELD = 150
"""Least number of scenes that MJCF holds."""


@pytest.mark.parametrize("source", daily())
def test_scenes_are_the_same_after_export_and_import(source: Path, tmp_path: Path) -> None:
    """M and b at random states to 1e-12, of this program on both, and of MuJoCo on the file."""
    if source.stem in REFUSED:
        with pytest.raises(SceneError, match=REFUSED[source.stem]):
            exported(source, tmp_path, "mjcf")
        return
    scene, path, losses = exported(source, tmp_path, "mjcf")
    draft, model = imported(path, "simulation.state=start")
    of_M, of_b = differences(scene, model)
    assert of_M < 1e-12
    assert of_b < 1e-12 or not keeps_forces(losses, scene)
    found = check_import(model, draft, ENGINES["mjcf"].read(path))
    assert not found.absent
    assert found.differences["mass_matrix"] < 1e-12


def test_most_scenes_are_held() -> None:
    assert len(EVERY) - len(REFUSED) >= HELD


def test_keyframe_and_loop_are_those_of_the_scene(tmp_path: Path) -> None:
    """MuJoCo has the poses of the scene in the keyframe `start`; the points of a closed loop coincide there."""
    _, path, losses = exported(SCENES / "gallery/stewart_platform.yaml", tmp_path, "mjcf")
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
    _, path, losses = exported(source, tmp_path, "mjcf")
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
    one_value = "a joint of the model has one value for all its coordinates"
    assert losses == [
        Loss("dropped", ("joints", "ball", "damping"), one_value),
        Loss("approximated", ("couplings", "belt"), "couplings of MuJoCo are soft"),
    ]


ARM = """
bodies:
  a: {density: 1000, shapes: [{type: box, size: [0.1, 0.1, 1]}], points: {tip: [0, 0, 0.5]}}
  b: &rod {density: 1000, shapes: [{type: box, size: [0.1, 0.1, 1]}]}
  c: *rod
joints:
  hinge: {type: revolute, child: a, axis: [0, 1, 0], child_origin: {position: [0, 0, 0.5]}}
  sleeve: {type: cylindrical, parent: a, child: b, origin: {position: [0.2, 0, -0.5]}, force: [0.3, -0.4]}
  ball: {type: spherical, parent: b, child: c, origin: {position: [0, 0, -0.5]}, child_origin: {position: [0, 0, 0.5]}}
combinations:
  sum: {terms: {hinge: 2, sleeve/1: -3}, offset: 0.7, stiffness: 5, damping: 0.6, rest: [-0.1, 0.2], limits: [-9, null]}
  trap: {terms: {hinge: 1, sleeve/0: 1}, stiffness: 4, rest: -1}
paths:
  rope:
    path: [{body: world, point: [1, 0, 0]}, {body: a, point: tip}, {body: b}, {body: c, divisor: 2}, {body: world}]
"""
"""Two rods and a ball on a hinge, with combinations and a path."""

ACTUATORS = """
actuators:
  servo: {type: position, joint: hinge, kp: 20, kv: 2, target: 0.4, limits: [-1000, 1000], input_limits: [-1, 0.3]}
  damped: {type: pd, joint: sleeve/1, kp: 30, kd: 3, target: -0.2}
  speed: {type: velocity, joint: sleeve/0, kv: 4, target: 0.5}
  push: {type: general, joint: hinge, force: 7}
  law: {type: general, joint: sleeve/1, force: "2*(q - 0.3)/4 - pi*v + 1"}
  lag: {type: position, joint: hinge, kp: 5, target: 0.6, filter: 0.1}
  drive:
    {type: motor, joint: hinge, gear: 20, rotor_inertia: 1e-3, command: 0.7, stall_torque: 0.3, no_load_speed: 400}
  winch: {type: position, path: rope, kp: 8, target: 2}
  of_sum: {type: position, combination: sum, kp: 9, kv: 0.5, target: 0.1}
"""


def test_springs_tensions_and_actuators_are_those_of_the_scene(tmp_path: Path) -> None:
    """Nothing is lost: M and b of this program after import, and all quantities of MuJoCo."""
    springs = """
springs:
  line: {between: [{body: a, point: tip}, {body: c}], stiffness: 50, damping: 3, rest_length: 0.3}
  strain: {between: [{body: world}, {body: b}], stiffness: 50, damping: 3, relative: true, rest_length: 0.4}
  slack: {path: rope, stiffness: 70, rest_length: [0.5, 1.5]}
forces:
  tension: {path: [{body: world, point: [0, 1, 0]}, {body: c}], tension: 11}
"""
    scene, path, losses = exported(written(ARM + ACTUATORS + springs, tmp_path), tmp_path, "mjcf")
    assert losses == []
    draft, model = imported(path, "simulation.state=start")
    assert max(differences(scene, model)) < 1e-13
    found = check_import(imported(path)[1], draft, ENGINES["mjcf"].read(path))  # both at controls of 0
    assert max(found.differences.values()) < 1e-13
    compiled = mujoco.MjModel.from_xml_path(str(path))
    assert compiled.dof_armature[0] == pytest.approx(0.4)
    assert compiled.actuator("servo").forcerange.tolist() == [-1000.0, 1000.0]
    assert compiled.actuator("servo").ctrlrange.tolist() == [-1.0, 0.3]
    assert compiled.key("start").ctrl[compiled.actuator("servo").id] == 0.3
    assert compiled.actuator("drive").gainprm[0] == 6.0  # the torque at the hinge per command
    assert compiled.actuator("damped").biasprm[:3].tolist() == [0.0, -30.0, -3.0]  # kp (target - q) - kd v
    assert compiled.key("start").ctrl[compiled.actuator("damped").id] == -0.2
    assert compiled.tendon_range[compiled.tendon("sum").id, 0] == -9.7


def test_friction_of_tendons_is_imported_and_exported(tmp_path: Path) -> None:
    """`frictionloss` of a fixed tendon and of a path, in both directions, and not where a flag disables it."""
    friction = ARM.replace("rest: -1}", "rest: -1, friction: 0.3}").replace("  rope:\n", "  rope:\n    friction: 0.8\n")
    scene, path, losses = exported(written(friction, tmp_path), tmp_path, "mjcf")
    assert losses == []
    compiled = mujoco.MjModel.from_xml_path(str(path))
    numbers = [compiled.tendon(name).id for name in ("sum", "trap", "rope")]
    assert compiled.tendon_frictionloss[numbers].tolist() == [0.0, 0.3, 0.8]
    draft, model = imported(path, "simulation.state=start")
    assert model.scene.brakes == (("combinations", "trap"), ("paths", "rope"))
    assert max(differences(scene, model)) < 1e-13
    found = check_import(imported(path)[1], draft, ENGINES["mjcf"].read(path))
    assert max(found.differences.values()) < 1e-13
    disabled = path.read_text().replace("<option", '<option><flag frictionloss="disable"/></option><option', 1)
    path.write_text(disabled)
    assert imported(path)[1].scene.brakes == ()


def test_commands_that_are_functions_become_controls(tmp_path: Path) -> None:
    text = """
actuators:
  wave: {type: position, joint: hinge, kp: 20, target: sin(t)}
  slow: {type: velocity, joint: hinge, kv: 4, target: 2*inputs.wish, filter: 0.2, initial_activation: 0.3, rate: 100 Hz}
  integral: {type: pid, joint: hinge, kp: 1, ki: 2, target: 0, rate: 100 Hz}
  full: {type: motor, joint: hinge, command: 1.5, stall_torque: 0.3, no_load_speed: 400}
  square: {type: general, joint: hinge, force: "-q*q"}
inputs: {wish: 0.7}
forces:
  wind: {body: a, force: [1, 0, 0]}
"""
    _, path, losses = exported(written(ARM + text, tmp_path), tmp_path, "mjcf")
    assert [(loss.fate, loss.path) for loss in losses] == [
        ("dropped", ("forces", "wind")),
        ("approximated", ("inputs", "wish")),
        ("approximated", ("actuators", "wave", "target")),
        ("approximated", ("actuators", "slow")),
        ("dropped", ("actuators", "integral")),
        ("dropped", ("actuators", "square")),
    ]
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.actuator("full").biasprm[:3] == pytest.approx([0.3, 0.0, -0.3 / 400])  # saturated: a command of 1
    assert model.key("start").ctrl.tolist() == [0.3, -0.4, 0.0, 1.4, 0.0]  # forces of the sleeve, and commands
    assert model.key("start").act.tolist() == [0.3]
    assert model.actuator("wave").gainprm[0] == 20.0
    assert model.actuator("wave").biasprm[:3].tolist() == [0.0, -20.0, 0.0]


def test_states_are_keyframes(tmp_path: Path) -> None:
    """Each state of the scene is that of the import, and MuJoCo has the pose."""
    source = SCENES / "gallery/states.yaml"
    scene, path, _ = exported(source, tmp_path, "mjcf")
    assert scene.loaded.states
    model = mujoco.MjModel.from_xml_path(str(path))
    assert {model.key(k).name for k in range(model.nkey)} == {"start", *scene.loaded.states}
    for name in scene.loaded.states:
        chosen = prepare(source, [f"simulation.state={name}"])
        _, again = imported(path, f"simulation.state={name}")
        state, other = chosen.fresh_state(), again.fresh_state()
        q, T, _ = Coordinates(chosen, again).convert(state.q, state.v, len(other.q), len(other.v))
        assert other.q == pytest.approx(q, abs=1e-14)
        assert other.v == pytest.approx(T @ state.v, abs=1e-14)


def test_gears_and_equal_coordinates_are_equalities(tmp_path: Path) -> None:
    rods = "".join(f"  {name}: {{mass: 1, inertia: {{principal: [1, 1, 1]}}}}\n" for name in "abcd")
    hinges = "".join(f"  {name}: {{type: revolute, child: {name}}}\n" for name in "abcd")
    couplings = "  g: {type: gear, joints: [a, b], ratio: 3, offset: 0.2}\n  e: {type: equal, joints: [a, c, d]}\n"
    play = "  p: {type: gear, joints: [a, b], ratio: 3, backlash: 1}\n"
    curve = "  s: {type: function, output: b, inputs: {x: a}, value: 3*x + 0.2}\n"
    source = written(f"bodies:\n{rods}joints:\n{hinges}couplings:\n{couplings}{play}{curve}", tmp_path)
    _, path, losses = exported(source, tmp_path, "mjcf")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert [model.equality(name).data[:2].tolist() for name in ("g", "e", "e_1")] == [[0.2, 3], [0, 1], [0, 1]]
    assert [loss.path for loss in losses if loss.fate == "dropped"] == [("couplings", "p"), ("couplings", "s")]
    _, path, losses = exported(source, tmp_path, "urdf")
    _, again = imported(path)
    terms = {name: (one.terms, one.value) for name, one in again.scene.couplings.items()}
    assert terms == {"b": ({"b": 1, "a": -3}, 0.2), "c": ({"c": 1, "a": -1}, 0), "d": ({"d": 1, "a": -1}, 0)}


def test_no_field_of_a_scene_is_ignored() -> None:
    """A new section, or a new field of bodies, joints or shapes, is written, or a loss, or no part of a model."""
    settings = {"mbsim", "name", "description", "output", "expect", "simulation", "gravity", "contacts"}
    written_ = {"world", "bodies", "joints", "couplings", "strands"}
    assert SceneSpec.model_fields.keys() == settings | written_ | SECTIONS.keys()
    mass = {"kind", "mass", "density", "com", "inertia"}
    assert BodySpec.model_fields.keys() == mass | {"shapes", "position", "rotation", "velocity", "points"}
    forces = {"stiffness", "damping", "armature", "force", "limits", "restitution", "motion", "active"}
    frames = {"parent", "child", "origin", "child_origin", "coordinate_names"}
    assert MovingJointSpec.model_fields.keys() == forces | frames | {"type"}
    contacts = {"friction", "restitution", "priority", "contact", "groups", "collides_with"}
    form = {"type", "position", "rotation", "color", "visible", "density"}
    assert SolidSpec.model_fields.keys() == contacts | form


def test_names_of_coordinates_are_losses(tmp_path: Path) -> None:
    body = "{mass: 1, inertia: {principal: [1, 1, 1]}}"
    hip = "{type: universal, child: a, coordinate_names: [flexion, adduction]}"
    _, _, losses = exported(written(f"bodies: {{a: {body}}}\njoints: {{hip: {hip}}}", tmp_path), tmp_path, "mjcf")
    names = ("joints", "hip", "coordinate_names")
    assert losses == [Loss("dropped", names, "coordinates have the names of their joints")]


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
    _, path, losses = exported(source, tmp_path, "mjcf")
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


PAIRS = """
world: {shapes: [{type: plane, position: [0, 0, -0.5]}]}
contacts:
  floor: 0.5
  pairs: [RULE{bodies: [a, world], friction: {static: 0.3, rolling: 0.02}}, {bodies: [a, b], restitution: 0.5}]
bodies:
  a: {mass: 1, inertia: {principal: [1, 1, 1]}, shapes: [&ball {type: sphere, radius: 0.1}, *ball]}
  b:
    mass: 1
    inertia: {principal: [1, 1, 1]}
    shapes: [{type: sphere, radius: 0.1, friction: 0.9, priority: 1}]
    position: [1, 0, 0]
"""


@pytest.mark.parametrize("rule", ["auto, ", ""])
def test_pairs_of_bodies_are_pairs_of_all_their_shapes(rule: str, tmp_path: Path) -> None:
    """Two balls of a on the plane and on the floor, and on b; the coefficients of the pair return."""
    _, path, losses = exported(written(PAIRS.replace("RULE", rule), tmp_path), tmp_path, "mjcf")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.npair == 2 * 2 + 2
    assert model.pair_friction[0].tolist() == [0.3, 0.3, 0.0, 0.02, 0.02]
    assert model.pair_dim.tolist() == [6] * 4 + [3] * 2
    assert model.pair_friction[-1, 0] == 0.9  # that of the shape with priority
    assert model.geom_contype.any() == bool(rule)
    assert model.geom_priority.tolist() == [0, 0, 0, 0, 1]
    assert model.geom_pos[1].tolist() == [0.0, 0.0, -0.6]  # the floor
    assert [loss.path[-1] for loss in losses if loss.fate == "dropped"] == ["restitution"]
    _, again = imported(path)
    pairs = {pair.bodies: pair.friction for pair in again.scene.contacts.listed.values()}
    assert (pairs["world", "a"].static, pairs["world", "a"].rolling) == (0.3, 0.02)
    assert ("auto" in again.scene.contacts.pairs) == bool(rule)
    apart = {frozenset(pair) for pair in excluded_pairs(again.scene, again.scene.contacts)}
    assert apart == (set() if rule else {frozenset(("world", "b"))})
    assert all(shape.contact for body in again.scene.bodies.values() for shape in body.shapes)


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
    _, path, losses = exported(source, tmp_path, "mjcf")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.key("start").qpos.tolist() == [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.5]
    assert not losses


def test_points_of_one_name_are_sites_of_several(tmp_path: Path) -> None:
    point = "{mass: 1, inertia: {principal: [1, 1, 1]}, points: {tip: [0, 0, 1]}}"
    _, path, losses = exported(written(f"bodies: {{a: {point}, b: {point}}}", tmp_path), tmp_path, "mjcf")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert [model.site(k).name for k in range(model.nsite)] == ["tip", "b_tip"]
    renamed = "its site is `b_tip`, since another one has its name"
    assert losses == [Loss("approximated", ("bodies", "b", "points", "tip"), renamed)]


@pytest.mark.parametrize("gain", [0.0, 40.0])
def test_a_filter_with_a_derivative_of_its_command_is_dropped(gain: float, tmp_path: Path) -> None:
    """At rest its force is kp a + kd a' = kd u/T, 120 N or 0; that of an actuator of MuJoCo, affine in a, is 0."""
    actuator = f"{{type: pd, joint: x, kp: 200, kd: {gain}, target: 0.3, filter: 0.1}}"
    source = written(
        "gravity: [0, 0, 0]\nbodies: {a: {mass: 2, inertia: {principal: [1, 1, 1]}}}\n"
        f"joints: {{x: {{type: prismatic, child: a, axis: [1, 0, 0]}}}}\nactuators: {{m: {actuator}}}",
        tmp_path,
    )
    _, path, losses = exported(source, tmp_path, "mjcf")
    dropped = Loss("dropped", ("actuators", "m"), "its law has the rate of its filtered command")
    assert (dropped in losses) == bool(gain)
    assert mujoco.MjModel.from_xml_path(str(path)).nu == (not gain)
