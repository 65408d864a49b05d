"""An MJCF file has the same meaning in a scene as in MuJoCo."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.peers.engine import Quantities
from multibody_cli.scene.contact_filters import excluded_pairs, welds
from multibody_cli.studies.import_check import AGREEMENT, CONTRADICTION, check_import, contradiction
from multibody_cli.studies.simulation import PreparedSimulation, prepare

mujoco = pytest.importorskip("mujoco")

CREATURE = Path(__file__).with_name("creature.xml")


def imported(path: Path) -> tuple[Draft, PreparedSimulation]:
    draft = read_model(path, Options(), Problems())
    return draft, prepare(ReadScene(path, draft.tree(), Usage()))


def written(folder: Path, body: str, further: str = "") -> Path:
    path = folder / "model.xml"
    path.write_text(f"<mujoco><worldbody>{body}</worldbody>{further}</mujoco>")
    return path


SPHERE = '<geom type="sphere" size="0.1"/>'
TWO = (
    f'<body name="a"><joint name="x" type="slide"/>{SPHERE}</body>'
    f'<body name="b" pos="1 0 0"><joint name="y" type="slide"/>{SPHERE}</body>'
)


def test_mass_matrix_and_bias_are_those_of_mujoco() -> None:
    """Anchors, references, springs, dampers, armature, servos, frames; initial pose, right angles, random states."""
    draft, simulation = imported(CREATURE)
    found = check_import(simulation, draft, ENGINES["mjcf"].read(CREATURE))
    assert {joint.name for joint in found.joints} >= {
        "root",
        "hip_x",
        "hip_slide",
        "hip_y",
        "knee",
        "tail",
        "elbow",
        "drift",
        "roll",
    }
    assert not found.absent
    assert max(found.differences.values()) < 1e-13 < AGREEMENT
    assert max(found.scene_contradiction, found.engine_contradiction) < CONTRADICTION


@pytest.mark.parametrize(("part", "factor"), [("mass", 1.001), ("gravity", 1.001), ("anchor", 1.01)])
def test_a_wrong_import_is_noticed(part: str, factor: float) -> None:
    draft, _ = imported(CREATURE)
    if part == "mass":
        draft.bodies["shin"].shapes[0].density *= factor
    elif part == "gravity":
        placed = draft.settings["gravity"]
        draft.settings["gravity"] = placed._replace(value=[factor * g for g in placed.value])
    else:
        parts = draft.joints["thigh"].fields["parts"]
        parts[2]["position"] = [factor * x for x in parts[2]["position"]]
    simulation = prepare(ReadScene(CREATURE, draft.tree(), Usage()))
    assert not check_import(simulation, draft, ENGINES["mjcf"].read(CREATURE)).agrees


@pytest.mark.parametrize(
    "body",
    [
        '<joint axis="0 1 0"/><geom type="sphere" size="0.01" pos="0 0 -1"/>',  # no torque at a right angle of gravity
        '<joint type="ball"/><geom type="sphere" size="0.1"/>',  # no bias at all
    ],
    ids=["pendulum", "isotropic body"],
)
def test_a_bias_that_vanishes_is_no_difference(tmp_path: Path, body: str) -> None:
    path = written(tmp_path, f'<body name="a" euler="0 90 0">{body}</body>')
    draft, simulation = imported(path)
    found = check_import(simulation, draft, ENGINES["mjcf"].read(path))
    assert found.agrees, found
    draft.settings["gravity"] = draft.settings["gravity"]._replace(value=[0.0, 0.0, -9.82])
    changed = check_import(prepare(ReadScene(path, draft.tree(), Usage())), draft, ENGINES["mjcf"].read(path))
    assert changed.agrees == ("ball" in body)


@pytest.mark.parametrize("quantity", Quantities._fields)
def test_each_quantity_is_compared(quantity: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, simulation = imported(CREATURE)
    engine = ENGINES["mjcf"].read(CREATURE)
    right = engine.quantities

    def wrong(q: Any, v: Any, a: Any) -> Quantities:
        found = right(q, v, a)
        return found._replace(**{quantity: getattr(found, quantity) * (1 + 1e-8)})

    monkeypatch.setattr(engine, "quantities", wrong)
    found = check_import(simulation, draft, engine)
    name = {"forces": "inverse_dynamics"}.get(quantity, quantity)
    assert [one for one, difference in found.differences.items() if difference > AGREEMENT] == [name]
    assert found.differences[name] < 1e-7


@pytest.mark.parametrize("damping", ["", 'damping="40"'])
def test_strong_damping_is_implicit_as_in_mujoco(damping: str, tmp_path: Path) -> None:
    """The rate of damping times the step is 60: explicit steps would diverge, MuJoCo's do not."""
    path = written(
        tmp_path, f'<body name="a"><joint name="j" axis="0 1 0" {damping}/><geom size=".1" pos=".1 0 0"/></body>'
    )
    _, simulation = imported(path)
    assert simulation.scene.simulation.integrator == ("linearly_implicit_euler" if damping else "semi_implicit_euler")
    run = mbsim.Simulation(mbsim.load(path))
    run.step(20)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 20)
    assert run.channel("joints/j/v")[0] == pytest.approx(data.qvel[0], rel=1e-6 if not damping else 0.1)


