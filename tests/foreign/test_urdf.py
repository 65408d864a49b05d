"""A URDF has the mass matrix and the bias of its links, computed here from the file by products of 4x4 matrices."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import mbsim
from multibody_cli.foreign import read_model
from multibody_cli.foreign.options import Options
from multibody_cli.foreign.writing import text
from multibody_cli.nodes import Problems
from multibody_cli.render.picture import Picture, start_of
from multibody_cli.studies.simulation import prepare

ROBOT = Path(__file__).with_name("robot.urdf")
GRAVITY = np.array([0.0, 0.0, -9.81])


def numbers(element: ElementTree.Element | None, name: str, default: str) -> np.ndarray:
    return np.array((default if element is None else element.get(name, default)).split(), dtype=float)


def transform(element: ElementTree.Element | None) -> np.ndarray:
    found = np.eye(4)
    for axis, angle in zip(np.eye(3), numbers(element, "rpy", "0 0 0"), strict=True):
        found[:3, :3] = turn(axis, angle) @ found[:3, :3]
    found[:3, 3] = numbers(element, "xyz", "0 0 0")
    return found


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def poses(robot: ElementTree.Element, q: dict[str, float]) -> dict[str, np.ndarray]:
    """World poses of all links, the root at the origin."""
    found = {"base": np.eye(4)}
    joints = robot.findall("joint")
    while joints:
        joint = joints.pop(0)
        parent, child = joint.find("parent").get("link"), joint.find("child").get("link")
        if parent not in found:
            joints.append(joint)
            continue
        motion, axis = np.eye(4), numbers(joint.find("axis"), "xyz", "1 0 0")
        if joint.get("type") == "prismatic":
            motion[:3, 3] = q[joint.get("name")] * axis
        elif joint.get("type") != "fixed":
            motion[:3, :3] = turn(axis, q[joint.get("name")])
        found[child] = found[parent] @ transform(joint.find("origin")) @ motion
    return found


def kinetic_and_potential(robot: ElementTree.Element, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Energies, the former by central differences of the poses of all links."""
    names = ("shoulder", "elbow", "slide")

    def placed(values: np.ndarray) -> dict[str, np.ndarray]:
        named = dict(zip(names, values, strict=True))
        return poses(robot, named | {"opposite": 2 * named["slide"] + 0.005})

    h = 1e-5
    now, before, after = placed(q), placed(q - h * v), placed(q + h * v)
    kinetic = potential = 0.0
    for link in robot.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        name, inner = link.get("name"), transform(inertial.find("origin"))
        mass = float(inertial.find("mass").get("value"))
        xx, xy, xz, yy, yz, zz = (
            float(inertial.find("inertia").get(key)) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        rate = (after[name] - before[name]) @ inner / (2 * h)
        here = now[name] @ inner
        spin = here[:3, :3].T @ rate[:3, :3]
        angular = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        kinetic += mass * rate[:3, 3] @ rate[:3, 3] / 2 + angular @ inertia @ angular / 2
        potential -= mass * GRAVITY @ here[:3, 3]
    return kinetic, potential


@pytest.mark.filterwarnings("ignore:.*contacts are disabled")
@pytest.mark.parametrize("merge", ["frames", "all", "none"])
def test_energies_are_those_of_the_links(merge: str, tmp_path: Path) -> None:
    """Kinetic and potential energy of random states, whichever links are merged."""
    robot = ElementTree.parse(ROBOT).getroot()
    path = tmp_path / "scene.yaml"
    draft = read_model(ROBOT, Options(merge=merge), Problems())
    path.write_text(text(draft, tmp_path))
    assert len(draft.bodies) == {"frames": 5, "all": 4, "none": 6}[merge]
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v = rng.uniform(0.02, 0.1, 3), rng.uniform(-1, 1, 3)
        state = {"simulation.duration": 0.001}
        for name, angle, rate in zip(("shoulder", "elbow", "slide"), q.tolist(), v.tolist(), strict=True):
            state |= {f"joints.{name}.q": angle, f"joints.{name}.v": rate}
        run = mbsim.load(path, state).run()
        kinetic, potential = kinetic_and_potential(robot, q, v)
        assert float(run["energy/kinetic"][0]) == pytest.approx(kinetic, rel=1e-8)
        assert float(run["energy/potential"][0]) == pytest.approx(potential, rel=1e-12)


def test_a_root_without_mass_becomes_part_of_the_link_that_it_carries(tmp_path: Path) -> None:
    """The free base is where the root was, and other links on the root keep their places, rotations included."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    path = tmp_path / "base.urdf"
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="trunk">{inertial}</link><link name="arm">{inertial}</link>'
        '<joint name="mount" type="fixed"><parent link="base"/><child link="trunk"/>'
        '<origin xyz="1 2 3" rpy="0.3 -0.4 0.5"/></joint>'
        '<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>'
        '<origin xyz="-0.5 0.2 0.1" rpy="0 1.5707963267948966 0"/><axis xyz="0 0 1"/></joint></robot>'
    )
    draft = read_model(path, Options(), Problems())
    assert list(draft.bodies) == ["trunk", "arm"]
    trunk, hinge = draft.bodies["trunk"], draft.joints["hinge"]
    base, placed = trunk.pose.at(trunk.points["base"].pose), trunk.pose.at(hinge.pose)
    np.testing.assert_allclose(trunk.pose.position, [1, 2, 3], atol=1e-15)
    np.testing.assert_allclose(base.position, np.zeros(3), atol=1e-15)
    np.testing.assert_allclose(base.rotation, np.eye(3), atol=1e-15)
    assert hinge.parent == "trunk"
    np.testing.assert_allclose(placed.position, [-0.5, 0.2, 0.1], atol=1e-15)
    np.testing.assert_allclose(placed.rotation, turn(np.array([0.0, 1.0, 0.0]), np.pi / 2), atol=1e-15)


def test_pictures_show_visuals_where_a_link_has_some(tmp_path: Path) -> None:
    """A collision is seen in links without a visual only; contacts have all of them."""
    path = tmp_path / "robot.urdf"
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    path.write_text(ROBOT.read_text().replace("<visual ", f"{ball}<visual "))
    bodies = read_model(path, Options(), Problems()).bodies
    assert [(shape.fields["type"], shape.fields.get("visible", True)) for shape in bodies["upper"].shapes] == [
        ("sphere", False),
        ("cylinder", True),
    ]
    assert [shape.fields.get("contact", True) for shape in bodies["upper"].shapes] == [True, False]
    assert "visible" not in bodies["fore"].shapes[0].fields
    prepared = prepare(path)
    solids = Picture(prepared.loaded, start_of(prepared), np.array([0])).drawing.solids
    assert sum(solid.name == "body upper" for solid in solids) == 2  # the halves of the cylinder


@pytest.mark.parametrize(("dynamics", "integrator"), [("", "rk4"), ('friction="1"', "linearly_implicit_euler")])
def test_strong_damping_beside_dry_friction_is_implicit(dynamics: str, integrator: str, tmp_path: Path) -> None:
    """Damping 1 N m s on 1e-4 kg m^2: explicit steps of 1 ms multiply the rate by -9."""
    link = '<inertial><mass value="0.1"/><inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial>'
    model = tmp_path / "drive.urdf"
    model.write_text(
        f'<robot name="drive"><link name="world"/><link name="hand">{link}</link><joint name="turn" type="continuous">'
        f'<parent link="world"/><child link="hand"/><dynamics damping="1" {dynamics}/></joint></robot>'
    )
    simulation = prepare(model, ["joints.turn.v=5 rad/s", "simulation.duration=10 ms"])
    assert simulation.scene.simulation.integrator == integrator
    if dynamics:
        rate = simulation.run_in_memory()[1].channel("joints/turn/v").values[:, 0]
        assert np.abs(rate[1:]).max() < 5.0 / (1.0 + 1e-3 / 1e-4)
