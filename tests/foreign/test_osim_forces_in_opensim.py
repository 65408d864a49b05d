"""Each type of force of OpenSim has the generalized forces of OpenSim itself, for bodies that others carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from multibody_cli.document.source import ReadScene
from multibody_cli.foreign import read_model
from multibody_cli.foreign.options import Options
from multibody_cli.limits import Usage
from multibody_cli.nodes import Problems
from multibody_cli.peers import ENGINES
from multibody_cli.studies.import_check import check_import
from multibody_cli.studies.simulation import prepare

pytest.importorskip("opensim")

PLACE = (
    '<components><PhysicalOffsetFrame name="place"><socket_parent>..</socket_parent>'
    "<translation>0.3 0.1 0</translation><orientation>0.4 1.2 0.2</orientation></PhysicalOffsetFrame></components>"
)
MASS = "<mass>1</mass><mass_center>0.1 0.2 0</mass_center><inertia>1 1.2 1.4 0.1 0 0</inertia>"
BODIES = "".join(f'<Body name="{name}">{MASS}{PLACE}</Body>' for name in "abc")


def joint(name: str, kind: str, parent: str, child: str, count: int) -> str:
    coordinates = "".join(f'<Coordinate name="{name}_{k}"/>' for k in range(count))
    ends = f"<socket_parent_frame>{parent}</socket_parent_frame><socket_child_frame>{child}</socket_child_frame>"
    return f'<{kind} name="{name}">{ends}<coordinates>{coordinates}</coordinates></{kind}>'


JOINTS = (
    joint("base", "FreeJoint", "/ground", "/bodyset/a", 6)
    + joint("inner", "GimbalJoint", "/bodyset/a/place", "/bodyset/b", 3)
    + joint("slide", "SliderJoint", "/bodyset/b/place", "/bodyset/c", 1)
)

MODEL = """<OpenSimDocument Version="40000"><Model name="m"><BodySet name="bodyset"><objects>{}</objects></BodySet>
<JointSet name="jointset"><objects>{}</objects></JointSet>
<ForceSet name="forceset"><objects><{} name="e">{}</{}></objects></ForceSet></Model></OpenSimDocument>"""

PATH = """<GeometryPath name="geometrypath"><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame><location>0.3 0.1 0.2</location></PathPoint>
<PathPoint name="q"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>0.1 0 0.4</location></PathPoint>
<PathPoint name="r"><socket_parent_frame>/bodyset/c</socket_parent_frame><location>0.1 0.5 0</location></PathPoint>
</objects></PathPointSet></GeometryPath>"""

THROUGH = """<GeometryPath name="geometrypath"><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>0.1 0 0.4</location></PathPoint>
<PathPoint name="q"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath>"""

SCALED = (
    "<MultiplierFunction><function><SimmSpline><x>-4 -1.5 0 1 4</x><y>0.02 0.07 -0.03 0.05 0.1</y></SimmSpline>"
    "</function><scale>0.9</scale></MultiplierFunction>"
)

MOVING = f"""<GeometryPath name="geometrypath"><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame><location>0.3 0.1 0.2</location></PathPoint>
<ConditionalPathPoint name="there"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>0.1 0 0.4</location>
<socket_coordinate>/jointset/slide/slide_0</socket_coordinate><range>-100 100</range></ConditionalPathPoint>
<ConditionalPathPoint name="gone"><socket_parent_frame>/bodyset/a</socket_parent_frame><location>5 0 9</location>
<socket_coordinate>/jointset/slide/slide_0</socket_coordinate><range>100 101</range></ConditionalPathPoint>
<MovingPathPoint name="m"><socket_parent_frame>/bodyset/b/place</socket_parent_frame>
<socket_x_coordinate>/jointset/inner/inner_1</socket_x_coordinate><x_location>{SCALED}</x_location>
<socket_y_coordinate>/jointset/inner/inner_1</socket_y_coordinate><y_location><Constant><value>0.2</value></Constant>
</y_location><socket_z_coordinate>/jointset/inner/inner_1</socket_z_coordinate><z_location><LinearFunction>
<coefficients>0.1 -0.3</coefficients></LinearFunction></z_location></MovingPathPoint>
<PathPoint name="r"><socket_parent_frame>/bodyset/c</socket_parent_frame><location>0.1 0.5 0</location></PathPoint>
</objects></PathPointSet></GeometryPath>"""

CURVE = (
    '<SimmSpline name="force_length_curve"><x>-1 -0.2 0 0.02 0.04 0.06 0.1 0.2 0.4 0.7 1</x>'
    "<y>0 0 0 0.0033 0.0133 0.03 0.07 0.17 0.37 0.67 0.97</y></SimmSpline>"
)


def functions(name: str, *values: float) -> str:
    """Lines of time with these values at the start."""
    each = "".join(f"<LinearFunction><coefficients>0.7 {value}</coefficients></LinearFunction>" for value in values)
    return f'<FunctionSet name="{name}"><objects>{each}</objects></FunctionSet>'


FORCES = {
    "limit": (
        "CoordinateLimitForce",
        "<coordinate>inner_0</coordinate><upper_stiffness>10</upper_stiffness><upper_limit>2</upper_limit>"
        "<lower_stiffness>20</lower_stiffness><lower_limit>-3</lower_limit><damping>0.5</damping>"
        "<transition>5</transition>",
    ),
    "spring of a coordinate": (
        "SpringGeneralizedForce",
        "<coordinate>inner_1</coordinate><stiffness>10</stiffness><rest_length>0.1</rest_length>"
        "<viscosity>0.3</viscosity>",
    ),
    "spring between points": (
        "PointToPointSpring",
        "<socket_body1>/bodyset/a</socket_body1><socket_body2>/bodyset/c</socket_body2><point1>0.1 0 0</point1>"
        "<point2>0 0.2 0</point2><stiffness>10</stiffness><rest_length>0.1</rest_length>",
    ),
    "spring along a path": (
        "PathSpring",
        PATH + "<resting_length>0.5</resting_length><stiffness>10</stiffness><dissipation>0.2</dissipation>",
    ),
    "slack spring along a path": (
        "PathSpring",
        PATH + "<resting_length>1.6</resting_length><stiffness>10</stiffness><dissipation>0.2</dissipation>",
    ),
    "ligament": ("Ligament", PATH + "<resting_length>1.2</resting_length><pcsa_force>100</pcsa_force>"),
    "ligament that jumps": (
        "Ligament",
        PATH + f"<resting_length>1.5</resting_length><pcsa_force>100</pcsa_force>{CURVE}",
    ),
    "ligament through the centre of a joint": (
        "Ligament",
        THROUGH + "<resting_length>0.3</resting_length><pcsa_force>100</pcsa_force>",
    ),
    "ligament of Blankevoort": (
        "Blankevoort1991Ligament",
        PATH + "<linear_stiffness>100</linear_stiffness><slack_length>0.5</slack_length>",
    ),
    "ligament of Blankevoort at its toe": (
        "Blankevoort1991Ligament",
        PATH
        + "<linear_stiffness>100</linear_stiffness><transition_strain>0.6</transition_strain>"
        + "<damping_coefficient>2</damping_coefficient><slack_length>1.4</slack_length>",
    ),
    "force in the world": (
        "PrescribedForce",
        "<socket_frame>/bodyset/c/place</socket_frame>"
        + functions("forceFunctions", 1, 2, 3)
        + '<FunctionSet name="pointFunctions"><objects>'
        + "".join(f"<Constant><value>{value}</value></Constant>" for value in (0.1, 0.2, 0.3))
        + "</objects></FunctionSet>"
        + functions("torqueFunctions", -1, 0.5, 2),
    ),
    "force in the body": (
        "PrescribedForce",
        "<socket_frame>/bodyset/c</socket_frame><forceIsGlobal>false</forceIsGlobal>"
        + functions("forceFunctions", 1, 2, 3)
        + functions("pointFunctions", 0.1, 0.2, 0.3),
    ),
    "force at a place in the world": (
        "PrescribedForce",
        "<socket_frame>/bodyset/c</socket_frame><pointIsGlobal>true</pointIsGlobal>"
        + functions("forceFunctions", 1, 2, 3)
        + functions("pointFunctions", 0.1, 0.2, 0.3),
    ),
    "torque": ("PrescribedForce", "<socket_frame>/bodyset/c</socket_frame>" + functions("torqueFunctions", 1, 2, 3)),
    "bushing": (
        "BushingForce",
        "<socket_frame1>/bodyset/a/place</socket_frame1><socket_frame2>/bodyset/b/place</socket_frame2>"
        "<rotational_stiffness>1 2 3</rotational_stiffness><translational_stiffness>10 20 30</translational_stiffness>"
        "<rotational_damping>0.1 0.2 0.3</rotational_damping><translational_damping>1 2 3</translational_damping>",
    ),
    "motor": ("CoordinateActuator", "<coordinate>slide_0</coordinate><optimal_force>3</optimal_force>"),
    "motor along a path": ("PathActuator", PATH + "<optimal_force>3</optimal_force>"),
    "motor at a point": (
        "PointActuator",
        "<body>c</body><point>0.1 0.2 0.3</point><direction>1 2 -1</direction><optimal_force>3</optimal_force>",
    ),
    "motor at a place in the world": (
        "PointActuator",
        "<body>c</body><point>0.1 0.2 0.3</point><point_is_global>true</point_is_global>"
        "<force_is_global>true</force_is_global><direction>1 2 -1</direction><optimal_force>3</optimal_force>",
    ),
    "motor between points": (
        "PointToPointActuator",
        "<bodyA>a</bodyA><bodyB>c</bodyB><pointA>0.1 0.2 0.3</pointA><pointB>0 0.2 0.1</pointB>"
        "<optimal_force>3</optimal_force>",
    ),
    "torque between bodies": (
        "TorqueActuator",
        "<bodyA>a</bodyA><bodyB>c</bodyB><axis>1 2 3</axis><optimal_force>3</optimal_force>",
    ),
    "torque in axes of a body": (
        "TorqueActuator",
        "<bodyA>a</bodyA><bodyB>ground</bodyB><axis>1 2 3</axis><torque_is_global>false</torque_is_global>"
        "<optimal_force>3</optimal_force>",
    ),
    "spring along points that move and are conditional": (
        "PathSpring",
        f"<resting_length>0.2</resting_length><stiffness>30</stiffness><dissipation>0.1</dissipation>{MOVING}",
    ),
    "force by an expression of a coordinate": (
        "ExpressionBasedCoordinateForce",
        "<coordinate>inner_1</coordinate><expression>-5*q^2+2.5e-1*exp(-q)*qdot</expression>",
    ),
    "force by an expression of a distance": (
        "ExpressionBasedPointToPointForce",
        "<body1>a</body1><body2>c</body2><point1>0.1 0 0</point1><point2>0 0.2 0</point2>"
        "<expression>-3*sqrt(d)+2*d^3-0.4*ddot</expression>",
    ),
    "six controls": ("BodyActuator", "<socket_body>/bodyset/c</socket_body><point>0.1 0.2 0.3</point>"),
    "six controls in the body": (
        "BodyActuator",
        "<socket_body>/bodyset/c</socket_body><point>0.1 0.2 0.3</point><point_is_global>true</point_is_global>"
        "<spatial_force_is_global>false</spatial_force_is_global>",
    ),
}


@pytest.mark.filterwarnings("ignore:.*imported")
@pytest.mark.parametrize("name", FORCES)
def test_each_type_of_force(name: str, tmp_path: Path) -> None:
    kind, inside = FORCES[name]
    path = tmp_path / "m.osim"
    path.write_text(MODEL.format(BODIES, JOINTS, kind, inside, kind))
    draft = read_model(path, Options(), Problems())
    engine = ENGINES["osim"].read(path)
    found = check_import(prepare(ReadScene(path, draft.tree(engine.leaves_out), Usage())), draft, engine)
    assert found.elements["e"] < 1e-13
    assert max(found.differences.values()) < 1e-12, found.differences