def test_a_model_whose_bodies_are_fixed_agrees(tmp_path: Path) -> None:
    path = written(tmp_path, f'<body name="a" pos="1 0 0">{SPHERE}</body>')
    draft, simulation = imported(path)
    assert check_import(simulation, draft, ENGINES["mjcf"].read(path)).agrees


def test_an_engine_with_a_wrong_bias_contradicts_itself() -> None:
    engine = ENGINES["mjcf"].read(CREATURE)
    random = np.random.default_rng(0)
    sizes = {"free": 7, "ball": 4}
    q: dict[str, Any] = {}
    v: dict[str, Any] = {}
    for joint in engine.joints:
        kind = joint.kind.name.lower()
        q[joint.name] = random.normal(size=sizes.get(kind, 1))
        q[joint.name][-4:] /= np.linalg.norm(q[joint.name][-4:]) if kind in sizes else 1.0
        v[joint.name] = random.normal(size={"free": 6, "ball": 3}.get(kind, 1))
    assert contradiction(engine.equations, q, v, engine.joints) < CONTRADICTION

    def wrong(q: Any, v: Any) -> Any:
        M, b = engine.equations(q, v)
        still = engine.equations(q, {name: 0 * value for name, value in v.items()})[1]
        return M, still + 1.01 * (b - still)

    assert contradiction(wrong, q, v, engine.joints) > CONTRADICTION


# --- the scene --------------------------------------------------------------------------------------------------------
def test_initial_poses_are_those_of_mujoco() -> None:
    with pytest.warns(mbsim.SceneWarning, match="imported"):
        simulation = mbsim.Simulation(mbsim.load(CREATURE))
    model = mujoco.MjModel.from_xml_path(str(CREATURE))
    data = mujoco.MjData(model)
    data.joint("elbow").qpos = np.radians(10)  # the nearest of its limits, which exclude 0
    mujoco.mj_forward(model, data)
    for name in ("trunk", "thigh", "shin", "toe", "tail", "hand", "leaf", "cart", "stone"):
        assert simulation.channel(f"bodies/{name}/position") == pytest.approx(data.body(name).xpos, abs=1e-14)
        turn = simulation.channel(f"bodies/{name}/quaternion")
        assert abs(turn @ data.body(name).xquat) == pytest.approx(1.0, abs=1e-14)


def test_files_are_relative_to_the_model_and_not_to_the_file_that_names_them(tmp_path: Path) -> None:
    """As in MuJoCo: an included file in another folder names meshes relative to the main file."""
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    (tmp_path / "meshes").mkdir()
    (tmp_path / "parts").mkdir()
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (tmp_path / "meshes" / "wedge.obj").write_text("\n".join(lines))
    part = '<mujocoinclude><body name="w"><freejoint/><geom type="mesh" mesh="wedge"/></body></mujocoinclude>'
    (tmp_path / "parts" / "part.xml").write_text(part)
    asset = '<compiler meshdir="meshes"/><asset><mesh name="wedge" file="wedge.obj"/></asset>'
    path = written(tmp_path, '<include file="parts/part.xml"/>', asset)
    _, simulation = imported(path)
    assert simulation.scene.bodies["w"].mass == pytest.approx(1000 / 6)


