"""Forces of muscles of OpenSim files agree with those of OpenSim itself."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mbsim

opensim = pytest.importorskip("opensim")
pytestmark = pytest.mark.filterwarnings("ignore:.*(imported|ledger)")

CURVES = """
<ActiveForceLengthCurve name="a"><min_norm_active_fiber_length>0.4</min_norm_active_fiber_length>
<transition_norm_fiber_length>0.75</transition_norm_fiber_length>
<max_norm_active_fiber_length>1.7</max_norm_active_fiber_length>
<shallow_ascending_slope>0.8</shallow_ascending_slope><minimum_value>0.08</minimum_value></ActiveForceLengthCurve>
<ForceVelocityCurve name="b"><concentric_slope_at_vmax>0.1</concentric_slope_at_vmax>
<concentric_slope_near_vmax>0.3</concentric_slope_near_vmax><isometric_slope>4.5</isometric_slope>
<eccentric_slope_at_vmax>0.05</eccentric_slope_at_vmax>
<max_eccentric_velocity_force_multiplier>1.3</max_eccentric_velocity_force_multiplier></ForceVelocityCurve>
<FiberForceLengthCurve name="c"><strain_at_zero_force>0.05</strain_at_zero_force>
<strain_at_one_norm_force>0.6</strain_at_one_norm_force></FiberForceLengthCurve>"""

MUSCLES = {
    "millard": ("Millard2012EquilibriumMuscle", ""),
    "millard with curves": ("Millard2012EquilibriumMuscle", f"<fiber_damping>0.05</fiber_damping>{CURVES}"),
    "millard without damping": ("Millard2012EquilibriumMuscle", f"<fiber_damping>0</fiber_damping>{CURVES}"),
    "degroote": ("DeGrooteFregly2016Muscle", "<fiber_damping>0.01</fiber_damping>"),
}

PATH = """<GeometryPath name="geometrypath"><PathPointSet><objects>
<PathPoint name="p"><socket_parent_frame>/ground</socket_parent_frame><location>0 0 0</location></PathPoint>
<PathPoint name="q"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>0 0 0</location></PathPoint>
</objects></PathPointSet></GeometryPath>"""


def model(folder: Path, kind: str, inside: str, q: float, v: float, activation: float, *, rigid: bool = True) -> Path:
    muscle = (
        f'<{kind} name="m">{PATH}<max_isometric_force>900</max_isometric_force>'
        "<optimal_fiber_length>0.1</optimal_fiber_length><tendon_slack_length>0.2</tendon_slack_length>"
        "<pennation_angle_at_optimal>0.3</pennation_angle_at_optimal><max_contraction_velocity>8</max_contraction_velocity>"
        f"<ignore_tendon_compliance>{str(rigid).lower()}</ignore_tendon_compliance>"
        f"<default_activation>{activation}</default_activation>{inside}</{kind}>"
    )
    start = f"<default_value>{q}</default_value><default_speed_value>{v}</default_speed_value>"
    coordinate = f'<Coordinate name="x">{start}</Coordinate>'
    path = folder / "m.osim"
    path.write_text(
        '<OpenSimDocument Version="40000"><Model name="m"><gravity>0 0 0</gravity><BodySet name="bodyset"><objects>'
        '<Body name="b"><mass>1e4</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body>'
        '</objects></BodySet><JointSet name="jointset"><objects><SliderJoint name="j">'
        "<socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/b</socket_child_frame>"
        f"<coordinates>{coordinate}</coordinates></SliderJoint></objects></JointSet>"
        f'<ForceSet name="forceset"><objects>{muscle}</objects></ForceSet></Model></OpenSimDocument>'
    )
    return path


@pytest.mark.parametrize("name", MUSCLES)
def test_forces_with_a_rigid_tendon(name: str, tmp_path: Path) -> None:
    """From short to long fibers, at rest, shortening and lengthening."""
    kind, inside = MUSCLES[name]
    opensim.Logger.setLevelString("off")
    for q in (0.255, 0.28, 0.2955336489125606, 0.31, 0.34):
        for v in (0.0, -0.3, 0.4):
            for activation in (0.02, 0.6, 1.0):
                path = model(tmp_path, kind, inside, q, v, activation)
                own = opensim.Model(str(path))
                state = own.initSystem()
                muscle = opensim.Muscle.safeDownCast(own.getForceSet().get(0))
                muscle.setActivation(state, activation)
                own.realizeDynamics(state)
                result = mbsim.load(path, ["simulation.duration=1 ms"]).run(check=False)
                found = float(result["muscles/m/force"].values[0])
                np.testing.assert_allclose(
                    found, muscle.getActuation(state), rtol=0, atol=1e-6 * 900, err_msg=f"{q} {v}"
                )


ELASTIC = {**MUSCLES, "thelen": ("Thelen2003Muscle", "<FmaxTendonStrain>0.05</FmaxTendonStrain><Flen>1.5</Flen>")}


@pytest.mark.parametrize("name", ELASTIC)
def test_forces_with_an_elastic_tendon_start_in_equilibrium(name: str, tmp_path: Path) -> None:
    kind, inside = ELASTIC[name]
    opensim.Logger.setLevelString("off")
    for q in (0.27, 0.2955336489125606, 0.31, 0.33):
        for activation in (0.05, 0.6, 1.0):
            path = model(tmp_path, kind, inside, q, 0.0, activation, rigid=False)
            own = opensim.Model(str(path))
            state = own.initSystem()
            muscle = opensim.Muscle.safeDownCast(own.getForceSet().get(0))
            muscle.setActivation(state, activation)
            own.equilibrateMuscles(state)
            own.realizeDynamics(state)
            result = mbsim.load(path, ["simulation.duration=1 ms"]).run(check=False)
            found = float(result["muscles/m/force"].values[0])
            np.testing.assert_allclose(found, muscle.getActuation(state), rtol=0, atol=1e-6 * 900, err_msg=f"{q}")
            fibers = float(result["muscles/m/fiber_length"].values[0])
            np.testing.assert_allclose(fibers, muscle.getFiberLength(state), rtol=0, atol=1e-7)


TIMES = (
    "<activation_time_constant>0.015</activation_time_constant>"
    "<deactivation_time_constant>0.05</deactivation_time_constant>"
)
"""Those of all tests: in OpenSim, all muscles of De Groote have the time constants of the first one of the process."""


@pytest.mark.parametrize(
    ("kind", "inside"),
    [
        ("Thelen2003Muscle", ""),
        ("Millard2012EquilibriumMuscle", ""),
        ("DeGrooteFregly2016Muscle", f"<ignore_tendon_compliance>true</ignore_tendon_compliance>{TIMES}"),
    ],
)
def test_a_second_of_motion_without_excitation(kind: str, inside: str, tmp_path: Path) -> None:
    """The arm of the page falls, and its muscles relax to their least activation; De Groote's has none."""
    page = (Path(__file__).parents[2] / "docs/inverse.md").read_text(encoding="utf-8")
    text = re.search(r'^```xml title="arm.osim"\n(.*?)^```$', page, re.DOTALL | re.MULTILINE)
    assert text is not None
    path = tmp_path / "arm.osim"
    model = re.sub(r"<PathWrapSet>.*?</PathWrapSet>", "", text[1], flags=re.DOTALL)
    path.write_text(model.replace("Thelen2003Muscle", kind).replace(f"</{kind}>", f"{inside}</{kind}>"))
    opensim.Logger.setLevelString("off")
    own = opensim.Model(str(path))
    state = own.initSystem()
    own.equilibrateMuscles(state)
    manager = opensim.Manager(own)
    manager.setIntegratorAccuracy(1e-9)
    manager.initialize(state)
    settings = ["simulation.duration=1 s", "simulation.integrator=dop853", "simulation.tolerance=1e-10"]
    run = mbsim.Simulation(mbsim.load(path, settings))
    for t in (0.05, 0.2, 0.6, 1.0):
        end = manager.integrate(t)
        own.realizeDynamics(end)
        run.advance(t)
        for coordinate, joint in (("shoulder_flexion", "shoulder"), ("elbow_flexion", "elbow")):
            wanted = own.getCoordinateSet().get(coordinate).getValue(end)
            np.testing.assert_allclose(run.q[joint][0], wanted, rtol=0, atol=1e-6)
        for muscle in own.getMuscles():
            name, strength = muscle.getName(), muscle.getMaxIsometricForce()
            found = {
                word: float(np.ravel(run.channel(f"muscles/{name}/{word}"))[0]) for word in ("force", "activation")
            }
            np.testing.assert_allclose(found["force"], muscle.getTendonForce(end), rtol=0, atol=1e-6 * strength)
            least = 0.0 if kind.startswith("De") else 0.01
            np.testing.assert_allclose(found["activation"], max(muscle.getActivation(end), least), rtol=0, atol=1e-8)
