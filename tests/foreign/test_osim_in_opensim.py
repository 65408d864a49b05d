"""Mass matrices, biases, momenta and energies of models of OpenSim agree with those of OpenSim itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import ImportCheck, check_import
from multibody_cli.studies.simulation import prepare

opensim = pytest.importorskip("opensim")

LEG = Path(__file__).with_name("leg.osim")


def compared(path: Path) -> ImportCheck:
    draft = read_model(path, Options(), Problems())
    engine = ENGINES["osim"].read(path)
    return check_import(prepare(ReadScene(path, draft.tree(engine.leaves_out), Usage())), draft, engine)


def test_joints_couplings_springs_and_limits() -> None:
    found = compared(LEG)
    assert {one.name for one in found.joints} >= {"pelvis_tilt", "hip_adduction", "knee_angle", "glide", "mtp_angle"}
    assert not found.absent
    assert max(found.differences.values()) < 1e-13, found.differences
    assert set(found.elements) == {"rectus", "ankle_spring", "knee_limit", "strap", "hip_motor"}
    assert max(found.elements.values()) < 1e-7, found.elements


def test_the_element_that_differs_is_named(tmp_path: Path) -> None:
    """Here the scene has another stiffness than the file, and another optimal length of the fibers."""
    draft = read_model(LEG, Options(), Problems())
    draft.elements["springs"]["strap"].value["stiffness"] *= 1.001
    draft.elements["muscles"]["rectus"].value["optimal_length"] *= 1.001
    force = draft.elements["actuators"]["hip_motor"].value["force"]
    draft.elements["actuators"]["hip_motor"].value["force"] = f"1.001*{force}"
    engine = ENGINES["osim"].read(LEG)
    found = check_import(prepare(ReadScene(LEG, draft.tree(engine.leaves_out), Usage())), draft, engine)
    assert set(found.differing) == {"strap", "rectus", "hip_motor"}
    assert found.differing["strap"] == pytest.approx(0.001, rel=1e-9)
    assert any(line.startswith("    strap: 1.0e-03") for line in found.lines())
    assert not found.agrees


THORAX = (
    "<thoracic_ellipsoid_radii_x_y_z>0.1 0.2 0.15</thoracic_ellipsoid_radii_x_y_z>"
    "<scapula_winging_axis_origin>{}</scapula_winging_axis_origin>"
    "<scapula_winging_axis_direction>0.6</scapula_winging_axis_direction>"
)

JOINTS = [
    *[(kind, "") for kind in ("WeldJoint", "PinJoint", "SliderJoint", "UniversalJoint", "GimbalJoint", "FreeJoint")],
    ("PlanarJoint", ""),
    ("EllipsoidJoint", "<radii_x_y_z>0.1 0.2 0.15</radii_x_y_z>"),
    ("ScapulothoracicJoint", THORAX.format("0 0")),
    ("ScapulothoracicJoint", THORAX.format("0.03 -0.04")),
]


@pytest.mark.parametrize(("kind", "inside"), JOINTS)
def test_each_type_of_joint(kind: str, inside: str, tmp_path: Path) -> None:
    """Between a body and another one that the first joint, which is free, carries."""
    body = "<mass>1</mass><mass_center>0.1 0.2 0</mass_center><inertia>1 1.2 1.4 0.1 0 0</inertia>"
    counts = {"WeldJoint": 0, "PinJoint": 1, "SliderJoint": 1, "UniversalJoint": 2, "GimbalJoint": 3, "FreeJoint": 6}
    counts |= {"PlanarJoint": 3, "EllipsoidJoint": 3, "ScapulothoracicJoint": 4}

    def joint(name: str, type_: str, parent: str, child: str, inside: str = "") -> str:
        coordinates = "".join(f'<Coordinate name="{name}_{k}"/>' for k in range(counts[type_]))
        ends = f"<socket_parent_frame>{parent}</socket_parent_frame><socket_child_frame>{child}</socket_child_frame>"
        return f'<{type_} name="{name}">{ends}<coordinates>{coordinates}</coordinates>{inside}</{type_}>'

    first = joint("base", "FreeJoint", "/ground", "/bodyset/a")
    second = "" if kind == "FreeJoint" else joint("inner", kind, "/bodyset/a/place", "/bodyset/b", inside)
    place = (
        '<components><PhysicalOffsetFrame name="place"><socket_parent>..</socket_parent>'
        "<translation>0.3 0.1 0</translation><orientation>0.4 1.5707963267948966 0.2</orientation>"
        "</PhysicalOffsetFrame></components>"
    )
    bodies = f'<Body name="a">{body}{place}</Body>' + ("" if kind == "FreeJoint" else f'<Body name="b">{body}</Body>')
    path = tmp_path / "m.osim"
    path.write_text(
        '<OpenSimDocument Version="40000"><Model name="m">'
        f'<BodySet name="bodyset"><objects>{bodies}</objects></BodySet>'
        f'<JointSet name="jointset"><objects>{first}{second}</objects></JointSet></Model></OpenSimDocument>'
    )
    found = compared(path)
    assert not found.absent
    assert len(found.joints) == 1 + (counts[kind] if second else 0)
    assert max(found.differences.values()) < 1e-12, found.differences


WRAPPED = """<OpenSimDocument Version="40000"><Model name="m"><gravity>0 0 0</gravity>
<Ground name="ground"><WrapObjectSet name="wrapobjectset"><objects><{surface} name="drum"><active>true</active>
<xyz_body_rotation>0 0 {turn}</xyz_body_rotation><translation>0.1 0 0.02</translation><quadrant>{quadrant}</quadrant>
<radius>0.05</radius>{length}</{surface}></objects></WrapObjectSet></Ground>
<BodySet name="bodyset"><objects><Body name="b"><mass>1</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="jointset"><objects><PinJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="q">
<default_value>{q}</default_value></Coordinate></coordinates></PinJoint></objects></JointSet>
<ForceSet name="forceset"><objects><PathSpring name="s"><resting_length>0.1</resting_length>
<stiffness>10</stiffness><dissipation>0</dissipation><GeometryPath name="geometrypath"><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame><location>0.1 0.2 0.02</location></PathPoint>
<PathPoint name="r"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>0.2 0 0.02</location></PathPoint>
</objects></PathPointSet><PathWrapSet><objects><PathWrap name="w"><wrap_object>drum</wrap_object>
<method>hybrid</method><range>-1 -1</range></PathWrap></objects></PathWrapSet></GeometryPath>
</PathSpring></objects></ForceSet></Model></OpenSimDocument>"""


@pytest.mark.filterwarnings("ignore:.*imported")
@pytest.mark.parametrize("quadrant", ["all", "x"])
@pytest.mark.parametrize(("surface", "turn"), [("WrapCylinder", 0.0), ("WrapCylinder", 0.3), ("WrapSphere", 0.0)])
def test_lengths_of_paths_over_surfaces(surface: str, turn: float, quadrant: str, tmp_path: Path) -> None:
    """In the plane across a cylinder, and through the centre of a sphere, the path is an arc in both programs.

    At the largest angles the line misses the surface.  Where both points are on the other side, OpenSim goes round a
    cylinder and past a sphere.
    """
    opensim.Logger.setLevelString("off")
    length = "<length>1</length>" if surface == "WrapCylinder" else ""
    touched = set()
    for q in (0.2, 0.0, -0.4, -1.0, -1.4):
        path = tmp_path / "m.osim"
        path.write_text(WRAPPED.format(surface=surface, turn=turn, quadrant=quadrant, length=length, q=q))
        own = opensim.Model(str(path))
        state = own.initSystem()
        own.realizePosition(state)
        expected = opensim.PathSpring.safeDownCast(own.getForceSet().get(0)).getGeometryPath().getLength(state)
        found = mbsim.load(path, ["simulation.duration=1 ms"]).run(check=False)["paths/s/length"].values[0].item()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, err_msg=f"{q}")
        end = 0.2 * np.array([np.cos(q), np.sin(q)])
        touched.add(bool(found > np.hypot(*(end - [0.1, 0.2])) + 1e-6))
    assert touched == {True, False}


@pytest.mark.filterwarnings("ignore:.*imported")
def test_lengths_of_paths_through_rings(tmp_path: Path) -> None:
    """In a plane of its axis, the path through a torus is round a circle in both programs, and passes its hole.

    At the first angles the line passes the ring outside, then it cuts the tube, and at the last ones it misses it.
    """
    opensim.Logger.setLevelString("off")
    ring = "<inner_radius>0.03</inner_radius><outer_radius>0.08</outer_radius>"
    text = WRAPPED.replace("<radius>0.05</radius>{length}", ring).replace("0 0 {turn}", "-1.5707963267948966 0 0")
    text = text.replace("0.1 0 0.02</translation>", "0 0 0.02</translation>").replace("0.1 0.2 0.02", "0.1 0.2 0.02")
    touched = []
    for q in (-0.6, -0.8, -1.0, -1.4, -1.8):
        path = tmp_path / "m.osim"
        path.write_text(text.format(surface="WrapTorus", quadrant="all", q=q))
        own = opensim.Model(str(path))
        state = own.initSystem()
        own.realizePosition(state)
        expected = opensim.PathSpring.safeDownCast(own.getForceSet().get(0)).getGeometryPath().getLength(state)
        found = mbsim.load(path, ["simulation.duration=1 ms"]).run(check=False)["paths/s/length"].values[0].item()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, err_msg=f"{q}")
        end = 0.2 * np.array([np.cos(q), np.sin(q)])
        touched.append(bool(found > np.hypot(*(end - [0.1, 0.2])) + 1e-6))
    assert {*touched} == {True, False}