@pytest.mark.parametrize("both", [False, True])
def test_a_file_is_included_from_the_folder_of_the_model_or_else_of_the_file_that_names_it(
    both: bool, tmp_path: Path
) -> None:
    """The comment with two hyphens is not XML; MuJoCo and this program read it."""
    path = written(tmp_path, '<include file="parts/arm.xml"/>')
    for name in ("parts/arm.xml", "parts/hand.xml", *(["hand.xml"] if both else [])):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        inner = '<include file="hand.xml"/>' if name == "parts/arm.xml" else ""
        body = f'<body name="{name}"><joint/><geom size="0.1"/>{inner}</body>'
        (tmp_path / name).write_text(f"<mujoco><!-- a -- b -->{body}</mujoco>")
    draft, _ = imported(path)
    assert list(draft.bodies) == ["parts/arm.xml", "hand.xml" if both else "parts/hand.xml"]


def test_shapes_keep_sizes_colors_friction_and_groups() -> None:
    draft, simulation = imported(CREATURE)
    trunk, ellipsoid = draft.bodies["trunk"].shapes
    assert trunk.fields == {"type": "box", "size": [0.4, 0.2, 0.1], "color": [0.8, 0.1, 0.1]}
    assert ellipsoid.fields["friction"] == 0.0  # condim 1
    assert draft.bodies["thigh"].shapes[0].fields["contact"] is False  # no shape is in a group that it collides with
    contacts = simulation.scene.contacts
    assert contacts is not None
    assert [tuple(pair) for pair in contacts.exclude] == [("trunk", "stone")]


def test_two_shapes_touch_by_contype_and_conaffinity(tmp_path: Path) -> None:
    geoms = [(1, 1), (2, 1), (4, 2), (0, 4), (2, 0)]
    bodies = "".join(
        f'<body name="{k}" pos="{k} 0 0"><joint type="slide"/>'
        f'<geom type="sphere" size="0.1" contype="{own}" conaffinity="{others}"/></body>'
        for k, (own, others) in enumerate(geoms)
    )
    draft = read_model(written(tmp_path, bodies), Options(), Problems())
    fields = [body.shapes[0].fields for body in draft.bodies.values()]

    def touch(a: dict[str, Any], b: dict[str, Any]) -> bool:
        if a.get("contact") is False or b.get("contact") is False:
            return False
        own, others = ({*x.get(key, ["default"])} for x, key in ((a, "groups"), (b, "collides_with")))
        return bool(own & others)

    for j, (type_a, affinity_a) in enumerate(geoms):
        for k, (type_b, affinity_b) in enumerate(geoms):
            meant = bool(type_a & affinity_b or type_b & affinity_a)
            assert (touch(fields[j], fields[k]) or touch(fields[k], fields[j])) == meant, (j, k)


@pytest.mark.parametrize("flag", ["", '<option><flag filterparent="disable"/></option>'])
def test_neighbors_touch_as_in_mujoco(flag: str, tmp_path: Path) -> None:
    """A body with a shape fixed to it carries another one, so does one that is fixed to the world, and a loop closes.

    All shapes overlap: the pairs of the contacts of MuJoCo are those that may touch.
    """
    hinge = f'<joint axis="0 1 0"/>{SPHERE}'
    body = f'<body name="a">{hinge}<body name="w">{SPHERE}<body name="c">{hinge}</body></body></body>'
    body += f'<body name="p">{SPHERE}<body name="q">{hinge}</body></body><body name="l">{hinge}</body>'
    loop = '<equality><connect body1="l" body2="a" anchor="0 0 0"/></equality>'
    path = written(tmp_path, body + SPHERE, loop + flag)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    expected = {
        frozenset(model.body(model.geom_bodyid[geom]).name for geom in pair) for pair in data.contact.geom.tolist()
    }

    _, simulation = imported(path)
    scene = simulation.scene
    assert scene.contacts is not None
    names = ["world", *scene.bodies]
    apart = {frozenset(pair) for pair in excluded_pairs(scene, scene.contacts)}
    held = welds(scene)
    pairs = {frozenset(pair) for pair in itertools.combinations(names, 2) if held[pair[0]] != held[pair[1]]}
    assert pairs - apart == expected


