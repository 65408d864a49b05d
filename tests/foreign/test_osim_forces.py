"""Ligaments, springs and prescribed controls of OpenSim files have the forces of their closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import mbsim
from multibody_cli.foreign import read_model
from multibody_cli.foreign.draft import Draft
from multibody_cli.foreign.ledger import ImportReport
from multibody_cli.foreign.options import Options
from multibody_cli.nodes import Problems

pytestmark = pytest.mark.filterwarnings("ignore:.*imported")

MODEL = """<OpenSimDocument Version="40000"><Model name="m"><gravity>0 0 0</gravity>
<BodySet name="bodyset"><objects><Body name="b"><mass>2</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body></objects></BodySet>
<JointSet name="jointset"><objects><SliderJoint name="j"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/b</socket_child_frame><coordinates><Coordinate name="x">
<default_value>{q}</default_value><default_speed_value>{v}</default_speed_value></Coordinate></coordinates>
</SliderJoint></objects></JointSet>{controllers}
<ForceSet name="forceset"><objects><{kind} name="e">{inside}</{kind}></objects></ForceSet></Model></OpenSimDocument>"""

PATH = """<GeometryPath name="geometrypath"><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame><location>0 0 0</location></PathPoint>
<PathPoint name="q"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath>"""

CURVE_X, CURVE_Y = [0.5, 1.0, 1.1, 1.2, 1.4], [0.0, 0.0, 0.2, 0.5, 1.5]


def write(folder: Path, kind: str, inside: str, q: float = 0.3, v: float = 0.0, controllers: str = "") -> Path:
    path = folder / "m.osim"
    path.write_text(MODEL.format(q=q, v=v, kind=kind, inside=inside, controllers=controllers))
    return path


def force(path: Path) -> np.ndarray:
    """The force along the slide at all instants of a short run."""
    run = mbsim.load(path, ["simulation.duration=1 ms", "simulation.step=0.1 ms"]).run(check=False)
    return 2.0 * run["joints/j/acceleration"].values.ravel()


def blankevoort(length: float, rate: float) -> float:
    """100 N per strain, with a toe up to 0.06, a slack length of 0.2 m, and a damping of 3 N s per strain."""
    strain = length / 0.2 - 1
    if strain <= 0:
        return 0.0
    spring = 0.5 * 100 / 0.06 * strain**2 if strain < 0.06 else 100 * (strain - 0.03)
    x = min(strain / 0.01, 1.0)
    return spring + 3 * max(rate, 0.0) / 0.2 * x**3 * (10 - 15 * x + 6 * x**2)


@pytest.mark.parametrize("v", [0.0, 0.4, -0.4])
@pytest.mark.parametrize("q", [0.19, 0.2, 0.201, 0.207, 0.212, 0.25, -0.25])
def test_ligament_of_blankevoort(q: float, v: float, tmp_path: Path) -> None:
    """Slack, at rest, where the damping begins, in the toe, at its end, beyond, and on the other side of the ground."""
    inside = PATH + (
        "<linear_stiffness>100</linear_stiffness><damping_coefficient>3</damping_coefficient>"
        "<slack_length>0.2</slack_length>"
    )
    side = np.sign(q)
    found = force(write(tmp_path, "Blankevoort1991Ligament", inside, q, v))[0]
    assert found == pytest.approx(-side * blankevoort(abs(q), side * v), abs=1e-11)


@pytest.mark.parametrize("interpolation", ["SimmSpline", "GCVSpline"])
@pytest.mark.parametrize("q", [0.15, 0.2, 0.21, 0.25, 0.3, 0.4])
def test_ligament_by_a_curve(q: float, interpolation: str, tmp_path: Path) -> None:
    """The tension is the curve of the length over that at rest, which tangents continue; slack below."""
    points = f"<x>{' '.join(map(str, CURVE_X))}</x><y>{' '.join(map(str, CURVE_Y))}</y>"
    curve = f'<{interpolation} name="force_length_curve">{points}</{interpolation}>'
    inside = PATH + f"<resting_length>0.2</resting_length><pcsa_force>50</pcsa_force>{curve}"
    found = force(write(tmp_path, "Ligament", inside, q))[0]
    x, spline = q / 0.2, CubicSpline(CURVE_X, CURVE_Y, bc_type="natural")
    if interpolation == "GCVSpline":
        end = min(x, 1.4)
        expected = 50 * float(spline(end) + spline(end, 1) * (x - end)) if x > 1 else 0.0
        assert found == pytest.approx(-expected, abs=1e-11)
    elif x <= 1:
        assert found == 0.0
    elif x < 1.4:
        assert found == pytest.approx(-50 * np.interp(x, CURVE_X, CURVE_Y), abs=5.0)


def test_dissipation_of_a_spring_along_a_path(tmp_path: Path) -> None:
    inside = PATH + "<resting_length>0.2</resting_length><stiffness>100</stiffness><dissipation>0.5</dissipation>"
    for q, v in ((0.25, 0.0), (0.25, 0.6), (0.25, -0.6), (0.15, 0.6)):
        expected = 100 * max(q - 0.2, 0.0) * (1 + 0.5 * v)
        assert force(write(tmp_path, "PathSpring", inside, q, v))[0] == pytest.approx(-expected, abs=1e-12)


CONTROLLER = """<ControllerSet name="controllerset"><objects><PrescribedController name="c">
<enabled>{enabled}</enabled><actuator_list>e</actuator_list><FunctionSet name="ControlFunctions"><objects>{function}
</objects></FunctionSet></PrescribedController></objects></ControllerSet>"""

RAMP = "<LinearFunction><coefficients>100 0.5</coefficients></LinearFunction>"
STEPS = "<PiecewiseLinearFunction><x>0 0.001 1</x><y>0.5 0.6 0.6</y></PiecewiseLinearFunction>"


@pytest.mark.parametrize(("function", "enabled", "slope"), [(RAMP, "true", 1), (STEPS, "true", 1), (RAMP, "false", 0)])
def test_prescribed_controls(function: str, enabled: str, slope: float, tmp_path: Path) -> None:
    """The control is 0.5 at the start and 0.6 after 1 ms."""
    controllers = CONTROLLER.format(function=function, enabled=enabled)
    inside = "<coordinate>x</coordinate><optimal_force>20</optimal_force>"
    found = force(write(tmp_path, "CoordinateActuator", inside, controllers=controllers))
    np.testing.assert_allclose(found[[0, -1]], slope * np.array([10.0, 12.0]), atol=1e-11)


def draft(path: Path) -> Draft:
    return read_model(path, Options(), Problems())


def test_a_table_of_controls_is_reported_with_the_remedy(tmp_path: Path) -> None:
    controllers = CONTROLLER.format(function=RAMP, enabled="true").replace(
        "<actuator_list>", "<controls_file>u.sto</controls_file><actuator_list>"
    )
    inside = "<coordinate>x</coordinate><optimal_force>20</optimal_force>"
    report = ImportReport(draft(write(tmp_path, "CoordinateActuator", inside, controllers=controllers)).ledger)
    assert [entry.message for entry in report.losses] == [
        "write each control of the table as `{file: NAME, times: time, values: COLUMN}`"
    ]
    assert not report.count("unknown")


def test_excitations_of_muscles_are_prescribed(tmp_path: Path) -> None:
    inside = PATH + "<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>"
    controllers = CONTROLLER.format(function=STEPS, enabled="true")
    path = write(tmp_path, "Millard2012EquilibriumMuscle", inside, controllers=controllers)
    excitation = draft(path).elements["muscles"]["e"].value["excitation"]
    assert excitation == {"times": [0.0, 0.001, 1.0], "values": [0.5, 0.6, 0.6], "interpolation": "linear"}


def test_a_prescribed_coordinate_by_a_spline_of_opensim(tmp_path: Path) -> None:
    """A cubic of five points is itself, with the third derivative of the cubic through the four points at each end."""
    t = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    points = f"<x>{' '.join(map(str, t))}</x><y>{' '.join(map(str, 0.1 + t**3))}</y>"
    motion = (
        "<prescribed>true</prescribed><prescribed_function><SimmSpline>"
        f"{points}</SimmSpline></prescribed_function></Coordinate>"
    )
    path = write(tmp_path, "PathSpring", PATH + "<resting_length>0</resting_length><stiffness>1</stiffness>")
    path.write_text(path.read_text().replace("</Coordinate>", motion))
    run = mbsim.load(path, ["simulation.duration=1"]).run(check=False)
    times = run["joints/j/q"].coords["time"].values
    np.testing.assert_allclose(run["joints/j/q"].values.ravel(), 0.1 + times**3, atol=1e-13)
    inside = slice(0, -1)  # at the last point begins the tangent
    np.testing.assert_allclose(run["joints/j/acceleration"].values.ravel()[inside], 6 * times[inside], atol=1e-11)


def test_a_bushing_has_the_energy_of_its_angles(tmp_path: Path) -> None:
    """Body-fixed angles of 0.9, 0.7 and -1.2 rad, and displacements along axes of the ground."""
    free = "".join(
        f'<Coordinate name="c{k}"><default_value>{value}</default_value></Coordinate>'
        for k, value in enumerate((0.9, 0.7, -1.2, 0.1, 0.2, -0.3))
    )
    bushing = (
        "<socket_frame1>/ground</socket_frame1><socket_frame2>/bodyset/b</socket_frame2>"
        "<rotational_stiffness>1 2 3</rotational_stiffness><translational_stiffness>10 20 30</translational_stiffness>"
        "<rotational_damping>0 0 0</rotational_damping><translational_damping>0 0 0</translational_damping>"
    )
    path = write(tmp_path, "BushingForce", bushing)
    text = path.read_text().replace("SliderJoint", "FreeJoint")
    start, end = text.index("<Coordinate "), text.index("</coordinates>")
    path.write_text(text[:start] + free + text[end:])
    result = mbsim.load(path, ["simulation.duration=1", "simulation.step=0.5 ms"]).run(check=False)
    expected = 0.5 * (0.9**2 + 2 * 0.7**2 + 3 * 1.2**2 + 10 * 0.1**2 + 20 * 0.2**2 + 30 * 0.3**2)
    assert result["energy/elastic"].values[0] == pytest.approx(expected, rel=1e-13)
    total = result["energy/elastic"].values + result["energy/kinetic"].values
    np.testing.assert_allclose(total, expected, rtol=1e-7)


@pytest.mark.parametrize("q", [0.3, -0.2])
@pytest.mark.parametrize("v", [0.0, 0.4])
def test_forces_by_expressions(q: float, v: float, tmp_path: Path) -> None:
    """Powers are `^`, and a positive force between points pulls."""
    inside = "<coordinate>x</coordinate><expression>2e1*exp(-q)-3*q^2+qdot</expression>"
    found = force(write(tmp_path, "ExpressionBasedCoordinateForce", inside, q, v))[0]
    assert found == pytest.approx(20 * np.exp(-q) - 3 * q**2 + v, rel=1e-12)
    inside = "<body1>ground</body1><body2>b</body2><expression>4*d^2-ddot</expression>"
    found = force(write(tmp_path, "ExpressionBasedPointToPointForce", inside, q, v))[0]
    assert found == pytest.approx(-np.sign(q) * (4 * q**2 - np.sign(q) * v), rel=1e-12)


def test_an_expression_with_other_functions_is_dropped(tmp_path: Path) -> None:
    inside = "<coordinate>x</coordinate><expression>3*square(q)</expression>"
    draft = read_model(write(tmp_path, "ExpressionBasedCoordinateForce", inside), Options(), Problems())
    assert not draft.elements.get("actuators")
    [loss] = [one for one in ImportReport(draft.ledger).losses if "square" in one.message]
    assert "its expression `3*square(q)`" in loss.message


@pytest.mark.parametrize(
    ("inside", "least"),
    [
        ("<ignore_tendon_compliance>true</ignore_tendon_compliance>", 0.0),
        ("<fiber_damping>0.01</fiber_damping>", 0.0),
        ("", 0.01),  # the velocity of its fibers would have no bound
    ],
)
def test_muscles_of_de_groote_have_no_least_activation(inside: str, least: float, tmp_path: Path) -> None:
    draft = read_model(write(tmp_path, "DeGrooteFregly2016Muscle", PATH + inside), Options(), Problems())
    muscle = draft.elements["muscles"]["e"].value
    assert muscle["minimum_activation"] == least
    assert muscle["initial_activation"] == 0.5
    assert any("at least 0.01" in one.message for one in ImportReport(draft.ledger).losses) == (least > 0.0)
