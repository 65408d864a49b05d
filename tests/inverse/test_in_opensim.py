"""Inverse dynamics and static optimization of the arm of the page agree with those of OpenSim itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbsim
from multibody_cli.immutable import replace
from multibody_cli.kernel import Floats
from multibody_cli.studies.inverse.inverse_dynamics import InverseDynamics
from multibody_cli.studies.inverse.loads import with_loads
from multibody_cli.studies.inverse.motion import MeasuredMotion, derivatives, read_columns
from multibody_cli.studies.inverse.static_optimization import share_forces
from multibody_cli.studies.inverse.study import OVERRIDES, InverseProblem, Question
from multibody_cli.studies.simulation import prepare

opensim = pytest.importorskip("opensim")
pytestmark = pytest.mark.filterwarnings("ignore::multibody_cli.api.scene.SceneWarning")

PAGE = Path(__file__).parents[2] / "docs/inverse.md"

COORDINATES = ("shoulder_flexion", "elbow_flexion")

ELLIPSOID = """<WrapEllipsoid name="elbow_back"><translation>0 -0.3 0</translation> <quadrant>-x</quadrant>
<xyz_body_rotation>0.4 0.7 0.3</xyz_body_rotation><dimensions>0.018 0.012 0.03</dimensions></WrapEllipsoid>"""

RESERVE = """<CoordinateActuator name="{name}_reserve"><min_control>-1e9</min_control><max_control>1e9</max_control>
<coordinate>{name}</coordinate><optimal_force>1</optimal_force></CoordinateActuator>"""

DOCUMENT = '<?xml version="1.0"?><OpenSimDocument Version="40000">{content}</OpenSimDocument>'

DYNAMICS = """<InverseDynamicsTool name="arm"><model_file>arm.osim</model_file><time_range>0 1</time_range>
<forces_to_exclude>Muscles</forces_to_exclude><external_loads_file>bottle.xml</external_loads_file>
<coordinates_file>reach.mot</coordinates_file><results_directory>.</results_directory>
<lowpass_cutoff_frequency_for_coordinates>CUTOFF</lowpass_cutoff_frequency_for_coordinates><output_gen_force_file>forces.sto</output_gen_force_file></InverseDynamicsTool>"""

OPTIMIZATION = """<AnalyzeTool name="arm"><model_file>arm.osim</model_file><replace_force_set>false</replace_force_set>
<force_set_files>reserves.xml</force_set_files><results_directory>.</results_directory>
<output_precision>16</output_precision><initial_time>0</initial_time><final_time>1</final_time>
<AnalysisSet><objects><StaticOptimization name="so"><on>true</on><start_time>0</start_time><end_time>1</end_time>
<step_interval>1</step_interval><use_model_force_set>true</use_model_force_set>
<optimizer_convergence_criterion>1e-9</optimizer_convergence_criterion>
<optimizer_max_iterations>500</optimizer_max_iterations></StaticOptimization></objects></AnalysisSet>
<external_loads_file>bottle.xml</external_loads_file><coordinates_file>reach.mot</coordinates_file></AnalyzeTool>"""


def run_tool(content: str, kind: str) -> None:
    """Run a tool of OpenSim in a process of its own."""
    Path("setup.xml").write_text(DOCUMENT.format(content=content))
    code = f"import opensim; opensim.Logger.setLevelString('Off'); assert opensim.{kind}('setup.xml').run()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page, as working directory."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for title, content in re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', text, re.DOTALL | re.MULTILINE):
        (tmp_path / title).write_text(content, encoding="utf-8")
    subprocess.run([sys.executable, "reach.py"], check=True)
    return tmp_path


@pytest.mark.parametrize("cutoff", [None, 6.0])
def test_forces_with_a_load(cutoff: float | None, arm: Path) -> None:
    """Up to the digits of the file; with a filter, up to transients of OpenSim, which begins without initial values."""
    run_tool(DYNAMICS.replace("CUTOFF", str(cutoff or -1.0)), "InverseDynamicsTool")
    found = mbsim.inverse("arm.osim", "reach.mot", loads=["bottle.xml"], cutoff=cutoff)
    times, names, values, *_ = read_columns(Path("forces.sto"))
    rows = [int(np.argmin(np.abs(times - t))) for t in found.times]  # it adds instants with a filter
    np.testing.assert_allclose(found.times, times[rows], atol=1e-8)
    for one in found.coordinates:
        theirs = values[rows, names.index(f"{one.name}_moment")]
        np.testing.assert_allclose(found.force(one.name), theirs, atol=1e-2 if cutoff else 2e-8)


def activations_in_both(arm: Path) -> tuple[MeasuredMotion, InverseDynamics, Floats]:
    """Optimize in both programs, with the accelerations of OpenSim's tool; return the motion, and both results.

    These are derivatives of a spline through the rates.
    """
    reserves = "".join(RESERVE.format(name=name) for name in COORDINATES)
    content = f'<ForceSet name="r"><objects>{reserves}</objects></ForceSet>'
    Path("reserves.xml").write_text(DOCUMENT.format(content=content))
    run_tool(OPTIMIZATION, "AnalyzeTool")
    question = Question(arm / "reach.mot", muscles=True)
    prepared = prepare(with_loads(arm / "arm.osim", ["bottle.xml"]), OVERRIDES)
    motion = InverseProblem(prepared, question).motion
    motion = replace(motion, a=derivatives(arm, motion.times, motion.v)[1])
    found = InverseProblem(prepared, question, motion).solve()
    times, columns, values, *_ = read_columns(Path("arm_so_activation.sto"))
    assert len(times) == len(found.times)
    return motion, found, np.array([values[:, columns.index(name)] for name in found.muscles]).T


def test_activations_with_a_load(arm: Path) -> None:
    """Up to the convergence of its tool."""
    _, found, theirs = activations_in_both(arm)
    np.testing.assert_allclose(found.activations, theirs, atol=1e-5)
    own = mbsim.inverse("arm.osim", "reach.mot", loads=["bottle.xml"], muscles=True)
    np.testing.assert_allclose(own.activations, found.activations, atol=1e-3)


def test_activations_of_an_arm_that_wraps_over_an_ellipsoid_differ_by_its_moment_arms(arm: Path) -> None:
    """With those of OpenSim they agree.  Its moment arms are not the derivatives of its own lengths."""
    model = Path("arm.osim")
    text = model.read_text()
    first, last = text.index("<WrapCylinder"), text.index("</WrapCylinder>")
    model.write_text(text[:first] + ELLIPSOID + text[last + len("</WrapCylinder>") :])
    motion, found, theirs = activations_in_both(arm)
    own = opensim.Model("arm.osim")
    state = own.initSystem()
    muscles = [opensim.Muscle.safeDownCast(own.getForceSet().get(name)) for name in found.muscles]
    coordinates = [own.getCoordinateSet().get(name) for name in COORDINATES]
    places = [[one.name for one in found.coordinates].index(name) for name in COORDINATES]
    triceps, h = found.muscles.index("triceps"), 1e-4

    def at(q: Floats) -> float:
        """Length of the triceps."""
        for one, value in zip(coordinates, q, strict=True):
            one.setValue(state, float(value), False)
        own.realizePosition(state)
        return float(muscles[triceps].getLength(state))

    differences = []
    for k, effort in enumerate(theirs):
        fast, slow = at(motion.q[k] + [0.0, h]), at(motion.q[k] - [0.0, h])
        at(motion.q[k])
        for one, value in zip(coordinates, motion.v[k], strict=True):
            one.setSpeedValue(state, float(value))
        own.realizeDynamics(state)
        A = np.array([[one.computeMomentArm(state, place) for one in muscles] for place in coordinates])
        differences.append(abs(A[1, triceps] + (fast - slow) / (2 * h)))
        A *= [one.calcInextensibleTendonActiveFiberForce(state, 1.0) for one in muscles]
        supplied = share_forces(A, found.forces[k][places], np.ones(2), np.full(len(muscles), 0.01))
        np.testing.assert_allclose(supplied.activations, effort, atol=1e-5)
    assert max(differences) > 2e-4
    np.testing.assert_allclose(found.activations, theirs, atol=1e-3)