def test_bodies_that_a_weld_holds_are_no_pair(tmp_path: Path) -> None:
    _, simulation = imported(written(tmp_path, TWO, '<equality><weld body1="a" body2="b"/></equality>'))
    assert simulation.scene.contacts is not None
    assert tuple(simulation.scene.contacts.pairs) == ("auto",)


def test_a_robot_whose_feet_start_in_the_floor_stands(tmp_path: Path) -> None:
    foot = '<joint axis="0 1 0" stiffness="300" damping="2"/><geom type="box" size=".1 .05 .02" pos="0 0 -.4"/>'
    legs = "".join(f'<body name="{name}" pos="0 {y} 0">{foot}</body>' for name, y in (("l", 0.1), ("r", -0.1)))
    trunk = f'<body name="trunk" pos="0 0 .419"><freejoint/><geom type="box" size=".1 .1 .05"/>{legs}</body>'
    floor = '<geom type="plane" size="0 0 1" friction="0.3"/>'
    path = written(tmp_path, floor + trunk)
    with pytest.warns(mbsim.SceneWarning, match=r"`trunk` by \[0, 0, 0.001\] m"):
        simulation = mbsim.Simulation(mbsim.load(path))
    simulation.advance(0.2)
    assert simulation.channel("bodies/trunk/position") == pytest.approx([0, 0, 0.42], abs=1e-9)


def test_the_shape_of_higher_priority_determines_the_friction(tmp_path: Path) -> None:
    """A box with the priority slides with its own friction on a rougher floor, as in MuJoCo."""
    geom = '<geom type="box" size=".1 .1 .1" friction=".2" priority="3"/>'
    box = f'<body name="box" pos="0 0 .1"><freejoint/>{geom}</body>'
    path = written(tmp_path, '<geom type="plane" size="0 0 1" friction="0.9" priority="-1"/>' + box)
    draft, _ = imported(path)
    (shape,) = draft.bodies["box"].shapes
    assert (shape.fields["priority"], shape.fields["friction"]) == (4, 0.2)
    assert "priority" not in draft.world.shapes[0].fields
    simulation = mbsim.Simulation(mbsim.load(path, {"bodies.box.velocity": {"linear": [1, 0, 0]}}))
    simulation.advance(0.1)
    assert simulation.channel("bodies/box/linear_velocity")[0] == pytest.approx(1 - 0.1 * 0.2 * 9.81, abs=1e-6)


def test_pairs_of_a_file_touch_although_it_excludes_their_bodies(tmp_path: Path) -> None:
    model = TWO.replace(SPHERE, SPHERE.replace("geom", 'geom name="g"'), 1)
    model = model.replace(SPHERE, SPHERE.replace("geom", 'geom name="h"'))
    contact = '<contact><pair geom1="g" geom2="h" friction="0.2 0.2 0 0 0"/><exclude body1="b" body2="a"/></contact>'
    _, simulation = imported(written(tmp_path, model, contact))
    settings = simulation.scene.contacts
    assert settings is not None
    assert [pair.bodies for pair in settings.listed.values()] == [("a", "b")]
    assert frozenset(("a", "b")) not in {frozenset(pair) for pair in excluded_pairs(simulation.scene, settings)}


@pytest.mark.parametrize(("friction", "noted"), [("2", True), ("0.5", False)])
def test_friction_that_counts_by_the_dimension_of_the_other_shape_is_noted(
    friction: str, noted: bool, tmp_path: Path
) -> None:
    body = (
        f'<geom type="plane" size="1 1 1"/><body><freejoint/><geom size="0.1" condim="1" friction="{friction}"/></body>'
    )
    draft = read_model(written(tmp_path, body), Options(), Problems())
    assert noted == any("sliding friction of 1 shapes" in line for line in ImportReport(draft.ledger).lines())


def test_equalities_are_couplings_and_joints_that_close_loops(tmp_path: Path) -> None:
    equality = (
        '<equality><connect name="pin" body1="a" body2="b" anchor="0.3 0.1 0"/>'
        '<weld name="glue" body1="a" body2="b" relpose="1 0 0 1 0 0 0"/>'
        '<joint joint1="x" joint2="y" polycoef="0.1 2 0 0 0"/>'
        '<joint name="bent" joint1="x" joint2="y" polycoef="0 1 3 0 -0.5"/></equality>'
    )
    draft = read_model(written(tmp_path, TWO, equality), Options(), Problems())
    assert draft.joints["pin"].type == "spherical"
    assert draft.joints["pin"].pose.position == pytest.approx([0.3, 0.1, 0])
    assert draft.joints["pin"].child_pose.position == pytest.approx([-0.7, 0.1, 0])
    assert (draft.joints["glue"].type, draft.joints["glue"].parent, draft.joints["glue"].child) == ("fixed", "a", "b")
    line, curve = (coupling.value for coupling in draft.elements["couplings"].values())
    assert line == {"type": "linear", "terms": {"x": 1.0, "y": -2.0}, "value": 0.1}
    value = "1*x + 3*x**2 + -0.5*x**4"
    assert curve == {"type": "function", "output": "x", "inputs": {"x": "y"}, "value": value}


def test_a_weld_that_closes_a_loop_merges_no_body(tmp_path: Path) -> None:
    """The hand has no mass: it is part of the arm, and not of the target in the world that a weld holds it to."""
    tip = '<body name="tip"><joint name="grip" type="slide"/><geom size=".1"/></body>'
    hand = f'<body name="hand" pos="0 0 1">{tip}</body>'
    arm = f'<body name="arm"><joint name="turn"/><geom size=".2"/>{hand}</body>'
    arm += '<body name="target" mocap="true" pos="0 0 1"/>'
    equality = '<equality><weld name="hold" body1="target" body2="hand"/></equality>'
    draft, _ = imported(written(tmp_path, arm, equality))
    joints = {joint.name: (joint.type, joint.parent, joint.child) for joint in draft.joints.values()}
    assert joints == {
        "turn": ("revolute", "world", "arm"),
        "grip": ("prismatic", "arm", "tip"),
        "hold": ("fixed", "world", "arm"),
    }
    assert draft.joints["hold"].child_pose.position == pytest.approx([0, 0, 1])


SPECIAL = {
    "a rotated free joint with a spring": (
        '<body pos="1 0 1" quat="0.8 0.6 0 0"><joint name="f" type="free" armature="0.3" stiffness="2"/>'
        '<geom type="box" size="0.1 0.2 0.05" pos="0.1 0 0"/></body>',
        "",
    ),
    "springs of a slide and a ball in one body": (
        '<body><joint name="s" type="slide" ref="0.1" range="0.2 0.5" limited="true" stiffness="3"/>'
        '<joint name="b" type="ball" stiffness="2"/><geom size="0.1" pos="0.1 0 0"/></body>',
        "",
    ),
    "forces that grow with distance and speed, with and without filter": (
        TWO,
        '<actuator><general joint="x" gaintype="fixed" biastype="affine" gainprm="1" biasprm="0.5 4 0" gear="2"/>'
        '<general joint="x" biastype="affine" gainprm="2" biasprm="0.5 -4 0.3" gear="-2" ctrlrange="1 2"/>'
        '<general joint="y" dyntype="filter" dynprm="0.1" biastype="affine" gainprm="3" biasprm="1 2 -1"/></actuator>',
    ),
    "filtered forces and servos of velocity, whose activations start at zero": (
        TWO,
        '<actuator><general joint="x" dyntype="filter" dynprm="0.1" gainprm="3" ctrlrange="1 2"/><general joint="y" '
        'dyntype="filter" dynprm="0.1" biastype="affine" gainprm="2" biasprm="1 0 -2" ctrlrange="1 2"/></actuator>',
    ),
    "a loop": (
        f'<body name="a"><joint axis="0 1 0"/>{SPHERE}'
        f'<body name="b" pos="1 0 0"><joint axis="0 1 0"/>{SPHERE}</body></body>',
        '<equality><connect body1="b" anchor="1 0 0"/></equality>',
    ),
    "a bound of the actuator of a joint, and an integrator": (
        '<body><joint name="x" type="slide" actuatorfrcrange="-2 3"/><joint name="z" axis="0 1 0" ref="0.2"/>'
        '<geom size="0.1" pos="0.2 0 0"/></body>',
        '<actuator><position joint="x" kp="90" gear="2" forcerange="-1 9"/>'
        '<general joint="z" dyntype="integrator" gainprm="30" biastype="affine" biasprm="0 -30 0" ctrlrange="1 2"/>'
        "</actuator>",
    ),
    "a windy fluid around a body of three moments": (
        '<body euler="10 20 30"><freejoint/><geom type="box" size=".1 .2 .05" density="200" euler="20 0 10"/></body>',
        '<option density="1000" viscosity="2" wind="0.5 -0.3 0.2"/>',
    ),
    "compensation of gravity that lifts": (
        '<body gravcomp="1.3"><joint axis="0 1 0"/><geom size="0.1" pos="0.3 0 0.1"/></body>',
        '<option gravity="1 2 -9"/>',
    ),
    "no passive forces, since springs and dampers are disabled": (
        '<body gravcomp="0.6"><joint axis="0 1 0" stiffness="9" damping="8"/><geom size="0.1" pos="0.3 0 0.1"/></body>',
        '<option density="1000" viscosity="2"><flag spring="disable" damper="disable"/></option>',
    ),
    "compensation of gravity without springs": (
        '<body gravcomp="0.6"><joint axis="0 1 0" stiffness="9" damping="8"/><geom size="0.1" pos="0.3 0 0.1"/></body>',
        '<option density="1000" viscosity="2"><flag spring="disable"/></option>',
    ),
    "two pendulums whose ends meet": (
        f'<body name="a"><joint axis="0 1 0"/>{SPHERE}</body>'
        f'<body name="b" pos="1 0 0"><joint axis="0 1 0"/>{SPHERE}</body>',
        '<equality><connect body1="a" body2="b" anchor="0.5 0 1"/></equality>',
    ),
    "a rope that may be slack": (
        f'<body pos="1 0 0"><joint type="slide"/>{SPHERE}<site name="p"/></body><site name="o" pos="0 1 0"/>',
        '<tendon><spatial range="0 9" stiffness="2"><site site="o"/><site site="p"/></spatial></tendon>',
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_models_have_the_bias_of_mujoco(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, *SPECIAL[name])
    draft, simulation = imported(path)
    found = check_import(simulation, draft, ENGINES["mjcf"].read(path))
    assert not found.absent
    assert not ImportReport(draft.ledger).count("dropped")
    assert max(found.differences.values()) < 1e-13


@pytest.mark.parametrize("scale", ["1 -2 1.5", "-2 -2 -2", "2 2 2", "1 1 1"])
@pytest.mark.parametrize("reference", ["", 'refpos="0.1 0 0.2"', 'refpos="0.1 0 0.2" refquat="0.8 0 0.6 0"'])
def test_meshes_are_where_mujoco_has_them(scale: str, reference: str, tmp_path: Path) -> None:
    corners = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]])
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + ["f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4"]
    (tmp_path / "corner.obj").write_text("\n".join(lines))
    asset = f'<asset><mesh name="m" file="corner.obj" scale="{scale}" {reference}/></asset>'
    path = written(tmp_path, '<body><geom type="mesh" mesh="m" pos=".1 .2 .3" euler="10 20 30"/></body>', asset)
    (shape,) = read_model(path, Options(), Problems()).bodies["body_1"].shapes
    vertices = np.array(shape.fields.get("vertices", corners)) * shape.fields.get("scale", 1.0)
    found = vertices @ shape.pose.rotation.T + shape.pose.position

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    expected = model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    distances = np.linalg.norm(expected[:, None] - found, axis=2)
    assert max(distances.min(axis=0).max(), distances.min(axis=1).max()) < 1e-6  # MuJoCo has floats of 32 bits


def test_elements_without_names_have_names_of_their_own(tmp_path: Path) -> None:
    body = (
        f'<body name="a"><joint name="b" type="slide"/>{SPHERE}<body name="b">{SPHERE}</body></body>'
        f'<body name="c" pos="1 0 0"><joint type="slide"/><joint type="slide" axis="1 0 0"/>{SPHERE}</body>'
    )
    pins = '<connect body1="a" body2="c" anchor="0 0 0"/><connect body1="a" body2="c" anchor="0 1 0"/>'
    pins += '<connect name="b" body1="a" body2="c" anchor="0 0 1"/>'
    further = f'<equality>{pins}</equality><actuator><motor joint="b"/><motor joint="b" gear="2"/></actuator>'
    draft, _ = imported(written(tmp_path, body, further))
    assert list(draft.joints) == ["b", "b_", "c", "a_c", "a_c_", "b__"]
    assert list(draft.elements["actuators"]) == ["b_general", "b_general_"]


def test_ranges_of_controls_are_limits_of_inputs(tmp_path: Path) -> None:
    actuators = (
        '<position name="p" joint="x" kp="20" gear="-2" ctrlrange="-1 3"/><motor name="m" joint="x" gear="4" '
        'ctrlrange="-1 .5"/><velocity name="v" joint="y" kv="2" ctrlrange="0 2"/><general name="f" joint="y" '
        'dyntype="filter" dynprm=".1" gainprm="3" biastype="affine" biasprm="1 2 0" ctrlrange="1 2"/>'
    )
    draft, _ = imported(written(tmp_path, TWO, f"<actuator>{actuators}</actuator>"))
    found = {name: entry.value.get("input_limits") for name, entry in draft.elements["actuators"].items()}
    assert found["p"] == pytest.approx([-1.5, 0.5])  # the target of x: -1/2 times the control
    assert (found["m"], found["v"], found["f"]) == ([-4.0, 2.0], [0.0, 2.0], [4.0, 7.0])


def test_the_bound_on_the_sum_of_actuators_of_a_joint_is_noted(tmp_path: Path) -> None:
    joint = TWO.replace('name="x"', 'name="x" actuatorfrcrange="-1 1"')
    motors = '<actuator><motor name="one" joint="x"/><motor name="two" joint="x"/></actuator>'
    draft, _ = imported(written(tmp_path, joint, motors))
    assert "limits" not in draft.elements["actuators"]["one"].value
    assert [text for _, text in draft.ledger.notes] == [
        "x: the bound on the sum of its actuators, 1, does not count"
    ] * 2


def test_actuators_that_a_file_disables_are_dropped(tmp_path: Path) -> None:
    more = '<option><flag actuation="disable"/></option><actuator><motor joint="x"/></actuator>'
    draft = read_model(written(tmp_path, TWO, more), Options(), Problems())
    assert "actuators" not in draft.elements
    assert [entry.reason for entry in ImportReport(draft.ledger).losses] == ["actuation is disabled in the file"]


def test_actuators_of_a_disabled_group_are_dropped(tmp_path: Path) -> None:
    motors = '<motor name="one" joint="x" group="3"/><motor name="two" joint="x" group="2"/>'
    more = f'<option actuatorgroupdisable="3 5"/><actuator>{motors}</actuator>'
    draft = read_model(written(tmp_path, TWO, more), Options(), Problems())
    assert list(draft.elements["actuators"]) == ["two"]
    assert "its group is disabled in the file" in [entry.reason for entry in ImportReport(draft.ledger).losses]


LIMITED = (
    f'<body><joint name="x" type="slide" limited="true" range="-1 1" frictionloss="2"/>{SPHERE}</body>'
    '<geom type="plane" size="1 1 1"/>'
)


@pytest.mark.parametrize(
    ("flags", "limits", "friction", "gravity"),
    [
        ("", [-1.0, 1.0], {"force": 2.0}, -9.81),
        ("constraint", None, None, -9.81),
        ("limit gravity", None, {"force": 2.0}, 0.0),
        ("frictionloss damper", [-1.0, 1.0], None, -9.81),
    ],
)
def test_flags_disable_parts_of_a_model(flags: str, limits: Any, friction: Any, gravity: float, tmp_path: Path) -> None:
    """Also all constraints at once; `is_disabled` has names, since the bits of flags differ between releases."""
    attributes = " ".join(f'{flag}="disable"' for flag in flags.split())
    draft = read_model(written(tmp_path, LIMITED, f"<option><flag {attributes}/></option>"), Options(), Problems())
    fields = draft.joints["x"].fields
    assert (fields.get("limits"), fields.get("friction")) == (limits, friction)
    assert draft.settings["gravity"].value[2] == gravity
    assert ("contacts" in draft.settings) == (flags != "constraint")


def test_ranges_of_controls_count_unless_a_flag_disables_them(tmp_path: Path) -> None:
    motor = '<actuator><motor name="m" joint="x" ctrllimited="true" ctrlrange="-1 1"/></actuator>'
    key = '<keyframe><key name="far" ctrl="5"/></keyframe>'
    for flag, limits, control in (("enable", [-1.0, 1.0], 1.0), ("disable", None, 5.0)):
        more = f'<option><flag clampctrl="{flag}"/></option>{motor}{key}'
        draft = read_model(written(tmp_path, TWO, more), Options(), Problems())
        assert draft.elements["actuators"]["m"].value.get("input_limits") == limits
        assert draft.settings["states"].value["far"]["inputs"] == {"m": control}


def test_actuators_that_no_scene_has_are_dropped(tmp_path: Path) -> None:
    servo = '<intvelocity name="s" joint="y" kp="3" actrange="-1 1"/>'
    actuator = f'<actuator><muscle joint="x" lengthrange="0.1 1"/>{servo}</actuator>'
    draft = read_model(written(tmp_path, TWO, actuator), Options(), Problems())
    assert {entry.element.tag for entry in ImportReport(draft.ledger).losses} == {"muscle", "intvelocity"}


def test_a_rope_that_is_too_long_or_short_at_the_start_is_assembled(tmp_path: Path) -> None:
    """MuJoCo pulls by a soft force; the scene starts within the range, with a note of the error."""
    body = f'<body pos="1 0 0"><joint name="x" type="slide" axis="1 0 0"/>{SPHERE}<site name="p"/></body>'
    tendon = '<tendon><spatial range="0 0.9" limited="true"><site site="o"/><site site="p"/></spatial></tendon>'
    draft, simulation = imported(written(tmp_path, f'{body}<site name="o"/>', tendon))
    assert any("have errors up to 0.1 m or rad at the start" in text for _, text in draft.ledger.notes)
    assert simulation.fresh_state().q == pytest.approx([-0.1], abs=1e-9)


@pytest.mark.parametrize("others", [0, 1])
def test_shapes_of_pairs_touch_without_masks(others: int, tmp_path: Path) -> None:
    """Of three spheres at one place, two are a pair; another pair of bodies touches by its masks, or none does."""
    free = "<freejoint/>"
    alone = '<geom name="{}" type="sphere" size="0.1" contype="0" conaffinity="0" friction="{} 0 0"/>'
    masks = f'<geom type="sphere" size="0.1" contype="{others}" conaffinity="{others}"/>'
    bodies = f'<body name="a">{free}{alone.format("g", 0.3)}{masks}</body>'
    bodies += f'<body name="b" pos="0.01 0 0">{free}{alone.format("h", 0.4)}</body>'
    bodies += f'<body name="c" pos="0 0.01 0">{free}{alone.format("i", 0.5)}</body>'
    bodies += f'<body name="d" pos="0 0 0.01">{free}{masks}</body>'
    path = written(tmp_path, bodies, '<contact><pair geom1="g" geom2="h" friction="0.2 0.2 0 0 0"/></contact>')
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    touching = {tuple(model.body(model.geom_bodyid[geom]).name for geom in pair) for pair in data.contact.geom.tolist()}
    assert touching == ({("a", "b"), ("a", "d")} if others else {("a", "b")})

    draft, simulation = imported(path)
    scene = simulation.scene
    assert ImportReport(draft.ledger).count("dropped", "unknown") == 3  # names of shapes
    assert scene.contacts is not None
    assert [(pair.bodies, pair.friction.static) for pair in scene.contacts.listed.values()] == [(("a", "b"), 0.2)]
    apart = {frozenset(pair) for pair in excluded_pairs(scene, scene.contacts)}
    found = set()
    for one, other in itertools.combinations(scene.bodies, 2):
        for first, second in itertools.product(scene.bodies[one].shapes, scene.bodies[other].shapes):
            collide = {*first.groups} & {*second.collides_with} or {*second.groups} & {*first.collides_with}
            if collide and first.contact and second.contact and frozenset((one, other)) not in apart:
                found.add((one, other))
    assert found == touching
